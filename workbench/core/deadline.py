"""One deadline and one stop flag for a whole activation; the clock is a parameter."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import TIMEOUT_MAX, Event, Timer

Clock = Callable[[], float]


class DeadlinePassed(Exception):
    """Work stopped because its deadline came, or its caller cancelled. Internal: a stage turns it into its own code."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment (in seconds of `clock`) by which an activation has to answer; `cancel` stops it earlier."""

    at: float
    clock: Clock = time.monotonic
    cancelled: Event = field(default_factory=Event)
    _stops: list[Callable[[], None]] = field(default_factory=list, repr=False, compare=False)

    @classmethod
    def after_ms(cls, milliseconds: int, clock: Clock = time.monotonic) -> Deadline:
        """The deadline `milliseconds` from now."""
        return cls(clock() + milliseconds / 1000, clock)

    def remaining_ms(self) -> float:
        """Milliseconds left, never below 0."""
        return max(0.0, (self.at - self.clock()) * 1000)

    @property
    def passed(self) -> bool:
        """Whether no time is left, or the caller cancelled."""
        return self.cancelled.is_set() or self.clock() >= self.at

    def check(self) -> None:
        """Raises: `DeadlinePassed` once no time is left."""
        if self.passed:
            raise DeadlinePassed

    def cancel(self) -> None:
        """Ask the activation to stop at its next look at the deadline, and stop what cannot look."""
        self.cancelled.set()
        for stop in tuple(self._stops):
            stop()

    @contextmanager
    def stopping(self, stop: Callable[[], None]) -> Iterator[None]:
        """Call `stop`, from another thread, once no time is left or the caller cancels, before the block ends."""
        timer = Timer(min(self.remaining_ms() / 1000, TIMEOUT_MAX), stop)
        timer.daemon = True
        timer.start()
        self._stops.append(stop)
        try:
            if self.passed:
                stop()
            yield
        finally:
            self._stops.remove(stop)
            timer.cancel()
