"""The calls of the service: one table that gives the MCP tools, the HTTP routes and the OpenAPI document alike.

A handler is a few calls of `workbench`; no rule stands here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError

from serve.errors import refused
from workbench.core.activation import ActivationRequest, ActivationResult, DegradationNote, Freshness
from workbench.core.deadline import Deadline
from workbench.core.errors import InputError
from workbench.core.limits import LIMIT_FIELDS
from workbench.core.resource import GONE, Scope
from workbench.core.run import RunRecord, RunSummary
from workbench.core.text import is_valid_unicode
from workbench.core.wire import Wire

if TYPE_CHECKING:
    from workbench.app import Home, Project
    from workbench.app.live import LiveIndex


class ForProject(Wire):
    """The base of every request: which of the served memories it is about."""

    project: str | None = Field(
        None, description="project_id or folder of a served memory; left out where only one is served"
    )


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


@dataclass(frozen=True)
class Desk:
    """What a handler works with. named: the project of the request; None where the call is about none."""

    home: Home
    live: LiveIndex
    served: Mapping[str, Project]
    deadline: Deadline
    named: Project | None

    @property
    def project(self) -> Project:
        """The project of a `ForProject` request."""
        assert self.named is not None
        return self.named


@dataclass(frozen=True)
class Call:
    """One call. read_only: changes no memory and no evaluation data, though a retrieval leaves its run behind."""

    name: str
    description: str
    request: type[Wire]
    response: type[Wire]
    run: Callable[[Desk, Any], Wire]
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True

    @cached_property
    def request_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        return self.request.model_json_schema()

    @cached_property
    def response_schema(self) -> dict[str, Any]:
        """JSON Schema of the answer."""
        return self.response.model_json_schema(mode="serialization")

    def parse(self, arguments: Mapping[str, Any]) -> Wire:
        """The request in these arguments; an empty text or null for an optional one means that it was left out.

        Raises: `InputError("invalid_argument")` naming every argument that is unknown or does not fit.
        """
        if not is_valid_unicode(json.dumps({**arguments, "query": ""}, ensure_ascii=False)):
            raise InputError("invalid_argument", "An argument holds half a character; send valid Unicode.")
        fields = self.request.model_fields
        given = {
            name: value
            for name, value in arguments.items()
            if not (name in fields and not fields[name].is_required() and value in ("", None))
        }
        try:
            return self.request.model_validate(given)
        except ValidationError as error:
            raise refused(error, tuple(fields)) from None


def deadline_of(request: Wire) -> Deadline:
    """The deadline of a request, counted from now: its own, at most the limit's.

    Raises: `InputError("invalid_argument")` when it leaves no time at all.
    """
    most = LIMIT_FIELDS["deadline_ms"].default
    asked = getattr(request, "deadline_ms", None)
    if asked is not None and asked < 1:
        raise InputError("invalid_argument", f"deadline_ms is {asked}; give at least 1 millisecond.")
    return Deadline.after_ms(most if asked is None else min(asked, most))


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
    record = desk.home.history.get(request.run_id)
    if record.summary.project_id not in desk.served:
        raise InputError("run_not_found", f"No run of the served memories has the id {request.run_id}.")
    return record


def _clear_runs(desk: Desk, request: ClearRetrievalRuns) -> Cleared:
    return Cleared(removed=desk.home.history.clear(desk.project.project_id))


CALLS: Mapping[str, Call] = {
    call.name: call
    for call in (
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
}
"""name -> call, in the order in which they are shown."""
