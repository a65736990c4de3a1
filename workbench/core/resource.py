"""Sources, resources and snapshots references as plain values.

A source is one Markdown file; a resource is one memory entry in it, with an identity and a status of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from workbench.core.hashing import digest
from workbench.core.text import first_sentence, one_line

L0_CHARS = 120
UNSETTLED = -1
GONE = "gone"


class Layer(StrEnum):
    """Which kind of memory a source holds."""

    USER = "user"
    PROJECT = "project"
    LOG = "log"
    REFLECTION = "reflection"
    WHITEBOARD = "whiteboard"


class Status(StrEnum):
    """Only `current` is retrievable; nothing is ever physically deleted."""

    CURRENT = "current"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"


class Scope(StrEnum):
    """Whose memory it is: the person's everywhere, or this project's."""

    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open byte range of the source file and its 1-based, inclusive lines."""

    byte_start: int
    byte_end: int
    line_start: int
    line_end: int


@dataclass(frozen=True, slots=True)
class Degradation:
    """A stable code that says which part could not serve, and what served instead (`detail`)."""

    code: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """One Markdown file as it was read.

    source_ref: POSIX path relative to the memory root, NFC. source_epoch grows when the file is re-created after
    it was gone; source_version by one per content change. file_digest: sha256 of the bytes.
    """

    source_ref: str
    layer: Layer
    source_epoch: int
    source_version: int
    file_digest: str
    byte_size: int


class EntryStamp(NamedTuple):
    """What is remembered of one entry of a source; as JSON a list of three."""

    claimed_id: str | None
    derived_id: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class SourceStamp:
    """What the index remembers of a file, so that a file with equal size, `changed_ns` and inode is not read again.

    changed_ns: the later of modification and status-change time; `UNSETTLED` when the file was so fresh (or not read)
    that an equal time proves nothing. error: why the source cannot serve (then `entries` is empty); `GONE` keeps only
    the epoch of a file that is no longer there, so that its re-creation gets a new one.
    """

    source: Source
    changed_ns: int
    inode: int
    entries: tuple[EntryStamp, ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Resource:
    """One memory entry. `content_hash` is over title, description and body alone; `status` is the manifest's."""

    resource_id: str
    layer: Layer
    scope: Scope
    kind: str
    path: str
    title: str
    description: str
    body: str
    source_ref: str
    span: Span
    status: Status = Status.CURRENT
    superseded_by: str | None = None
    _content_hash: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def content_hash(self) -> str:
        """sha256 of the canonical JSON of [title, description, body]; computed once."""
        if not self._content_hash:
            self._content_hash.append(digest([self.title, self.description, self.body]))
        return self._content_hash[0]

    @property
    def l0(self) -> str:
        """One catalogue line: the description, else the first sentence of the body, at most 120 characters."""
        return one_line(self.description or first_sentence(self.body) or self.title, L0_CHARS)


@dataclass(frozen=True, slots=True)
class SnapshotRef:
    """The identity of one immutable view of a project's memory. `miv` has no order."""

    project_id: str
    miv: str
    record_state_version: int
