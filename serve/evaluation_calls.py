"""Turning retrievals into evaluation cases, and taking ready cases elsewhere."""

from __future__ import annotations

from pydantic import Field

from serve.call import Call, Desk, ForProject
from serve.retrieval_calls import served_run
from workbench.core.case import Case, EvidenceRef
from workbench.core.errors import InputError
from workbench.core.wire import Wire
from workbench.evaluation.export import EvaluationExport


class CreateEvaluationCase(Wire):
    """Freeze a run's query, corpus and candidates; a run has one case, which is then returned again."""

    run_id: str = Field(description="the `run_id` of a result, or enough of its beginning")


class ResolveEvaluationCase(Wire):
    """Replace all evidence of a case, or say that nothing in its corpus is relevant: one of the two."""

    case_id: str = Field(description="the id of a case, or enough of its beginning")
    expected_version: int = Field(description="the version that was looked at; another one is refused")
    evidence: tuple[EvidenceRef, ...] = Field((), description="whole resources, or candidate units of the run")
    none_matched: bool = Field(False, description="nothing in the frozen corpus is relevant")


class ExportEvaluationSet(ForProject):
    """The ready cases of a project, or some by id, with everything that a report on them needs."""

    case_ids: tuple[str, ...] = Field((), description="only these cases; all of the project when left out")


def _create(desk: Desk, request: CreateEvaluationCase) -> Case:
    return desk.home.cases.create(served_run(desk, request.run_id).summary.run_id)


def _resolve(desk: Desk, request: ResolveEvaluationCase) -> Case:
    case = _served_case(desk, request.case_id)
    return desk.home.cases.resolve(case.case_id, request.expected_version, request.evidence, request.none_matched)


def _export(desk: Desk, request: ExportEvaluationSet) -> EvaluationExport:
    case_ids = [_served_case(desk, case_id).case_id for case_id in request.case_ids]
    return desk.home.export(desk.home.select(None, case_ids, None if case_ids else desk.project))


def _served_case(desk: Desk, case_id: str) -> Case:
    """A case of a memory that is served. Raises: `InputError("case_not_found")`."""
    case = desk.home.cases.get(case_id)
    if case.project_id not in desk.served:
        raise InputError("case_not_found", "No case of the served memories has this id.")
    return case


CALLS = (
    Call(
        "create_evaluation_case",
        "Freeze a retrieval into an evaluation case: its query, the corpus that it searched, and its candidates.",
        CreateEvaluationCase,
        Case,
        _create,
        read_only=False,
    ),
    Call(
        "resolve_evaluation_case",
        "Say what is relevant to a case: replace all of its evidence, or say that nothing matched.",
        ResolveEvaluationCase,
        Case,
        _resolve,
        read_only=False,
        destructive=True,
        idempotent=False,
    ),
    Call(
        "export_evaluation_set",
        "Export the ready cases as one checked document (`fixture_json`), with the benchmark report on them.",
        ExportEvaluationSet,
        EvaluationExport,
        _export,
    ),
)
