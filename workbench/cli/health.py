"""`doctor` and `lab`: what is set, what is there, what is broken; and JupyterLab on the notebooks."""

from __future__ import annotations

import os
import platform
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench import __version__
from workbench.cli.common import JsonOption, ProjectOption, session
from workbench.cli.memory import conflict_sentence
from workbench.cli.terminal import note, say, show_json, show_table
from workbench.core.errors import InputError
from workbench.core.resource import GONE

if TYPE_CHECKING:
    from workbench.app import Home, Project


def add_commands(app: typer.Typer) -> None:
    """Add these commands to the root command."""
    app.command()(doctor)
    app.command()(lab)


def doctor(context: typer.Context, project: ProjectOption = None, as_json: JsonOption = False) -> None:
    """Show every effective setting and its origin, the models, and the health of the project's index."""
    from workbench.core.settings import explain_settings

    here = session(context, project, as_json)
    home = here.home()
    report = {
        "version": __version__,
        "python": platform.python_version(),
        "home": str(home.folder),
        "settings": [
            {"name": one.name, "value": one.value, "origin": one.origin} for one in explain_settings(home.folder)
        ],
        "models": _models(home),
        "project": _health(home.project(here.root)),
    }
    show_json(report) if here.as_json else _show_report(report)


def lab(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="The folder of notebooks.")] = Path("notebooks"),
    project: ProjectOption = None,
) -> None:
    """Open JupyterLab on the notebooks, with this home."""
    here = session(context, project, False)
    if find_spec("jupyterlab") is None:
        raise InputError("invalid_argument", "Install the `lab` extra first: pip install 'memory-workbench[lab]'.")
    if not folder.is_dir():
        raise InputError("invalid_argument", f"There is no folder {folder}; name the folder of notebooks.")
    environment = os.environ | {"WORKBENCH_HOME": str(here.home().folder)}
    sys.stdout.flush()
    os.execve(sys.executable, [sys.executable, "-m", "jupyterlab", str(folder)], environment)


def _models(home: Home) -> list[dict[str, Any]]:
    from workbench.models.install import list_models

    return [{"name": one.name, "state": one.state} for one in list_models(home.models_folder)]


def _health(project: Project) -> dict[str, Any]:
    from workbench.memory.writing.history import writing_health

    head = project.index.head()
    stamps = project.index.stamps()
    return {
        "root": str(project.root),
        "project_id": project.project_id,
        "record_state_version": project.manifest().record_state_version,
        "head": None
        if head is None
        else {
            "revision": head.revision_id,
            "miv": head.miv,
            "arms": head.arms,
            "engine": head.engine_name,
            "resources": head.resource_count,
            "units": head.unit_count,
        },
        "writing": writing_health(project.root).model_dump(mode="json"),
        "unreadable": [
            {"source_ref": ref, "reason": stamp.error}
            for ref, stamp in sorted(stamps.items())
            if stamp.error not in (None, GONE)
        ],
    }


def _show_report(report: dict[str, Any]) -> None:
    say(f"memory-workbench {report['version']}, Python {report['python']}, home {report['home']}")
    show_table(
        ("setting", "value", "origin"), ((one["name"], str(one["value"]), one["origin"]) for one in report["settings"])
    )
    show_table(("model", "state"), ((one["name"], one["state"]) for one in report["models"]))
    project = report["project"]
    say(f"project {project['project_id']} at {project['root']}")
    if project["head"] is None:
        note(f"No index yet: run `workbench index {project['root']}`.")
    else:
        show_table(("head", "value"), ((name, str(value)) for name, value in project["head"].items()))
    for entry in project["writing"]["pending"]:
        note(f"unfinished: {entry['file']}; the next change, or the next `workbench index`, settles it.")
    for conflict in project["writing"]["conflicts"]:
        note(conflict_sentence(conflict))
    for source in project["unreadable"]:
        note(f"source_unreadable: {source['source_ref']}: {source['reason']}")
