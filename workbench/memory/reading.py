"""Reading a file so that the bytes are one state of it: not torn by a writer, not through a link, never over size."""

from __future__ import annotations

import errno
import os
import stat
import time
from typing import NamedTuple

from workbench.markdown.errors import UnreadableSource

VANISHED, PERMISSION, IO, OVER_SIZE, CHANGING = "vanished", "permission", "io", "over_size", "changing"
_ATTEMPTS = 4
_PAUSE_S = 0.01
_COARSEST_TICK_NS = 2_000_000_000
# A named pipe must not block the open, and a file swapped for a link must not lead elsewhere.
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_VANISHED = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ESTALE})
_PERMISSION = frozenset({errno.EACCES, errno.EPERM})


class Reading(NamedTuple):
    """The bytes of a file and the times and inode that belong to exactly these bytes."""

    raw: bytes
    changed_ns: int
    inode: int


def read_stable(path: str, most_bytes: int) -> Reading:
    """The bytes of a regular file. A file that is written meanwhile is read again a few times.

    Raises: `UnreadableSource` with the reason: vanished, permission, io, over_size, or changing.
    """
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(_PAUSE_S * attempt)
        try:
            reading = _read_once(path, most_bytes)
        except OSError as error:
            raise UnreadableSource(reason_of(error)) from error
        if reading is not None:
            return reading
    raise UnreadableSource(CHANGING)


def _read_once(path: str, most_bytes: int) -> Reading | None:
    """None when the file changed between the first and the last look at it."""
    with os.fdopen(os.open(path, _FLAGS), "rb") as file:
        before = os.fstat(file.fileno())
        if not stat.S_ISREG(before.st_mode):
            raise UnreadableSource(IO)
        if before.st_size > most_bytes:
            raise UnreadableSource(OVER_SIZE)
        raw = file.read(before.st_size + 1)
        after = os.fstat(file.fileno())
    if len(raw) != after.st_size or changed_ns(before) != changed_ns(after):
        return None
    return Reading(raw, changed_ns(after), after.st_ino)


def changed_ns(status: os.stat_result) -> int:
    """The later of modification and status-change time: an edit that puts the old mtime back still shows."""
    return max(status.st_mtime_ns, status.st_ctime_ns)


def is_settled(changed_at_ns: int) -> bool:
    """Whether a file last changed so long before now that any later edit gets another time, on any file system."""
    return changed_at_ns < time.time_ns() - _COARSEST_TICK_NS


def reason_of(error: OSError) -> str:
    """The reason that a degradation gives for an error of the operating system."""
    if error.errno in _VANISHED:
        return VANISHED
    return PERMISSION if error.errno in _PERMISSION else IO
