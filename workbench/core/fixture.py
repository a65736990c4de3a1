"""The fixture: ready cases with all that a report on them needs, in one document that stands by itself.

Its digest is the sha256 of the canonical JSON of everything else in it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from workbench.core.activation import (
    ActivationRequest,
    BudgetUse,
    DegradationNote,
    Fragment,
    IndexState,
    Ordering,
)
from workbench.core.case import Evidence
from workbench.core.resource import Layer, Scope
from workbench.core.run import Trace
from workbench.core.wire import Wire

FIXTURE_FORMAT = "memory-workbench-evaluation-set"
FIXTURE_VERSION = 1

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Identifier = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]
ProjectId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9@._-]{0,159}$")]
"""A project id names a folder in the home."""
Moment = Annotated[str, Field(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$")]


class FrozenBody(Wire):
    """The text of one resource; the sha256 of the canonical JSON of these three is its `resource_hash`."""

    title: str
    description: str
    body: str


class ManifestResource(Wire):
    """One resource of a frozen corpus."""

    resource_id: str
    resource_hash: Sha256
    layer: Layer
    scope: Scope
    kind: str
    path: str
    title: str


class Manifest(Wire):
    """What was searched together, by resource_id. One project has one corpus for each miv."""

    project_id: ProjectId
    miv: str
    resources: tuple[ManifestResource, ...]


class SourceRun(Wire):
    """The succeeded run of a case, whole. corpus: the place of its manifest in the fixture."""

    run_id: Identifier
    request: ActivationRequest
    started_at: Moment
    latency_us: int | None
    corpus: Annotated[int, Field(ge=0)]
    pipeline: str | None
    index: IndexState
    ordering: Ordering
    stage_us: dict[str, int]
    degradations: tuple[DegradationNote, ...]
    budget: BudgetUse
    decision: dict[str, Any] | None
    fragments: tuple[Fragment, ...]
    trace: Trace

    @property
    def request_key(self) -> str:
        """The key of its request; a recorded run has one."""
        return self.request.request_key or self.run_id


class FixtureCase(Wire):
    """One ready case."""

    case_id: Identifier
    version: Annotated[int, Field(ge=1)]
    created_at: Moment
    updated_at: Moment
    evidence: Annotated[tuple[Evidence, ...], Field(min_length=1)]
    run: SourceRun


class Fixture(Wire):
    """A whole set. bodies: resource_hash -> text; origin: where the cases come from, as a report states it."""

    format: Literal["memory-workbench-evaluation-set"]
    version: Literal[1]
    digest: Sha256
    origin: str
    bodies: dict[Sha256, FrozenBody]
    corpora: tuple[Manifest, ...]
    cases: Annotated[tuple[FixtureCase, ...], Field(min_length=1)]
