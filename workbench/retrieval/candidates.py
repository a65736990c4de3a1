"""From ranked lists to candidates: what each stage knows of a unit, gathered in one value.

Every stage returns new values; nothing here reads the index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.core.candidate import Candidate, DeltaAction, Disposition, ExclusionReason
from workbench.core.resource import Status
from workbench.core.run import RecalledUnit
from workbench.core.text import one_line
from workbench.retrieval.fusion import Fused, fuse_queries
from workbench.retrieval.ranking import Hit
from workbench.storage.index_records import IndexedUnit

EXCERPT_CHARS = 240
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


def fuse(
    recall: Recall, units: Mapping[int, IndexedUnit], statuses: Mapping[str, Status], k: int, keep: int
) -> tuple[list[Ranked], tuple[RecalledUnit, ...]]:
    """The first `keep` fused units in RRF order, and what fusion left out.

    units: by unit_rowid, everything recalled. statuses: by resource_id.
    """
    places = _Places.of(recall, units)
    by_key = {unit.unit_key: unit for unit in units.values()}
    fused = fuse_queries([[list(places.lexical)], [list(places.dense)]], k)
    kept = [
        places.ranked(by_key[one.key], statuses[by_key[one.key].resource_id], rank, one)
        for rank, one in enumerate(fused[:keep], start=1)
    ]
    return kept, tuple(places.recalled(by_key[one.key]) for one in fused[keep:])


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


@dataclass(frozen=True, slots=True)
class _Places:
    """Rank and score in each arm, by unit key, in the arm's order."""

    exact: dict[str, int]
    lexical: dict[str, Place]
    dense: dict[str, Place]

    @classmethod
    def of(cls, recall: Recall, units: Mapping[int, IndexedUnit]) -> _Places:
        exact = {units[row].unit_key: rank for rank, row in enumerate(recall.exact, start=1)}
        return cls(exact, _by_key(recall.lexical, units), _by_key(recall.dense, units))

    def ranked(self, unit: IndexedUnit, status: Status, rank: int, fused: Fused) -> Ranked:
        key = unit.unit_key
        exact, lexical, dense = self.exact.get(key), self.lexical.get(key), self.dense.get(key)
        return Ranked(unit, status, exact, lexical, dense, rank, fused.score)

    def recalled(self, unit: IndexedUnit) -> RecalledUnit:
        key = unit.unit_key
        return RecalledUnit(
            unit_key=key,
            resource_id=unit.resource_id,
            exact_rank=self.exact.get(key),
            bm25_rank=self.lexical.get(key, (None,))[0],
            vector_rank=self.dense.get(key, (None,))[0],
        )


def _by_key(hits: Sequence[Hit], units: Mapping[int, IndexedUnit]) -> dict[str, Place]:
    return {units[hit.unit_rowid].unit_key: (rank, hit.score) for rank, hit in enumerate(hits, start=1)}
