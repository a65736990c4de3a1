"""The time of each stage, and which stage an error came from."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from workbench.core.deadline import DeadlinePassed
from workbench.core.errors import WorkbenchError

DEADLINE_MESSAGE = "The deadline came before any answer; ask again with more time or a shorter query."


class Stages:
    """Times in microseconds by stage, in the order in which the stages ran."""

    def __init__(self) -> None:
        self.elapsed_us: dict[str, int] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure a stage. An error that leaves it carries its name; a deadline that does is `deadline_exceeded`."""
        started = time.perf_counter_ns()
        try:
            yield
        except WorkbenchError as error:
            error.stage = error.stage or name
            raise
        except DeadlinePassed as event:
            raise WorkbenchError("deadline_exceeded", DEADLINE_MESSAGE, stage=name) from event
        finally:
            self.elapsed_us[name] = (time.perf_counter_ns() - started) // 1000
