"""How the command shows things: tables, bars and colours on a terminal, plain lines elsewhere, one document for JSON.

Never decides what is shown. Progress goes to stderr, so that stdout stays the answer. A terminal obeys control
characters, so it is shown them by name; a pipe gets every text as it is.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from pydantic import BaseModel

from workbench.core.errors import WorkbenchError
from workbench.storage.files import atomic_write

if TYPE_CHECKING:
    from workbench.core.progress import Progress

Cell = str | int | float | None
_CONTROL = re.compile(r"\r(?!\n)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def use_utf8() -> None:
    """Make every standard stream UTF-8, whatever the locale says; what cannot be encoded is escaped, not refused."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace" if stream is not sys.stdin else "surrogateescape")


def say(line: str = "") -> None:
    """One plain line on stdout."""
    _write(sys.stdout, line)


def note(line: str) -> None:
    """One line beside the answer, on stderr."""
    _write(sys.stderr, line)


def read_text() -> str:
    """All of stdin."""
    return sys.stdin.read()


def read_bytes() -> bytes:
    """All of stdin, byte for byte."""
    return sys.stdin.buffer.read()


def write_text(path: Path, text: str) -> None:
    """Replace a file that the person named with `text`, or leave it as it was."""
    atomic_write(path, text.encode("utf-8"), durable=False)


def show_json(value: Any) -> None:
    """The one JSON document of an answer."""
    document = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    say(json.dumps(document, ensure_ascii=False, indent=2, default=_as_json))


def show_error(error: WorkbenchError, *, as_json: bool) -> None:
    """`code: sentence` on stderr, or the error object on stdout with `--json`."""
    if as_json:
        show_json({"error": error.as_dict()})
    else:
        note(f"{error.code}: {error.message}")


def show_table(columns: Sequence[str], rows: Iterable[Sequence[Cell]], *, title: str = "") -> None:
    """Rows in the order given: a drawn table on a terminal, tab-separated lines with a header elsewhere."""
    texts = [[_cell(value) for value in row] for row in rows]
    if not sys.stdout.isatty():
        say("\t".join(columns))
        for row in texts:
            say("\t".join(" ".join(cell.split()) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(_harmless(title)) if title else None, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in texts:
        table.add_row(*(Text(_harmless(cell)) for cell in row))
    Console().print(table)


@contextmanager
def progress_bars(*, quiet: bool) -> Iterator[Progress]:
    """A progress callback that draws one bar a phase on a terminal's stderr, and nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda phase, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def advance(phase: str, done: int, total: int) -> None:
            if phase not in tasks:
                tasks[phase] = bars.add_task(phase, total=total)
            bars.update(tasks[phase], completed=done, total=total)

        yield advance


def _write(stream: TextIO, line: str) -> None:
    stream.write((_harmless(line) if stream.isatty() else line) + "\n")


def _harmless(text: str) -> str:
    """Control characters as JSON escapes them; line ends and tabs stay."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _cell(value: Cell) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _as_json(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    return str(value)
