"""From a name in the settings to a model, or to a sentence that helps."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from workbench.core.errors import InputError, ModelError
from workbench.models.fake import FakeEmbedder, FakeReranker
from workbench.models.open import open_embedder, open_reranker


def test_the_fakes_have_names_of_their_own(tmp_path: Path) -> None:
    assert isinstance(open_embedder("fake", tmp_path, 1), FakeEmbedder)
    assert isinstance(open_reranker("fake", tmp_path, 1), FakeReranker)


def test_a_model_that_is_not_installed_names_the_command(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="workbench models install e5-small") as raised:
        open_embedder("e5-small", tmp_path, 1)
    assert raised.value.code == "model_missing"


@pytest.mark.parametrize(("name", "fitting"), [("minilm-l12-ce", "e5-small"), ("no-such", "minilm-l6")])
def test_a_name_that_is_no_embedder_lists_those_that_are(tmp_path: Path, name: str, fitting: str) -> None:
    with pytest.raises(InputError, match=fitting) as raised:
        open_embedder(name, tmp_path, 1)
    assert raised.value.code == "model_unknown"


def test_an_embedder_is_no_reranker(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="choose one of minilm-l12-ce"):
        open_reranker("e5-small", tmp_path, 1)


def test_opening_imports_no_runtime() -> None:
    script = """
import sys
from pathlib import Path
from workbench.models.open import open_embedder
from workbench.models.install import list_models
open_embedder("fake", Path("."), 1)
list_models(Path("."))
heavy = {"torch", "sentence_transformers", "onnxruntime", "onnx", "tokenizers", "sentencepiece"} & set(sys.modules)
sys.exit(", ".join(heavy) or 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
