"""Engine identity: known without loading, and another one as soon as anything that changes the vectors changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workbench.core.errors import ModelError
from workbench.models.base import LoadState
from workbench.models.card import CARD_FILE, FileDigest, ModelCard, read_card
from workbench.models.open import embedder_of


@pytest.mark.spec("T2-3")
@pytest.mark.field(76, 77, 78, 81)
@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"adapter": "onnx-2"},
        {"dimension": 33},
        {"max_tokens": 63},
        {"pooling": "cls"},
        {"query_prefix": "q: "},
        {"passage_prefix": ""},
        {"precision": "float32"},
        {"normalised": False},
        {"metric": "dot"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_any_change_of_the_engine_is_another_identity(tiny_card: ModelCard, change: dict[str, Any]) -> None:
    assert tiny_card.model_copy(update=change).identity.digest != tiny_card.identity.digest


@pytest.mark.spec("T2-3")
@pytest.mark.field(78)
@pytest.mark.parametrize("name", ["onnx/model.onnx", "tokenizer.json"])
def test_other_weights_or_another_tokenizer_are_another_identity(tiny_card: ModelCard, name: str) -> None:
    files = dict(tiny_card.files) | {name: FileDigest(bytes=1, sha256="0" * 64)}
    assert tiny_card.model_copy(update={"files": files}).identity.digest != tiny_card.identity.digest


@pytest.mark.parametrize("change", [{"licence": "other"}, {"languages": ("fr",)}, {"version": "9"}])
def test_what_changes_no_number_changes_no_identity(tiny_card: ModelCard, change: dict[str, Any]) -> None:
    assert tiny_card.model_copy(update=change).identity == tiny_card.identity


def test_identity_is_known_before_the_model_is_loaded(tiny_card: ModelCard, tmp_path: Path) -> None:
    embedder = embedder_of(tiny_card, tmp_path / "nothing here", threads=1)
    assert embedder.identity == tiny_card.identity
    assert embedder.state is LoadState.ABSENT


def test_a_model_whose_files_are_gone_fails_with_a_next_step(tiny_card: ModelCard, tmp_path: Path) -> None:
    embedder = embedder_of(tiny_card, tmp_path / "nothing here", threads=1)
    with pytest.raises(ModelError, match="workbench models verify tiny"):
        embedder.encode_query("the sky")
    assert embedder.state is LoadState.FAILED


@pytest.mark.parametrize("text", ["", "{", '{"format": 1}'])
def test_a_damaged_card_is_invalid_not_missing(tmp_path: Path, text: str) -> None:
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / CARD_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match="workbench models install tiny") as raised:
        read_card("tiny", tmp_path)
    assert raised.value.code == "model_invalid"
