"""BM25 over postings against the formula written out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.retrieval.bm25 import WordScorer
from workbench.storage.index_records import CorpusStatistics, Postings

documents = st.lists(st.lists(st.sampled_from("abcde"), max_size=8), min_size=1, max_size=30)


def by_the_formula(texts: list[list[str]], query: list[str]) -> dict[int, float]:
    average = sum(map(len, texts)) / len(texts) or 1.0
    scores: dict[int, float] = {}
    for row, text in enumerate(texts, start=1):
        for term in query:
            holding, tf = sum(term in other for other in texts), Counter(text)[term]
            idf = max(1e-6, math.log((len(texts) - holding + 0.5) / (holding + 0.5)))
            if tf:
                norm = 1.2 * (1 - 0.75 + 0.75 * len(text) / max(1.0, average))
                scores[row] = scores.get(row, 0.0) + idf * tf * 2.2 / (tf + norm)
    return scores


def postings_of(texts: list[list[str]], term: str) -> Postings:
    rows = [row for row, text in enumerate(texts, start=1) if term in text]
    return Postings(np.array(rows, np.int64), np.array([texts[row - 1].count(term) for row in rows], np.uint8))


def scorer_of(texts: list[list[str]]) -> WordScorer:
    lengths = np.array([0, *map(len, texts)], np.uint16)
    return WordScorer(lengths, CorpusStatistics(len(texts), sum(map(len, texts))))


@pytest.mark.spec("D4")
@pytest.mark.field(88)
@given(documents, st.lists(st.sampled_from("abcde"), min_size=1, unique=True), st.integers(1, 40))
def test_scores_and_order_are_those_of_the_formula(texts: list[list[str]], query: list[str], limit: int) -> None:
    expected = by_the_formula(texts, query)
    scorer, terms = scorer_of(texts), [postings_of(texts, term) for term in query]
    for _ in range(2):  # the second search finds a clean score array
        hits = scorer.search(terms, limit, None, lambda rows: {row: f"{row:05}" for row in rows})
        scores = [hit.score or 0.0 for hit in hits]
        assert len(hits) == min(limit, len(expected))
        assert scores == pytest.approx(sorted(expected.values(), reverse=True)[:limit], rel=1e-5)
        assert [expected[hit.unit_rowid] for hit in hits] == pytest.approx(scores, rel=1e-5)


@given(documents, st.sets(st.integers(1, 30)))
def test_only_allowed_rows_are_found_and_none_is_crowded_out(texts: list[list[str]], wanted: set[int]) -> None:
    allowed = np.array([row in wanted for row in range(len(texts) + 1)])
    hits = scorer_of(texts).search([postings_of(texts, "a")], 3, allowed, lambda rows: {})
    holding = {row for row, text in enumerate(texts, start=1) if "a" in text}
    assert {hit.unit_rowid for hit in hits} <= wanted
    assert len(hits) == min(3, len(holding & wanted))


def test_equal_scores_go_by_unit_key_and_only_their_keys_are_read() -> None:
    texts = [["a", "a"], ["a"], ["a"], ["b"], ["b"], ["b"], ["b"]]
    asked: list[int] = []

    def keys(rows: Sequence[int]) -> dict[int, str]:
        asked.extend(rows)
        return {2: "z", 3: "y"}

    hits = scorer_of(texts).search([postings_of(texts, "a")], 3, None, keys)
    assert [hit.unit_rowid for hit in hits] == [1, 3, 2]
    assert asked == [2, 3]


@given(st.data(), st.integers(1, 12))
def test_a_skipped_term_changes_no_hit_and_no_score(data: st.DataObject, limit: int) -> None:
    rare = data.draw(st.lists(st.integers(1, 6), min_size=limit, max_size=20))
    texts = [["a"] * times + ["b"] * data.draw(st.integers(0, 2)) for times in rare] + [["b"]] * 40 + [["c"]] * 50
    scorer, keys = scorer_of(texts), {row: f"{row:05}" for row in range(1, len(texts) + 1)}
    terms = [postings_of(texts, term) for term in "ab"]
    everything = scorer.search(terms, len(texts), None, lambda _: keys)
    assert scorer.search(terms, limit, None, lambda _: keys) == everything[:limit]
