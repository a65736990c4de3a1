"""The retrieval unit: what is indexed, scored, selected and handed out.

`unit_key` is the logical identity across rebuilds: resource id, heading path, occurrence of that heading path, part.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.core.hashing import sha256_hex
from workbench.core.resource import Span

CHUNKER_VERSION = "units-1"
UNIT_TOKENS = 384
SPAN_TOKENS = 480
OVERLAP_TOKENS = 48
DESCRIPTION_PART = "description"
_KEY_MARKS = frozenset("%#/~@")


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of a resource. `text` is the source text of its span, as written; `span` lies in the source file.

    A description unit's span is the span of its whole resource, since front matter is not text of the body.
    """

    unit_key: str
    resource_id: str
    heading_path: tuple[str, ...]
    part: str
    text: str
    span: Span
    token_count: int

    @property
    def content_hash(self) -> str:
        """sha256 of heading path and text."""
        return sha256_hex("\x1f".join((*self.heading_path, self.text)))


def make_unit_key(resource_id: str, heading_path: tuple[str, ...], occurrence: int, part: str) -> str:
    """`RESOURCE#H1/H2~2@PART`: readable, and reversible because `%`, `#`, `/`, `~`, `@` in headings are escaped.

    occurrence: 1 for the first section of this heading path in the resource (then left out of the key).
    """
    headings = "/".join(escape_key(heading) for heading in heading_path)
    again = f"~{occurrence}" if occurrence > 1 else ""
    return f"{resource_id}#{headings}{again}@{part}"


def resource_id_of(unit_key: str) -> str:
    """The resource of a unit key. What follows the last `#` is the unit's place, in which `#` is escaped."""
    return unit_key.rpartition("#")[0]


def escape_key(name: str) -> str:
    """A name in which the marks that mean something in a key are written as `%` and two hex digits."""
    if _KEY_MARKS.isdisjoint(name):
        return name
    for mark in "%#/~@":
        name = name.replace(mark, f"%{ord(mark):02x}")
    return name
