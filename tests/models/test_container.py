"""The 4-bit container: what is read back, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.tiny import HEADS, HIDDEN, INNER, LAYERS, PIECES, POSITIONS, bert_weights, container_bytes, four_bits
from workbench.core.errors import ModelError
from workbench.models.container import Sizes, SpecialPieces, four_bit_values, read_container
from workbench.models.convert import container_weights, unigram_tokenizer


def test_sizes_vocabulary_and_tensors_are_read_back(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(container_bytes())
    container = read_container(tmp_path / "model.bin")
    assert container.sizes == Sizes(HIDDEN, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, 2)
    assert container.special == SpecialPieces(start=0, end=2, pad=1, unknown=3)
    assert [piece for piece, _ in container.pieces] == list(PIECES)
    weights, expected = container_weights(container), bert_weights()
    assert weights.keys() == expected.keys()
    for name, array in weights.items():
        assert array.shape == expected[name].shape
        assert np.abs(array - expected[name]).max() <= np.abs(expected[name]).max() / 13


def test_the_first_sixteen_values_of_a_block_are_the_low_halves() -> None:
    block = np.float16(0.5).tobytes() + bytes([0x98] * 16)
    assert four_bit_values(block).tolist() == [0.0] * 16 + [0.5] * 16


@given(st.lists(st.floats(-100, 100, width=16), min_size=32, max_size=32).filter(lambda row: max(map(abs, row)) > 0.01))
def test_four_bits_keep_a_value_within_half_a_step(values: list[float]) -> None:
    array = np.array(values, dtype=np.float32)
    step = float(np.float16(np.abs(array).max() / 7))
    assert np.abs(four_bit_values(four_bits(array)) - array).max() <= step * 0.51


@pytest.mark.parametrize("cut", [3, 30, 200, 2_000, -1])
def test_a_cut_container_is_refused(tmp_path: Path, cut: int) -> None:
    (tmp_path / "model.bin").write_bytes(container_bytes()[:cut])
    with pytest.raises(ModelError, match="not a 4-bit model container") as raised:
        read_container(tmp_path / "model.bin")
    assert raised.value.code == "model_invalid"


def test_another_file_is_refused_by_its_first_bytes(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"GGUF" + container_bytes()[4:])
    with pytest.raises(ModelError, match="GGUF"):
        read_container(tmp_path / "model.bin")


@pytest.mark.parametrize("text", ["the sky  is\nblue", "ＴＨＥ".lower() + " ｓｋｙ", " the sky "])
def test_the_tokenizer_normalises_width_and_spaces_as_sentencepiece_does(tmp_path: Path, text: str) -> None:
    (tmp_path / "model.bin").write_bytes(container_bytes())
    tokenizer = unigram_tokenizer(read_container(tmp_path / "model.bin"))
    tokens = tokenizer.encode(text).tokens
    assert tokens[:3] == ["<s>", "▁the", "▁sky"]
    assert tokens[-1] == "</s>"
