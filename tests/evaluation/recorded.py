"""Values as a retrieval hands them to the history, and strategies that draw any of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from workbench.core.activation import (
    ActivationRequest,
    ActivationResult,
    BudgetUse,
    DegradationNote,
    Fragment,
    IndexState,
    Ordering,
)
from workbench.core.candidate import Candidate, DeltaAction, Disposition, ExclusionReason
from workbench.core.case import Case, EvidenceRef
from workbench.core.hashing import sha256_hex
from workbench.core.resource import Layer, Scope, Status
from workbench.core.run import RecalledUnit, Trace
from workbench.evaluation.cases import CaseBook
from workbench.evaluation.runs import RunHistory
from workbench.storage.blobs import BlobStore
from workbench.storage.central_store import CentralStore
from workbench.storage.corpus_table import CorpusEntry, frozen_body

PROJECT = "notes-0123456789"


def history(home: Path, **options: Any) -> RunHistory:
    store = CentralStore(home / "local.db", patience_ms=options.pop("patience_ms", 3_000))
    return RunHistory(store, BlobStore(home / "evaluation-corpora"), **options)


def case_book(home: Path, runs: RunHistory, **options: Any) -> CaseBook:
    store = CentralStore(home / "local.db", **options)
    return CaseBook(store, BlobStore(home / "evaluation-corpora"), runs)


def request(query: str = "how are hits fused", **more: Any) -> ActivationRequest:
    return ActivationRequest(query=query, **more)


def candidate(rank: int, **changes: Any) -> Candidate:
    values = {
        "unit_key": f"notes/{rank}.md#Fusion@0",
        "resource_id": f"notes/{rank}.md",
        "content_hash": sha256_hex(f"unit {rank}"),
        "resource_hash": sha256_hex(f"resource {rank}"),
        "scope": Scope.PROJECT,
        "kind": "note",
        "layer": Layer.PROJECT,
        "status": Status.CURRENT,
        "path": f"notes/{rank}.md",
        "heading_path": ("Fusion", "混合检索"),
        "excerpt": "Ranks are summed.",
        "token_count": 12,
        "bm25_rank": rank,
        "bm25_score": 1 / (rank + 1),
        "rrf_rank": rank,
        "rrf_score": 1 / (60 + rank),
        "final_rank": rank,
        "disposition": Disposition.SELECTED,
        "delta_action": DeltaAction.ADD,
    }
    return Candidate.model_validate(values | changes)


def dropped(rank: int, reason: ExclusionReason, **changes: Any) -> Candidate:
    return candidate(rank, disposition=Disposition.EXCLUDED, exclusion_reason=reason, delta_action=None, **changes)


def fragment(of: Candidate, text: str | None = "Ranks are summed.") -> Fragment:
    return Fragment(
        unit_key=of.unit_key,
        content_hash=of.content_hash,
        resource_id=of.resource_id,
        scope=of.scope,
        kind=of.kind,
        path=of.path,
        heading_path=of.heading_path,
        text=text,
        tokens=of.token_count,
        delta_action=of.delta_action or DeltaAction.ADD,
    )


def index_state(miv: str = "miv-1") -> IndexState:
    return IndexState(revision=3, miv=miv, arms=("identity", "words", "dense"), engine="e5", stale=False)


def result(*fragments: Fragment, miv: str = "miv-1", **changes: Any) -> ActivationResult:
    values = {
        "request_key": "key-1",
        "fragments": fragments,
        "remove": (),
        "state": "opaque",
        "run_id": None,
        "index": index_state(miv),
        "ordering": Ordering.RRF,
        "degradations": (DegradationNote(code="dense_unavailable", detail="模型 is missing"),),
        "budget": BudgetUse(
            fragments=len(fragments), tokens=12, budget_fragments=12, budget_tokens=2_400, token_counter="mw-tokens-1"
        ),
        "stage_us": {"identity": 10, "lexical": 200},
    }
    return ActivationResult.model_validate(values | changes)


def trace(*candidates: Candidate, fused_out: tuple[RecalledUnit, ...] = ()) -> Trace:
    return Trace(candidates=candidates, fused_out=fused_out)


def record_run(to: RunHistory, *candidates: Candidate, miv: str = "miv-1", project: str = PROJECT, **more: Any) -> str:
    """One succeeded run; its id."""
    run_id = to.begin(project, request(), "key-1")
    assert run_id is not None
    chosen = [fragment(one) for one in candidates if one.disposition is Disposition.SELECTED]
    assert to.succeed(run_id, result(*chosen, miv=miv), trace(*candidates, **more), 1_500)
    return run_id


@dataclass(frozen=True)
class Note:
    """A resource as far as the history archives it."""

    title: str
    body: str
    description: str = ""

    def entry(self, resource_id: str) -> CorpusEntry:
        return CorpusEntry(
            resource_id, self.content_hash, Layer.PROJECT, Scope.PROJECT, "note", f"at/{resource_id}", self.title
        )

    @property
    def content_hash(self) -> str:
        return sha256_hex(frozen_body(self))


def record_corpus(to: RunHistory, miv: str, notes: dict[str, Note], project: str = PROJECT) -> int | None:
    return to.record_corpus(project, miv, [note.entry(one) for one, note in notes.items()], notes.get)


def notes(count: int) -> dict[str, Note]:
    """The resources of `candidate(1)` to `candidate(count)`."""
    return {f"notes/{rank}.md": Note(f"Note {rank}", f"# Fusion\n\nText of {rank}.\n") for rank in range(1, count + 1)}


def case_draft(home: Path, runs: RunHistory, count: int = 4) -> Case:
    """The draft of a run over so many notes, each of them a candidate."""
    record_corpus(runs, "miv-1", notes(count))
    return case_book(home, runs).create(record_run(runs, *map(candidate, range(1, count + 1))))


def resource(rank: int) -> EvidenceRef:
    """Evidence: the whole resource of `candidate(rank)`."""
    return EvidenceRef(resource_id=candidate(rank).resource_id)


def unit(rank: int) -> EvidenceRef:
    """Evidence: the unit of `candidate(rank)`."""
    return EvidenceRef(resource_id=candidate(rank).resource_id, unit_key=candidate(rank).unit_key)


_texts = st.text(max_size=40)
_ranks = st.none() | st.integers(1, 1_000)
_scores = st.none() | st.floats(allow_nan=False, allow_infinity=False)
_real = st.floats(allow_nan=False, allow_infinity=False)


def candidates(rank: int) -> st.SearchStrategy[Candidate]:
    """Any candidate of this final rank."""
    return st.builds(
        Candidate,
        unit_key=_texts,
        resource_id=_texts,
        content_hash=_texts,
        resource_hash=_texts,
        kind=_texts,
        path=_texts,
        heading_path=st.lists(_texts, max_size=4).map(tuple),
        excerpt=_texts,
        token_count=st.integers(0, 10_000),
        exact_rank=_ranks,
        bm25_rank=_ranks,
        bm25_score=_scores,
        vector_rank=_ranks,
        vector_score=_scores,
        rrf_rank=st.integers(1, 1_000),
        rrf_score=_real,
        rerank_rank=_ranks,
        rerank_score=_scores,
        final_rank=st.just(rank),
        exclusion_reason=st.none() | st.sampled_from(ExclusionReason),
        delta_action=st.none() | st.sampled_from(DeltaAction),
    )


recalled_units = st.builds(
    RecalledUnit, unit_key=_texts, resource_id=_texts, exact_rank=_ranks, bm25_rank=_ranks, vector_rank=_ranks
)
traces = st.integers(0, 6).flatmap(
    lambda count: st.builds(
        Trace,
        candidates=st.tuples(*(candidates(rank) for rank in range(1, count + 1))),
        fused_out=st.lists(recalled_units, max_size=6).map(tuple),
    )
)
