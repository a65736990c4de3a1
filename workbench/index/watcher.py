"""Notices that a memory may have changed: edits, deletions, moves and status changes by any program.

Never reads a source and never says what changed: a notice means "look again". What may have been missed, before the
start, while a root was away or where events cannot be had, is noticed as well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from threading import Event, Thread
from typing import TYPE_CHECKING, Literal

from workbench.memory.ignoring import IGNORE_FILES
from workbench.memory.layout import LAYOUT_FILE, MARKDOWN_SUFFIXES
from workbench.memory.manifest import MANIFEST_PATH

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

QUIET_MS, LOOK_MS = 50, 2_000
"""How long events are gathered, and how often roots are looked for that come or go."""
RESCAN_S = 300.0
"""When every root is noticed anyway: an event queue can overflow, and a network mount may tell nothing."""
State = Literal["watching", "polling", "away"]


class Watcher:
    """Watches any number of memory roots from one thread, which every notice comes from.

    notice: called with the root that may have changed; for every root once at the start.
    """

    def __init__(self, notice: Callable[[Path], object]) -> None:
        self._notice = notice
        self._states: dict[Path, State] = {}
        self._woken, self._is_stopped = Event(), False
        self._thread = Thread(target=self._run, name="workbench-watcher", daemon=True)

    def add(self, root: Path) -> None:
        """Watch one more root, whose path is free of links. It may be away, and come and go."""
        self._states.setdefault(root, "away")
        self._woken.set()

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Stop watching; no notice comes after it returns."""
        self._is_stopped = True
        self._woken.set()
        self._thread.join()

    def state(self, root: Path) -> State:
        """How a root is watched: by events, by looking every two seconds where those cannot be had, or not now."""
        return self._states.get(root, "away")

    def _run(self) -> None:
        while True:
            self._woken.clear()
            if self._is_stopped:
                return
            present = _present(self._states.copy())
            with _events_of(present) as events:
                for root in self._states.copy():
                    self._states[root] = "away" if root not in present else "watching" if events else "polling"
                # Only now that events are gathered can nothing be missed between this look and the first event.
                self._notice_all(present)
                self._follow(present, events)

    def _follow(self, present: Mapping[Path, tuple[int, int]], events: RustNotify | None) -> None:
        """Notice changes until a root is added, comes or goes."""
        rescan_at = time.monotonic() + RESCAN_S
        while not self._woken.is_set():
            self._notice_all(self._changed(present, events))
            if _present(self._states.copy()) != present or time.monotonic() > rescan_at:
                return

    def _changed(self, roots: Iterable[Path], events: RustNotify | None) -> list[Path]:
        """The roots that may have changed by the time that something happened, or a look is due."""
        if events is None:
            return [] if self._woken.wait(LOOK_MS / 1000) else list(roots)
        try:
            found = events.watch(QUIET_MS, QUIET_MS, LOOK_MS, self._woken)
        except RuntimeError:  # the watch broke: a new one is made
            self._woken.wait(LOOK_MS / 1000)
            self._woken.set()
            return []
        paths = [] if isinstance(found, str) else [Path(path) for _, path in found]
        return [root for root in roots if any(is_relevant(root, path) for path in paths)]

    def _notice_all(self, roots: Iterable[Path]) -> None:
        for root in roots:
            self._notice(root)


def is_relevant(root: Path, path: Path) -> bool:
    """Whether a change at this path can change the memory of the root: what is hidden cannot, but for the status."""
    if not path.is_relative_to(root):
        return False
    within = path.relative_to(root)
    if within == PurePath(MANIFEST_PATH) or within in PurePath(MANIFEST_PATH).parents:
        return True
    *folders, name = within.parts
    if "node_modules" in within.parts or any(folder.startswith(".") for folder in folders):
        return False
    if name in IGNORE_FILES or within == PurePath(LAYOUT_FILE):
        return True
    if name.startswith("."):
        return False
    # What is no longer there may have been a folder of sources.
    return name.lower().endswith(MARKDOWN_SUFFIXES) or not path.is_file()


def _present(roots: Iterable[Path]) -> dict[Path, tuple[int, int]]:
    """Those of the roots that stand, with their identity: a folder that was replaced has another."""
    found = {}
    for root in roots:
        try:
            status = root.stat()
        except OSError:
            continue
        found[root] = (status.st_dev, status.st_ino)
    return found


@contextmanager
def _events_of(roots: Iterable[Path]) -> Iterator[RustNotify | None]:
    """The events below these folders; None where the system gives none (no folder, no watches left)."""
    from watchfiles._rust_notify import RustNotify

    folders = [str(root) for root in roots]
    try:
        events = RustNotify(folders, False, False, 0, True, True) if folders else None
    except (OSError, RuntimeError):
        events = None
    try:
        yield events
    finally:
        if events is not None:
            events.close()
