"""Tables and plots show a run as it is: nothing missing becomes a number, and no markup of a memory is rendered."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.app import Home, Project
from workbench.core.activation import ActivationRequest
from workbench.core.run import RunRecord
from workbench.views import plots, tables
from workbench.views.diagnostics.indexes import compared_rows

HOSTILE = "<script>alert(1)</script>"
PAGES = {
    "a.md": f"# Tea\n\nGreen tea {HOSTILE} and water.\n",
    "b.md": "# Coffee <img src=x onerror=alert(2)>\n\nBeans, water & a filter.\n",
    "c.md": "# 发布\n\n发布之前检查迁移，喝茶。\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Three pages, indexed without an embedding engine, so that no candidate has a dense rank."""
    root = tmp_path / "memory"
    root.mkdir()
    for name, text in PAGES.items():
        (root / name).write_text(text, encoding="utf-8")
    project = Home.open(tmp_path / "home", engine="none").project(root)
    project.refresh()
    return project


def ask(project: Project, query: str) -> RunRecord:
    result = project.activate(ActivationRequest(query=query))
    return project.home.history.get(result.run_id or "")


@pytest.mark.spec("T3-5")
def test_a_rank_that_no_stage_gave_stays_missing_and_is_never_zero(project: Project) -> None:
    table = tables.candidates_table(ask(project, "green water"))

    assert table["vector_rank"].isna().all() and table["vector_score"].isna().all()
    assert table["rerank_rank"].isna().all()
    assert table["bm25_rank"].tolist() == [1, 2]
    assert table["final_rank"].tolist() == [1, 2]
    html = tables.shown(table).to_html()
    assert "–" in html and "nan" not in html.lower() and "&lt;NA" not in html


def test_the_table_says_what_the_trace_says(project: Project) -> None:
    record = ask(project, "water")

    table = tables.candidates_table(record)

    assert tuple(table.columns) == tables.CANDIDATE_COLUMNS
    candidates = record.trace.candidates
    assert table["resource_id"].tolist() == [one.resource_id for one in candidates]
    assert table["rrf_score"].tolist() == [one.rrf_score for one in candidates]
    assert table["disposition"].tolist() == [str(one.disposition) for one in candidates]


def test_markup_of_a_memory_is_shown_as_text(project: Project) -> None:
    result = project.activate(ActivationRequest(query="water tea"))
    record = project.home.history.get(result.run_id or "")

    for table in (
        tables.candidates_table(record),
        tables.fragments_table(result),
        tables.runs_table([record]),
        tables.values_table(memory=HOSTILE),
    ):
        html = tables.shown(table, HOSTILE).to_html()
        assert "&lt;script&gt;" in html
        assert "<script" not in html and "<img" not in html


def test_an_answer_without_candidates_is_an_empty_table_with_its_columns(project: Project) -> None:
    record = ask(project, "zeppelin")

    assert record.trace.candidates == ()
    assert tuple(tables.candidates_table(record).columns) == tables.CANDIDATE_COLUMNS
    assert len(tables.candidates_table(record)) == 0
    assert tables.shown(tables.candidates_table(record)).to_html()


def test_a_build_is_shown_one_figure_a_row_with_its_phases(project: Project) -> None:
    (project.root / "d.md").write_text("# Milk\n\nOat.\n", encoding="utf-8")

    table = tables.build_table(project.refresh()).set_index("what")["value"]

    assert (table["sources_new"], table["units_added"], table["encoded"]) == ("1", "1", "0")
    assert "seconds: publish" in table.index


def test_rank_movement_draws_one_line_a_candidate_and_only_stages_that_saw_one(project: Project) -> None:
    record = ask(project, "water tea 发布")

    figure = plots.rank_movement(record, first=2)

    (axes,) = figure.axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["BM25", "RRF", "final"]
    assert len(axes.lines) == 2
    assert axes.get_ylabel() == "rank" and axes.yaxis_inverted()
    assert "water tea 发布" in axes.get_title(loc="left")
    assert len(axes.texts) == 2


def test_a_candidate_that_a_stage_did_not_see_has_no_point_there(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    root.mkdir()
    for name, text in PAGES.items():
        (root / name).write_text(text, encoding="utf-8")
    project = Home.open(tmp_path / "fake-home", engine="fake").project(root)
    project.refresh()
    record = ask(project, "filter")

    axes = plots.rank_movement(record).axes[0]

    stages = [tick.get_text() for tick in axes.get_xticklabels()]
    assert stages == ["BM25", "dense", "RRF", "final"]
    for line, candidate in zip(axes.lines, record.trace.candidates, strict=True):
        ranks = (candidate.bm25_rank, candidate.vector_rank, candidate.rrf_rank, candidate.final_rank)
        expected = [(place, rank) for place, rank in enumerate(ranks) if rank is not None]
        assert list(zip(line.get_xdata(), line.get_ydata(), strict=True)) == expected
    assert any(candidate.bm25_rank is None for candidate in record.trace.candidates)


def test_stage_times_are_one_bar_a_run_in_milliseconds(project: Project) -> None:
    records = [ask(project, "water"), ask(project, "<script>tea")]

    figure = plots.stage_times(records)

    (axes,) = figure.axes
    assert axes.get_xlabel() == "milliseconds"
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["water", "<script>tea"]
    total_ms = sum(records[0].summary.stage_us.values()) / 1000
    drawn = sum(bar.get_width() for bar in axes.patches if bar.get_y() < 0.5)
    assert drawn == pytest.approx(total_ms)


def test_the_same_question_twice_is_two_bars(project: Project) -> None:
    figure = plots.stage_times([ask(project, "water"), ask(project, "water")])

    assert len(figure.axes[0].get_yticklabels()) == 2


@pytest.mark.parametrize("records", [0, 1])
def test_plots_of_nothing_are_figures_too(project: Project, records: int) -> None:
    found = [ask(project, "zeppelin")] * records

    assert plots.stage_times(found).axes
    if found:
        assert plots.rank_movement(found[0]).axes


def test_a_picture_is_kept_as_png_with_what_it_shows_in_words(project: Project) -> None:
    figure = plots.rank_movement(ask(project, "water"))

    image = plots.picture(figure)

    assert image.data.startswith(b"\x89PNG")
    assert "water" in image.alt


def test_an_index_is_one_row_beside_its_memory_and_one_that_was_never_built_has_no_figures(
    project: Project, tmp_path: Path
) -> None:
    (project.root / "d.md").write_text(HOSTILE, encoding="utf-8")
    (tmp_path / "fresh").mkdir()

    table = tables.indexes_table(compared_rows([project, project.home.project(tmp_path / "fresh")]))

    assert table["state"].tolist() == ["behind", "none"]
    assert table["new"].tolist() == [1, 0]
    assert table["resources"].tolist()[0] == 3 and table["resources"].isna().tolist() == [False, True]
    assert tables.indexes_table([]).empty
