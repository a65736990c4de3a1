"""The graph built from weights against BERT written out in numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.tiny import EPSILON, HEADS, HIDDEN, LAYERS, PIECES, SHAPE, bert_weights
from workbench.models.bert_graph import Array, bert_model, quantised_rows

erf = np.vectorize(math.erf)


def norm(hidden: Array, weights: dict[str, Array], name: str) -> Array:
    centred = hidden - hidden.mean(-1, keepdims=True)
    scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
    return scaled * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def dense(hidden: Array, weights: dict[str, Array], name: str) -> Array:
    return hidden @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def attention(hidden: Array, weights: dict[str, Array], base: str) -> Array:
    parts = [dense(hidden, weights, f"{base}.attention.self.{part}") for part in ("query", "key", "value")]
    query, key, value = (part.reshape(len(hidden), HEADS, -1).swapaxes(0, 1) for part in parts)
    scores = np.exp(query @ key.swapaxes(1, 2) / math.sqrt(HIDDEN / HEADS))
    seen = (scores / scores.sum(-1, keepdims=True)) @ value
    return seen.swapaxes(0, 1).reshape(len(hidden), HIDDEN)


def bert(weights: dict[str, Array], ids: list[int]) -> Array:
    tables = [weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("word", "position", "token_type")]
    hidden = norm(tables[0][ids] + tables[1][: len(ids)] + tables[2][0], weights, "embeddings.LayerNorm")
    for base in (f"encoder.layer.{layer}" for layer in range(LAYERS)):
        seen = dense(attention(hidden, weights, base), weights, f"{base}.attention.output.dense")
        hidden = norm(seen + hidden, weights, f"{base}.attention.output.LayerNorm")
        inner = dense(hidden, weights, f"{base}.intermediate.dense")
        inner = inner * (1 + erf(inner / math.sqrt(2))) / 2
        hidden = norm(dense(inner, weights, f"{base}.output.dense") + hidden, weights, f"{base}.output.LayerNorm")
    return hidden


@pytest.fixture(scope="module")
def weights() -> dict[str, Array]:
    """Word embeddings rounded as the graph stores them, so that only the graph itself is compared."""
    weights = bert_weights()
    rows, scales = quantised_rows(weights["embeddings.word_embeddings.weight"])
    return weights | {"embeddings.word_embeddings.weight": rows.astype(np.float32) * scales}


def test_the_graph_computes_bert_and_ignores_padding(weights: dict[str, Array]) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(
        bert_model(weights, SHAPE).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    long, short = [0, 5, 9, 12, 4, 2], [0, 7, 2]
    feed = {"input_ids": [long, [*short, 1, 1, 1]], "attention_mask": [[1] * 6, [1] * 3 + [0] * 3]}
    found = session.run(None, {name: np.array(rows, dtype=np.int64) for name, rows in feed.items()})[0]
    assert np.allclose(found[0], bert(weights, long), atol=1e-4)
    assert np.allclose(found[1, :3], bert(weights, short), atol=1e-4)


@given(st.lists(st.lists(st.floats(-10, 10, width=32), min_size=4, max_size=4), min_size=1, max_size=6))
def test_a_row_in_int8_is_within_half_a_step_of_its_values(values: list[list[float]]) -> None:
    matrix = np.array(values, dtype=np.float32)
    rows, scales = quantised_rows(matrix)
    assert np.all(np.abs(rows * scales - matrix) <= scales / 2 + 1e-5)
    assert len(rows) == len(matrix) < len(PIECES)
