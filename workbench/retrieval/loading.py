"""Waiting for a model under a deadline: loading cannot be interrupted, so it goes on in a thread of its own."""

from __future__ import annotations

from threading import Thread

from workbench.core.deadline import Deadline
from workbench.core.errors import WorkbenchError
from workbench.models.base import Embedder, LoadState, Reranker

_LOOK_S = 0.02


def is_ready(model: Embedder | Reranker, deadline: Deadline, *, patient: bool) -> bool:
    """Whether the model is in memory. patient: load it if need be, and wait for that as long as the deadline allows.

    Raises: `ModelError` when the model cannot be loaded (impatient: when it is known that it could not).
    """
    if _ready(model):
        return True
    if not patient:
        if model.state is LoadState.FAILED:
            model.load()
        return _ready(model)
    failures: list[WorkbenchError] = []
    loader = Thread(target=_load, args=(model, failures), name="model-loader", daemon=True)
    loader.start()
    while loader.is_alive() and not deadline.passed:
        loader.join(_LOOK_S)
    if failures:
        raise failures[0]
    return _ready(model)


def _ready(model: Embedder | Reranker) -> bool:
    return model.state is LoadState.READY


def _load(model: Embedder | Reranker, failures: list[WorkbenchError]) -> None:
    try:
        model.load()
    except WorkbenchError as error:
        failures.append(error)
