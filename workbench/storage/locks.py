"""One holder at a time across processes, by a lock that the system drops when its holder ends, however it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from workbench.core.errors import NotReady
from workbench.storage.files import FILE_MODE, owner_only_folder


@contextmanager
def exclusive(path: Path, busy: NotReady, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the lock file at `path`. Raises: `busy` when another holder keeps it for `wait_s` seconds."""
    owner_only_folder(path.parent)
    lock = FileLock(path, mode=FILE_MODE, thread_local=False)
    try:
        lock.acquire(timeout=wait_s)
    except Timeout:
        raise busy from None
    try:
        yield
    finally:
        lock.release()
