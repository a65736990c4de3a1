"""From a name in the settings to an embedder or a reranker. Opening reads the card only; loading comes later."""

from __future__ import annotations

from pathlib import Path

from workbench.core.errors import InputError
from workbench.models.base import Embedder, Reranker
from workbench.models.card import ModelCard, read_card
from workbench.models.catalogue import CATALOGUE, Role, find_entry
from workbench.models.fake import FakeEmbedder, FakeReranker

FAKE = "fake"


def open_embedder(name: str, models_folder: Path, threads: int) -> Embedder:
    """The embedder of a catalogue entry, of a local sentence-transformers folder, or the shipped fake.

    Raises: `InputError("model_unknown")`; `ModelError("model_missing")` naming the command that installs it;
    `ModelError("model_invalid")` when its card cannot be read.
    """
    if name == FAKE:
        return FakeEmbedder()
    if name not in CATALOGUE and Path(name).expanduser().is_dir():
        from workbench.models.sentence_transformer import SentenceTransformerEmbedder

        return SentenceTransformerEmbedder(Path(name).expanduser(), threads)
    card = _card(name, models_folder, Role.EMBEDDER)
    return embedder_of(card, models_folder / name, threads)


def open_reranker(name: str, models_folder: Path, threads: int) -> Reranker:
    """The reranker of a catalogue entry, or the shipped fake. Raises: as `open_embedder`."""
    if name == FAKE:
        return FakeReranker()
    card = _card(name, models_folder, Role.RERANKER)
    return reranker_of(card, models_folder / name, threads)


def embedder_of(card: ModelCard, folder: Path, threads: int) -> Embedder:
    """The embedder that a card names, on the files in `folder`."""
    if card.adapter.startswith("use-m3"):
        from workbench.models.use_m3 import UseM3Embedder

        return UseM3Embedder(card, folder)
    from workbench.models.onnx_embedder import OnnxEmbedder

    return OnnxEmbedder(card, folder, threads)


def reranker_of(card: ModelCard, folder: Path, threads: int) -> Reranker:
    """The reranker that a card names, on the files in `folder`."""
    from workbench.models.cross_encoder import CrossEncoderReranker

    return CrossEncoderReranker(card, folder, threads)


def _card(name: str, models_folder: Path, role: Role) -> ModelCard:
    entry = find_entry(name)
    if entry.role is not role:
        fitting = ", ".join(other.name for other in CATALOGUE.values() if other.role is role)
        raise InputError("model_unknown", f"{name} is no {role}; choose one of {fitting}.")
    return read_card(name, models_folder)
