"""A report's figures against numbers worked by hand and a second library, and what it says beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log2

import ir_measures
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.evaluation.judging import CORPUS, fused, judged, part, runs, unit, whole
from workbench.core.case import EvidenceRef
from workbench.core.errors import InputError
from workbench.evaluation.benchmark import Variant, variant_order
from workbench.evaluation.comparison import compare_reports
from workbench.evaluation.figures import CaseFigures, Report
from workbench.evaluation.judged import JudgedRun, RankedUnit
from workbench.evaluation.metrics import METRICS
from workbench.evaluation.report import build_report

FOUR_ORDERS = judged(
    unit(1, bm25_rank=3, vector_rank=1, rrf_rank=1, rerank_rank=4),
    unit(2, exact_rank=1, bm25_rank=1, vector_rank=4, rrf_rank=2, rerank_rank=3),
    unit(3, 0, bm25_rank=2, vector_rank=3, rrf_rank=3, rerank_rank=1),
    unit(3, 1, vector_rank=2, rrf_rank=4, rerank_rank=2),
    unit(5, resource_hash=None, bm25_rank=4),
    evidence=(part(1), whole(3)),
)
IDEAL = 1 + 1 / log2(3)
NO_CANDIDATES = judged(query="zeppelin", evidence=(whole(7),))


def report(*runs: JudgedRun, seed: int = 0) -> Report:
    return build_report(runs, origin="made by hand", seed=seed)


def row(of: Report, query: str) -> CaseFigures:
    return next(one for one in of.rows if one.query == query)


def codes(of: Report) -> set[str]:
    return {note.code for note in of.notes}


def mean(of: Report, variant: Variant, metric: str) -> float:
    return next(one for one in of.variants if one.variant == variant).means[metric].mean


@pytest.mark.spec("D9")
@pytest.mark.parametrize(
    ("variant", "hits", "ndcg", "mrr"),
    [
        # u2 (exact), u3.0, u1, u5: evidence at 2 and 3
        (Variant.BM25, (2, 3), (1 / log2(3) + 1 / log2(4)) / IDEAL, 1 / 2),
        # u1, u3.1, u3.0, u2: at 1 and 2; the second unit of r3 is no hit
        (Variant.DENSE, (1, 2), 1.0, 1.0),
        # u1, u2, u3.0, u3.1: at 1 and 3
        (Variant.RRF, (1, 3), (1 + 1 / log2(4)) / IDEAL, 1.0),
        # u3.0, u3.1, u2, u1: at 1 and 4
        (Variant.RERANKED, (1, 4), (1 + 1 / log2(5)) / IDEAL, 1.0),
    ],
)
def test_four_orders_score_as_worked_by_hand(variant: Variant, hits: tuple[int, ...], ndcg: float, mrr: float) -> None:
    figures = report(FOUR_ORDERS).rows[0]

    assert figures.hits[variant] == hits
    assert [figures.figures[variant][metric] for metric in METRICS] == pytest.approx([1.0, ndcg, mrr])


@pytest.mark.spec("D9")
@pytest.mark.field(130)
@pytest.mark.field(131)
@pytest.mark.field(134)
def test_a_case_without_candidates_scores_zero_and_counts_in_every_mean() -> None:
    made = report(FOUR_ORDERS, NO_CANDIDATES)

    assert made.cases == 2
    for variant in Variant:
        assert [row(made, "zeppelin").figures[variant][metric] for metric in METRICS] == [0.0, 0.0, 0.0]
        assert mean(made, variant, "recall@20") == 0.5
        assert mean(made, variant, "zero_hit") == 0.5
    assert mean(made, Variant.BM25, "mrr@10") == (1 / 2 + 0) / 2


@pytest.mark.field(135)
@pytest.mark.field(136)
def test_when_every_case_failed_the_headline_is_zero_and_not_missing() -> None:
    made = report(NO_CANDIDATES, judged(query="dirigible"))

    assert [mean(made, Variant.RRF, metric) for metric in METRICS] == [0.0, 0.0, 0.0]
    assert mean(made, Variant.RRF, "zero_hit") == 1.0
    assert made.survival.mean == 0.0


@pytest.mark.field(135)
def test_the_ideal_counts_the_evidence_that_was_not_returned() -> None:
    figures = report(judged(*fused(1), evidence=(whole(1), whole(2)))).rows[0].figures[Variant.RRF]

    assert figures["ndcg@10"] == pytest.approx(1 / IDEAL)  # 0.613 and not 1
    assert figures["recall@20"] == 0.5


@pytest.mark.field(137)
def test_evidence_beyond_the_tenth_counts_too() -> None:
    evidence = tuple(whole(number) for number in range(1, 16))

    figures = report(judged(*fused(*range(1, 13)), evidence=evidence)).rows[0].figures[Variant.RRF]

    assert figures["recall@20"] == pytest.approx(12 / 15)
    assert figures["ndcg@10"] == pytest.approx(1.0), "ten places can hold ten"


def documents(order: Sequence[RankedUnit], evidence: Sequence[EvidenceRef]) -> list[str]:
    """The order as a second library takes it: document ids, each evidence's own name where it is first met."""
    names = {(one.resource_id, one.unit_key) for one in evidence}
    found: list[str] = []
    for place, one in enumerate(order):
        here = [str(name) for name in ((one.resource_id, one.unit_key), (one.resource_id, None)) if name in names]
        found += [name for name in here if name not in found] or [f"nothing {place}"]
    return found


@pytest.mark.spec("D9")
@pytest.mark.field(132)
@given(drawn=st.lists(runs(), min_size=1, max_size=6))
@settings(max_examples=60)
def test_a_second_library_gives_the_same_figures(drawn: list[JudgedRun]) -> None:
    named = [replace(run, query=f"q{number}") for number, run in enumerate(drawn)]
    measures = {ir_measures.R @ 20: "recall@20", ir_measures.nDCG @ 10: "ndcg@10", ir_measures.RR @ 10: "mrr@10"}
    qrels = [
        ir_measures.Qrel(run.query, str((one.resource_id, one.unit_key)), 1) for run in named for one in run.evidence
    ]
    scored = [
        ir_measures.ScoredDoc(run.query, document, -float(place))
        for run in named
        for place, document in enumerate(documents(variant_order(run.ranked, Variant.RRF), run.evidence))
    ]
    second = {
        (one.query_id, measures[one.measure]): one.value for one in ir_measures.iter_calc(measures, qrels, scored)
    }

    made = report(*named)

    for figures in made.rows:
        for metric in METRICS:
            expected = second.get((figures.query, metric), 0.0)
            assert figures.figures[Variant.RRF][metric] == pytest.approx(expected, abs=1e-6)


@pytest.mark.field(141)
def test_no_ready_case_is_an_error_and_no_table_of_zeros() -> None:
    with pytest.raises(InputError, match="no case is ready") as refused:
        report()

    assert refused.value.code == "case_not_found"


@pytest.mark.field(142)
def test_a_corpus_that_twenty_results_cover_is_noted() -> None:
    small = {name: CORPUS[name] for name in list(CORPUS)[:20]}

    assert "k_covers_corpus" in codes(report(judged(*fused(1), corpus=small)))
    assert "k_covers_corpus" not in codes(report(judged(*fused(1))))


@pytest.mark.field(143)
def test_the_digest_is_of_queries_evidence_and_corpora_whatever_the_ids() -> None:
    run = judged(*fused(1, 2), evidence=(whole(1), part(2)))
    elsewhere = replace(
        run, case_id="other", run_id="other", project_id="other", latency_us=9, evidence=tuple(reversed(run.evidence))
    )
    changed = (
        replace(run, query="another"),
        replace(run, evidence=(whole(1),)),
        replace(run, corpus={**CORPUS, "r1": "edited"}),
    )

    digest = report(run).set_digest

    assert len(digest) == 64 and report(elsewhere).set_digest == digest
    assert digest not in {report(one).set_digest for one in changed}
    assert len({report(one).set_digest for one in changed}) == 3


@pytest.mark.field(132)
def test_the_same_runs_in_any_order_with_the_same_seed_are_the_same_json() -> None:
    runs = [judged(*fused(*range(number, number + 5)), query=f"q{number}") for number in range(1, 9)]

    first = report(*runs, FOUR_ORDERS, seed=3)

    assert first.model_dump_json() == report(FOUR_ORDERS, *reversed(runs), seed=3).model_dump_json()
    assert Report.model_validate_json(first.model_dump_json()) == first
    assert first.variants != report(*runs, FOUR_ORDERS, seed=4).variants


def test_orders_whose_stage_never_worked_are_named_and_have_no_figures() -> None:
    words = judged(unit(1, bm25_rank=1, rrf_rank=1))

    made = report(words)

    assert [one.variant for one in made.variants] == [Variant.BM25, Variant.RRF]
    assert {note.detail.partition(":")[0] for note in made.notes if note.code == "not_measured"} == {
        Variant.DENSE,
        Variant.RERANKED,
    }
    assert {(one.first, one.second) for one in made.tests} == {(Variant.BM25, Variant.RRF)}


def test_a_case_that_was_not_reranked_counts_in_its_fused_order_and_is_noted() -> None:
    made = report(FOUR_ORDERS, judged(*fused(2, 1), query="not reranked"))

    figures = row(made, "not reranked").figures
    assert figures[Variant.RERANKED] == figures[Variant.RRF]
    assert [note.detail for note in made.notes if note.code == "partly_measured"] == [
        "b4_reranked: 1 of 2 cases have no rerank rank; they count in their RRF order."
    ]


def test_every_pair_is_tested_in_every_ranking_metric_as_one_family() -> None:
    made = report(FOUR_ORDERS, *(judged(*fused(2, 1), query=f"q{number}") for number in range(5)))

    assert len(made.tests) == 6 * len(METRICS)
    by_p = sorted(made.tests, key=lambda test: test.p)
    assert by_p[0].p_holm == pytest.approx(min(1.0, by_p[0].p * 18))
    assert all(test.p <= test.p_holm <= 1 for test in made.tests)


def test_intervals_hold_their_means() -> None:
    made = report(*(judged(*fused(1 + number % 3, 1), query=f"q{number}") for number in range(12)))

    for figures in made.variants:
        for interval in figures.means.values():
            assert interval.low <= interval.mean <= interval.high


def test_latencies_are_told_as_those_of_the_traces_by_nearest_rank() -> None:
    made = report(*(judged(*fused(1), query=f"q{number}", latency_us=number * 10) for number in range(1, 21)))

    assert (made.trace_p50_us, made.trace_p95_us, made.warm) == (100, 190, None)
    assert report(judged(*fused(1), latency_us=None)).trace_p50_us is None


def test_survival_is_over_the_fragments_and_not_over_the_ranks() -> None:
    made = report(judged(*fused(1, 2, 3), evidence=(whole(1), whole(3)), fragments=(("u1.0", "r1"),)))

    assert (made.survival.mean, made.rows[0].survival) == (0.5, 0.5)
    assert made.rows[0].figures[Variant.RRF]["recall@20"] == 1.0


def test_runs_of_several_engines_are_noted_and_counted() -> None:
    made = report(judged(*fused(1), engine="e5"), judged(*fused(1), query="other"))

    assert made.engines == {"e5": 1, "none": 1} and "several_engines" in codes(made)


def test_a_comparison_pairs_cases_and_says_which_rose_and_fell() -> None:
    queries = [f"q{number}" for number in range(6)]
    before = report(*(judged(*fused(2, 1), query=query) for query in queries))
    after = report(
        *(judged(*fused(1, 2), query=query) for query in queries[:4]),
        *(judged(*fused(3, 4), query=query) for query in queries[4:5]),
        judged(*fused(2, 1), query="q5"),
    )

    compared = compare_reports(before, after)

    (change,) = [one for one in compared.changes if (one.order, one.metric) == (Variant.RRF, "mrr@10")]
    assert (change.before, change.after) == pytest.approx((1 / 2, (4 * 1 + 0 + 1 / 2) / 6))
    assert (change.better, change.worse) == (4, 1)
    assert change.difference.mean == pytest.approx((4 * 0.5 - 0.5) / 6)
    assert compared.changes[-1].metric == "survival"


def test_reports_of_different_cases_are_not_compared() -> None:
    with pytest.raises(InputError, match="different cases"):
        compare_reports(report(FOUR_ORDERS), report(NO_CANDIDATES))


def test_an_order_that_only_one_report_measured_is_named_and_not_compared() -> None:
    reranked = replace(FOUR_ORDERS, ranked=tuple(one._replace(rerank_rank=None) for one in FOUR_ORDERS.ranked))

    compared = compare_reports(report(FOUR_ORDERS), report(reranked))

    assert [note.code for note in compared.notes] == ["not_compared"]
    assert Variant.RERANKED not in {one.order for one in compared.changes}
