"""An evaluation case: a run's query, its frozen corpus, and what a person confirmed as relevant there (binary)."""

from __future__ import annotations

from enum import StrEnum

from pydantic import ConfigDict

from workbench.core.wire import Wire


class CaseState(StrEnum):
    """`ready`: evidence is confirmed; `needs_evidence`: nothing in the corpus was; `draft`: nobody has said yet."""

    DRAFT = "draft"
    READY = "ready"
    NEEDS_EVIDENCE = "needs_evidence"


class EvidenceRef(Wire):
    """What is relevant: one unit of a resource or, without `unit_key`, the whole resource.

    Other fields that a client sends are ignored, an excerpt among them: it is made here.
    """

    model_config = ConfigDict(extra="ignore")

    resource_id: str
    unit_key: str | None = None


class Evidence(EvidenceRef):
    """Confirmed evidence, with the beginning of its frozen text on one line."""

    excerpt: str


class CaseSummary(Wire):
    """One row of the cases. Times in ISO 8601 UTC; `version` grows by one with every resolution."""

    case_id: str
    run_id: str
    project_id: str
    request_key: str
    query: str
    state: CaseState
    version: int
    created_at: str
    updated_at: str
    evidence_count: int


class Case(CaseSummary):
    """A case with its evidence, in the order in which it was given."""

    evidence: tuple[Evidence, ...]
