"""`workbench serve`: starts the service of a home, or a bridge to it for one stdio client."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.terminal import note
from workbench.core.errors import InputError, WorkbenchError
from workbench.core.settings import home_folder

NAME = "workbench serve"


def serve(arguments: Sequence[str], project: Path | None) -> int:
    """The command with these arguments; its exit status. project: what was named before the command."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(_serve)
    status = app(list(arguments), prog_name=NAME, standalone_mode=False, obj=project)
    return status if isinstance(status, int) else 0


def _serve(
    context: typer.Context,
    project: Annotated[list[Path] | None, typer.Option(help="A memory root to serve; may be given again.")] = None,
    stdio: Annotated[bool, typer.Option("--stdio", help="MCP over stdin and stdout, for one client.")] = False,
    http: Annotated[bool, typer.Option("--http", help="HTTP and MCP on the loopback, with a token.")] = False,
    socket: Annotated[bool, typer.Option("--socket", help="HTTP and MCP on a unix socket of the home only.")] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The loopback port of --http; 0: any free one.")] = 8765,
    linger: Annotated[float | None, typer.Option(help="End after so many seconds without a client.")] = None,
    log_queries: Annotated[bool, typer.Option("--log-queries", help="Let the log hold queries.")] = False,
) -> int:
    """Serve memory to agents and scripts. One process serves a home; a second start finds the first."""
    roots = [root.expanduser().resolve() for root in project or ([context.obj] if context.obj else [])]
    if stdio + http + socket > 1:
        raise InputError("invalid_argument", "Choose one of --stdio, --http and --socket.")
    if not roots and linger is None:
        raise InputError("invalid_argument", f"Name the memory: {NAME} --project FOLDER.")
    for root in roots:
        if not root.is_dir():
            raise InputError("project_unknown", f"There is no folder {root}; name the folder that holds the memory.")
    if stdio:
        _run_bridge(roots)
        return 0
    return _run_service(roots, port=port if http else None, linger_s=linger, show_queries=log_queries)


def _run_bridge(roots: Sequence[Path]) -> None:
    from serve.bridge import Bridge

    Bridge(home_folder().expanduser().absolute(), roots, sys.stdin.buffer, sys.stdout.buffer).run()


def _run_service(roots: Sequence[Path], **how: Any) -> int:
    try:
        from serve.daemon import run
        from serve.hold import Running
    except ImportError as error:
        hint = "pip install 'memory-workbench[serve]'"
        raise WorkbenchError("invalid_argument", f"The package {error.name} is missing: {hint}.") from error
    try:
        run(home_folder(), roots, **how)
    except Running as running:
        return _found(running.card, wants_port=how["port"] is not None)
    return 0


def _found(card: Mapping[str, Any], *, wants_port: bool) -> int:
    """Say who serves the home already; the exit status. card: what the running service says of itself."""
    folder = home_folder().expanduser() / "serve"
    port = f"on port {card['port']} and " if card.get("port") else ""
    who = f"process {card['pid']}" if card.get("pid") else "a process that has just begun"
    note(f"The home is served already by {who}, {port}on the sockets in {folder}.")
    if not wants_port or port:
        return 0
    note(f"It has no port: use `curl --unix-socket {folder}/http.sock`, or `kill {card.get('pid')}` and start again.")
    return 1
