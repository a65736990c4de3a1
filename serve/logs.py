"""Structured logs of the service: one JSON object a line on stderr, without memory text or queries.

Messages of libraries are kept as they were written, without the values that they would show, and to the end of their
first line: further ones are made from values.
"""

from __future__ import annotations

import logging
import sys
from contextlib import suppress

import structlog

from serve.errors import trouble

LONGEST_MESSAGE = 200


def set_up_logs() -> None:
    """Send the service's own events and the warnings of everything else to stderr."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=lambda *_: _Stderr(),
        cache_logger_on_first_use=True,
    )
    root = logging.getLogger()
    root.handlers = [_Structured(logging.WARNING)]
    root.setLevel(logging.WARNING)


class _Stderr:
    """A log that cannot be written (a closed pipe, a full disk) costs nobody an answer."""

    def info(self, line: str) -> None:
        with suppress(OSError, ValueError):
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    warning = error = critical = info


class _Structured(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        structlog.get_logger("serve").log(
            record.levelno,
            "library",
            logger=record.name,
            message=str(record.msg).partition("\n")[0][:LONGEST_MESSAGE],
            **(trouble(error) if error else {}),
        )
