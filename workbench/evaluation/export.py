"""Ready cases as a fixture: everything that a report on them needs, in one document with a digest of its own.

The same cases of the same home give the same bytes, whenever and wherever they are exported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.core.case import Case, CaseState, EvidenceRef
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
from workbench.evaluation.judged import JudgedRun, ranked_units
from workbench.evaluation.runs import RunHistory


class EvaluationExport(Wire):
    """A fixture, and beside it the report on its cases."""

    fixture_json: str
    report: Report


@dataclass(frozen=True, slots=True)
class FrozenSet:
    """Ready cases as they stood when each was read, with their corpora."""

    origin: str
    bodies: Mapping[str, FrozenBody]
    corpora: Sequence[Manifest]
    cases: Sequence[FixtureCase]

    def fixture_json(self) -> str:
        """The fixture of these cases."""
        document = {
            "format": FIXTURE_FORMAT,
            "version": FIXTURE_VERSION,
            "origin": self.origin,
            "bodies": {sha256: body.model_dump(mode="json") for sha256, body in self.bodies.items()},
            "corpora": [manifest.model_dump(mode="json") for manifest in self.corpora],
            "cases": [case.model_dump(mode="json") for case in self.cases],
        }
        return canonical_json(document | {"digest": digest(document)})

    def judged(self) -> Iterator[JudgedRun]:
        """The same cases for a report, which is thus on what the fixture holds, whoever resolves a case meanwhile."""
        hashes = [{one.resource_id: one.resource_hash for one in corpus.resources} for corpus in self.corpora]
        for case in self.cases:
            run = case.run
            yield JudgedRun(
                case_id=case.case_id,
                run_id=run.run_id,
                project_id=self.corpora[run.corpus].project_id,
                query=run.request.query,
                evidence=tuple(
                    EvidenceRef(resource_id=one.resource_id, unit_key=one.unit_key) for one in case.evidence
                ),
                ranked=ranked_units(run.trace),
                fragments=tuple((one.unit_key, one.resource_id) for one in run.fragments),
                corpus=hashes[run.corpus],
                latency_us=run.latency_us,
                engine=run.index.engine,
            )


def frozen_set(
    cases: CaseBook, history: RunHistory, case_ids: Sequence[str], origin: str, progress: Progress = no_progress
) -> FrozenSet:
    """These cases in this order, whole; those that are not ready (any more) are left out.

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
    return FrozenSet(origin, corpora.bodies, corpora.manifests, frozen)


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
