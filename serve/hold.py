"""What makes a process the service of its home: a lock that the system drops however the process ends.

Whoever holds it says so in the card; whoever does not get it reads there who does.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Any

from filelock import FileLock, Timeout

from serve.place import Place
from workbench.storage.files import FILE_MODE, writing

CARD_TIMEOUT_S, LOOK_S = 20.0, 0.05
"""How long a service that has just begun may take to say so, and how often that is looked at."""


class Running(Exception):
    """Another process serves this home; `card` is what it says of itself, empty when it has not said anything."""

    def __init__(self, card: dict[str, Any]) -> None:
        super().__init__("running")
        self.card = card


class Hold:
    """The lock of a home, and with it its sockets and its card.

    Made by taking it. Raises: `Running`; `StorageError("home_unwritable")`.
    """

    def __init__(self, place: Place) -> None:
        self._place, self._lock = place, FileLock(place.lock, timeout=0, mode=FILE_MODE)
        ends = time.monotonic() + CARD_TIMEOUT_S
        while not self._taken():
            if (card := place.announced()) or time.monotonic() > ends:
                raise Running(card)
            time.sleep(LOOK_S)
        with writing(place.lock):
            self._file = place.lock.stat()
            place.card.unlink(missing_ok=True)  # of a service that was killed

    @property
    def lost(self) -> bool:
        """Whether the home was removed or replaced, so that the next process would take another lock."""
        try:
            return not os.path.samestat(self._file, self._place.lock.stat())
        except OSError:
            return True

    def release(self) -> None:
        """Remove what clients would look for, unless it belongs to somebody else by now, and let the lock go."""
        if not self.lost:
            for left in (self._place.mcp_socket, self._place.http_socket, self._place.card):
                with suppress(OSError):
                    left.unlink()
        self._lock.release()

    def _taken(self) -> bool:
        with writing(self._place.lock):
            try:
                self._lock.acquire()
            except Timeout:
                return False
        return True
