"""Four orders of one trace, and sets in BEIR layout as Markdown memories."""

from __future__ import annotations

import pytest

from tests.evaluation.recorded import candidate
from workbench.core.run import RecalledUnit, Trace
from workbench.evaluation.benchmark import Variant, resource_order, variant_order
from workbench.evaluation.judged import RankedUnit, ranked_units

TRACE = Trace(
    candidates=(
        candidate(1, exact_rank=None, bm25_rank=3, vector_rank=1, rerank_rank=2),
        candidate(2, exact_rank=1, bm25_rank=1, vector_rank=None, bm25_score=None, rerank_rank=1),
        candidate(3, exact_rank=None, bm25_rank=None, vector_rank=2, bm25_score=None),
        candidate(4, exact_rank=None, bm25_rank=2, vector_rank=None),
    ),
    fused_out=(RecalledUnit(unit_key="notes/5.md#@root", resource_id="notes/5.md", bm25_rank=4, vector_rank=3),),
)


@pytest.mark.parametrize(
    ("variant", "expected"),
    [
        (Variant.BM25, [2, 4, 1, 5]),
        (Variant.DENSE, [1, 3, 5]),
        (Variant.RRF, [1, 2, 3, 4]),
        (Variant.RERANKED, [2, 1, 3, 4]),
    ],
)
def test_each_variant_is_the_order_of_its_own_stage(variant: Variant, expected: list[int]) -> None:
    order = resource_order(variant_order(ranked_units(TRACE), variant))

    assert order == tuple(f"notes/{number}.md" for number in expected)


def test_a_resource_stands_where_its_first_unit_stands() -> None:
    trace = Trace(candidates=(candidate(1), candidate(2, resource_id="notes/1.md"), candidate(3)), fused_out=())

    assert resource_order(ranked_units(trace)) == ("notes/1.md", "notes/3.md")


def test_equal_ranks_stand_by_unit_key() -> None:
    units = [RankedUnit(key, "r", None, bm25_rank=1) for key in "bca"]

    assert [unit.unit_key for unit in variant_order(units, Variant.BM25)] == ["a", "b", "c"]
