"""How postings, lengths and scopes lie in a block of neighbouring unit rowids. Pure; only this module knows the bytes.

A block is `BLOCK` rowids, so that an offset fits 16 bits and an edit rewrites the rows of one block only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

BLOCK_BITS = 14
BLOCK = 1 << BLOCK_BITS
MOST_OCCURRENCES, MOST_TERMS = 255, 65_535
OFFSETS, COUNTS, LENGTHS = np.dtype("<u2"), np.dtype("u1"), np.dtype("<u2")

Array = npt.NDArray[Any]


def block_of(rowid: int) -> int:
    """The block that a unit rowid lies in."""
    return rowid >> BLOCK_BITS


def merge_blocks(rows: Sequence[tuple[int, bytes]], dtype: npt.DTypeLike) -> Array:
    """One array by rowid from ascending (block, values) rows; zeros where a block has no value."""
    if not rows:
        return np.zeros(0, dtype)
    last_block, last_values = rows[-1]
    merged = np.zeros(last_block * BLOCK + len(last_values) // np.dtype(dtype).itemsize, dtype)
    for block, raw in rows:
        values = np.frombuffer(raw, dtype)
        merged[block * BLOCK : block * BLOCK + len(values)] = values
    return merged


def merge_postings(rows: Sequence[tuple[int, bytes, bytes]]) -> tuple[Array, Array]:
    """(rowids int64, tfs uint8) of one term from its ascending (block, offsets, tfs) rows."""
    blocks, offsets, tfs = zip(*rows, strict=True)
    starts = np.repeat(np.array(blocks, np.int64) * BLOCK, [len(one) for one in tfs])
    return starts + np.frombuffer(b"".join(offsets), OFFSETS), np.frombuffer(b"".join(tfs), COUNTS)


def amend_block(lengths: bytes, scopes: bytes, offsets: Array, new: Array, codes: Array) -> tuple[bytes, bytes]:
    """(lengths, scopes) of a block with those at `offsets` replaced; both end at the last unit, empty without one."""
    old = np.frombuffer(scopes, COUNTS)
    size = max(len(old), int(offsets.max()) + 1)
    amended_lengths, amended_scopes = np.zeros(size, LENGTHS), np.zeros(size, COUNTS)
    amended_lengths[: len(old)], amended_scopes[: len(old)] = np.frombuffer(lengths, LENGTHS), old
    amended_lengths[offsets], amended_scopes[offsets] = new, codes
    units = np.flatnonzero(amended_scopes)
    end = int(units[-1]) + 1 if len(units) else 0
    return amended_lengths[:end].tobytes(), amended_scopes[:end].tobytes()


def amend_posting(rowids: bytes, tfs: bytes, gone: Array, offsets: Array, counts: Array) -> tuple[int, bytes, bytes]:
    """(n, rowids, tfs) of a posting without the offsets `gone` and with new ones, which lie above all of the old."""
    old_offsets, old_counts = np.frombuffer(rowids, OFFSETS), np.frombuffer(tfs, COUNTS)
    if len(gone):
        kept = ~np.isin(old_offsets, gone)
        old_offsets, old_counts = old_offsets[kept], old_counts[kept]
    merged = np.concatenate([old_offsets, offsets.astype(OFFSETS)])
    return len(merged), merged.tobytes(), np.concatenate([old_counts, counts.astype(COUNTS)]).tobytes()
