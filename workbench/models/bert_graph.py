"""Builds the ONNX graph of a BERT encoder straight from its weights, so that installing a model needs no torch.

The graph reads `input_ids` and `attention_mask` (int64, batch x tokens) and gives `last_hidden_state` (float32). Word
embeddings are stored as int8 with one scale per row; everything else is float32, for the quantiser to take on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
OPSET, FUSED_OPSET = 17, 1
_FUSED = "com.microsoft"
FLOAT, _INT32 = 1, 6


@dataclass(frozen=True, slots=True)
class BertShape:
    """What the weights do not say by themselves."""

    layers: int
    heads: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class _Bert:
    weights: Mapping[str, Array]
    shape: BertShape


@dataclass(slots=True)
class _Graph:
    nodes: list[Any] = field(default_factory=list)
    tensors: list[Any] = field(default_factory=list)

    def keep(self, name: str, array: Array) -> str:
        from onnx import numpy_helper

        self.tensors.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(self, kind: str, inputs: list[str], output: str, domain: str = "", **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, domain=domain, **attributes))
        return output


def bert_model(weights: Mapping[str, Array], shape: BertShape) -> Any:
    """The `onnx.ModelProto` of a BERT encoder with absolute positions and GELU.

    weights: float32 by their names in a `BertModel`; a matrix is (out, in). Token types other than 0 are left out: the
    row of type 0 is added to the positions once, here.
    """
    graph, bert = _Graph(), _Bert(weights, shape)
    hidden = _embeddings(graph, bert)
    graph.add("Cast", ["attention_mask"], "mask", to=_INT32)
    for layer in range(shape.layers):
        hidden = _layer(graph, bert, layer, hidden)
    graph.nodes[-1].output[0] = "last_hidden_state"
    return _model(graph, weights["embeddings.word_embeddings.weight"].shape[1])


def _embeddings(graph: _Graph, bert: _Bert) -> str:
    rows, scales = quantised_rows(bert.weights["embeddings.word_embeddings.weight"])
    picked = graph.add("Gather", [graph.keep("word_rows", rows), "input_ids"], "picked_rows")
    scale = graph.add("Gather", [graph.keep("word_scales", scales), "input_ids"], "picked_scales")
    words = graph.add("Mul", [graph.add("Cast", [picked], "picked_floats", to=FLOAT), scale], "words")
    table, types = (bert.weights[f"embeddings.{kind}_embeddings.weight"] for kind in ("position", "token_type"))
    size = graph.add("Shape", ["input_ids"], "size", start=1, end=2)
    zero = graph.keep("zero", np.array([0], dtype=np.int64))
    places = graph.add("Slice", [graph.keep("place_table", table + types[0]), zero, size, zero], "places")
    scale, shift = _norm_weights(graph, bert, "embeddings.LayerNorm")
    inputs = [graph.add("Add", [words, places], "words_in_place"), scale, shift]
    return graph.add("LayerNormalization", inputs, "embedded", epsilon=bert.shape.epsilon)


def _layer(graph: _Graph, bert: _Bert, layer: int, hidden: str) -> str:
    base = f"encoder.layer.{layer}"
    joined = [f"{base}.attention.self.{part}" for part in ("query", "key", "value")]
    weight = graph.keep(f"{base}.qkv", np.concatenate([bert.weights[f"{name}.weight"].T for name in joined], axis=1))
    bias = graph.keep(f"{base}.qkv.bias", np.concatenate([bert.weights[f"{name}.bias"] for name in joined]))
    inputs = [hidden, weight, bias, "mask"]
    seen = graph.add("Attention", inputs, f"{base}.seen", _FUSED, num_heads=bert.shape.heads)
    hidden = _added(graph, bert, f"{base}.attention.output", seen, hidden)
    inner, bias = _product(graph, bert, f"{base}.intermediate.dense", hidden)
    inner = graph.add("BiasGelu", [inner, bias], f"{base}.inner", _FUSED)
    return _added(graph, bert, f"{base}.output", inner, hidden)


def _product(graph: _Graph, bert: _Bert, name: str, hidden: str) -> tuple[str, str]:
    weight = graph.keep(f"{name}.weight", bert.weights[f"{name}.weight"].T)
    bias = graph.keep(f"{name}.bias", bert.weights[f"{name}.bias"])
    return graph.add("MatMul", [hidden, weight], f"{name}.product"), bias


def _added(graph: _Graph, bert: _Bert, name: str, hidden: str, residual: str) -> str:
    """LayerNorm(hidden x weight + bias + residual), as one fused node after the product."""
    product, bias = _product(graph, bert, f"{name}.dense", hidden)
    scale, shift = _norm_weights(graph, bert, f"{name}.LayerNorm")
    inputs = [product, residual, scale, shift, bias]
    return graph.add("SkipLayerNormalization", inputs, f"{name}.sum", _FUSED, epsilon=bert.shape.epsilon)


def _norm_weights(graph: _Graph, bert: _Bert, name: str) -> tuple[str, str]:
    return (
        graph.keep(f"{name}.weight", bert.weights[f"{name}.weight"]),
        graph.keep(f"{name}.bias", bert.weights[f"{name}.bias"]),
    )


def _model(graph: _Graph, dimension: int) -> Any:
    from onnx import TensorProto, helper

    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "tokens"])
        for name in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["batch", "tokens", dimension])
    body = helper.make_graph(graph.nodes, "bert", inputs, [output], graph.tensors)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(_FUSED, FUSED_OPSET)]
    model = helper.make_model(body, opset_imports=opsets, ir_version=8)
    helper.set_model_props(model, {"onnx.quant.pre_process": "onnxruntime.quant"})
    return model


def quantised_rows(matrix: Array) -> tuple[Array, Array]:
    """int8 rows and one float32 scale per row (n, 1), symmetric; an all-zero row has scale 1."""
    scales = np.abs(matrix).max(axis=1, keepdims=True).astype(np.float32) / np.float32(127)
    scales[scales == 0] = 1
    return np.rint(matrix / scales).astype(np.int8), scales
