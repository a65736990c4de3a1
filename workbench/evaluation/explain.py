"""Why a candidate, or any resource asked about, did or did not come out of a recorded retrieval.

Pure: it looks at the record and nothing else, and says "found nothing" only of what no arm recalled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from workbench.core.candidate import Candidate, Disposition, ExclusionReason
from workbench.core.resource import Status
from workbench.core.run import RecalledUnit, RunRecord, RunState
from workbench.core.wire import Wire
from workbench.storage.corpus_table import CorpusEntry


class Fate(StrEnum):
    """Where a resource ended when none of its units became a candidate, or that one was selected.

    A resource whose candidates were all dropped ends at an `ExclusionReason` instead.
    """

    SELECTED = "selected"
    FUSED_OUT = "fused_out"
    NOT_RECALLED = "not_recalled"
    NOT_CURRENT = "not_current"
    OUT_OF_SCOPE = "out_of_scope"
    NOT_IN_CORPUS = "not_in_corpus"
    RUN_NOT_SUCCEEDED = "run_not_succeeded"


_SENTENCES = {
    Fate.FUSED_OUT: "was recalled, but its rank after fusion was too low to be kept",
    Fate.NOT_RECALLED: "was searched, but neither the lexical nor the dense arm recalled it",
    Fate.OUT_OF_SCOPE: "was in the corpus, but not of a scope that this run was asked to search",
    Fate.NOT_CURRENT: "is not current, and only current resources are searched",
    Fate.NOT_IN_CORPUS: "was not in the corpus that this run searched",
    ExclusionReason.NOT_CURRENT: "was recalled, but its status is no longer current",
    ExclusionReason.SNAPSHOT_MISMATCH: "was recalled, but its text is no longer what the index holds",
    ExclusionReason.DEADLINE: "was recalled, but the deadline came first",
    ExclusionReason.NOT_RERANKED: "was recalled, but lay beyond the candidates that the reranker looked at",
    ExclusionReason.BELOW_RELEVANCE: "was recalled, but the reranker scored it below the relevance threshold",
    ExclusionReason.OVERLAP: "was recalled, but repeats text that was selected already",
    ExclusionReason.RESOURCE_CAP: "was recalled, but its resource had all its fragments already",
    ExclusionReason.FRAGMENT_CAP: "was recalled, but all fragments had been handed out already",
    ExclusionReason.TOKEN_BUDGET: "was recalled, but did not fit the tokens that were left",
}


class Whereabouts(Wire):
    """The answer to "why (not) this resource".

    resource: as it was asked for; resource_ids: what it names in this run. reason: a `Fate` or, when candidates of it
    were all dropped, the `ExclusionReason` of the best one. sentence: the same for people.
    """

    resource: str
    resource_ids: tuple[str, ...]
    reason: str
    sentence: str
    candidates: tuple[Candidate, ...] = ()
    fused_out: tuple[RecalledUnit, ...] = ()


class CandidateRow(NamedTuple):
    """One line of `explain`. moved: places won between fusion and the final order (negative: lost)."""

    final_rank: int
    path: str
    heading: str
    exact_rank: int | None
    bm25_rank: int | None
    bm25_score: float | None
    vector_rank: int | None
    vector_score: float | None
    rrf_rank: int
    rrf_score: float
    rerank_rank: int | None
    rerank_score: float | None
    moved: int
    outcome: str
    delta_action: str | None


def explain_run(record: RunRecord) -> tuple[CandidateRow, ...]:
    """A row for every fused candidate in `final_rank` order."""
    return tuple(_row(candidate) for candidate in record.trace.candidates)


def why(
    record: RunRecord, resource: str, corpus: Sequence[CorpusEntry], status: Callable[[str], Status]
) -> Whereabouts:
    """Where a resource was lost.

    resource: an id, else a path, else a title, both whatever their case; several of one title are answered together,
    by the one that came furthest. corpus: what the run searched. status: a resource's status now, asked only for one
    that was not in the corpus.
    """
    ids = _resolve(record, resource, corpus)
    candidates = tuple(one for one in record.trace.candidates if one.resource_id in ids)
    fused_out = tuple(one for one in record.trace.fused_out if one.resource_id in ids)
    reason = _reason(record, candidates, fused_out) or _absence(record, resource, ids, corpus, status)
    return Whereabouts(
        resource=resource,
        resource_ids=tuple(sorted(ids)),
        reason=reason,
        sentence=_sentence(record, resource, reason, candidates, fused_out),
        candidates=candidates,
        fused_out=fused_out,
    )


def _resolve(record: RunRecord, resource: str, corpus: Sequence[CorpusEntry]) -> frozenset[str]:
    """The ids that a name means: the first kind of name that fits anything decides."""
    trace = record.trace
    known = {entry.resource_id for entry in corpus}
    known |= {one.resource_id for one in trace.candidates} | {one.resource_id for one in trace.fused_out}
    if resource in known:
        return frozenset({resource})
    paths = [(entry.path, entry.resource_id) for entry in corpus]
    paths += [(candidate.path, candidate.resource_id) for candidate in trace.candidates]
    titles = [(entry.title, entry.resource_id) for entry in corpus]
    ids = ((one, one) for one in known)
    return _named(resource, ids) or _named(resource, paths) or _named(resource, titles)


def _named(name: str, pairs: Iterable[tuple[str, str]]) -> frozenset[str]:
    return frozenset(resource_id for one, resource_id in pairs if one.casefold() == name.casefold())


def _reason(
    record: RunRecord, candidates: Sequence[Candidate], fused_out: Sequence[RecalledUnit]
) -> Fate | ExclusionReason | None:
    if record.summary.state is not RunState.SUCCEEDED:
        return Fate.RUN_NOT_SUCCEEDED
    if any(candidate.disposition is Disposition.SELECTED for candidate in candidates):
        return Fate.SELECTED
    if candidates and candidates[0].exclusion_reason is not None:
        return candidates[0].exclusion_reason
    return Fate.FUSED_OUT if fused_out else None


def _absence(
    record: RunRecord,
    resource: str,
    ids: frozenset[str],
    corpus: Sequence[CorpusEntry],
    status: Callable[[str], Status],
) -> Fate:
    """Why no arm recalled what a name means."""
    if ids:
        scopes = record.summary.scopes
        searched = any(entry.resource_id in ids and (scopes is None or entry.scope in scopes) for entry in corpus)
        return Fate.NOT_RECALLED if searched else Fate.OUT_OF_SCOPE
    return Fate.NOT_IN_CORPUS if status(resource) is Status.CURRENT else Fate.NOT_CURRENT


def _sentence(
    record: RunRecord,
    resource: str,
    reason: Fate | ExclusionReason,
    candidates: Sequence[Candidate],
    fused_out: Sequence[RecalledUnit],
) -> str:
    if reason == Fate.RUN_NOT_SUCCEEDED:
        error = record.summary.error
        return f"The run did not succeed: {error.summary if error else 'it has not ended'}"
    if reason == Fate.SELECTED:
        best = next(one for one in candidates if one.disposition is Disposition.SELECTED)
        return f"{resource} was selected at rank {best.final_rank} ({_ranks(best)})."
    if candidates:
        return f"{resource} {_SENTENCES[reason]} (rank {candidates[0].final_rank}; {_ranks(candidates[0])})."
    if fused_out:
        return f"{resource} {_SENTENCES[reason]} ({_ranks(fused_out[0])})."
    return f"{resource} {_SENTENCES[reason]}."


def _ranks(unit: Candidate | RecalledUnit) -> str:
    ranks = {"exact": unit.exact_rank, "bm25": unit.bm25_rank, "vector": unit.vector_rank}
    return ", ".join(f"{arm} {'–' if rank is None else rank}" for arm, rank in ranks.items())


def _row(candidate: Candidate) -> CandidateRow:
    shared = {name: getattr(candidate, name) for name in CandidateRow._fields if hasattr(candidate, name)}
    return CandidateRow(
        **shared,
        heading=" / ".join(candidate.heading_path),
        moved=candidate.rrf_rank - candidate.final_rank,
        outcome=candidate.exclusion_reason or candidate.disposition,
    )
