"""`import`: evaluation sets of other makers, questions about the project's memory, and exported fixtures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.common import JsonOption, ProjectOption, session
from workbench.cli.terminal import note, progress_bars, show_json, show_table
from workbench.evaluation.sets import SetFormat

if TYPE_CHECKING:
    from workbench.evaluation.sets import ImportedSet

SHOWN_FINDINGS = 20


def add_commands(app: typer.Typer) -> None:
    """Add these commands to the root command."""
    app.command("import")(import_set)


def import_set(
    context: typer.Context,
    form: Annotated[SetFormat, typer.Argument(metavar="FORMAT", help="beir, locomo, questions or fixture.")],
    path: Annotated[Path, typer.Argument(help="The folder of a BEIR set, else the file.")],
    name: Annotated[
        str | None, typer.Option(help="What the set is called here; made from the path if left out.")
    ] = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring an evaluation set in: its memories, its runs and its ready cases. Importing it again changes nothing.

    `questions` are about the memory of --project; the other formats bring their own.
    """
    here = session(context, project, as_json)
    home = here.home()
    home.warm()
    with progress_bars(quiet=here.as_json) as progress:
        memory = here.root if form is SetFormat.QUESTIONS else None
        imported = home.import_set(form, path, name=name, memory=memory, progress=progress)
    show_json(imported) if here.as_json else _show(imported)


def _show(imported: ImportedSet) -> None:
    show_table(
        ("set", "format", "sha256", "projects", "cases", "findings"),
        [
            (
                imported.name,
                imported.format,
                imported.digest,
                len(imported.project_ids),
                len(imported.cases),
                len(imported.findings),
            )
        ],
    )
    for finding in imported.findings[:SHOWN_FINDINGS]:
        note(finding)
    if len(imported.findings) > SHOWN_FINDINGS:
        note(f"{len(imported.findings) - SHOWN_FINDINGS} more findings; --json shows all.")
