"""Ready cases as a fixture: everything that a report on them needs, in one document with a digest of its own.

The same cases of the same home give the same bytes, whenever and wherever they are exported.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.core.case import Case, CaseState
from workbench.core.errors import InputError, StorageError
from workbench.core.fixture import (
    FIXTURE_FORMAT,
    FIXTURE_VERSION,
    FixtureCase,
    FrozenBody,
    Manifest,
    ManifestResource,
    SourceRun,
)
from workbench.core.hashing import canonical_json, digest
from workbench.core.progress import Progress, no_progress
from workbench.core.wire import Wire
from workbench.evaluation.cases import CaseBook
from workbench.evaluation.figures import Report
from workbench.evaluation.frozen import FrozenCorpus
from workbench.evaluation.runs import RunHistory


class EvaluationExport(Wire):
    """A fixture, and beside it the report on its cases."""

    fixture_json: str
    report: Report


def export_fixture(
    cases: CaseBook, history: RunHistory, case_ids: Sequence[str], origin: str, progress: Progress = no_progress
) -> str:
    """The fixture of these cases, in this order; those that are not ready (any more) are left out.

    progress: phase `export`, in cases. Raises: `InputError("case_not_found")` when none is ready;
    `StorageError("run_corpus_incomplete")` when a frozen body cannot be read.
    """
    corpora = _Corpora(cases)
    frozen: list[FixtureCase] = []
    for done, case_id in enumerate(case_ids, start=1):
        case = cases.get(case_id)
        if case.state is CaseState.READY:
            run = source_run(history, case.run_id)
            run = run.model_copy(update={"corpus": corpora.place_of(case, run.index.miv)})
            frozen.append(_fixture_case(case, run))
        progress("export", done, len(case_ids))
    if not frozen:
        raise InputError("case_not_found", f"{origin}: no case is ready. Confirm evidence of one, or import a set.")
    document = {
        "format": FIXTURE_FORMAT,
        "version": FIXTURE_VERSION,
        "origin": origin,
        "bodies": {sha256: body.model_dump(mode="json") for sha256, body in corpora.bodies.items()},
        "corpora": [manifest.model_dump(mode="json") for manifest in corpora.manifests],
        "cases": [case.model_dump(mode="json") for case in frozen],
    }
    return canonical_json(document | {"digest": digest(document)})


def source_run(history: RunHistory, run_id: str) -> SourceRun:
    """A run of this home as a fixture has it, its corpus at place 0."""
    record, asked = history.get(run_id), history.asked(run_id)
    summary = record.summary
    if summary.index is None or summary.ordering is None or summary.budget is None:
        raise StorageError("run_corpus_incomplete", f"The run {run_id} was not recorded whole.")
    return SourceRun(
        run_id=run_id,
        request=asked.request,
        started_at=summary.started_at,
        latency_us=summary.latency_us,
        corpus=0,
        pipeline=asked.pipeline,
        index=summary.index,
        ordering=summary.ordering,
        stage_us=summary.stage_us,
        degradations=summary.degradations,
        budget=summary.budget,
        decision=asked.decision,
        fragments=record.fragments,
        trace=record.trace,
    )


class _Corpora:
    """The corpora of the exported cases, each once: one of a project and miv is the same whichever case froze it."""

    def __init__(self, cases: CaseBook) -> None:
        self.manifests: list[Manifest] = []
        self.bodies: dict[str, FrozenBody] = {}
        self._cases = cases
        self._places: dict[tuple[str, str], int] = {}

    def place_of(self, case: Case, miv: str) -> int:
        key = (case.project_id, miv)
        if key not in self._places:
            self._places[key] = len(self.manifests)
            self._add(case.project_id, miv, self._cases.frozen(case))
        return self._places[key]

    def _add(self, project_id: str, miv: str, corpus: FrozenCorpus) -> None:
        resources = tuple(ManifestResource.model_validate(entry._asdict()) for entry in corpus.entries)
        self.manifests.append(Manifest(project_id=project_id, miv=miv, resources=resources))
        for entry in corpus.entries:
            if entry.resource_hash not in self.bodies:
                read = corpus.read(entry.resource_id)
                body = FrozenBody(title=read.title, description=read.description, body=read.body)
                self.bodies[entry.resource_hash] = body


def _fixture_case(case: Case, run: SourceRun) -> FixtureCase:
    return FixtureCase(
        case_id=case.case_id,
        version=case.version,
        created_at=case.created_at,
        updated_at=case.updated_at,
        evidence=case.evidence,
        run=run,
    )
