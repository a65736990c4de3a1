"""Asking memory, and looking back at what was asked: the calls of retrieval and its diagnostics."""

from __future__ import annotations

from pydantic import Field

from serve.call import Call, Desk, ForProject
from workbench.core.activation import ActivationRequest, ActivationResult, DegradationNote, Freshness
from workbench.core.errors import InputError
from workbench.core.resource import GONE, Scope
from workbench.core.run import RunRecord, RunSummary
from workbench.core.wire import Wire


class ActivateMemory(ActivationRequest, ForProject):
    """What is being worked on, and what the context holds already (`state`)."""


class MemoryRecall(ForProject):
    """A single look-up: every fragment comes with its text, whatever was handed out before."""

    query: str = Field(description="what to look for, in plain words; any punctuation is text")
    scopes: tuple[Scope, ...] | None = Field(None, description="search only these scopes; all when left out")
    verify: bool = Field(False, description="check each passage against the file on disk")
    deadline_ms: int | None = Field(None, description="answer within so many milliseconds, with what there is by then")
    limits: dict[str, int] = Field(default_factory=dict, description="limits by name, such as budget_tokens")
    freshness: Freshness | None = Field(None, description="which revision answers during a build")


class IndexStatus(ForProject):
    """Which revision answers, what is being built, and what could not be read."""


class HeadStatus(Wire):
    """The revision that answers. created_at: ISO 8601, UTC."""

    revision: int
    miv: str
    arms: tuple[str, ...]
    engine: str | None
    resources: int
    units: int
    created_at: str


class UnreadableSource(Wire):
    """A source that is not searched, and why."""

    source_ref: str
    reason: str


class IndexStatusResult(Wire):
    """How a memory is indexed.

    head: null before the first complete revision. watch: `watching`, `polling` or `away`. activity: `building`,
    `pending`, `failed` (to be tried again), or null. failure: why the last build failed, null once one succeeds.
    model: load state of the embedding model (`absent`, `loading`, `ready`, `failed`), null where there is none.
    """

    project_id: str
    head: HeadStatus | None
    building_miv: str | None
    watch: str
    activity: str | None
    failure: DegradationNote | None
    model: str | None
    unreadable: tuple[UnreadableSource, ...]


class ListRetrievalRuns(ForProject):
    """The latest runs of a project, the newest first."""

    limit: int = Field(20, ge=1, le=500, description="at most so many")


class RetrievalRuns(Wire):
    """The newest first."""

    runs: tuple[RunSummary, ...]


class GetRetrievalRun(Wire):
    """One run by its id, or by a beginning of it that no other run shares."""

    run_id: str = Field(description="the `run_id` of a result, or enough of its beginning")


class ClearRetrievalRuns(ForProject):
    """Delete the runs of a project that no evaluation case refers to."""


class Cleared(Wire):
    """How many runs were deleted."""

    removed: int


def _activate(desk: Desk, request: ActivateMemory) -> ActivationResult:
    given = request.model_dump(exclude={"project"}, exclude_unset=True)
    return desk.project.activate(ActivationRequest(**given), desk.deadline)


def _recall(desk: Desk, request: MemoryRecall) -> ActivationResult:
    given = request.model_dump(exclude={"project"}, exclude_unset=True)
    return desk.project.activate(ActivationRequest(**given), desk.deadline)


def _index_status(desk: Desk, request: IndexStatus) -> IndexStatusResult:
    index, embedder = desk.project.index, desk.project.embedder
    live = next(one for one in desk.live.status() if one.project_id == desk.project.project_id)
    head = index.head()
    return IndexStatusResult(
        project_id=desk.project.project_id,
        head=head
        and HeadStatus(
            revision=head.revision_id,
            miv=head.miv,
            arms=head.arms,
            engine=head.engine_name,
            resources=head.resource_count,
            units=head.unit_count,
            created_at=head.created_at,
        ),
        building_miv=live.building_miv,
        watch=live.watch,
        activity=live.activity,
        failure=live.failure,
        model=None if embedder is None else embedder.state,
        unreadable=tuple(
            UnreadableSource(source_ref=ref, reason=stamp.error)
            for ref, stamp in sorted(index.stamps().items())
            if stamp.error is not None and stamp.error != GONE
        ),
    )


def _list_runs(desk: Desk, request: ListRetrievalRuns) -> RetrievalRuns:
    return RetrievalRuns(runs=desk.home.history.list(desk.project.project_id, request.limit))


def _get_run(desk: Desk, request: GetRetrievalRun) -> RunRecord:
    return served_run(desk, request.run_id)


def served_run(desk: Desk, run_id: str) -> RunRecord:
    """A run of a memory that is served. Raises: `InputError("run_not_found")`."""
    record = desk.home.history.get(run_id)
    if record.summary.project_id not in desk.served:
        raise InputError("run_not_found", "No run of the served memories has this id.")
    return record


def _clear_runs(desk: Desk, request: ClearRetrievalRuns) -> Cleared:
    return Cleared(removed=desk.home.history.clear(desk.project.project_id))


CALLS = (
    Call(
        "activate_memory",
        "Bring the memory that matters for the work at hand into the context: say what you are working on, and "
        "hand back the `state` of the previous result. Fragments are `add`, `replace` or `reuse` (you hold its "
        "text already); drop from the context what `remove` lists.",
        ActivateMemory,
        ActivationResult,
        _activate,
        idempotent=False,
    ),
    Call(
        "memory_recall",
        "Look something up in memory: the passages that answer a query, each with its text, best first. Keeps no "
        "account of what your context holds.",
        MemoryRecall,
        ActivationResult,
        _recall,
        idempotent=False,
    ),
    Call(
        "index_status",
        "Say which revision of a memory answers, what is being built, and which files could not be read.",
        IndexStatus,
        IndexStatusResult,
        _index_status,
    ),
    Call(
        "list_retrieval_runs",
        "List the latest retrievals of a memory, the newest first.",
        ListRetrievalRuns,
        RetrievalRuns,
        _list_runs,
    ),
    Call(
        "get_retrieval_run",
        "Show one retrieval with every candidate, its ranks and scores, and why it was kept or dropped.",
        GetRetrievalRun,
        RunRecord,
        _get_run,
    ),
    Call(
        "clear_retrieval_runs",
        "Delete the retrievals of a memory that no evaluation case refers to.",
        ClearRetrievalRuns,
        Cleared,
        _clear_runs,
        read_only=False,
        destructive=True,
    ),
)
