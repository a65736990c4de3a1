"""Work that takes its time: beside the kernel's own thread where it has an event loop, else at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from time import monotonic
from typing import TypeVar

from workbench.core.errors import WorkbenchError
from workbench.core.progress import Progress

BETWEEN_WORDS_S = 0.1
"""How often progress is told, at most."""
_log = logging.getLogger(__name__)
T = TypeVar("T")


class Stopped(Exception):
    """The person wanted no more of it."""


class Worker:
    """Does one job after another. What it calls back is called on the thread that made it.

    loop: that thread's; None: every job is done when `run` returns.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        self._loop, self._stopping = loop, Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="diagnostics") if loop else None

    @classmethod
    def here(cls) -> Worker:
        """A worker for the thread that is running."""
        try:
            return cls(asyncio.get_running_loop())
        except RuntimeError:
            return cls(None)

    def run(
        self,
        job: Callable[[Progress], T],
        *,
        advanced: Progress,
        done: Callable[[T], object],
        failed: Callable[[WorkbenchError | Stopped], object],
    ) -> None:
        """Do a job; it hears of a stop when it tells its progress."""
        self._stopping.clear()
        work = partial(self._work, job, _Words(self._stopping, partial(self._call, advanced)), done, failed)
        work() if self._thread is None else self._thread.submit(work)

    def stop(self) -> None:
        """Let the job under way end at its next word."""
        self._stopping.set()

    def close(self) -> None:
        """Stop, and take no more jobs."""
        self.stop()
        if self._thread is not None:
            self._thread.shutdown(wait=False, cancel_futures=True)

    def _work(
        self,
        job: Callable[[Progress], T],
        words: Progress,
        done: Callable[[T], object],
        failed: Callable[[WorkbenchError | Stopped], object],
    ) -> None:
        try:
            value = job(words)
        except (WorkbenchError, Stopped) as error:
            self._call(failed, error)
        except Exception:  # noqa: BLE001 - nobody waits for this thread; the person is told
            _log.exception("A job of the diagnostics ended.")
            message = "This could not be done: an internal error, which the kernel's log has in full."
            self._call(failed, WorkbenchError("internal", message))
        else:
            self._call(done, value)

    def _call(self, told: Callable[..., object], *values: object) -> None:
        if self._loop is None:
            told(*values)
        elif not self._loop.is_closed():
            self._loop.call_soon_threadsafe(told, *values)


class _Words:
    """A progress callback that says little, and raises `Stopped` when it is time. Every phase's last word is told."""

    def __init__(self, stopping: Event, tell: Progress) -> None:
        self._stopping, self._tell, self._last = stopping, tell, 0.0

    def __call__(self, phase: str, done: int, total: int) -> None:
        if self._stopping.is_set():
            raise Stopped
        if done == total or monotonic() - self._last >= BETWEEN_WORDS_S:
            self._last = monotonic()
            self._tell(phase, done, total)
