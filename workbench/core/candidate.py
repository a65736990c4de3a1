"""A candidate: one fused unit with every rank and score it got, and what became of it."""

from __future__ import annotations

from enum import StrEnum

from workbench.core.resource import Layer, Scope, Status
from workbench.core.wire import Wire

EXCERPT_CHARS = 240
"""The longest excerpt of a candidate or of evidence."""


class Disposition(StrEnum):
    SELECTED = "selected"
    EXCLUDED = "excluded"


class ExclusionReason(StrEnum):
    """Why a fused candidate did not become a fragment, in the order in which they are looked at."""

    NOT_CURRENT = "not_current"
    SNAPSHOT_MISMATCH = "snapshot_mismatch"
    DEADLINE = "deadline"
    NOT_RERANKED = "not_reranked"
    BELOW_RELEVANCE = "below_relevance"
    OVERLAP = "overlap"
    RESOURCE_CAP = "resource_cap"
    FRAGMENT_CAP = "fragment_cap"
    TOKEN_BUDGET = "token_budget"


class DeltaAction(StrEnum):
    """What the client does with a fragment, given what its context holds already."""

    ADD = "add"
    REPLACE = "replace"
    REUSE = "reuse"


class Candidate(Wire):
    """One fused candidate. Ranks start at 1; a rank or score is null where that stage did not see it, never 0.

    bm25_rank: the place in the lexical list as fusion saw it, led by exact hits. bm25_score: greater is better; null
    where only its identity found the unit. vector_score: cosine. rrf_score: a sum of reciprocal ranks, no similarity.
    content_hash is the unit's, resource_hash its whole resource's. final_rank decides selection and display.
    """

    unit_key: str
    resource_id: str
    content_hash: str
    resource_hash: str
    scope: Scope
    kind: str
    layer: Layer
    status: Status
    path: str
    heading_path: tuple[str, ...]
    excerpt: str
    token_count: int
    exact_rank: int | None = None
    bm25_rank: int | None = None
    bm25_score: float | None = None
    vector_rank: int | None = None
    vector_score: float | None = None
    rrf_rank: int
    rrf_score: float
    rerank_rank: int | None = None
    rerank_score: float | None = None
    final_rank: int
    disposition: Disposition
    exclusion_reason: ExclusionReason | None = None
    delta_action: DeltaAction | None = None
