"""`replay`: a changed setting judged on the evidence that was confirmed before, over the corpora of then."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.common import JsonOption, ProjectOption, session
from workbench.cli.report import SeedOption, show_report
from workbench.cli.selection import CaseOption, SetOption, chosen
from workbench.cli.terminal import note, progress_bars, say, show_json, show_table, write_text
from workbench.core.errors import InputError
from workbench.core.settings import Lexical
from workbench.core.text import counted, one_line
from workbench.storage.files import owner_only_folder

if TYPE_CHECKING:
    from workbench.evaluation.figures import Comparison
    from workbench.evaluation.replay import ReplayOutcome

EngineOption = Annotated[str | None, typer.Option("--engine", help="Catalogue entry or folder; `none` for none.")]
LexicalOption = Annotated[Lexical | None, typer.Option("--lexical", help="The lexical arm.")]
CrossEncoderOption = Annotated[
    bool | None, typer.Option("--cross-encoder/--no-cross-encoder", help="Rerank, or keep the fused order.")
]
LimitOption = Annotated[
    list[str] | None, typer.Option("--limit", metavar="NAME=VALUE", help="One limit; may be repeated.")
]
OutOption = Annotated[
    Path | None, typer.Option("--out", help="Save both reports and their comparison into this folder.")
]
_LIMIT = re.compile("[0-9]{1,18}")


def add_commands(app: typer.Typer) -> None:
    """Add this command to the root command."""
    app.command()(replay)


def replay(
    context: typer.Context,
    project: ProjectOption = None,
    set_name: SetOption = None,
    case: CaseOption = None,
    engine: EngineOption = None,
    lexical: LexicalOption = None,
    cross_encoder: CrossEncoderOption = None,
    limit: LimitOption = None,
    out: OutOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Retrieve the ready cases anew with another setting, and compare it with the runs that they were made from.

    What is not said stays as the home's settings and the source run have it. Neither the index of the project nor its
    history is touched.
    """
    from workbench.evaluation.comparison import compare_reports
    from workbench.evaluation.replay import ReplayConfig, ReplayOutcome

    here = session(context, project, as_json)
    home = here.home()
    config = ReplayConfig(engine=engine, lexical=lexical, cross_encoder=cross_encoder, limits=_limits(limit or []))
    selection = chosen(here, home, set_name, case)
    if out is not None:
        owner_only_folder(out)
    with progress_bars(quiet=here.as_json) as progress:
        source = home.report(selection, seed=seed, progress=progress)
        replayed = home.replay_report(selection, config, seed=seed, progress=progress)
    comparison = compare_reports(source, replayed, seed=seed)
    outcome = ReplayOutcome(config=config, source=source, replayed=replayed, comparison=comparison)
    if out is not None:
        _save(outcome, out)
    show_json(outcome) if here.as_json else _show(outcome)


def _limits(given: list[str]) -> dict[str, int]:
    """Raises: `InputError("invalid_argument")` for what is no `NAME=VALUE` with a whole number."""
    pairs = [one.partition("=") for one in given]
    if wrong := [one for one, (_, _, value) in zip(given, pairs, strict=True) if not _LIMIT.fullmatch(value)]:
        shown = one_line(", ".join(wrong), 200)
        raise InputError("invalid_argument", f"Write limits as NAME=VALUE with a whole number, not {shown}.")
    return {name: int(value) for name, _, value in pairs}


def _save(outcome: ReplayOutcome, folder: Path) -> None:
    from workbench.app.reports import save_report

    for name, made in (("source", outcome.source), ("replayed", outcome.replayed)):
        for file in save_report(made, folder / name):
            note(f"saved: {file}")
    write_text(folder / "comparison.json", outcome.comparison.model_dump_json(indent=2))
    note(f"saved: {folder / 'comparison.json'}")


def _show(outcome: ReplayOutcome) -> None:
    say("source: the traces of the runs that the cases were made from")
    show_report(outcome.source)
    say()
    say("replayed: retrieved anew over the frozen corpora, which are the same")
    show_report(outcome.replayed)
    say()
    show_comparison(outcome.comparison)


def show_comparison(made: Comparison) -> None:
    """What the second report changed against the first."""
    show_table(
        ("order", "metric", "before", "after", "after - before", "better", "worse", "p", "p (Holm)"),
        (
            (
                one.order,
                one.metric,
                one.before,
                one.after,
                f"{one.difference.mean:+.3f} [{one.difference.low:+.3f}, {one.difference.high:+.3f}]",
                one.better,
                one.worse,
                one.p,
                one.p_holm,
            )
            for one in made.changes
        ),
        title=f"paired differences over {counted(made.cases, 'case')}, Holm-corrected over {made.family}",
    )
    for one in made.notes:
        note(f"{one.code}: {one.detail}")
