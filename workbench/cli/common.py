"""What every command shares: the options that may stand before or after its name, and the session they open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench import __version__
from workbench.cli.terminal import say

if TYPE_CHECKING:
    from workbench.app import Home, Project

ProjectOption = Annotated[
    Path | None, typer.Option("--project", help="The memory root; the current folder if left out.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else.")]


@dataclass(frozen=True)
class Common:
    """The options said before the command's name."""

    project: Path | None
    as_json: bool


@dataclass(frozen=True)
class Session:
    """One call of the command: which memory root it is about, and whether a script reads the answer."""

    root: Path
    as_json: bool

    def home(self) -> Home:
        """The home of `WORKBENCH_HOME`."""
        from workbench.app import Home

        return Home.open()

    def project(self) -> Project:
        """The project of the memory root."""
        return self.home().project(self.root)


def new_command_group() -> typer.Typer:
    """The root command with the options that may stand before a command's name."""
    app = typer.Typer(no_args_is_help=True, add_completion=False, rich_markup_mode=None)

    @app.callback()
    def root(
        context: typer.Context,
        project: ProjectOption = None,
        as_json: JsonOption = False,
        version: Annotated[bool, typer.Option("--version", is_eager=True, callback=_show_version)] = False,
    ) -> None:
        """Retrieval over Markdown memories, and how well it works."""
        context.obj = Common(project, as_json)

    return app


def session(context: typer.Context, project: Path | None, as_json: bool) -> Session:
    """The session of a command; what stands after the command's name wins."""
    said = context.find_object(Common) or Common(None, False)
    return Session(project or said.project or Path.cwd(), as_json or said.as_json)


def _show_version(value: bool) -> None:
    if value:
        say(__version__)
        raise typer.Exit
