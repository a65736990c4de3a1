"""The record of one retrieval, as it is stored and shown."""

from __future__ import annotations

from enum import StrEnum

from workbench.core.activation import BudgetUse, DegradationNote, Fragment, IndexState, Ordering
from workbench.core.candidate import Candidate
from workbench.core.resource import Scope
from workbench.core.wire import Wire

STAGE_CHARS, CODE_CHARS, SUMMARY_CHARS = 64, 64, 512


class RunState(StrEnum):
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class RunError(Wire):
    """A bounded error: stage and code at most 64 characters, summary at most 512."""

    stage: str
    code: str
    summary: str

    @classmethod
    def bounded(cls, stage: str, code: str, summary: str) -> RunError:
        """The error with every field cut to its bound."""
        return cls(stage=stage[:STAGE_CHARS], code=code[:CODE_CHARS], summary=summary[:SUMMARY_CHARS])


class RecalledUnit(Wire):
    """A unit that an arm recalled but fusion did not keep: enough to say where it was lost."""

    unit_key: str
    resource_id: str
    exact_rank: int | None = None
    bm25_rank: int | None = None
    vector_rank: int | None = None


class Trace(Wire):
    """What the pipeline saw: every fused candidate in `final_rank` order, and what fusion left out."""

    candidates: tuple[Candidate, ...]
    fused_out: tuple[RecalledUnit, ...]


class RunSummary(Wire):
    """One row of the history. Times: `started_at` in ISO 8601 UTC, `latency_us` in microseconds.

    scopes: the only ones that were searched; null: all.
    """

    run_id: str
    project_id: str
    request_key: str
    query: str
    scopes: tuple[Scope, ...] | None = None
    state: RunState
    started_at: str
    latency_us: int | None
    index: IndexState | None
    ordering: Ordering | None
    stage_us: dict[str, int]
    degradations: tuple[DegradationNote, ...]
    candidate_count: int
    fragment_count: int
    budget: BudgetUse | None
    pinned: bool
    error: RunError | None = None


class RunRecord(Wire):
    """A whole run: its row, its trace and the fragments that went out.

    corpus_size: resources in the manifest that it searched; manifest: their sequence number in the project's history.
    """

    summary: RunSummary
    trace: Trace
    fragments: tuple[Fragment, ...]
    corpus_size: int
    manifest: int | None
