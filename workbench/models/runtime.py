"""An onnxruntime session with its tokenizer: the token ids of one text in, the model's first output out.

One text at a time, on one thread: int8 scales are chosen for each call, so a text's numbers would otherwise depend on
its neighbours; and on a processor, batches and threads inside a call buy no speed. Callers run several calls at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.core.deadline import Deadline, DeadlinePassed

DEFAULT_LIMIT = 512
"""BERT's positions: what a model reads when its card says nothing."""


@dataclass(frozen=True, slots=True)
class TextModel:
    """A loaded session and tokenizer. Both can be called from several threads at once."""

    session: Any
    tokenizer: Any
    inputs: frozenset[str]

    def ids(self, text: str) -> list[int]:
        """The token ids of a text, special tokens included, of whatever length."""
        ids: list[int] = self.tokenizer.encode(text).ids
        return ids

    def spans(self, text: str) -> list[tuple[int, int]]:
        """The character span of every token, without special tokens."""
        spans: list[tuple[int, int]] = self.tokenizer.encode(text, add_special_tokens=False).offsets
        return spans

    def run(self, options: Any, ids: Sequence[int], types: Sequence[int] | None = None) -> npt.NDArray[np.float32]:
        """The model's first output for one row of tokens; token types are zeros where not given.

        options: what `stoppable` gives.
        """
        row = np.array([ids], dtype=np.int64)
        kinds = np.zeros_like(row) if types is None else np.array([types], dtype=np.int64)
        feed = {"input_ids": row, "attention_mask": np.ones_like(row), "token_type_ids": kinds}
        given = {name: feed[name] for name in self.inputs}
        output: npt.NDArray[np.float32] = self.session.run(None, given, options)[0][0]
        return output


@contextmanager
def stoppable(deadline: Deadline | None) -> Iterator[Any]:
    """Options for the model runs of one call, on any of its threads: they end in the middle of a text when time is up.

    Raises: `DeadlinePassed` soon after the deadline came or the caller cancelled.
    """
    from onnxruntime import RunOptions

    options = RunOptions()
    try:
        with deadline.stopping(lambda: setattr(options, "terminate", True)) if deadline else nullcontext():
            yield options
    except Exception as error:
        # A run that was told to terminate fails in a way of its own, for which there is no class.
        if options.terminate:
            raise DeadlinePassed from error
        raise


def load_text_model(folder: Path) -> TextModel:
    """Session and tokenizer of an installed folder. The session is made without the GIL, which the tokenizer holds."""
    with ThreadPoolExecutor(1) as beside:
        making = beside.submit(_session, folder / "onnx" / "model.onnx")
        tokenizer = _tokenizer(folder / "tokenizer.json")
        session = making.result()
    return TextModel(session, tokenizer, frozenset(given.name for given in session.get_inputs()))


def _session(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = 1, 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _tokenizer(path: Path) -> Any:
    """Truncation and padding that a file has baked in would spoil every count; `</s>` in a text is text."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer
