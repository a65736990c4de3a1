"""Runs and their candidates in the central store: what comes back equals what went in, field by field.

A run ends once: whatever wants to end a run that is not `running` changes nothing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from workbench.core.activation import ActivationRequest, ActivationResult, IndexState
from workbench.core.candidate import Candidate
from workbench.core.errors import InputError
from workbench.core.fixture import SourceRun
from workbench.core.run import RecalledUnit, RunError, RunRecord, RunSummary, Trace
from workbench.storage import run_queries as sql
from workbench.storage.central_store import CentralStore

OBSERVATION_CHARS = 4_096
"""How much of a host's observation a run keeps."""
_REQUEST_SHAPE = {"query", "request_key", "state"}


class AskedRun(NamedTuple):
    """manifest: the number of the corpus that the run searched; None when it was not recorded."""

    request: ActivationRequest
    manifest: int | None
    pipeline: str | None
    decision: dict[str, Any] | None


class ArmHits(NamedTuple):
    """How many candidates of a run each arm has among its first places, and how many both have there."""

    lexical: int
    dense: int
    both: int

    @property
    def disagreement(self) -> float | None:
        """1 minus the Jaccard share of the two lists; None where an arm found nothing at all."""
        if not self.lexical or not self.dense:
            return None
        return 1 - self.both / (self.lexical + self.dense - self.both)


class RunTable:
    """The tables `retrieval_runs` and `retrieval_run_candidates`. Every write is one transaction."""

    def __init__(self, store: CentralStore) -> None:
        self._store = store

    def begin(self, run_id: str, project_id: str, request: ActivationRequest, key: str, owner: str, at: str) -> None:
        """Add a running run that belongs to the process `owner`. The request is kept without its delta state."""
        with self._store.writing("begin_run") as connection:
            connection.execute(sql.BEGIN, (run_id, project_id, key, request.query, _shape(request), owner, at))

    def succeed(self, run_id: str, result: ActivationResult, trace: Trace, latency_us: int, keep: int) -> bool:
        """End a run with its result and trace, and let the project's oldest unpinned runs beyond `keep` go."""
        values = _result_columns(result, trace) | {"run_id": run_id, "latency_us": latency_us}
        candidates = [_candidate_row(candidate) for candidate in trace.candidates]
        with self._store.writing("succeed_run") as connection:
            ended = connection.execute(sql.SUCCEED, values).fetchall()
            for run_rowid, project_id in ended:
                connection.executemany(sql.ADD_CANDIDATE, [(run_rowid, *row) for row in candidates])
                connection.execute(sql.TRIM, (project_id, keep))
        return bool(ended)

    def fail(
        self,
        run_id: str,
        error: RunError,
        keep: int,
        *,
        latency_us: int | None = None,
        index: IndexState | None = None,
        stage_us: Mapping[str, int],
    ) -> bool:
        """End a run with its error and what was known by then; retention as in `succeed`."""
        values = _index_columns(index) | {
            "run_id": run_id,
            "latency_us": latency_us,
            "stage_us": json.dumps(dict(stage_us)),
            "error_stage": error.stage,
            "error_code": error.code,
            "error_summary": error.summary,
        }
        with self._store.writing("fail_run") as connection:
            ended = connection.execute(sql.FAIL, values).fetchall()
            for (project_id,) in ended:
                connection.execute(sql.TRIM, (project_id, keep))
        return bool(ended)

    def interrupt(self, is_alive: Callable[[str], bool], error: RunError) -> int:
        """End the running runs of every owner that is not alive. Returns how many."""
        with self._store.reading() as connection:
            owners = [owner for (owner,) in connection.execute(sql.OWNERS)]
        dead = [owner for owner in owners if not is_alive(owner)]
        if not dead:
            return 0
        shape = {"stage": error.stage, "code": error.code, "summary": error.summary}
        with self._store.writing("interrupt_runs") as connection:
            return sum(connection.execute(sql.INTERRUPT, shape | {"owner": owner}).rowcount for owner in dead)

    def clear(self, project_ids: Sequence[str]) -> int:
        """Delete the projects' ended runs that no case refers to. Returns how many."""
        with self._store.writing("clear_runs", durable=True) as connection:
            return connection.execute(sql.CLEAR, (json.dumps(list(project_ids)),)).rowcount

    def list(self, project_id: str, limit: int) -> tuple[RunSummary, ...]:
        """The project's runs, the newest first."""
        with self._store.reading() as connection:
            return tuple(_summary(row) for row in _rows(connection, sql.LIST, (project_id, limit)))

    def arms(self, project_id: str, depth: int) -> dict[str, ArmHits]:
        """run_id -> the candidates that the arms rank among their first `depth`, for runs with any candidate."""
        with self._store.reading() as connection:
            rows = connection.execute(sql.ARMS, {"project_id": project_id, "depth": depth}).fetchall()
        return {run_id: ArmHits(*map(int, hits)) for run_id, *hits in rows}

    def get(self, run_id: str) -> RunRecord:
        """A whole run by its id or the only one that starts so.

        Raises: `InputError("run_not_found")`; `InputError("invalid_argument")` when several start so.
        """
        with self._store.reading() as connection:
            found = _rows(connection, sql.BY_PREFIX, {"prefix": run_id.lower()}) if run_id.isascii() and run_id else []
            if not found:
                raise InputError("run_not_found", f"No run is called {run_id[:80]!r}; `workbench runs` lists them.")
            if len(found) > 1:
                raise InputError("invalid_argument", f"Several runs start with {run_id!r}; type more of the id.")
            candidates = [_candidate(row) for row in _rows(connection, sql.CANDIDATES, (found[0]["run_rowid"],))]
        return _record(found[0], candidates)

    def asked(self, run_id: str) -> AskedRun:
        """What a run asked, and of which corpus; its request is without the delta state.

        Raises: `InputError("run_not_found")`.
        """
        with self._store.reading() as connection:
            row = connection.execute(sql.ASKED, (run_id,)).fetchone()
        if row is None:
            raise InputError("run_not_found", f"No run is called {run_id[:80]!r}; `workbench runs` lists them.")
        shape, query, request_key, manifest, pipeline, decision = row
        request = ActivationRequest.model_validate(json.loads(shape) | {"query": query, "request_key": request_key})
        return AskedRun(request, manifest, pipeline, None if decision is None else json.loads(decision))


def add_source_run(connection: sqlite3.Connection, run: SourceRun, project_id: str, manifest: int) -> None:
    """Add an ended run that was recorded elsewhere, in the caller's transaction."""
    values = _result_columns(run, run.trace) | {
        "run_id": run.run_id,
        "project_id": project_id,
        "query": run.request.query,
        "request": _shape(run.request),
        "started_at": run.started_at,
        "latency_us": run.latency_us,
        "manifest": manifest,
    }
    ((run_rowid,),) = connection.execute(sql.ADD_ENDED, values).fetchall()
    rows = [(run_rowid, *_candidate_row(candidate)) for candidate in run.trace.candidates]
    connection.executemany(sql.ADD_CANDIDATE, rows)


def _shape(request: ActivationRequest) -> str:
    """The request as it is kept: without its delta state, and of an observation the beginning."""
    observation = None if request.observation is None else request.observation[:OBSERVATION_CHARS]
    cut = request.model_copy(update={"observation": observation})
    return cut.model_dump_json(exclude=_REQUEST_SHAPE, exclude_defaults=True)


def _rows(connection: sqlite3.Connection, query: str, values: Any) -> list[sqlite3.Row]:
    cursor = connection.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor.execute(query, values).fetchall()


def _result_columns(result: ActivationResult | SourceRun, trace: Trace) -> dict[str, Any]:
    return _index_columns(result.index) | {
        "request_key": result.request_key,
        "pipeline": result.pipeline,
        "ordering": result.ordering,
        "stage_us": json.dumps(result.stage_us),
        "degradations": json.dumps([note.model_dump() for note in result.degradations], ensure_ascii=False),
        "candidate_count": len(trace.candidates),
        "fragment_count": len(result.fragments),
        "budget": result.budget.model_dump_json(),
        "decision": None if result.decision is None else json.dumps(result.decision, ensure_ascii=False),
        "fragments": json.dumps([one.model_dump(mode="json") for one in result.fragments], ensure_ascii=False),
        "fused_out": json.dumps([list(unit.model_dump().values()) for unit in trace.fused_out], ensure_ascii=False),
    }


def _index_columns(index: IndexState | None) -> dict[str, Any]:
    if index is None:
        return dict.fromkeys(IndexState.model_fields)
    return index.model_dump() | {"arms": json.dumps(index.arms)}


def _candidate_row(candidate: Candidate) -> tuple[Any, ...]:
    values = candidate.__dict__ | {"heading_path": json.dumps(candidate.heading_path, ensure_ascii=False)}
    return tuple(map(values.__getitem__, sql.CANDIDATE_COLUMNS))


def _candidate(row: sqlite3.Row) -> Candidate:
    return Candidate.model_validate(dict(row) | {"heading_path": json.loads(row["heading_path"])})


def _summary(row: sqlite3.Row) -> RunSummary:
    error = {"stage": row["error_stage"], "code": row["error_code"], "summary": row["error_summary"]}
    values = {name: row[name] for name in RunSummary.model_fields if name not in ("index", "error")}
    return RunSummary.model_validate(
        values
        | {
            "scopes": None if row["scopes"] is None else json.loads(row["scopes"]),
            "index": _index(row),
            "stage_us": json.loads(row["stage_us"]),
            "degradations": json.loads(row["degradations"]),
            "budget": None if row["budget"] is None else json.loads(row["budget"]),
            "error": None if row["error_code"] is None else error,
        }
    )


def _index(row: sqlite3.Row) -> dict[str, Any] | None:
    if row["revision"] is None:
        return None
    return {name: row[name] for name in IndexState.model_fields} | {"arms": json.loads(row["arms"])}


def _record(row: sqlite3.Row, candidates: list[Candidate]) -> RunRecord:
    fused_out = [
        RecalledUnit(**dict(zip(RecalledUnit.model_fields, unit, strict=True))) for unit in json.loads(row["fused_out"])
    ]
    return RunRecord(
        summary=_summary(row),
        trace=Trace(candidates=tuple(candidates), fused_out=tuple(fused_out)),
        fragments=json.loads(row["fragments"]),
        corpus_size=row["corpus_size"] or 0,
        manifest=row["manifest"],
    )
