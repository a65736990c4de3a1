"""`export` and `import`: chosen cases as files; fixtures, public sets and questions as projects with ready cases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.common import JsonOption, ProjectOption, session
from workbench.cli.selection import CaseOption, SetOption, chosen
from workbench.cli.terminal import note, progress_bars, show_json, show_table
from workbench.evaluation.sets import SetFormat
from workbench.storage.files import owner_only_folder

if TYPE_CHECKING:
    from workbench.evaluation.sets import ImportedSet

SHOWN_FINDINGS = 20


def add_commands(app: typer.Typer) -> None:
    """Add these commands to the root command."""
    app.command("export")(export_set)
    app.command("import")(import_set)


def export_set(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", help="The folder that the files are written to.")],
    trec: Annotated[bool, typer.Option("--trec", help="Also write TREC run files and qrels.")] = False,
    set_name: SetOption = None,
    case_ids: CaseOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write ready cases as fixture.json, which `import fixture` reads, and the report on them beside it."""
    from workbench.app.fixtures import save_trec

    here = session(context, project, as_json)
    home = here.home()
    selection = chosen(here, home, set_name, case_ids)
    owner_only_folder(out)
    with progress_bars(quiet=here.as_json) as progress:
        exported = home.export(selection, progress=progress)
    if said := home.export_note(exported):
        note(said)
    files = home.save_export(exported, out) + (save_trec(home, selection, out) if trec else ())
    if here.as_json:
        show_json({"set_digest": exported.report.set_digest, "cases": exported.report.cases, "files": files})
    else:
        show_table(("file", "bytes"), [(str(file), file.stat().st_size) for file in files])


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
