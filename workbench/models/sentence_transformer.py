"""The embedder of any local sentence-transformers folder, and the reference that the ONNX path is checked against."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.deadline import Deadline
from workbench.core.errors import ModelError
from workbench.core.hashing import digest
from workbench.models.base import EngineIdentity, LoadState, Vectors
from workbench.models.batching import in_batches, unit_vectors
from workbench.models.card import file_digests
from workbench.models.loading import Loader, translating
from workbench.models.passage import PassageRule

ADAPTER = "sentence-transformers-1"
_OTHER_FORMS = ("onnx/", "openvino/")


class SentenceTransformerEmbedder:
    """Reads the prompts `query` and `document` (or `passage`) of the folder as prefixes; both may be missing."""

    def __init__(self, folder: Path, threads: int) -> None:
        self._folder, self._threads = folder, threads
        self._config = _read_json(folder / "config_sentence_transformers.json", {})
        self._model: Loader[Any] = Loader(folder.name, self._load)

    @cached_property
    def identity(self) -> EngineIdentity:
        """Hashes the folder's files, at the first call."""
        files = {
            name: file.sha256
            for name, file in file_digests(self._folder).items()
            if not name.startswith(_OTHER_FORMS) and not name.endswith(".md")
        }
        parts = {"adapter": ADAPTER, "metric": "cosine", "normalised": True, "files": files}
        return EngineIdentity(self._folder.name, digest(parts), folder_dimension(self._folder))

    @property
    def state(self) -> LoadState:
        return self._model.state

    def load(self) -> None:
        self._model.get()

    def fit_passage(self, path: str, heading_path: Sequence[str], text: str) -> str:
        model = self._model.get()
        limit = model.max_seq_length
        special = model.tokenizer.num_special_tokens_to_add(pair=False)
        rule = PassageRule(self._prompt("document", "passage"), self._spans, None if limit is None else limit - special)
        return rule.fit(path, heading_path, text)

    def encode_passages(self, inputs: Sequence[str], deadline: Deadline | None = None) -> Vectors:
        with translating(self._folder.name, "encode"):
            return in_batches(inputs, self.identity.dimension, self._encode, deadline)

    def encode_query(self, query: str, deadline: Deadline | None = None) -> Vectors:
        with translating(self._folder.name, "encode"):
            text = self._prompt("query") + query
            vector: Vectors = in_batches([text], self.identity.dimension, self._encode, deadline)[0]
        return vector

    def _prompt(self, *names: str) -> str:
        prompts = self._config.get("prompts") or {}
        return next((prompts[name] for name in names if prompts.get(name)), "")

    def _spans(self, text: str) -> list[tuple[int, int]]:
        tokenizer = self._model.get().tokenizer
        # The length is what is being measured, so the tokenizer's warning about it is noise.
        found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, truncation=False, verbose=False)
        spans: list[tuple[int, int]] = found["offset_mapping"]
        return spans

    def _encode(self, texts: list[str]) -> Vectors:
        # The prefix is part of the input already; an empty prompt keeps a default one of the folder away.
        vectors = self._model.get().encode(texts, prompt="", batch_size=len(texts), show_progress_bar=False)
        return unit_vectors(np.asarray(vectors, dtype=np.float32), self._folder.name)

    def _load(self) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer

        torch.set_num_threads(self._threads)
        return SentenceTransformer(str(self._folder), local_files_only=True)


def folder_dimension(folder: Path) -> int:
    """The length of the vectors of a sentence-transformers folder, read from its configuration files.

    Raises: `ModelError("model_invalid")` when the folder does not say.
    """
    modules = _read_json(folder / "modules.json", [{"path": ""}])
    for module in reversed(modules):
        config = _read_json(folder / module["path"] / "config.json", {})
        for key in ("out_features", "word_embedding_dimension", "embedding_dimension", "hidden_size"):
            if isinstance(config.get(key), int):
                return int(config[key])
    raise ModelError("model_invalid", f"{folder} does not say its dimension; give a sentence-transformers folder.")


def _read_json(path: Path, missing: Any) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return missing
    except (OSError, ValueError) as error:
        raise ModelError("model_invalid", f"{path} cannot be read: {error}.") from error
