"""The embedding engines of a home, by name. Opened once, and as soon as they are installed; never loaded here."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from workbench.core.errors import ModelError, WorkbenchError
from workbench.core.resource import Degradation
from workbench.models.base import Embedder
from workbench.storage.index_records import Revision

NO_MODEL = "none"
_NONE_NAMED = Degradation("dense_unavailable", "The settings name no embedding engine; lexical recall goes on.")


class Engines:
    """Every project of a home asks here again and again: a model that is installed later is found then."""

    def __init__(self, models_folder: Path, threads: int) -> None:
        self._models_folder, self._threads = models_folder, threads
        self._opened: dict[str, Embedder] = {}

    def put(self, name: str, embedder: Embedder) -> None:
        """Let this very object be the engine of that name."""
        self._opened[name] = embedder

    def open(self, name: str) -> Embedder | None:
        """The engine of a name; None for `none`.

        Raises: `InputError("model_unknown")`; `ModelError("model_missing" | "model_invalid")`.
        """
        if name == NO_MODEL:
            return None
        if name not in self._opened:
            from workbench.models.open import open_embedder

            self._opened[name] = open_embedder(name, self._models_folder, self._threads)
        return self._opened[name]

    def get(self, name: str) -> Embedder | None:
        """The same, but None where it is not installed. Raises: `InputError("model_unknown")`."""
        with suppress(ModelError):
            return self.open(name)
        return None

    def lack(self, name: str) -> tuple[Degradation, ...]:
        """What every answer lacks by this choice of an engine: nothing, or the dense arm, and why."""
        try:
            return () if self.open(name) is not None else (_NONE_NAMED,)
        except ModelError as error:
            return (Degradation("dense_unavailable", error.message),)

    def of(self, revision: Revision) -> Embedder | None:
        """The engine that a revision was made by; None without the dense arm, or where it cannot be had any more."""
        from workbench.models.catalogue import CATALOGUE

        name, made = revision.engine_name, None
        # A folder is never guessed from a name: only what was opened, or stands in the catalogue, can be the engine.
        if name is not None and (name in self._opened or name in CATALOGUE):
            with suppress(WorkbenchError):
                made = self.open(name)
        return made if made is not None and made.identity.digest == revision.engine_identity else None
