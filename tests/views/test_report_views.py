"""Tables and plots of a report say what the report says, in colours and markers that differ."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.evaluation.judging import fused, judged, unit, whole
from workbench.evaluation.benchmark import Variant
from workbench.evaluation.figures import Report
from workbench.evaluation.report import build_report
from workbench.views import plots, report_tables, tables
from workbench.views.plots.reports import LOOKS

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def report() -> Report:
    """Four cases: found first, found third, found by words alone, and not at all."""
    return build_report(
        [
            judged(*fused(1, 2, 3), query=HOSTILE, latency_us=2_000),
            judged(*fused(2, 3, 1), query="third"),
            judged(unit(1, bm25_rank=1, rrf_rank=2), unit(2, vector_rank=1, rrf_rank=1), query="words"),
            judged(query="zeppelin", evidence=(whole(9),), latency_us=None),
        ],
        origin="made by hand",
    )


def test_the_means_are_those_of_the_report_with_their_intervals(report: Report) -> None:
    table = report_tables.means_table(report).set_index("order")

    mean = report.variants[0].means["mrr@10"]
    assert list(table.index) == ["b1_bm25", "b2_dense_vector", "b3_hybrid_rrf"]
    assert table.loc["b1_bm25", "mrr@10"] == f"{(1 + 1 / 3 + 1 + 0) / 4:.3f} [{mean.low:.3f}, {mean.high:.3f}]"


def test_every_test_and_every_case_has_its_row(report: Report) -> None:
    tests, cases = report_tables.tests_table(report), report_tables.cases_table(report)

    assert tests["p (Holm)"].tolist() == [one.p_holm for one in report.tests]
    assert cases["query"].tolist() == [row.query for row in report.rows]
    assert cases["b3_hybrid_rrf ndcg@10"].tolist() == [row.figures[Variant.RRF]["ndcg@10"] for row in report.rows]
    assert cases["latency_ms"].isna().sum() == 1


def test_no_markup_of_a_query_is_rendered(report: Report) -> None:
    html = tables.shown(report_tables.cases_table(report)).to_html()

    assert "&lt;script&gt;" in html and "<script" not in html


def test_an_order_has_one_colour_and_one_marker_and_no_other_has_them() -> None:
    assert set(LOOKS) == set(Variant)
    for looks in zip(*LOOKS.values(), strict=True):
        assert len(set(looks)) == len(Variant)


def test_the_recall_curve_ends_at_recall_at_twenty_and_never_falls(report: Report) -> None:
    axes = plots.recall_curve(report).axes[0]

    for line, one in zip(axes.lines, report.variants, strict=False):
        curve = list(line.get_ydata())
        assert curve == sorted(curve)
        assert curve[-1] == pytest.approx(one.means["recall@20"].mean)


def test_the_differences_are_sorted_and_counted(report: Report) -> None:
    axes = plots.case_differences(report, Variant.DENSE, Variant.RRF, "mrr@10").axes[0]

    assert [bar.get_height() for bar in axes.patches] == [0.5, 0.0, 0.0, 0.0]
    assert "1 better, 3 equal, 0 worse" in axes.get_title(loc="left")


def test_means_are_drawn_with_their_figures(report: Report) -> None:
    panels = plots.order_means(report).axes

    assert [panel.get_title(loc="left") for panel in panels] == ["recall@20", "ndcg@10", "mrr@10"]
    assert [text.get_text() for text in panels[0].texts] == [
        f"{one.means['recall@20'].mean:.3f}" for one in report.variants
    ]


def test_latency_is_called_that_of_the_recorded_runs(report: Report) -> None:
    axes = plots.latency(report).axes[0]

    assert "recorded" in axes.get_title(loc="left") and "not a warm benchmark" in axes.get_title(loc="left")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["p50 1.0 ms", "p95 2.0 ms"]


def test_a_report_without_latencies_is_drawn_too() -> None:
    made = build_report([judged(*fused(1), latency_us=None)], origin="made by hand")

    assert plots.latency(made).axes


def test_a_saved_picture_is_the_one_that_is_shown(report: Report, tmp_path: Path) -> None:
    image = plots.saved(plots.recall_curve(report), tmp_path / "new" / "recall.png")

    assert (tmp_path / "new" / "recall.png").read_bytes() == image.data
    assert image.data.startswith(b"\x89PNG")
