"""What a capture cut out of the sources that it had to read, kept for one build: no source is parsed twice.

Small captures stay in memory, large ones go to a file without a name, which only this process can open and which is
gone with it. Losing the spool loses nothing: whoever misses a source in it parses that source again.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import suppress
from tempfile import SpooledTemporaryFile
from threading import Lock

from workbench.core.resource import Resource
from workbench.core.unit import Unit

Cut = tuple[Resource, tuple[Unit, ...]]
"""A resource with its units, under the id that it claims or else is derived to."""
_IN_MEMORY_BYTES = 32 * 1024 * 1024


class Spool:
    """Cuts by source_ref. Thread-safe."""

    def __init__(self) -> None:
        self._file = SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES)  # noqa: SIM115 - it lives as long as its owner
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0
        self._lock = Lock()

    def put(self, source_ref: str, cuts: Sequence[Cut]) -> None:
        """Keep the cuts of a source; a full disk keeps nothing."""
        raw = pickle.dumps(tuple(cuts), protocol=pickle.HIGHEST_PROTOCOL)
        with self._lock, suppress(OSError):
            self._file.seek(self._end)
            self._file.write(raw)
            self._places[source_ref] = (self._end, len(raw))
            self._end += len(raw)

    def get(self, source_ref: str) -> tuple[Cut, ...] | None:
        """The cuts of a source, in the order of the file; None when they were not kept."""
        with self._lock:
            if source_ref not in self._places:
                return None
            start, size = self._places[source_ref]
            self._file.seek(start)
            raw = self._file.read(size)
        cuts: tuple[Cut, ...] = pickle.loads(raw)
        return cuts

    def __del__(self) -> None:
        self._file.close()
