"""Whether a unit repeats what is selected already: by place within a resource, by wording across resources. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from workbench.core.unit import DESCRIPTION_PART
from workbench.storage.index_records import IndexedUnit

SHINGLE_CHARS = 3
SHARED_SHINGLES = 0.9
_REMEMBERED_TEXTS = 256


@dataclass(frozen=True, slots=True)
class Wording:
    """A unit with its distinct three-character shingles, case and white space apart; works in every script."""

    unit: IndexedUnit
    shingles: frozenset[str]


def wording_of(unit: IndexedUnit) -> Wording:
    """The unit prepared for `repeats`."""
    return Wording(unit, shingles_of(unit.text))


def repeats(one: Wording, other: Wording) -> bool:
    """Whether two units say the same; symmetric.

    Same resource: half or more of the smaller byte span lies in the other. A description has the span of its whole
    resource but not its text, so it is compared by wording. Otherwise: the same content, or shingles shared in at least
    `SHARED_SHINGLES` of all that either has (Jaccard).
    """
    first, second = one.unit, other.unit
    if first.resource_id == second.resource_id and DESCRIPTION_PART not in (first.part, second.part):
        return _spans_overlap(first, second)
    return first.content_hash == second.content_hash or _share(one.shingles, other.shingles) >= SHARED_SHINGLES


@lru_cache(maxsize=_REMEMBERED_TEXTS)
def shingles_of(text: str) -> frozenset[str]:
    """Distinct runs of three characters; a text shorter than that is its own shingle."""
    plain = " ".join(text.casefold().split())
    return frozenset(plain[at : at + SHINGLE_CHARS] for at in range(max(1, len(plain) - SHINGLE_CHARS + 1)))


def _spans_overlap(one: IndexedUnit, other: IndexedUnit) -> bool:
    a, b = one.span, other.span
    shared = min(a.byte_end, b.byte_end) - max(a.byte_start, b.byte_start)
    smaller = min(a.byte_end - a.byte_start, b.byte_end - b.byte_start)
    return shared > 0 and 2 * shared >= smaller


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    if min(len(one), len(other)) < SHARED_SHINGLES * max(len(one), len(other)):
        return 0.0
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)
