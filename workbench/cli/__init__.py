"""The `workbench` command: parses, calls `app`, and shows.

Exit status: 0 done, 1 the answer is "no", 2 bad usage or input, 3 not ready, 4 internal, 130 interrupted.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Sequence

import typer

from workbench.cli import (
    cases,
    common,
    health,
    memory,
    models,
    plugins,
    replay,
    report,
    search,
    sets,
    watch,
    whiteboard,
)
from workbench.cli.logs import log_error, say_what_is_logged
from workbench.cli.terminal import note, show_error, use_utf8
from workbench.core.errors import INTERNAL_EXIT, USAGE_EXIT, InputError, WorkbenchError

INTERRUPTED_EXIT = 130

app = common.new_command_group()
watch.add_commands(app)
search.add_commands(app)
cases.add_commands(app)
sets.add_commands(app)
report.add_commands(app)
replay.add_commands(app)
models.add_commands(app)
health.add_commands(app)
memory.add_commands(app)
whiteboard.add_commands(app)
plugins.add_commands(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit; no traceback ever reaches the person."""
    use_utf8()
    say_what_is_logged()
    given = list(sys.argv[1:] if arguments is None else arguments)
    sys.exit(_run(given))


def _run(arguments: list[str]) -> int:
    as_json = "--json" in arguments
    try:
        status = app(arguments, prog_name="workbench", standalone_mode=False)
        if status == INTERRUPTED_EXIT:  # typer's answer to Ctrl-C
            raise KeyboardInterrupt
        return status if isinstance(status, int) else 0
    except WorkbenchError as error:
        show_error(error, as_json=as_json)
        return error.exit_status
    except typer.TyperException as error:
        show_error(InputError("invalid_argument", _sentence(error)), as_json=as_json)
        return USAGE_EXIT
    except (KeyboardInterrupt, typer.Abort):
        note("interrupted: nothing that was complete is lost.")
        return INTERRUPTED_EXIT
    except SystemExit:  # typer's answer to a reader that has gone, and to nothing else
        return 0
    except Exception as error:  # noqa: BLE001 - the last seam before the person
        show_error(_internal(error), as_json=as_json)
        return INTERNAL_EXIT


def _sentence(error: typer.TyperException) -> str:
    said = error.format_message() if hasattr(error, "format_message") else str(error)
    command = getattr(getattr(error, "ctx", None), "command_path", "workbench")
    return f"{' '.join(said.split()).rstrip('.')}. See `{command} --help`."


def _internal(error: Exception) -> WorkbenchError:
    """The error for a fault of ours: an id here, the traceback under the same id in the home's log."""
    reference = uuid.uuid4().hex[:12]
    place = log_error(f"internal error {reference}", error)
    return WorkbenchError("internal", f"An internal error, {reference}; its traceback is in {place}.")
