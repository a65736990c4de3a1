"""Whether a unit repeats what is selected already: by place within a resource, by wording across resources. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workbench.core.unit import DESCRIPTION_PART
from workbench.storage.index_records import IndexedUnit

SHINGLE_CHARS = 3
SHARED_SHINGLES = 0.9
SIZE_PER_DIFFERENCE = 19
"""Sets that share 0.9 of their union U and differ in 0.1 U have 1.9 U members together: 19 for each difference."""
_SIGNATURE_BITS = 12
_MIX = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D], dtype=np.uint32)


@dataclass(frozen=True)
class Wording:
    """A unit with its distinct three-character shingles, case and white space apart; works in every script."""

    unit: IndexedUnit

    @cached_property
    def plain(self) -> str:
        """The text on one line, without case."""
        return " ".join(self.unit.text.casefold().split())

    @property
    def size(self) -> int:
        """How many shingles there are at most."""
        return max(1, len(self.plain) - SHINGLE_CHARS + 1)

    @cached_property
    def shingles(self) -> frozenset[str]:
        """Distinct runs of three characters; a text shorter than that is its own shingle."""
        return frozenset(self.plain[at : at + SHINGLE_CHARS] for at in range(self.size))

    @cached_property
    def signature(self) -> int:
        """A bit for each shingle, shared by some: two signatures differ in no more bits than the sets in members."""
        codes = np.frombuffer(self.plain.ljust(SHINGLE_CHARS).encode("utf-32-le"), dtype="<u4")
        mixed = codes[:-2] * _MIX[0] + codes[1:-1] * _MIX[1] + codes[2:] * _MIX[2]
        bits = np.zeros(1 << _SIGNATURE_BITS, dtype=np.bool_)
        bits[mixed >> (32 - _SIGNATURE_BITS)] = True
        return int.from_bytes(np.packbits(bits).tobytes())


def repeats(one: Wording, other: Wording) -> bool:
    """Whether two units say the same; symmetric.

    Same resource: half or more of the smaller byte span lies in the other. A description has the span of its whole
    resource but not its text, so it is compared by wording. Otherwise: the same content, or shingles shared in at least
    `SHARED_SHINGLES` of all that either has (Jaccard).
    """
    first, second = one.unit, other.unit
    if first.resource_id == second.resource_id and DESCRIPTION_PART not in (first.part, second.part):
        return _spans_overlap(first, second)
    return first.content_hash == second.content_hash or (_may_share(one, other) and _share(one, other))


def _spans_overlap(one: IndexedUnit, other: IndexedUnit) -> bool:
    a, b = one.span, other.span
    shared = min(a.byte_end, b.byte_end) - max(a.byte_start, b.byte_start)
    smaller = min(a.byte_end - a.byte_start, b.byte_end - b.byte_start)
    return shared > 0 and 2 * shared >= smaller


def _may_share(one: Wording, other: Wording) -> bool:
    """False only where `_share` is: most pairs are told apart without making their sets."""
    differences = (one.signature ^ other.signature).bit_count()
    return SIZE_PER_DIFFERENCE * differences <= one.size + other.size


def _share(one: Wording, other: Wording) -> bool:
    shared = len(one.shingles & other.shingles)
    return shared / (len(one.shingles) + len(other.shingles) - shared) >= SHARED_SHINGLES
