"""An onnxruntime session with its tokenizer: token ids in, the model's first output out. Cuts and pads by itself."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Ids = Sequence[int]


@dataclass(frozen=True, slots=True)
class TextModel:
    """A loaded session and tokenizer. Both can be called from several threads at once."""

    session: Any
    tokenizer: Any
    inputs: frozenset[str]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The character span of every token, without special tokens."""
        spans: list[tuple[int, int]] = self.tokenizer.encode(text, add_special_tokens=False).offsets
        return spans

    def run(self, rows: Sequence[Ids], types: Sequence[Ids] | None = None) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """The model's first output and the attention mask (rows x tokens); `types` are zeros where not given."""
        shape = (len(rows), max(map(len, rows)))
        feed = {name: np.zeros(shape, dtype=np.int64) for name in ("input_ids", "attention_mask", "token_type_ids")}
        for row, ids in enumerate(rows):
            feed["input_ids"][row, : len(ids)] = ids
            feed["attention_mask"][row, : len(ids)] = 1
            if types is not None:
                feed["token_type_ids"][row, : len(ids)] = types[row]
        output = self.session.run(None, {name: feed[name] for name in self.inputs})[0]
        return output, feed["attention_mask"]


def load_text_model(folder: Path, threads: int) -> TextModel:
    """Session and tokenizer of an installed folder, loaded side by side: each takes most of a second."""
    with ThreadPoolExecutor(1) as pool:
        session = pool.submit(_session, folder / "onnx" / "model.onnx", threads)
        tokenizer = _tokenizer(folder / "tokenizer.json")
        loaded = session.result()
    return TextModel(loaded, tokenizer, frozenset(given.name for given in loaded.get_inputs()))


def _session(path: Path, threads: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _tokenizer(path: Path) -> Any:
    """Truncation and padding that a file has baked in would spoil every count, so both are off."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
