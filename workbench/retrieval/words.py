"""The word arm: stemmed words, compounds and CJK bigrams by BM25; substrings for what the word index does not know."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from workbench.core.terms import QueryTerm, query_terms
from workbench.retrieval.bm25 import WordScorer
from workbench.retrieval.ranking import Hit, Mask, UnitKeys
from workbench.storage.index_reader import IndexReader
from workbench.storage.index_records import Postings

SUBSTRING_CHARS = 3
"""The vocabulary is found by trigrams: shorter parts cannot be looked up."""
UNKNOWN_TERMS = 8
SUBSTRING_EXPANSIONS = 32
PREFIX_EXPANSIONS = 256


def search_words(
    reader: IndexReader,
    scorer: WordScorer,
    query: str,
    *,
    limit: int,
    most_terms: int,
    allowed: Mask | None,
    unit_keys: UnitKeys,
) -> list[Hit]:
    """The best `limit` units for an OR of the query's terms, of which the `most_terms` rarest count."""
    postings = sorted(_postings(reader, query_terms(query), most_terms), key=lambda one: len(one.rowids))
    return scorer.search(postings[:most_terms], limit, allowed, unit_keys)


def _postings(reader: IndexReader, terms: Sequence[QueryTerm], most_terms: int) -> list[Postings]:
    """One `Postings` a term. A term that stands for several of the vocabulary is one, as if all were the same."""
    words = [term.text for term in terms if not term.prefix]
    known = reader.postings(_rarest(reader, words, most_terms))
    unknown = [word for word in words if word not in known and len(word) >= SUBSTRING_CHARS]
    if len(words) > most_terms:
        frequencies = reader.frequencies(words)
        unknown = [word for word in unknown if word not in frequencies]
    expansions = [reader.terms_containing(word, SUBSTRING_EXPANSIONS) for word in unknown[:UNKNOWN_TERMS]]
    expansions += [reader.terms_with_prefix(term.text, PREFIX_EXPANSIONS) for term in terms if term.prefix]
    alike = [_merged(reader.postings(found).values()) for found in expansions if found]
    return [*known.values(), *(one for one in alike if len(one.rowids))]


def _rarest(reader: IndexReader, words: Sequence[str], most_terms: int) -> Sequence[str]:
    """At most `most_terms` of the words, the rarest first; only then are their long posting lists read."""
    if len(words) <= most_terms:
        return words
    frequencies = reader.frequencies(words)
    return sorted(frequencies, key=lambda word: (frequencies[word], word))[:most_terms]


def _merged(postings: Iterable[Postings]) -> Postings:
    several = list(postings)
    if len(several) == 1:
        return several[0]
    rowids, inverse = np.unique(np.concatenate([one.rowids for one in several]), return_inverse=True)
    tfs = np.bincount(inverse, weights=np.concatenate([one.tfs for one in several]))
    return Postings(rowids, np.minimum(tfs, 255).astype(np.uint8))
