"""Two reports side by side: the tables and plots pair each case with itself, whatever order the reports have."""

from __future__ import annotations

import pandas as pd
import pytest

from tests.evaluation.judging import fused, judged, whole
from workbench.evaluation.benchmark import Variant
from workbench.evaluation.comparison import compare_reports
from workbench.evaluation.figures import Report
from workbench.evaluation.judged import JudgedRun
from workbench.evaluation.report import build_report
from workbench.views import comparison, plots, tables

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def reports() -> tuple[Report, Report]:
    """Evidence is unit 1: for the hostile query found first and then third, for the next the other way round."""
    before = [
        judged(*fused(1, 2, 3), query=HOSTILE),
        judged(*fused(2, 3, 1), query="gained"),
        judged(*fused(1, 2), query="kept"),
        judged(query="never", evidence=(whole(9),)),
    ]
    after: list[JudgedRun] = [
        judged(query="never", evidence=(whole(9),)),
        judged(*fused(2, 3, 1), query=HOSTILE),
        judged(*fused(1, 2, 3), query="gained"),
        judged(*fused(1, 2), query="kept"),
    ]
    return build_report(before, origin="A"), build_report(after, origin="B")


def test_each_case_stands_beside_itself_with_the_greatest_change_first(reports: tuple[Report, Report]) -> None:
    table = comparison.cases_table(*reports, Variant.RRF, "mrr@10").set_index("query")

    assert table["B - A"].abs().is_monotonic_decreasing
    assert table.loc[HOSTILE, ["A first hit", "B first hit"]].tolist() == [1, 3]
    assert table.loc["gained", "B - A"] == pytest.approx(1 - 1 / 3)
    assert pd.isna(table.loc["never", "A first hit"])


def test_a_case_flips_when_its_evidence_is_near_the_top_in_one_setting_only(reports: tuple[Report, Report]) -> None:
    assert set(comparison.flips(*reports, Variant.RRF, 2)["query"]) == {HOSTILE, "gained"}
    assert comparison.flips(*reports, Variant.RRF, 3).empty


def test_the_changes_are_those_of_the_comparison(reports: tuple[Report, Report]) -> None:
    compared = compare_reports(*reports)
    table = comparison.changes_table(compared)
    assert table["p (Holm)"].tolist() == [one.p_holm for one in compared.changes]
    assert table["A"].tolist() == [one.before for one in compared.changes]
    fused_mrr = table[(table["order"] == "b3_hybrid_rrf") & (table["metric"] == "mrr@10")]
    assert fused_mrr[["better", "worse"]].to_numpy().tolist() == [[1, 1]]


def test_the_means_of_both_settings_stand_under_each_other(reports: tuple[Report, Report]) -> None:
    table = comparison.means_table(*reports)
    orders = ["b1_bm25", "b2_dense_vector", "b3_hybrid_rrf", "fragments"]
    assert list(zip(table["order"], table["setting"], strict=True)) == [(o, s) for o in orders for s in "AB"]


def test_the_plots_show_both_settings_and_every_case(reports: tuple[Report, Report]) -> None:
    bars = plots.change_by_case(*reports, Variant.RRF, "mrr@10").axes[0]
    heights = [bar.get_height() for bar in bars.patches]
    assert heights == pytest.approx([2 / 3, 0, 0, -2 / 3])
    assert "1 better, 2 equal, 1 worse" in bars.get_title(loc="left")

    panels = plots.setting_means(*reports, Variant.RRF).axes
    assert [panel.get_title(loc="left") for panel in panels] == ["recall@20", "ndcg@10", "mrr@10"]
    assert [label.get_text() for label in panels[0].get_yticklabels()] == ["A", "B"]


def test_no_markup_of_a_query_is_rendered(reports: tuple[Report, Report]) -> None:
    html = tables.shown(comparison.cases_table(*reports, Variant.RRF)).to_html()
    assert "&lt;script&gt;" in html and "<script" not in html
