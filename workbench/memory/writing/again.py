"""Repeating an append that met another writer: nobody's entry is lost, and nobody tries for ever."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import TypeVar

from workbench.core.errors import InputError

MOST_ATTEMPTS = 200
_LONGEST_PAUSE_S = 0.05

Result = TypeVar("Result")


def until_unmoved(append: Callable[[], Result]) -> Result:
    """What `append` returns once no file moves under it. It reads what it appends to anew each time.

    Raises: as `append`; `digest_conflict` only from the last attempt.
    """
    for _ in range(MOST_ATTEMPTS - 1):
        try:
            return append()
        except InputError as error:
            if error.code != "digest_conflict":
                raise
        time.sleep(random.uniform(0, _LONGEST_PAUSE_S))
    return append()
