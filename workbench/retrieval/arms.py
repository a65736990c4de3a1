"""The recall arms over one revision. Scope is applied inside each, over the whole corpus, never to a finished list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from workbench.core.deadline import Deadline
from workbench.core.limits import Limits
from workbench.core.resource import Scope
from workbench.core.settings import Lexical
from workbench.core.unit import resource_id_of
from workbench.models.base import Embedder, Vectors
from workbench.retrieval.contract import search_trigrams
from workbench.retrieval.degradation import Degraded, PartOff
from workbench.retrieval.loading import is_ready
from workbench.retrieval.ranking import Hit, best_hits
from workbench.retrieval.revision_view import RevisionCache, RevisionView
from workbench.retrieval.vector_index import VectorIndex
from workbench.retrieval.words import search_words
from workbench.storage.index_reader import IndexReader
from workbench.storage.index_records import DENSE, TRIGRAM, IdentityHit, Revision

EXACT_GRADE = 1
IDENTITY_WIDTH = 4
"""Times the arm's width: a named resource of many units must not hide another of the same name."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """One revision as the arms see it: an open reader, the arrays kept of it, what to look for and within what."""

    reader: IndexReader
    revision: Revision
    cache: RevisionCache
    limits: Limits
    scopes: tuple[Scope, ...] | None

    @property
    def view(self) -> RevisionView:
        """The arrays of the revision."""
        return self.cache.view(self.reader, self.revision)

    def vectors_once(self) -> list[VectorIndex]:
        """The vectors of the revision, read when they are first asked for. Raises: `DeadlinePassed`."""
        return [self.cache.vectors(self.reader, self.revision, self.view)]


def recall_identity(corpus: Corpus, query: str) -> list[IdentityHit]:
    """Units of resources that the query names: exact first, then prefixes; of one resource no more than can be used."""
    limits = corpus.limits
    found = corpus.reader.identity(query, IDENTITY_WIDTH * limits.arm_width, corpus.scopes)
    keys = corpus.reader.unit_keys([hit.unit_rowid for hit in found])
    taken: Counter[str] = Counter()
    kept = []
    for hit in found:
        resource_id = resource_id_of(keys[hit.unit_rowid])
        taken[resource_id] += 1
        if taken[resource_id] <= limits.per_resource:
            kept.append(hit)
    return kept[: limits.arm_width]


def lexical_arm(revision: Revision, wanted: Lexical) -> Lexical:
    """The lexical arm that can serve: the wanted one, or words where the revision holds no trigrams."""
    return wanted if wanted is Lexical.WORDS or TRIGRAM in revision.arms else Lexical.WORDS


def recall_lexical(corpus: Corpus, query: str, arm: Lexical) -> list[Hit]:
    """The best units by BM25."""
    limits = corpus.limits
    if arm is Lexical.CONTRACT:
        return search_trigrams(corpus.reader, query, limits, corpus.scopes)
    view = corpus.view
    return search_words(
        corpus.reader,
        view.words,
        query,
        limit=limits.arm_width,
        most_terms=limits.query_terms,
        allowed=None if corpus.scopes is None else view.allowed(corpus.scopes),
        unit_keys=corpus.reader.unit_keys,
    )


def lead_with_exact(identity: Sequence[IdentityHit], lexical: Sequence[Hit], width: int) -> list[Hit]:
    """The lexical list: exact hits, then BM25, then what only begins with the query; each unit once."""
    scores = {hit.unit_rowid: hit.score for hit in lexical}
    exact = [hit.unit_rowid for hit in identity if hit.grade <= EXACT_GRADE]
    prefixes = [hit.unit_rowid for hit in identity if hit.grade > EXACT_GRADE]
    return [Hit(rowid, scores.get(rowid)) for rowid in dict.fromkeys((*exact, *scores, *prefixes))][:width]


def is_comparable(embedder: Embedder | None, revision: Revision) -> bool:
    """Whether the revision holds vectors of this engine."""
    held = revision.engine_identity if DENSE in revision.arms else None
    return embedder is not None and embedder.identity.digest == held


def encode_query(
    embedder: Embedder | None, revision: Revision, query: str, deadline: Deadline, patient: bool
) -> Vectors:
    """The query's vector in the revision's own vector space.

    Raises: `PartOff` when there is no such vector, `DeadlinePassed`, `ModelError` when the model fails.
    """
    if embedder is None:
        raise PartOff(Degraded.DENSE_UNAVAILABLE, "no embedding engine; identity and lexical recall served")
    if not is_comparable(embedder, revision):
        detail = f"the revision holds no vectors of {embedder.identity.name}; identity and lexical recall served"
        raise PartOff(Degraded.DENSE_NOT_READY, detail)
    if not is_ready(embedder, deadline, patient=patient):
        raise PartOff(Degraded.MODEL_PREPARING, f"{embedder.identity.name} is loading; lexical recall served")
    vector = embedder.encode_query(query, deadline)
    if vector.shape != (revision.dimension,) or not np.isfinite(vector).all():
        detail = (
            f"{embedder.identity.name} gave no usable vector of {revision.dimension} numbers; lexical recall served"
        )
        raise PartOff(Degraded.DENSE_UNAVAILABLE, detail)
    return vector


def recall_dense(corpus: Corpus, query: Vectors, deadline: Deadline) -> list[Hit]:
    """The units of greatest cosine. Raises: `DeadlinePassed`."""
    (vectors,) = corpus.vectors_once()
    mask = corpus.view.vector_mask(vectors, corpus.scopes)
    rows, cosines = vectors.search(query, corpus.limits.arm_width, mask, deadline)
    return best_hits(rows, cosines, corpus.limits.arm_width, corpus.reader.unit_keys)
