"""What the front end is told: the state as plain values, only as much of it as is visible. Pure; text stays text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from workbench.core.candidate import Candidate
from workbench.core.case import CaseState
from workbench.core.run import RunRecord
from workbench.evaluation.figures import Report
from workbench.evaluation.metrics import METRICS
from workbench.storage.run_pages import RunEnd, RunRow
from workbench.views.diagnostics.candidates import outcome, sorted_candidates
from workbench.views.diagnostics.indexes import IndexRow
from workbench.views.diagnostics.state import PAGE_ROWS, DiagnosticsState, Saved, Sheet

View = dict[str, dict[str, Any]]


def render(state: DiagnosticsState) -> View:
    """The whole view in its parts; a part that did not change need not be sent again."""
    return {
        "head": _head(state),
        "runs": _runs(state),
        "run": _run(state),
        "indexes": {"rows": [_index(row) for row in state.indexes], "looking": state.looking},
        "report": {} if state.report is None else _report(state.report, state),
    }


def _head(state: DiagnosticsState) -> dict[str, Any]:
    counts, cases = state.counts, state.cases
    return {
        "projects": state.project_ids,
        "project": state.project,
        "filter": {
            "end": state.filter.end or "",
            "zero_hits": state.filter.zero_hits,
            "degraded": state.filter.degraded,
        },
        "counts": {
            **{str(end): counts.ends.get(end, 0) for end in RunEnd},
            "total": counts.total,
            "zero_hits": counts.zero_hits,
            "degraded": counts.degraded,
        },
        "cases": {**{str(one): cases.get(one, 0) for one in CaseState}, "without": counts.total - counts.pinned},
        "task": None if state.task is None else _task(state),
        "saved": None if state.saved is None else _saved(state.saved),
        "question": None if state.question is None else _question(state),
        "message": state.message.text,
        "bad": state.message.bad,
    }


def _task(state: DiagnosticsState) -> dict[str, Any]:
    task = state.task
    assert task is not None
    return {
        "kind": task.kind,
        "phase": task.phase,
        "done": task.done,
        "total": task.total,
        "stopping": task.stopping,
    }


def _saved(saved: Saved) -> dict[str, Any]:
    return {
        "folder": saved.folder,
        "files": [one._asdict() for one in saved.files],
        "cases": saved.cases,
        "set_digest": saved.set_digest,
        "note": saved.note,
    }


def _question(state: DiagnosticsState) -> dict[str, Any]:
    question = state.question
    assert question is not None
    return {
        "projects": question.project_ids,
        "removable": question.removable,
        "pinned": question.pinned,
        "running": question.running,
    }


def _runs(state: DiagnosticsState) -> dict[str, Any]:
    return {
        "total": state.page.total,
        "first": PAGE_ROWS * len(state.behind) + 1,
        "newer": bool(state.behind),
        "more": state.page.more,
        "rows": [_row(row) for row in state.page.rows],
        "open": state.run_id,
    }


def _row(row: RunRow) -> dict[str, Any]:
    return {
        "run": row.run_id,
        "project": row.project_id,
        "query": row.query,
        "end": row.end,
        "started_at": row.started_at,
        "ms": _ms(row.latency_us),
        "candidates": row.candidates,
        "fragments": row.fragments,
        "degradations": row.degradations,
        "error": row.error_code,
        "case": row.case_state,
    }


def _run(state: DiagnosticsState) -> dict[str, Any]:
    if state.sheet is None:
        return {}
    return _record(state.sheet.record) | _sheet(state, state.sheet)


def _record(record: RunRecord) -> dict[str, Any]:
    run = record.summary
    return {
        "run": run.run_id,
        "project": run.project_id,
        "query": run.query,
        "state": run.state,
        "started_at": run.started_at,
        "ms": _ms(run.latency_us),
        "ordering": run.ordering,
        "scopes": run.scopes,
        "index": None if run.index is None else run.index.model_dump(mode="json"),
        "corpus_size": record.corpus_size,
        "error": None if run.error is None else run.error.model_dump(mode="json"),
        "degradations": [one.model_dump(mode="json") for one in run.degradations],
        "stages": [[stage, micros / 1000] for stage, micros in run.stage_us.items()],
        "budget": None if run.budget is None else run.budget.model_dump(mode="json"),
        "dropped": sorted(Counter(outcome(one) for one in record.trace.candidates if one.exclusion_reason).items()),
        "fused_out": len(record.trace.fused_out),
    }


def _sheet(state: DiagnosticsState, sheet: Sheet) -> dict[str, Any]:
    asked = sheet.asked
    shown = sorted_candidates(sheet.record.trace.candidates, state.sort)
    return {
        "case": sheet.case_state,
        "sort": state.sort.column,
        "descending": state.sort.descending,
        "candidates": [_candidate(one, asked.resource_ids if asked else ()) for one in shown],
        "asked": None if asked is None else {"resource": asked.resource, "sentence": asked.sentence},
    }


def _candidate(one: Candidate, asked: tuple[str, ...]) -> dict[str, Any]:
    return {
        "path": one.path,
        "heading": " › ".join(one.heading_path),
        "excerpt": one.excerpt,
        "tokens": one.token_count,
        "final": one.final_rank,
        "exact": [one.exact_rank, None],
        "bm25": [one.bm25_rank, one.bm25_score],
        "vector": [one.vector_rank, one.vector_score],
        "rrf": [one.rrf_rank, one.rrf_score],
        "rerank": [one.rerank_rank, one.rerank_score],
        "outcome": outcome(one),
        "delta": one.delta_action,
        "asked": one.resource_id in asked,
    }


def _index(row: IndexRow) -> dict[str, Any]:
    head = row.head
    return {
        "project": row.project_id,
        "root": row.root,
        "state": row.state,
        "engine": row.engine,
        "head": None
        if head is None
        else {
            "revision": head.revision_id,
            "miv": head.miv,
            "arms": head.arms,
            "engine": head.engine_name,
            "resources": head.resource_count,
            "units": head.unit_count,
            "created_at": head.created_at,
        },
        "target_miv": row.target_miv,
        "new": row.new,
        "changed": row.changed,
        "removed": row.removed,
        "unreadable": row.unreadable,
        "problem": row.problem,
    }


def _report(report: Report, state: DiagnosticsState) -> dict[str, Any]:
    ready = state.cases.get(CaseState.READY, 0)
    orders: Mapping[str, Mapping[str, Any]] = {
        str(one.variant): {metric: one.means[metric].model_dump() for metric in METRICS} for one in report.variants
    }
    return {
        "origin": report.origin,
        "cases": report.cases,
        "set_digest": report.set_digest,
        "orders": orders,
        "survival": report.survival.model_dump(),
        "notes": [one.model_dump() for one in report.notes],
        "p50_ms": _ms(report.trace_p50_us),
        "p95_ms": _ms(report.trace_p95_us),
        "ready_now": ready if not state.project else report.cases,
    }


def _ms(micros: int | None) -> float | None:
    return None if micros is None else micros / 1000
