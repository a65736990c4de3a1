"""`index` and `watch`: building once, and going on whenever something changes."""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.common import JsonOption, ProjectOption, Session, session
from workbench.cli.terminal import note, progress_bars, say, show_json
from workbench.core.errors import WorkbenchError
from workbench.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from workbench.app import Home, Project
    from workbench.index.report import BuildReport


def add_commands(app: typer.Typer) -> None:
    """Add these commands to the root command."""
    app.command()(index)
    app.command()(watch)


def index(
    context: typer.Context,
    path: Annotated[Path | None, typer.Argument(help="The memory root, instead of --project.")] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on: refresh whenever something changes, until Ctrl-C.")
    ] = False,
) -> None:
    """Build or refresh the index; say what was new, changed, removed, reused and encoded."""
    here = session(context, path or project, as_json)
    home = here.home()
    place = home.project(here.root)
    with progress_bars(quiet=here.as_json) as progress:
        report = place.refresh(progress=progress)
    show_json(report) if here.as_json else _show_report(place, report)
    if watch:
        sys.stdout.flush()
        _follow(here, home, [place])


def watch(
    context: typer.Context,
    paths: Annotated[list[Path] | None, typer.Argument(help="Memory roots, instead of --project.")] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Keep the index of each root fresh until Ctrl-C: edits of any program are found about a second later.

    With --json every build is one document: `project_id`, `root`, and `report` or `error`.
    """
    here = session(context, project, as_json)
    home = here.home()
    _follow(here, home, [home.project(root) for root in paths or [here.root]])


def _follow(here: Session, home: Home, projects: Sequence[Project]) -> None:
    """Show every build that changed a head or failed, until interrupted."""
    from workbench.app.live import LiveIndex

    def show(project: Project, outcome: BuildReport | Exception) -> None:
        if here.as_json:
            show_json({"project_id": project.project_id, "root": str(project.root), **_as_json(outcome)})
        elif isinstance(outcome, Exception):
            note(f"{project.root}: {outcome}")
        else:
            _show_report(project, outcome)
        sys.stdout.flush()

    def listen(project: Project, outcome: BuildReport | Exception) -> None:
        if isinstance(outcome, Exception) or outcome.published:
            show(project, outcome)

    live = LiveIndex(home, listen)
    for project in projects:
        live.add(project)
        note(f"Watching {project.root}; Ctrl-C ends it.")
    live.start()
    try:
        Event().wait()
    finally:
        live.stop()


def _as_json(outcome: BuildReport | Exception) -> dict[str, Any]:
    if not isinstance(outcome, Exception):
        return {"report": outcome.model_dump(mode="json")}
    error = outcome if isinstance(outcome, WorkbenchError) else WorkbenchError("internal", type(outcome).__name__)
    return {"error": error.as_dict()}


def _show_report(project: Project, report: BuildReport) -> None:
    held = ((report.sources, "source"), (report.resources, "resource"), (report.units, "unit"))
    say(f"{project.root}: {', '.join(counted(*one) for one in held)}")
    say(f"sources: {report.sources_new} new, {report.sources_changed} changed, {report.sources_removed} removed")
    say(f"vectors: {report.encoded} encoded, {report.reused} reused")
    if not report.sources:
        note(f"No Markdown was found under {project.root}.")
    for degradation in report.degradations:
        note(f"{degradation.code}: {degradation.detail}")
