from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from workbench.storage.posting_blocks import (
    BLOCK,
    COUNTS,
    LENGTHS,
    OFFSETS,
    amend_block,
    amend_posting,
    merge_blocks,
)

UNITS = st.dictionaries(st.integers(0, BLOCK - 1), st.tuples(st.integers(0, 65_535), st.integers(1, 2)), max_size=8)


def test_blocks_merge_by_rowid_with_zeros_between() -> None:
    rows = [(0, np.array([0, 7], LENGTHS).tobytes()), (2, np.array([9], LENGTHS).tobytes())]
    merged = merge_blocks(rows, LENGTHS)
    assert len(merged) == 2 * BLOCK + 1
    assert {int(at): int(merged[at]) for at in np.flatnonzero(merged)} == {1: 7, 2 * BLOCK: 9}
    assert len(merge_blocks([], LENGTHS)) == 0


def test_a_posting_loses_units_and_gains_later_ones() -> None:
    rowids, tfs = np.array([1, 5, 9], OFFSETS).tobytes(), np.array([10, 50, 90], COUNTS).tobytes()
    n, rowids, tfs = amend_posting(rowids, tfs, np.array([5]), np.array([12]), np.array([120]))
    assert n == 3
    assert np.frombuffer(rowids, OFFSETS).tolist() == [1, 9, 12]
    assert np.frombuffer(tfs, COUNTS).tolist() == [10, 90, 120]


@given(before=UNITS, after=UNITS)
def test_a_block_holds_its_units_and_ends_at_the_last(
    before: dict[int, tuple[int, int]], after: dict[int, tuple[int, int]]
) -> None:
    lengths, scopes = b"", b""
    gone = dict.fromkeys(before, (0, 0))
    for change in (before, gone | after):
        if change:
            values = [np.array(column) for column in zip(*change.values(), strict=True)]
            lengths, scopes = amend_block(lengths, scopes, np.array(list(change)), *values)
    found = np.frombuffer(scopes, COUNTS)
    assert {int(at): int(found[at]) for at in np.flatnonzero(found)} == {at: code for at, (_, code) in after.items()}
    assert len(found) == max(after, default=-1) + 1 == len(np.frombuffer(lengths, LENGTHS))
    assert all(int(np.frombuffer(lengths, LENGTHS)[at]) == length for at, (length, _) in after.items())
