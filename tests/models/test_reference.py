"""The ONNX path against sentence-transformers on the same installed folder, on real English and other text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from workbench.models.open import open_embedder

ENGLISH = (
    "Retrieval-augmented memory keeps notes as Markdown files and rebuilds its index from them whenever they change.",
    "The daemon reloads its configuration on SIGHUP; a syntax error keeps the old configuration and logs the line.",
    "def fuse(lists, k=60):\n    return {key: sum(1 / (k + rank) for rank in ranks) for key, ranks in lists.items()}",
    "Meeting notes: we agreed to postpone the database migration until the replica has caught up.",
    "A backup that was never restored is a hope. " * 12,
)
OTHER = (
    "数据库迁移推迟到副本追上之后再进行。",
    "Резервная копия, которую не восстанавливали, — это надежда.",
    "混合検索の重みを調整する",
)


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    ("name", "texts", "cosine"), [("e5-small", ENGLISH + OTHER, 0.989), ("minilm-l6", ENGLISH, 0.985)]
)
def test_int8_stays_close_to_the_reference(
    installed_model: Callable[[str], Path], models_folder: Path, name: str, texts: tuple[str, ...], cosine: float
) -> None:
    folder = installed_model(name)
    ours, reference = open_embedder(name, models_folder, 1), open_embedder(str(folder), models_folder, 1)
    inputs = [ours.fit_passage("notes/a.md", ("Backups",), text) for text in texts]
    assert [reference.fit_passage("notes/a.md", ("Backups",), text) for text in texts] == inputs
    agreement = np.sum(ours.encode_passages(inputs) * reference.encode_passages(inputs), axis=1)
    assert agreement.min() >= cosine
    assert ours.encode_query(texts[0]) @ reference.encode_query(texts[0]) >= cosine
    assert ours.identity.digest != reference.identity.digest
    assert ours.identity.dimension == reference.identity.dimension


@pytest.mark.model
def test_text_that_looks_like_a_special_token_is_text(
    installed_model: Callable[[str], Path], models_folder: Path
) -> None:
    installed_model("e5-small")
    embedder = open_embedder("e5-small", models_folder, 1)
    plain, marked = embedder.encode_passages(["passage: closing tag", "passage: closing </s> tag"])
    long = "passage: " + "</s> word " * 2_000
    assert not np.array_equal(plain, marked)
    assert embedder.encode_passages([long]).shape == (1, 384)


@pytest.mark.model
def test_a_question_in_one_language_finds_a_note_in_another(
    installed_model: Callable[[str], Path], models_folder: Path
) -> None:
    installed_model("e5-small")
    embedder = open_embedder("e5-small", models_folder, 1)
    notes = ["数据库迁移推迟到下周。", "Der Zug fährt am Mittag ab.", "Bread needs flour, water and salt."]
    vectors = embedder.encode_passages([embedder.fit_passage("", (), note) for note in notes])
    assert int(np.argmax(vectors @ embedder.encode_query("when is the database migration?"))) == 0
