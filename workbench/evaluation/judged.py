"""A judged run: one ready case's query, its evidence, and what the retrieval ranked; read light, one after another.

The record a report is made from, whoever made it: the store here, or a replay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from workbench.core.case import EvidenceRef
from workbench.core.progress import Progress, no_progress
from workbench.core.run import RecalledUnit, Trace
from workbench.storage.central_store import CentralStore
from workbench.storage.judged_table import JudgedTable


class RankedUnit(NamedTuple):
    """A recalled unit with its ranks; what fusion left out has neither `rrf_rank` nor a recorded `resource_hash`."""

    unit_key: str
    resource_id: str
    resource_hash: str | None
    exact_rank: int | None = None
    bm25_rank: int | None = None
    vector_rank: int | None = None
    rrf_rank: int | None = None
    rerank_rank: int | None = None


_ranks = attrgetter(*RankedUnit._fields)


def ranked_units(trace: Trace) -> tuple[RankedUnit, ...]:
    """The candidates of a trace in `final_rank` order, then what fusion left out."""
    return (*map(RankedUnit._make, map(_ranks, trace.candidates)), *map(_left_out, trace.fused_out))


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """What one retrieval ranked for the query of one case.

    ranked: candidates in `final_rank` order, then what fusion left out. fragments: (unit_key, resource_id) of what
    came through all budgets. corpus: resource_id -> resource_hash of the frozen corpus. engine: None without one.
    """

    case_id: str
    run_id: str
    project_id: str
    query: str
    evidence: tuple[EvidenceRef, ...]
    ranked: tuple[RankedUnit, ...]
    fragments: tuple[tuple[str, str], ...]
    corpus: Mapping[str, str]
    latency_us: int | None
    engine: str | None = None


def ready_cases(
    store: CentralStore, project_ids: Sequence[str], case_ids: Sequence[str] | None = None
) -> tuple[str, ...]:
    """The ids of the ready cases of these projects, all or only the given; cases of one corpus stand together."""
    return JudgedTable(store).ready(project_ids, case_ids)


def judged_runs(store: CentralStore, case_ids: Sequence[str], progress: Progress = no_progress) -> Iterator[JudgedRun]:
    """The source runs of ready cases, in this order. Runs of one corpus that follow each other share its mapping.

    progress: phase `read` in cases.
    """
    table, known, corpus = JudgedTable(store), None, dict[str, str]()
    for done, row in enumerate(table.rows(case_ids), start=1):
        if known != (row.project_id, row.manifest):
            known = (row.project_id, row.manifest)
            corpus = {} if row.manifest is None else table.corpus(row.project_id, row.manifest)
        yield JudgedRun(
            case_id=row.case_id,
            run_id=row.run_id,
            project_id=row.project_id,
            query=row.query,
            evidence=tuple(EvidenceRef(resource_id=one, unit_key=unit_key) for one, unit_key in row.evidence),
            ranked=tuple(map(RankedUnit._make, row.ranked)),
            fragments=row.selected,
            corpus=corpus,
            latency_us=row.latency_us,
            engine=row.engine,
        )
        progress("read", done, len(case_ids))


def _left_out(unit: RecalledUnit) -> RankedUnit:
    return RankedUnit(unit.unit_key, unit.resource_id, None, unit.exact_rank, unit.bm25_rank, unit.vector_rank)
