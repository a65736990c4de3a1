"""From ranked lists to candidates: what each stage knows of a unit, gathered in one value.

Every stage returns new values; nothing here reads the index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.core.candidate import EXCERPT_CHARS, Candidate, DeltaAction, Disposition, ExclusionReason
from workbench.core.resource import Status
from workbench.core.run import RecalledUnit
from workbench.core.text import one_line
from workbench.core.unit import resource_id_of
from workbench.retrieval.fusion import Fused, fuse_queries
from workbench.retrieval.ranking import Hit
from workbench.storage.index_records import IndexedUnit

Place = tuple[int, float | None]


@dataclass(frozen=True, slots=True)
class Recall:
    """What the arms found, best first. `lexical` is led by the `exact` ones; an arm that could not run is empty."""

    exact: tuple[int, ...]
    lexical: tuple[Hit, ...]
    dense: tuple[Hit, ...]

    @property
    def rowids(self) -> list[int]:
        """Every unit found, each once."""
        return list(dict.fromkeys(hit.unit_rowid for hit in (*self.lexical, *self.dense)))


@dataclass(frozen=True, slots=True)
class Ranked:
    """A fused unit with its places (rank and score) so far. rerank: null where the reranker did not see it."""

    unit: IndexedUnit
    status: Status
    exact_rank: int | None
    lexical: Place | None
    dense: Place | None
    rrf_rank: int
    rrf_score: float
    rerank: Place | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """A unit of the fused list, with its places."""

    unit_rowid: int
    fused: Fused
    rrf_rank: int
    exact_rank: int | None
    lexical: Place | None
    dense: Place | None

    def ranked(self, unit: IndexedUnit, status: Status) -> Ranked:
        """The candidate, once its unit has been read."""
        return Ranked(unit, status, self.exact_rank, self.lexical, self.dense, self.rrf_rank, self.fused.score)

    def recalled(self) -> RecalledUnit:
        """What is remembered of a unit that fusion does not keep."""
        return RecalledUnit(
            unit_key=self.fused.key,
            resource_id=resource_id_of(self.fused.key),
            exact_rank=self.exact_rank,
            bm25_rank=self.lexical and self.lexical[0],
            vector_rank=self.dense and self.dense[0],
        )


def fuse(recall: Recall, keys: Mapping[int, str], k: int) -> list[Recalled]:
    """Every recalled unit in RRF order. keys: by unit_rowid."""
    rowids = {keys[rowid]: rowid for rowid in recall.rowids}
    exact = {keys[rowid]: rank for rank, rowid in enumerate(recall.exact, start=1)}
    lexical, dense = _places(recall.lexical, keys), _places(recall.dense, keys)
    return [
        Recalled(rowids[one.key], one, rank, exact.get(one.key), lexical.get(one.key), dense.get(one.key))
        for rank, one in enumerate(fuse_queries([[list(lexical)], [list(dense)]], k), start=1)
    ]


def candidate_of(
    ranked: Ranked, final_rank: int, reason: ExclusionReason | None, delta_action: DeltaAction | None
) -> Candidate:
    """The wire form. reason: null for a selected one, which then has a delta action."""
    unit = ranked.unit
    lexical, dense, rerank = (place or (None, None) for place in (ranked.lexical, ranked.dense, ranked.rerank))
    return Candidate(
        unit_key=unit.unit_key,
        resource_id=unit.resource_id,
        content_hash=unit.content_hash,
        resource_hash=unit.resource_hash,
        scope=unit.scope,
        kind=unit.kind,
        layer=unit.layer,
        status=ranked.status,
        path=unit.path,
        heading_path=unit.heading_path,
        excerpt=one_line(unit.text, EXCERPT_CHARS),
        token_count=unit.token_count,
        exact_rank=ranked.exact_rank,
        bm25_rank=lexical[0],
        bm25_score=lexical[1],
        vector_rank=dense[0],
        vector_score=dense[1],
        rrf_rank=ranked.rrf_rank,
        rrf_score=ranked.rrf_score,
        rerank_rank=rerank[0],
        rerank_score=rerank[1],
        final_rank=final_rank,
        disposition=Disposition.SELECTED if reason is None else Disposition.EXCLUDED,
        exclusion_reason=reason,
        delta_action=delta_action,
    )


def _places(hits: Sequence[Hit], keys: Mapping[int, str]) -> dict[str, Place]:
    return {keys[hit.unit_rowid]: (rank, hit.score) for rank, hit in enumerate(hits, start=1)}
