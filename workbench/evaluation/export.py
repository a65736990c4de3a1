"""Ready cases as a fixture: everything that a report on them needs, in one document with a digest of its own.

The same cases of the same home give the same bytes, whenever and wherever they are exported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

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


class FrozenCase(NamedTuple):
    """A case with the corpus that its run searched, and the texts behind it."""

    case: FixtureCase
    manifest: Manifest
    corpus: FrozenCorpus


def export_fixture(
    cases: CaseBook, history: RunHistory, case_ids: Sequence[str], origin: str, progress: Progress = no_progress
) -> str:
    """The fixture of these cases, in this order; those that are not ready (any more) are left out.

    progress: phase `export`, in cases. Raises: `InputError("case_not_found")` when none is ready;
    `StorageError("run_corpus_incomplete")` when a frozen body cannot be read.
    """
    corpora: dict[tuple[str, str], int] = {}
    manifests: list[Manifest] = []
    bodies: dict[str, FrozenBody] = {}
    frozen: list[FixtureCase] = []
    for done, case_id in enumerate(case_ids, start=1):
        case = cases.get(case_id)
        if case.state is CaseState.READY:
            one = frozen_case(cases, history, case)
            key = (one.manifest.project_id, one.manifest.miv)
            if key not in corpora:
                corpora[key] = len(manifests)
                manifests.append(one.manifest)
                bodies.update(_bodies(one.corpus, known=set(bodies)))
            run = one.case.run.model_copy(update={"corpus": corpora[key]})
            frozen.append(one.case.model_copy(update={"run": run}))
        progress("export", done, len(case_ids))
    if not frozen:
        raise InputError("case_not_found", f"{origin}: no case is ready. Confirm evidence of one, or import a set.")
    document = {
        "format": FIXTURE_FORMAT,
        "version": FIXTURE_VERSION,
        "origin": origin,
        "bodies": {sha256: body.model_dump(mode="json") for sha256, body in bodies.items()},
        "corpora": [manifest.model_dump(mode="json") for manifest in manifests],
        "cases": [case.model_dump(mode="json") for case in frozen],
    }
    return canonical_json(document | {"digest": digest(document)})


def frozen_case(cases: CaseBook, history: RunHistory, case: Case) -> FrozenCase:
    """A case of this home as a fixture has it, its corpus at place 0."""
    record, asked, corpus = history.get(case.run_id), history.asked(case.run_id), cases.frozen(case)
    summary = record.summary
    if summary.index is None or summary.ordering is None or summary.budget is None:
        raise StorageError("run_corpus_incomplete", f"The run {case.run_id} was not recorded whole.")
    run = SourceRun(
        run_id=case.run_id,
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
    manifest = Manifest(
        project_id=case.project_id,
        miv=summary.index.miv,
        resources=tuple(ManifestResource.model_validate(entry._asdict()) for entry in corpus.entries),
    )
    frozen = FixtureCase(
        case_id=case.case_id,
        version=case.version,
        created_at=case.created_at,
        updated_at=case.updated_at,
        evidence=case.evidence,
        run=run,
    )
    return FrozenCase(frozen, manifest, corpus)


def _bodies(corpus: FrozenCorpus, known: set[str]) -> Iterator[tuple[str, FrozenBody]]:
    for entry in corpus.entries:
        if entry.resource_hash not in known:
            resource = corpus.read(entry.resource_id)
            yield (
                entry.resource_hash,
                FrozenBody(title=resource.title, description=resource.description, body=resource.body),
            )
