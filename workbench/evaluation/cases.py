"""Evaluation cases: what a person confirmed as relevant for a run's query, in the corpus that the run searched.

A case pins its run, and with it query, manifest, bodies and trace. Evidence is replaced whole, by whoever read the
version that stands; its excerpts are made here.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Sequence

from workbench.core.candidate import EXCERPT_CHARS, Candidate
from workbench.core.case import Case, CaseState, CaseSummary, Evidence, EvidenceRef
from workbench.core.clock import Clock, time_text, utc_now
from workbench.core.errors import InputError, StorageError
from workbench.core.progress import Progress, no_progress
from workbench.core.run import RunRecord, RunState
from workbench.core.text import one_line
from workbench.evaluation.frozen import FrozenCorpus
from workbench.evaluation.runs import RunHistory
from workbench.storage.blobs import BlobStore
from workbench.storage.case_table import CaseTable, conflict
from workbench.storage.central_store import CentralStore
from workbench.storage.corpus_table import CorpusTable

UnitText = Callable[[FrozenCorpus, EvidenceRef], str | None]
"""The text of the unit that evidence names, or None when it names none."""


class CaseBook:
    """The cases of every project of one home. Thread-safe; any number of processes may share the home."""

    def __init__(self, store: CentralStore, blobs: BlobStore, history: RunHistory, clock: Clock = utc_now) -> None:
        self._cases, self._corpora, self._history = CaseTable(store), CorpusTable(store, blobs), history
        self._blobs, self._clock = blobs, clock
        self._last: tuple[tuple[str, int | None], FrozenCorpus] | None = None

    def create(self, run_id: str, progress: Progress = no_progress) -> Case:
        """The one case of a run: a new draft, or the case that it has already.

        run_id may be shortened. progress: phase `freeze`, in bodies. Raises: `InputError("run_not_found")`,
        `InputError("run_not_succeeded")`; `StorageError("run_corpus_incomplete")` with every body that is missing or
        damaged as detail. Nothing is made then.
        """
        record = self._history.get(run_id)
        run = record.summary
        if case := self._cases.of_run(run.run_id):
            return case
        if run.state is not RunState.SUCCEEDED:
            raise InputError("run_not_succeeded", f"The run {run.run_id} is {run.state}; take one that succeeded.")
        self._freeze(record, progress)
        return self._cases.create(uuid.uuid4().hex, run.run_id, time_text(self._clock()))

    def resolve(self, case_id: str, expected_version: int, evidence: Sequence[EvidenceRef], none_matched: bool) -> Case:
        """Replace all evidence of a case (`ready`), or say that nothing in its corpus matched (`needs_evidence`).

        Evidence names a candidate of the source run, or a whole resource of the frozen corpus. Raises, changing
        nothing: `InputError("resolution_invalid")` for both or neither; `InputError("evaluation_case_conflict")` when
        `expected_version` no longer stands, with the case as it is now as detail; `InputError("evidence_invalid")`,
        or `("evidence_duplicate")` where nothing worse is found, with every finding and its place as detail.
        """
        if bool(evidence) == none_matched:
            raise InputError("resolution_invalid", "Give evidence or say that none matched: one of them.")
        case = self.get(case_id)
        candidates = {one.unit_key: one for one in self._history.get(case.run_id).trace.candidates}

        def excerpt(_: FrozenCorpus, ref: EvidenceRef) -> str | None:
            candidate = candidates.get(ref.unit_key or "")
            return candidate.excerpt if candidate and candidate.resource_id == ref.resource_id else None

        return self._resolve(case, expected_version, evidence, excerpt)

    def confirm(self, case_id: str, evidence: Sequence[EvidenceRef]) -> Case:
        """Make a draft `ready` with evidence judged elsewhere: units of the frozen corpus that no arm had to recall.

        Raises: as `resolve`; `InputError("evaluation_case_conflict")` for a case that is no draft.
        """
        if not evidence:
            raise InputError("resolution_invalid", "Give evidence to confirm.")
        case = self.get(case_id)
        if case.state is not CaseState.DRAFT:
            raise conflict(case, 1)
        return self._resolve(case, case.version, evidence, _cut_text)

    def reopen(self, case_id: str, expected_version: int) -> Case:
        """Take back a case's only decision: it is a draft without evidence again, at the next version.

        Raises, changing nothing: `InputError("evaluation_case_conflict")`, as `resolve`.
        """
        return self._cases.resolve(case_id, expected_version, CaseState.DRAFT, (), time_text(self._clock()))

    def named(self, case: CaseSummary, names: Sequence[str], ranks: Sequence[int]) -> tuple[EvidenceRef, ...]:
        """Evidence as a person names it: by a resource's id, by a unit's key, or by a candidate's final rank.

        Names come first. One that is no unit of the source run is taken for a resource's; `resolve` then judges it.
        Raises: `InputError("invalid_argument")` with every rank that the source run does not have.
        """
        candidates = self._history.get(case.run_id).trace.candidates
        if findings := [
            f"rank {rank}: the run has {len(candidates)} candidates"
            for rank in ranks
            if not 1 <= rank <= len(candidates)
        ]:
            raise InputError("invalid_argument", f"Correct the ranks: {'; '.join(findings)}.", detail=findings)
        units = {one.unit_key: _unit_ref(one) for one in candidates}
        by_name = [units.get(name) or EvidenceRef(resource_id=name) for name in names]
        return (*by_name, *(_unit_ref(candidates[rank - 1]) for rank in ranks))

    def get(self, case_id: str) -> Case:
        """A case by its id or by any beginning of it that no other case shares.

        Raises: `InputError("case_not_found")`, `InputError("invalid_argument")` for a beginning that several share.
        """
        return self._cases.get(case_id)

    def of_run(self, run_id: str) -> Case | None:
        """The case of a run, by its whole id, if it has one."""
        return self._cases.of_run(run_id)

    def list(self, project_ids: Sequence[str], states: Collection[CaseState] | None = None) -> tuple[CaseSummary, ...]:
        """The cases of these projects in these states (None: any), the oldest first."""
        return self._cases.list(project_ids, states)

    def counts(self, project_ids: Sequence[str], case_ids: Sequence[str] | None = None) -> dict[CaseState, int]:
        """How many cases of these projects, all or only the given, are in each state."""
        return self._cases.counts(project_ids, case_ids)

    def frozen(self, case: CaseSummary) -> FrozenCorpus:
        """The corpus that a case froze. Raises: `InputError("run_not_found")` when the case is none of this home."""
        return self._corpus(case.project_id, self._history.asked(case.run_id).manifest)

    def searched(self, record: RunRecord) -> FrozenCorpus:
        """The corpus that a run searched, which its case will freeze; empty when it was not recorded."""
        return self._corpus(record.summary.project_id, record.manifest)

    def _corpus(self, project_id: str, manifest: int | None) -> FrozenCorpus:
        """A manifest never changes, and neighbouring cases mostly share theirs, so the last one is kept."""
        key, last = (project_id, manifest), self._last
        if last is None or last[0] != key:
            entries = () if manifest is None else self._corpora.entries(project_id, manifest)
            last = self._last = key, FrozenCorpus(entries, self._blobs)
        return last[1]

    def _freeze(self, record: RunRecord, progress: Progress) -> None:
        """Prove that the run's whole corpus is archived, and make it outlive a power cut."""
        run = record.summary
        if record.manifest is None:
            raise StorageError(
                "run_corpus_incomplete",
                f"The corpus of the run {run.run_id} was not recorded; index and activate again.",
            )
        entries = self.searched(record).entries
        if findings := self._corpora.secure(entries, progress):
            raise StorageError(
                "run_corpus_incomplete",
                f"Of {len(entries)} resources that the run {run.run_id} searched, {len(findings)} cannot be read any "
                f"more: {findings[0]}. Index, which archives what is still there, and try again.",
                detail=list(findings),
            )

    def _resolve(self, case: Case, expected_version: int, refs: Sequence[EvidenceRef], unit_text: UnitText) -> Case:
        if case.version != expected_version:
            raise conflict(case, expected_version)
        evidence = _confirmed(self.frozen(case), refs, unit_text) if refs else ()
        state = CaseState.READY if evidence else CaseState.NEEDS_EVIDENCE
        return self._cases.resolve(case.case_id, expected_version, state, evidence, time_text(self._clock()))


def _unit_ref(candidate: Candidate) -> EvidenceRef:
    return EvidenceRef(resource_id=candidate.resource_id, unit_key=candidate.unit_key)


def _confirmed(corpus: FrozenCorpus, refs: Sequence[EvidenceRef], unit_text: UnitText) -> tuple[Evidence, ...]:
    """The evidence with its excerpts. Raises: `evidence_invalid` or `evidence_duplicate`, with all findings."""
    first: dict[EvidenceRef, int] = {}
    evidence, findings, code = [], [], "evidence_duplicate"
    for place, ref in enumerate(EvidenceRef(resource_id=one.resource_id, unit_key=one.unit_key) for one in refs):
        known = first.setdefault(ref, place)
        if known != place:
            findings.append(f"evidence[{place}]: the same as evidence[{known}]")
        elif (text := _text(corpus, ref, unit_text)) is None:
            findings.append(f"evidence[{place}]: {_absence(corpus, ref)}")
            code = "evidence_invalid"
        else:
            evidence.append(Evidence(**ref.model_dump(), excerpt=one_line(text, EXCERPT_CHARS)))
    if findings:
        raise InputError(code, f"Correct the evidence: {'; '.join(findings)}.", detail=findings)
    return tuple(evidence)


def _text(corpus: FrozenCorpus, ref: EvidenceRef, unit_text: UnitText) -> str | None:
    if ref.resource_id not in corpus:
        return None
    if ref.unit_key is not None:
        return unit_text(corpus, ref)
    resource = corpus.read(ref.resource_id)
    return resource.body or resource.description or resource.title


def _absence(corpus: FrozenCorpus, ref: EvidenceRef) -> str:
    if ref.resource_id not in corpus:
        return f"no resource {ref.resource_id!r} is in the frozen corpus"
    return f"{ref.unit_key!r} is no unit of {ref.resource_id!r} that can be confirmed here"


def _cut_text(corpus: FrozenCorpus, ref: EvidenceRef) -> str | None:
    from workbench.markdown.frozen import cut_frozen

    frozen = corpus.read(ref.resource_id)
    units = cut_frozen(ref.resource_id, frozen.entry.layer, frozen.description, frozen.body)
    return next((unit.text for unit in units if unit.unit_key == ref.unit_key), None)
