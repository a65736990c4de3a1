"""What the project index hands out: plain frozen values, none of which knows SQL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.core.resource import Layer, Scope, Span

Rowids = npt.NDArray[np.int64]
DEAD, SCOPE_CODES = 0, {Scope.USER: 1, Scope.PROJECT: 2}
"""Codes in `IndexReader.scope_codes`: `DEAD` where no unit has this rowid."""

IDENTITY, WORDS, TRIGRAM, DENSE = "identity", "words", "trigram", "dense"
"""The arms that a revision can hold."""


@dataclass(frozen=True, slots=True)
class Revision:
    """A complete revision. engine_*: None in one without the dense arm. created_at: ISO 8601, UTC."""

    revision_id: int
    project_id: str
    miv: str
    record_state_version: int
    engine_identity: str | None
    engine_name: str | None
    dimension: int | None
    arms: tuple[str, ...]
    chunker_version: str
    token_counter: str
    terms_version: str
    input_version: str
    resource_count: int
    unit_count: int
    total_length: int
    created_at: str


class CorpusStatistics(NamedTuple):
    """What BM25 needs of the whole corpus. total_length: terms of all units, in all columns."""

    unit_count: int
    total_length: int


class Postings(NamedTuple):
    """The units that hold a term. rowids: int64, ascending; tfs: uint8, occurrences weighted by column, at most 255."""

    rowids: Rowids
    tfs: npt.NDArray[np.uint8]


class IdentityHit(NamedTuple):
    """grade: 0 resource id exact, 1 path or title exact but for case, 2 prefix of one of the three."""

    unit_rowid: int
    grade: int


@dataclass(frozen=True, slots=True)
class IndexedUnit:
    """A unit of the head with what its resource says of it. Hashes are 64 hex digits."""

    unit_rowid: int
    unit_key: str
    resource_id: str
    resource_hash: str
    content_hash: str
    layer: Layer
    scope: Scope
    kind: str
    path: str
    title: str
    heading_path: tuple[str, ...]
    part: str
    text: str
    span: Span
    token_count: int
    source_ref: str
    file_digest: str


@dataclass(frozen=True, slots=True)
class IndexedResource:
    """A resource of the head."""

    resource_id: str
    content_hash: str
    layer: Layer
    scope: Scope
    kind: str
    path: str
    title: str
    description: str
    body: str
    source_ref: str
    span: Span
