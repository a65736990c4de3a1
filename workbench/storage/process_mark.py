"""Which processes still live, told by locks that the system itself drops when a process ends, however it ends.

A process id alone would not do: ids are used again, and mean nothing outside their container.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from threading import Lock

from filelock import FileLock, Timeout

from workbench.storage.files import FILE_MODE, owner_only_folder, writing

HOLD_TIMEOUT_S = 5


class ProcessMark:
    """A locked file of this process in a shared folder; its name is the process's name there."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._name, self._mutex = folder, uuid.uuid4().hex, Lock()
        self._lock: FileLock | None = None

    def hold(self) -> str:
        """The name of this process, which counts as alive from now on. Raises: `StorageError("home_unwritable")`."""
        with self._mutex:
            if self._lock is None:
                owner_only_folder(self._folder)
                lock = _lock_of(self._folder / self._name)
                with writing(self._folder):
                    # Another process may look at the new file for a moment before it is locked.
                    lock.acquire(timeout=HOLD_TIMEOUT_S)
                self._lock = lock
        return self._name

    def release(self) -> None:
        """Count as ended."""
        with self._mutex:
            if self._lock is not None:
                self._lock.release()
                self._lock = None
                (self._folder / self._name).unlink(missing_ok=True)

    def is_alive(self, name: str) -> bool:
        """Whether the process of this name still holds its lock. The mark of one that ended is removed."""
        path = self._folder / name
        if not path.is_file():
            return False
        lock = _lock_of(path)
        try:
            lock.acquire()
        except Timeout:
            return True
        lock.release()
        path.unlink(missing_ok=True)
        return False

    def sweep(self) -> None:
        """Remove the marks that ended processes left."""
        if self._folder.is_dir():
            for path in self._folder.iterdir():
                self.is_alive(path.name)


def _lock_of(path: Path) -> FileLock:
    return FileLock(path, timeout=0, mode=FILE_MODE, thread_local=False, fallback_to_soft=False)
