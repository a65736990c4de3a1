"""Models small enough to make in a test: a BERT of two layers, a 4-bit container of it, a wheel, a catalogue entry."""

from __future__ import annotations

import hashlib
import json
import struct
import zipfile
from pathlib import Path

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from workbench.models.bert_graph import Array, BertShape
from workbench.models.catalogue import Encoding, Entry, Recipe, Role, Wheel

HIDDEN, INNER, LAYERS, HEADS, POSITIONS = 32, 64, 2, 4, 64
EPSILON = 1e-12
SHAPE = BertShape(LAYERS, HEADS, EPSILON)
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
WORDS = (
    "the",
    "sky",
    "is",
    "blue",
    "a",
    "train",
    "leaves",
    "at",
    "noon",
    "what",
    "colour",
    "passage",
    "query",
    "notes",
)
PIECES = (*SPECIAL, *(f"▁{word}" for word in WORDS), "▁", *"abcdefghijklmnopqrstuvwxyz:./")


def bert_weights(seed: int = 7) -> dict[str, Array]:
    """Random float32 weights by their names in a `BertModel`."""
    random = np.random.default_rng(seed)

    def normal(*shape: int) -> Array:
        return random.normal(0, 0.5, shape).astype(np.float32)

    weights = {
        "embeddings.word_embeddings.weight": normal(len(PIECES), HIDDEN),
        "embeddings.position_embeddings.weight": normal(POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": normal(2, HIDDEN),
    }
    norms, shapes = ["embeddings.LayerNorm"], {}
    for base in (f"encoder.layer.{layer}" for layer in range(LAYERS)):
        norms += [f"{base}.attention.output.LayerNorm", f"{base}.output.LayerNorm"]
        shapes |= {f"{base}.attention.self.{part}": (HIDDEN, HIDDEN) for part in ("query", "key", "value")}
        shapes |= {f"{base}.attention.output.dense": (HIDDEN, HIDDEN)}
        shapes |= {f"{base}.intermediate.dense": (INNER, HIDDEN), f"{base}.output.dense": (HIDDEN, INNER)}
    for name in norms:
        weights[f"{name}.weight"], weights[f"{name}.bias"] = 1 + normal(HIDDEN) / 5, normal(HIDDEN) / 5
    for name, shape in shapes.items():
        weights[f"{name}.weight"], weights[f"{name}.bias"] = normal(*shape) / 3, normal(shape[0]) / 5
    return weights


def transformer_folder(folder: Path) -> Path:
    """A sentence-transformers folder of the tiny BERT, with a word tokenizer that has truncation baked in."""
    from safetensors.numpy import save_file

    (folder / "1_Pooling").mkdir(parents=True)
    save_file(bert_weights(), folder / "model.safetensors", metadata={"format": "pt"})
    config = {"model_type": "bert", "architectures": ["BertModel"], "hidden_act": "gelu", "pad_token_id": 1}
    config |= {
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": LAYERS,
        "vocab_size": len(PIECES),
    }
    config |= {"num_attention_heads": HEADS, "max_position_embeddings": POSITIONS, "layer_norm_eps": EPSILON}
    _write(folder / "config.json", config)
    modules = [{"idx": 0, "path": "", "type": "sentence_transformers.models.Transformer"}]
    modules += [{"idx": 1, "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]
    _write(folder / "modules.json", modules)
    _write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": HIDDEN, "pooling_mode_mean_tokens": True})
    tokenizer = word_tokenizer()
    tokenizer.enable_truncation(8)
    tokenizer.enable_padding(length=8)
    tokenizer.save(str(folder / "tokenizer.json"))
    _write(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>"})
    return folder


def word_tokenizer() -> Tokenizer:
    """Unigram over `PIECES`: known words are one token, everything else is spelled."""
    tokenizer = Tokenizer(models.Unigram([(piece, -float(len(piece) == 1)) for piece in PIECES], unk_id=3))
    tokenizer.normalizer = normalizers.Lowercase()
    split = [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(split)
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


def container_bytes() -> bytes:
    """The tiny BERT in the layout of the 4-bit container; its matrices are rounded to four bits on the way."""
    pieces = [piece.encode() for piece in PIECES]
    offsets = np.cumsum([0, *map(len, pieces)]).astype("<u4")
    scores = np.array([-float(len(piece) == 1) for piece in PIECES], dtype="<f4")
    sizes = struct.pack("<7ifi", HIDDEN, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, 2, EPSILON, 32)
    head = b"E5S1" + struct.pack("<I", 1) + sizes + struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, offsets[-1])
    head += offsets.tobytes() + scores.tobytes() + b"".join(pieces) + struct.pack("<iI", 0, 0)
    tensors = {name: _stored(name, array) for name, array in _container_tensors().items()}
    head += struct.pack("<i", len(tensors))
    at = len(head) + sum(2 + len(name) + 21 for name in tensors)
    table, data = b"", b""
    for name, (kind, count, raw) in tensors.items():
        entry = (
            struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", kind, count, at + len(data), len(raw))
        )
        table, data = table + entry, data + raw
    return head + table + data


def four_bits(values: Array) -> bytes:
    """32-value blocks: a float16 scale, then the low and the high halves, each value plus 8."""
    blocks = values.reshape(-1, 32)
    scales = (np.abs(blocks).max(axis=1) / 7).astype("<f2")
    codes = np.clip(np.rint(blocks / scales[:, None].astype(np.float32)) + 8, 0, 15).astype(np.uint8)
    packed = codes[:, :16] | (codes[:, 16:] << 4)
    return b"".join(scale.tobytes() + row.tobytes() for scale, row in zip(scales, packed, strict=True))


def make_wheel(path: Path, files: dict[str, bytes]) -> str:
    """A zip with these files; returns its sha256."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tiny_entry(sha256: str, recipe: Recipe = Recipe.CONTAINER, part: str = "tiny/model.bin") -> Entry:
    """A catalogue entry of a tiny embedder."""
    return Entry(
        name="tiny",
        model="tests/tiny",
        role=Role.EMBEDDER,
        recipe=recipe,
        wheel=Wheel("tiny", "1.0", sha256, part),
        encoding=Encoding(HIDDEN, POSITIONS, query_prefix="query: ", passage_prefix="passage: "),
        licence="MIT",
        languages=("en",),
        download_mb=1,
        installed_mb=1,
        load_seconds=0.1,
    )


def _container_tensors() -> dict[str, Array]:
    weights = bert_weights()
    short = {"attention.self.query": "q", "attention.self.key": "k", "attention.self.value": "v"}
    short |= {"attention.output.dense": "ao", "attention.output.LayerNorm": "aln", "output.LayerNorm": "oln"}
    short |= {"intermediate.dense": "fi", "output.dense": "fo"}
    tables = {"word_embeddings": "emb.word", "position_embeddings": "emb.pos", "token_type_embeddings": "emb.type"}
    found = {key: weights[f"embeddings.{name}.weight"] for name, key in tables.items()}
    for kind, letter in (("weight", "w"), ("bias", "b")):
        found[f"emb.ln.{letter}"] = weights[f"embeddings.LayerNorm.{kind}"]
        for layer in range(LAYERS):
            for name, key in short.items():
                found[f"l{layer}.{key}.{letter}"] = weights[f"encoder.layer.{layer}.{name}.{kind}"]
    return found


def _stored(name: str, array: Array) -> tuple[int, int, bytes]:
    if array.ndim == 2 and name not in ("emb.pos", "emb.type"):
        return 1, array.size, four_bits(array)
    return 0, array.size, array.astype("<f4").tobytes()


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")
