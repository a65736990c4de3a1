"""Where the command leaves what no person should have to read: tracebacks go to the home's log, never to a terminal."""

from __future__ import annotations

import logging

from workbench.cli.terminal import note
from workbench.core.errors import WorkbenchError
from workbench.core.settings import home_folder
from workbench.storage.files import FILE_MODE, owner_only_folder


def say_what_is_logged() -> None:
    """Show what the library logs as one line on stderr, unless somebody set logging up, as the service does."""
    logging.lastResort = _Said(logging.WARNING)


def log_error(message: str, error: BaseException) -> str:
    """Write an error with its traceback to the home's log; where that is, for people."""
    try:
        log = owner_only_folder(home_folder()) / "workbench.log"
        log.touch(mode=FILE_MODE)
        handler: logging.Handler = logging.FileHandler(log, encoding="utf-8")
        place = str(log)
    except (OSError, WorkbenchError):
        handler, place = logging.NullHandler(), "nowhere, since the home cannot be written"
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    exc_info = (type(error), error, error.__traceback__)
    handler.handle(logging.LogRecord(__name__, logging.ERROR, __file__, 0, message, None, exc_info))
    handler.close()
    return place


class _Said(logging.Handler):
    """Each thing once, however often it is logged."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self._said: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        line = _line(record)
        if line not in self._said:
            self._said.add(line)
            note(line)


def _line(record: logging.LogRecord) -> str:
    message, error = record.getMessage(), record.exc_info[1] if record.exc_info else None
    if error is None:
        return message
    if isinstance(error, WorkbenchError):
        return f"{message} {error.message}"
    return f"{message} Its traceback is in {log_error(message, error)}."
