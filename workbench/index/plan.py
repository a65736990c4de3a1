"""Which units share a vector that is there already, and which encoder inputs are missing. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

from workbench.core.hashing import sha256_hex


class DeltaStats(NamedTuple):
    """Counts of one plan: units planned, those whose input is in the cache, distinct inputs to encode, units gone."""

    units: int
    reused: int
    missing: int
    removed: int


class EmbeddingDelta(NamedTuple):
    """aliases: unit_key -> hash of its input. missing_inputs: hash -> exact input, each once, in order of the units."""

    aliases: dict[str, bytes]
    missing_inputs: dict[bytes, str]
    removed: tuple[str, ...]
    stats: DeltaStats


def plan_embedding_delta(
    units: Iterable[tuple[str, str]],
    known: Callable[[Collection[bytes]], Collection[bytes]],
    before: Iterable[str] = (),
) -> EmbeddingDelta:
    """The work that brings an engine's vectors up to these units.

    units: (unit_key, exact encoder input). known: those of the given input hashes that the engine has vectors of.
    before: keys of the units that had aliases; those no longer among `units` are `removed`, in order.
    """
    inputs = dict(units)
    aliases = {unit_key: input_hash(encoder_input) for unit_key, encoder_input in inputs.items()}
    cached = frozenset(known(frozenset(aliases.values())))
    missing = {aliases[key]: text for key, text in inputs.items() if aliases[key] not in cached}
    removed = tuple(key for key in dict.fromkeys(before) if key not in aliases)
    reused = sum(one in cached for one in aliases.values())
    return EmbeddingDelta(aliases, missing, removed, DeltaStats(len(aliases), reused, len(missing), len(removed)))


def input_hash(encoder_input: str) -> bytes:
    """sha256 of the exact encoder input in UTF-8."""
    return bytes.fromhex(sha256_hex(encoder_input))
