"""One loader per model: whoever asks first loads, everybody else waits for the same load, and nothing is unloaded.

Also the seam where a runtime's exceptions become `ModelError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Generic, TypeVar

from workbench.core.deadline import DeadlinePassed
from workbench.core.errors import ModelError, WorkbenchError
from workbench.models.base import LoadState

T = TypeVar("T")
_FOLDERS = re.compile(r"(?<![\w.])(?:/[^/\s'\":]+)+/")


class Loader(Generic[T]):
    """Holds what `load` gave. After a failure the next call tries again."""

    def __init__(self, name: str, load: Callable[[], T]) -> None:
        self._name, self._load = name, load
        self._lock = Lock()
        self._value: T | None = None
        self.state = LoadState.ABSENT

    def get(self) -> T:
        """The loaded value. Raises: `ModelError`; the state is then `failed`."""
        if self._value is not None:
            return self._value
        with self._lock:
            if self._value is None:
                self._value = self._loaded()
        return self._value

    def _loaded(self) -> T:
        self.state = LoadState.LOADING
        try:
            with translating(self._name, "be loaded"):
                value = self._load()
        except BaseException:
            self.state = LoadState.FAILED
            raise
        self.state = LoadState.READY
        return value


@contextmanager
def translating(name: str, action: str) -> Iterator[None]:
    """Every foreign exception becomes `ModelError("model_invalid")`; a missing library names what to install."""
    try:
        yield
    except (WorkbenchError, DeadlinePassed):
        raise
    except ImportError as error:
        extra = "pip install 'memory-workbench[torch]'"
        raise ModelError("model_invalid", f"The model {name} needs {error.name}; run `{extra}`.") from error
    except Exception as error:
        said = _FOLDERS.sub("", str(error)).strip().splitlines()[0:1] or [type(error).__name__]
        hint = f"run `workbench models verify {name}`"
        raise ModelError("model_invalid", f"The model {name} could not {action} ({said[0]}); {hint}.") from error
