"""Recall over one head: every arm by itself, fused by rank. What an arm could not do is noted, not hidden."""

from __future__ import annotations

from workbench.core.errors import WorkbenchError
from workbench.core.run import RecalledUnit
from workbench.core.settings import Lexical
from workbench.memory.state import StateManifest
from workbench.models.base import Embedder
from workbench.retrieval.arms import (
    EXACT_GRADE,
    Corpus,
    encode_query,
    is_comparable,
    lead_with_exact,
    lexical_arm,
    recall_dense,
    recall_identity,
    recall_lexical,
)
from workbench.retrieval.candidates import Ranked, Recall, fuse
from workbench.retrieval.degradation import Degraded
from workbench.retrieval.ranking import Hit
from workbench.retrieval.stages import DEADLINE_MESSAGE
from workbench.retrieval.work import Work

_LATE = frozenset({Degraded.IDENTITY_DEADLINE, Degraded.LEXICAL_DEADLINE, Degraded.DENSE_DEADLINE})


def recall(work: Work, corpus: Corpus, embedder: Embedder | None, lexical: Lexical, *, patient: bool) -> Recall:
    """What all arms found.

    Raises: `WorkbenchError("deadline_exceeded")` when nothing was found and an arm was stopped by the deadline.
    """
    identity = work.part("identity", Degraded.IDENTITY_DEADLINE, lambda: recall_identity(corpus, work.query))
    arm = lexical_arm(corpus.revision, lexical)
    if arm is not lexical:
        work.note(Degraded.LEXICAL_NOT_READY.note(f"the revision holds no trigrams; {arm} served"))
    found = work.part("lexical", Degraded.LEXICAL_DEADLINE, lambda: recall_lexical(corpus, work.query, arm))
    dense = _dense(work, corpus, embedder, patient)
    if not (identity or found or dense) and any(note.code in _LATE for note in work.notes):
        raise WorkbenchError("deadline_exceeded", DEADLINE_MESSAGE, stage="recall")
    exact = tuple(hit.unit_rowid for hit in identity if hit.grade <= EXACT_GRADE)
    led = lead_with_exact(identity, found, corpus.limits.arm_width)
    return Recall(exact[: corpus.limits.arm_width], tuple(led), tuple(dense))


def _dense(work: Work, corpus: Corpus, embedder: Embedder | None, patient: bool) -> list[Hit]:
    """What the dense arm found; empty, with its degradation, when it could not run.

    The vectors of the corpus are read before the model is waited for: in a new process it loads meanwhile.
    """
    late = Degraded.DENSE_DEADLINE
    if patient and is_comparable(embedder, corpus.revision) and not work.part("vectors", late, corpus.vectors_once):
        return []
    vector = work.part(
        "embedding", late, lambda: [encode_query(embedder, corpus.revision, work.query, work.early, patient)]
    )
    return work.part("dense", late, lambda: recall_dense(corpus, vector[0], work.early)) if vector else []


def fused(
    work: Work, corpus: Corpus, found: Recall, manifest: StateManifest
) -> tuple[list[Ranked], tuple[RecalledUnit, ...]]:
    """The recalled units in RRF order with their status at recall, and what fusion left out."""
    with work.stages.stage("fusion"):
        keys = corpus.reader.unit_keys(found.rowids)
        order = fuse(found, keys, corpus.limits.rrf_k)
        kept = order[: corpus.limits.fused_keep]
        units = corpus.reader.units([one.unit_rowid for one in kept])
        ranked = [one.ranked(units[one.unit_rowid], manifest.status(units[one.unit_rowid].resource_id)) for one in kept]
        return ranked, tuple(one.recalled() for one in order[len(kept) :])


def known_now(work: Work, corpus: Corpus) -> dict[str, str | None]:
    """The content hash that the revision has for each unit of the client's state; None where it has none."""
    with work.stages.stage("state"):
        known = corpus.reader.content_hashes(list(work.previous))
        return {key: known.get(key) for key in work.previous}
