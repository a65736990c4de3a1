"""`report`: how good the four orders are on the confirmed cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.common import JsonOption, ProjectOption, session
from workbench.cli.selection import CaseOption, SetOption, chosen
from workbench.cli.terminal import note, progress_bars, say, show_json, show_table
from workbench.core.text import counted
from workbench.storage.files import owner_only_folder

if TYPE_CHECKING:
    from workbench.evaluation.figures import Report, WarmLatency

OutOption = Annotated[Path | None, typer.Option("--out", help="Save report.json and cases.csv into this folder.")]
WarmOption = Annotated[
    int, typer.Option("--warm", min=0, help="Measure warm latency: each query so many times, with nothing else.")
]
SHOWN_AS_COUNTS = ("scope_violation@20", "stale_result@20")
SeedOption = Annotated[int, typer.Option(min=0, help="Of the draws behind intervals and tests.")]


def add_commands(app: typer.Typer) -> None:
    """Add this command to the root command."""
    app.command()(report)


def report(
    context: typer.Context,
    project: ProjectOption = None,
    set_name: SetOption = None,
    case: CaseOption = None,
    out: OutOption = None,
    seed: SeedOption = 0,
    warm: WarmOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Score the ready cases in four orders: means with 95 % intervals, and paired tests between the orders."""
    here = session(context, project, as_json)
    home = here.home()
    selection = chosen(here, home, set_name, case)
    if out is not None:
        owner_only_folder(out)
    with progress_bars(quiet=here.as_json) as progress:
        made = home.report(selection, seed=seed, warm=warm, progress=progress)
    if out is not None:
        from workbench.app.reports import save_report

        for file in save_report(made, out):
            note(f"saved: {file}")
    show_json(made) if here.as_json else show_report(made)


def show_report(made: Report) -> None:
    """The tables of a report and what has to be known beside them."""
    from workbench.evaluation.hits import BESIDE
    from workbench.evaluation.metrics import METRICS

    say(f"{made.origin}: {counted(made.cases, 'case')}, digest {made.set_digest[:12]}")
    show_table(("order", *METRICS), _means(made, METRICS), title="means with 95 % intervals")
    beside = [metric for metric in BESIDE if metric not in SHOWN_AS_COUNTS]
    show_table(("order", *beside, "violations", "stale"), _beside(made, beside), title="beside them")
    show_table(
        ("metric", "first", "second", "second - first", "p", "p (Holm)"),
        ((one.metric, one.first, one.second, one.difference.text("+"), one.p, one.p_holm) for one in made.tests),
        title="paired randomisation tests",
    )
    say(f"survival in the fragments: {made.survival.text()}")
    if made.trace_p50_us is not None and made.trace_p95_us is not None:
        say(f"latency in the traces: p50 {made.trace_p50_us / 1000:.1f} ms, p95 {made.trace_p95_us / 1000:.1f} ms")
    if made.warm is not None:
        _show_warm(made.warm)
    for one in made.notes:
        note(f"{one.code}: {one.detail}")


def _show_warm(made: WarmLatency) -> None:
    whole, engine = {"whole": made.whole}, made.engine or "none"
    show_table(
        ("warm", "p50 ms", "p95 ms"),
        ((name, one.p50_us / 1000, one.p95_us / 1000) for name, one in (whole | made.stages).items()),
        title=f"warm: {counted(made.cases, 'case')} × {made.repeats}, engine {engine}, alone in one process",
    )


def _means(made: Report, metrics: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for one in made.variants:
        yield one.variant, *(one.means[metric].text() for metric in metrics)


def _beside(made: Report, metrics: Sequence[str]) -> Iterator[tuple[str | int, ...]]:
    for one in made.variants:
        means = (f"{one.means[metric].mean:.3f}" for metric in metrics)
        yield one.variant, *means, one.scope_violations, one.stale_results
