"""What every installed model has in common: a card that says who it is, and files that are loaded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from workbench.models.base import EngineIdentity, LoadState
from workbench.models.card import ModelCard
from workbench.models.loading import Loader

T = TypeVar("T")


class InstalledModel(Generic[T]):
    """The beginning of an adapter. load: reads the model's files into whatever runs it."""

    def __init__(self, card: ModelCard, load: Callable[[], T]) -> None:
        self._card = card
        self._identity = card.identity
        self._model: Loader[T] = Loader(card.name, load)

    @property
    def identity(self) -> EngineIdentity:
        return self._identity

    @property
    def state(self) -> LoadState:
        return self._model.state

    def load(self) -> None:
        self._model.get()
