"""The seam at which tests break persistence: every step that changes a disk passes `step` by name.

Without a handler a step is nothing. The names are not declared anywhere: a run under a recording handler lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Handler = Callable[[str], None]

_handlers: list[Handler] = []


def step(name: str) -> None:
    """Say that the persistence step `name` is about to happen; a handler may raise or end the process."""
    for handler in _handlers:
        handler(name)


@contextmanager
def on_step(handler: Handler) -> Iterator[None]:
    """Call `handler` at every step, in every thread of this process, until the block ends."""
    _handlers.append(handler)
    try:
        yield
    finally:
        _handlers.remove(handler)
