"""A progress bar a phase, as text, so that an executed notebook keeps it and needs no browser."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from workbench.core.progress import Progress


@contextmanager
def bars() -> Iterator[Progress]:
    """A progress callback that draws one bar for each phase it hears of."""
    from tqdm import tqdm

    with ExitStack() as stack:
        drawn: dict[str, Any] = {}

        def advance(phase: str, done: int, total: int) -> None:
            if phase not in drawn:
                drawn[phase] = stack.enter_context(tqdm(desc=phase, total=total, file=sys.stdout, mininterval=0.5))
            bar = drawn[phase]
            bar.total = total
            bar.update(done - bar.n)

        yield advance
