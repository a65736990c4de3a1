"""What goes into one activation and what comes out: the wire types of `agent_activation.v2`."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from workbench.core.candidate import DeltaAction
from workbench.core.resource import Scope
from workbench.core.wire import Wire

PIPELINE_VERSION = "agent_activation.v2"


class Freshness(StrEnum):
    """Which revision answers while a newer one is being built."""

    READY_HEAD = "ready_head"
    LATEST = "latest"


class Ordering(StrEnum):
    RRF = "rrf"
    CROSS_ENCODER = "cross-encoder"


class ActivationRequest(Wire):
    """One request. `state` is what an earlier result handed out, unchanged; without it everything is `add`.

    freshness: the settings' policy when null.
    scopes: search only resources of these scopes (all when null). deadline_ms: at most the limit's.
    verify: check each selected unit against the bytes on disk (`snapshot_mismatch` where they differ).
    observation, session_id, step and context_version are recorded for the host and do not change recall.
    """

    query: str
    request_key: str | None = None
    observation: str | None = None
    session_id: str | None = None
    step: int | None = None
    context_version: str | None = None
    state: str | None = None
    scopes: tuple[Scope, ...] | None = None
    rerank: bool = True
    verify: bool = False
    deadline_ms: int | None = None
    limits: dict[str, int] = Field(default_factory=dict)
    freshness: Freshness | None = None


class Fragment(Wire):
    """One unit as handed to an agent. `text` is null exactly when `delta_action` is `reuse`."""

    unit_key: str
    content_hash: str
    resource_id: str
    scope: Scope
    kind: str
    path: str
    heading_path: tuple[str, ...]
    text: str | None
    tokens: int
    delta_action: DeltaAction


class Removal(Wire):
    """A unit to drop from the context, and why: `not_current`, `changed`, `gone`, or `evicted` from a full state."""

    unit_key: str
    content_hash: str
    reason: str


class IndexState(Wire):
    """Which revision answered. `stale`: the memory has a newer snapshot than this revision's, as far as is known."""

    revision: int
    miv: str
    arms: tuple[str, ...]
    engine: str | None
    stale: bool
    building_miv: str | None = None


class DegradationNote(Wire):
    """The wire form of a degradation."""

    code: str
    detail: str = ""


class BudgetUse(Wire):
    """What the result used of its budgets; tokens are counted by `token_counter`."""

    fragments: int
    tokens: int
    budget_fragments: int
    budget_tokens: int
    token_counter: str


class ActivationResult(Wire):
    """The answer of one activation. `fragments` is in `final_rank` order; `run_id` is null without history."""

    pipeline: str = PIPELINE_VERSION
    request_key: str
    fragments: tuple[Fragment, ...]
    remove: tuple[Removal, ...]
    state: str
    run_id: str | None
    index: IndexState
    ordering: Ordering
    degradations: tuple[DegradationNote, ...]
    budget: BudgetUse
    stage_us: dict[str, int]
    decision: dict[str, Any] | None = None
