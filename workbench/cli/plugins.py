"""Commands that other packages bring: found by their entry point when they are invoked, never before."""

from __future__ import annotations

import typer

from workbench.cli.common import Common
from workbench.core.errors import InputError

GROUP = "workbench.commands"
_AS_GIVEN = {"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": False}


def add_commands(app: typer.Typer) -> None:
    """Add these commands to the root command."""
    app.command(context_settings=_AS_GIVEN, add_help_option=False)(serve)


def serve(context: typer.Context) -> int:
    """Serve memory to agents and scripts: MCP over stdio, HTTP, or a unix socket."""
    from importlib.metadata import entry_points

    found = entry_points(group=GROUP, name="serve")
    if not found:
        raise InputError("invalid_argument", "Install the `serve` extra first: pip install 'memory-workbench[serve]'.")
    said = context.find_object(Common) or Common(None, False)
    status = next(iter(found)).load()(context.args, said.project)
    return int(status)
