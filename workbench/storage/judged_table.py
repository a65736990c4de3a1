"""Ready cases with their evidence and ranks, read light and in batches: neither texts nor scores are touched.

One read transaction a batch, closed before the batch is handed on: whoever consumes it slowly blocks nobody.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from workbench.storage.central_store import CentralStore

BATCH = 200
Ranks = tuple[str, str, str | None, int | None, int | None, int | None, int | None, int | None]
"""unit_key, resource_id, resource_hash, then the exact, BM25, vector, RRF and rerank rank."""

_CASES = """
SELECT c.case_id FROM evaluation_cases AS c JOIN retrieval_runs AS r ON r.run_id = c.run_id
WHERE c.state = 'ready' AND r.project_id IN (SELECT value FROM json_each(:project_ids))
    AND (:case_ids IS NULL OR c.case_id IN (SELECT value FROM json_each(:case_ids)))
ORDER BY r.project_id, r.manifest, c.created_at, r.run_rowid
"""

_RUNS = """
SELECT c.case_id, r.run_id, r.project_id, r.query, r.manifest, r.latency_us, r.engine, r.run_rowid, r.fused_out
FROM json_each(?) AS wanted JOIN evaluation_cases AS c ON c.case_id = wanted.value
JOIN retrieval_runs AS r ON r.run_id = c.run_id
WHERE c.state = 'ready' ORDER BY wanted.key
"""

_EVIDENCE = "SELECT resource_id, unit_key FROM evaluation_evidence WHERE case_id = ? ORDER BY rowid"

_CANDIDATES = """
SELECT unit_key, resource_id, resource_hash, exact_rank, bm25_rank, vector_rank, rrf_rank, rerank_rank,
    disposition = 'selected'
FROM retrieval_run_candidates WHERE run_rowid = ? ORDER BY final_rank
"""

_CORPUS = """
SELECT resource_id, resource_hash FROM retrieval_run_resources
WHERE project_id = :project_id AND first_manifest <= :manifest
    AND (last_manifest IS NULL OR last_manifest >= :manifest)
ORDER BY resource_id
"""


class JudgedRow(NamedTuple):
    """One ready case. ranked: candidates in `final_rank` order, then what fusion left out; selected: the fragments."""

    case_id: str
    run_id: str
    project_id: str
    query: str
    manifest: int | None
    latency_us: int | None
    engine: str | None
    evidence: tuple[tuple[str, str | None], ...]
    ranked: tuple[Ranks, ...]
    selected: tuple[tuple[str, str], ...]


class JudgedTable:
    """The read side of a report."""

    def __init__(self, store: CentralStore) -> None:
        self._store = store

    def ready(self, project_ids: Sequence[str], case_ids: Sequence[str] | None = None) -> tuple[str, ...]:
        """The ids of ready cases of these projects, all or only the given, those of one corpus side by side."""
        values = {
            "project_ids": json.dumps(list(project_ids)),
            "case_ids": None if case_ids is None else json.dumps(list(case_ids)),
        }
        with self._store.reading() as connection:
            return tuple(case_id for (case_id,) in connection.execute(_CASES, values))

    def rows(self, case_ids: Sequence[str]) -> Iterator[JudgedRow]:
        """These cases in this order; one that is not ready any more is left out."""
        for start in range(0, len(case_ids), BATCH):
            yield from self._batch(case_ids[start : start + BATCH])

    def corpus(self, project_id: str, manifest: int) -> dict[str, str]:
        """resource_id -> resource_hash of everything that a manifest holds."""
        with self._store.reading() as connection:
            return dict(connection.execute(_CORPUS, {"project_id": project_id, "manifest": manifest}).fetchall())

    def _batch(self, case_ids: Sequence[str]) -> list[JudgedRow]:
        rows = []
        with self._store.reading() as connection:
            for row in connection.execute(_RUNS, (json.dumps(list(case_ids)),)).fetchall():
                case_id, run_id, project_id, query, manifest, latency_us, engine, run_rowid, fused_out = row
                evidence = tuple(connection.execute(_EVIDENCE, (case_id,)).fetchall())
                candidates = connection.execute(_CANDIDATES, (run_rowid,)).fetchall()
                left_out = [(unit[0], unit[1], None, *unit[2:5], None, None) for unit in json.loads(fused_out)]
                ranked = (*(one[:-1] for one in candidates), *left_out)
                selected = tuple(one[:2] for one in candidates if one[-1])
                rows.append(
                    JudgedRow(
                        case_id, run_id, project_id, query, manifest, latency_us, engine, evidence, ranked, selected
                    )
                )
        return rows
