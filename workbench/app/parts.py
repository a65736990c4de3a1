"""What all projects of one home share: settings, models and history, each opened on first use."""

from __future__ import annotations

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

from workbench.app.engines import NO_MODEL, Engines
from workbench.core.errors import WorkbenchError
from workbench.core.limits import resolve_limits
from workbench.core.settings import Settings
from workbench.evaluation.runs import RunHistory
from workbench.models.base import Embedder, Reranker
from workbench.storage.blobs import BlobStore
from workbench.storage.central_store import CentralStore

if TYPE_CHECKING:
    from workbench.evaluation.cases import CaseBook


class HomeParts:
    """One home folder with what is opened from it; models are shared by all projects.

    patient: wait for models that still load; off: answer without them meanwhile, with `model_preparing`.
    """

    patient = True

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder, self.settings = folder, settings

    @property
    def models_folder(self) -> Path:
        """Where installed models lie."""
        return self.folder / "models"

    @cached_property
    def store(self) -> CentralStore:
        """The database of runs and cases."""
        return CentralStore(self.folder / "local.db")

    @cached_property
    def blobs(self) -> BlobStore:
        """The archived bodies of what runs searched."""
        return BlobStore(self.folder / "evaluation-corpora")

    @cached_property
    def history(self) -> RunHistory:
        """The runs of all projects; leftovers of dead processes are closed when it opens."""
        history = RunHistory(self.store, self.blobs, retained=resolve_limits(self.settings.limits).retained_runs)
        history.recover()
        return history

    @cached_property
    def cases(self) -> CaseBook:
        """The evaluation cases of all projects."""
        from workbench.evaluation.cases import CaseBook

        return CaseBook(self.store, self.blobs, self.history)

    @cached_property
    def engines(self) -> Engines:
        """The embedding engines by name."""
        return Engines(self.models_folder, self.settings.threads)

    @property
    def embedder(self) -> Embedder | None:
        """The embedding engine of the settings, not loaded yet; None when it is `none` or not installed by now."""
        return self.engines.get(self.settings.engine)

    @embedder.setter
    def embedder(self, embedder: Embedder) -> None:
        self.engines.put(self.settings.engine, embedder)

    @cached_property
    def reranker(self) -> Reranker | None:
        """The cross-encoder where the settings admit it; None otherwise."""
        if not self.settings.cross_encoder or self.settings.reranker == NO_MODEL:
            return None
        from workbench.models.open import open_reranker

        return open_reranker(self.settings.reranker, self.models_folder, self.settings.threads)

    def warm(self, *, wait: bool = False) -> None:
        """Load the models in background threads; wait: until they are there. Whoever needs one waits for that load."""
        models = [model for model in (self.embedder, self.reranker) if model is not None]
        threads = [Thread(target=_load_quietly, args=(model,), daemon=True) for model in models]
        for thread in threads:
            thread.start()
        for thread in threads if wait else ():
            thread.join()


def _load_quietly(model: Embedder | Reranker) -> None:
    with suppress(WorkbenchError):  # the state says `failed`, and the stage that needs the model reports why
        model.load()
