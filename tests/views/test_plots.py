"""What holds of every picture: colours that tell apart and stand out, any query drawn as text, and words beside it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from tests.evaluation.judging import fused, judged, whole
from tests.evaluation.recorded import candidate, dropped, fragment, result, trace
from workbench.core.candidate import Candidate, Disposition, ExclusionReason
from workbench.core.run import RunRecord, RunState, RunSummary
from workbench.evaluation.benchmark import Variant
from workbench.evaluation.figures import Report
from workbench.evaluation.report import build_report
from workbench.views import plots
from workbench.views.plots.look import GREY, HATCHES, INK, PALETTE, PAPER, png

HOSTILE = r"costs $5 or $\frac{$ <script>alert(1)</script> 发布 🦜"
DEUTAN = ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969))
PROTAN = ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052))
"""Linear RGB as seen without the green or the red cones (Machado, Oliveira and Fernandes 2009, severity 1)."""


def linear(colour: str) -> tuple[float, ...]:
    return tuple(one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in to_rgb(colour))


def luminance(colour: str) -> float:
    """WCAG 2's relative luminance."""
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear(colour), strict=True))


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def seen(colour: str, sight: tuple[tuple[float, ...], ...]) -> tuple[float, ...]:
    return tuple(sum(part * of for part, of in zip(row, linear(colour), strict=True)) for row in sight)


def record(query: str, *candidates: Candidate, state: RunState = RunState.SUCCEEDED) -> RunRecord:
    """A run with these candidates; one that failed has neither budget nor candidates."""
    chosen = tuple(fragment(one) for one in candidates if one.disposition is Disposition.SELECTED)
    made = result(*chosen)
    summary = RunSummary(
        run_id="ab",
        project_id="notes",
        request_key="key",
        query=query,
        state=state,
        started_at="2026-01-01T00:00:00.000Z",
        latency_us=2_000,
        index=made.index,
        ordering=made.ordering,
        stage_us=made.stage_us,
        degradations=(),
        candidate_count=len(candidates),
        fragment_count=len(chosen),
        budget=made.budget if state is RunState.SUCCEEDED else None,
        pinned=False,
    )
    return RunRecord(summary=summary, trace=trace(*candidates), fragments=chosen, corpus_size=3, manifest=1)


def report(query: str = "how") -> Report:
    """Three cases: evidence first, third and nowhere."""
    runs = (
        judged(*fused(1, 2, 3), query=query),
        judged(*fused(2, 3, 1), query="third"),
        judged(query="never", evidence=(whole(9),)),
    )
    return build_report(runs, origin="made by hand")


def runs(query: str) -> list[RunRecord]:
    return [record(query, candidate(1), candidate(2, bm25_rank=60), dropped(3, ExclusionReason.TOKEN_BUDGET))]


PICTURES: dict[str, Callable[[str], Figure]] = {
    "rank_movement": lambda query: plots.rank_movement(runs(query)[0]),
    "budget_bars": lambda query: plots.budget_bars(runs(query)),
    "stage_times": lambda query: plots.stage_times(runs(query)),
    "recall_curve": lambda query: plots.recall_curve(report(query)),
    "case_differences": lambda query: plots.case_differences(report(query), Variant.BM25, Variant.RRF),
    "change_by_case": lambda query: plots.change_by_case(report(query), report(query), Variant.RRF),
    "order_means": lambda query: plots.order_means(report(query)),
    "setting_means": lambda query: plots.setting_means(report(query), report(query), Variant.RRF),
    "latency": lambda query: plots.latency(report(query)),
}


def test_every_picture_is_looked_at_here() -> None:
    assert {*PICTURES, "picture", "saved"} == set(plots.__all__)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_says_in_words_what_it_shows_and_brings_its_own_ground(name: str) -> None:
    figure = PICTURES[name]("how are hits fused")

    assert len(plots.picture(figure).alt) > 30
    assert to_rgb(figure.get_facecolor()) == to_rgb(PAPER)
    assert all(to_rgb(axes.get_facecolor()) == to_rgb(PAPER) for axes in figure.axes)


@pytest.mark.parametrize("name", PICTURES)
def test_dollars_markup_chinese_and_signs_without_a_glyph_are_drawn_as_they_are(name: str) -> None:
    assert png(PICTURES[name](HOSTILE)).startswith(b"\x89PNG")


def test_every_colour_stands_out_from_the_ground() -> None:
    assert min(contrast(colour, PAPER) for colour in PALETTE) > 2.9
    assert min(contrast(colour, PAPER) for colour in (INK, GREY)) >= 4.5


@pytest.mark.parametrize("sight", [DEUTAN, PROTAN])
def test_colours_differ_without_red_or_green_cones(sight: tuple[tuple[float, ...], ...]) -> None:
    views = [seen(colour, sight) for colour in PALETTE]

    for place, one in enumerate(views):
        for other in views[:place]:
            assert sum((a - b) ** 2 for a, b in zip(one, other, strict=True)) ** 0.5 > 0.1


def test_chinese_queries_and_long_reasons_leave_room_for_the_bars() -> None:
    reasons = [*ExclusionReason][:3]
    shown = [candidate(1), *(dropped(place, reason) for place, reason in enumerate(reasons, start=2))]
    made = [record("发布之前要检查什么、谁来确认值班交接、回滚方案写在哪里、告警静默由谁负责" * 9, *shown)]

    for figure in (plots.budget_bars(made), plots.stage_times(made)):
        png(figure)  # a layout that does not fit is a warning, hence an error
        (axes,) = figure.axes
        assert axes.get_position().width > 0.5
        within = figure.bbox.padded(1)
        assert all(within.contains(*text.get_window_extent().p1) for text in axes.texts)


def test_a_title_is_cut_by_its_width_and_not_by_its_characters() -> None:
    figure = plots.rank_movement(record("发布之前要检查什么、谁来确认值班交接" * 20, candidate(1)))
    png(figure)
    assert figure.axes[0].title.get_window_extent().x1 <= figure.bbox.x1
    assert len(figure.get_label()) < 300


def test_stages_differ_by_more_than_colour() -> None:
    """Printed in grey, two stages of one hatch would be the same."""
    (axes,) = plots.stage_times(runs("how")).axes
    looks = [(bar[0].get_facecolor(), bar[0].get_hatch()) for bar in axes.containers]
    assert len(looks) > 2 and len({hatch for _, hatch in looks}) == min(len(looks), len(HATCHES) + 1)
    assert len(set(looks)) == len(looks)


@pytest.mark.parametrize(
    ("figure", "says"),
    [
        (plots.budget_bars([]), "No run"),
        (plots.stage_times([]), "No run"),
        (plots.rank_movement(record("how")), "No candidate"),
        (plots.rank_movement(record("how", state=RunState.FAILED)), "No candidate"),
    ],
)
def test_a_picture_of_nothing_says_so(figure: Figure, says: str) -> None:
    (axes,) = figure.axes
    assert [text.get_text() for text in axes.texts] == [f"{says}."]
    assert says in figure.get_label()
    assert not axes.axison


def test_the_words_of_a_rank_picture_name_who_is_in_front() -> None:
    figure = plots.rank_movement(record("how", candidate(1), candidate(2)))
    assert f"In front: {candidate(1).path}, {candidate(2).path}." in figure.get_label()


def test_a_budget_bar_has_a_piece_a_fragment_and_a_mark_at_the_budget() -> None:
    kept = [candidate(1), candidate(2)]
    figure = plots.budget_bars([record("how", *kept, dropped(3, ExclusionReason.TOKEN_BUDGET))])

    (axes,) = figure.axes
    assert [bar.get_width() for bar in axes.patches] == [one.token_count for one in kept]
    assert [bar.get_x() for bar in axes.patches] == [0, kept[0].token_count]
    assert list(axes.lines[0].get_xdata()) == [2_400, 2_400]
    assert "1 token_budget" in axes.texts[0].get_text() and "1 token_budget" in figure.get_label()


def test_a_failed_run_has_an_empty_bar_that_says_so() -> None:
    (axes,) = plots.budget_bars([record("how", state=RunState.FAILED)]).axes

    assert not axes.patches and not axes.lines
    assert axes.texts[0].get_text() == "failed, nothing handed out"


def test_the_recall_curve_lies_within_its_interval_and_both_end_at_the_reports_own() -> None:
    made = report()
    (axes,) = plots.recall_curve(made).axes

    for line, band, one in zip(axes.lines, axes.collections, made.variants, strict=False):
        (path,) = band.get_paths()
        edges = {k: [y for x, y in path.vertices if x == k] for k in range(1, 21)}
        for k, mean in zip(line.get_xdata(), line.get_ydata(), strict=True):
            assert min(edges[k]) <= mean <= max(edges[k])
        recall = one.means["recall@20"]
        assert (min(edges[20]), line.get_ydata()[-1], max(edges[20])) == pytest.approx(
            (recall.low, recall.mean, recall.high)
        )


def test_deep_ranks_stand_closer_together_and_keep_their_number() -> None:
    shown = [candidate(rank, bm25_rank=61 - rank) for rank in range(1, 8)]
    (axes,) = plots.rank_movement(record("how", *shown)).axes

    assert [line.get_ydata()[0] for line in axes.lines] == [61 - rank for rank in range(1, 8)]
    places = axes.transData.transform([(0, 1), (0, 2), (0, 41), (0, 42)])[:, 1]
    assert places[0] - places[1] == pytest.approx(4 * (places[2] - places[3]))
