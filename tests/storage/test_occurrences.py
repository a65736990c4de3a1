from __future__ import annotations

from collections import Counter

from hypothesis import example, given
from hypothesis import strategies as st

from workbench.core.terms import index_terms
from workbench.storage.occurrences import WEIGHTS, Columns, Lexicon, Occurrences
from workbench.storage.posting_blocks import BLOCK

TEXTS = st.text(max_size=60) | st.lists(
    st.sampled_from(
        ["tea", "Teas", "C#", "don\u2019t", "e\u0301", "\u00a8", "花名", "小 云", "\u200b", "DEC-0054", "🐘"]
    )
).map(" ".join)


@given(texts=st.lists(TEXTS, min_size=4, max_size=4))
@example(texts=["a\u00a0b", "\u0301 e", "ﬁne\u00adtune", "１２ ｶﾞ\u3000花"])
def test_occurrences_are_the_weighted_terms_of_the_whole_columns(texts: list[str]) -> None:
    columns = Columns(*texts)
    occurrences = Occurrences(Lexicon())
    occurrences.add(7, columns)
    expected: Counter[str] = Counter()
    for weight, text in zip(WEIGHTS, columns, strict=True):
        for term in index_terms(text):
            expected[term] += weight
    found = {term: int(counts[0]) for term, _, _, counts in occurrences.postings().rows()}
    assert found == {term: min(count, 255) for term, count in expected.items()}
    assert occurrences.lengths() == {7: sum(len(index_terms(text)) for text in columns)}


def test_postings_are_cut_by_term_and_block() -> None:
    occurrences = Occurrences(Lexicon())
    for rowid in (3, BLOCK - 1, BLOCK, 5 * BLOCK + 2):
        occurrences.add(rowid, Columns("", "", "", "tea"))
    rows = [(term, block, offsets.tolist()) for term, block, offsets, _ in occurrences.postings().rows()]
    assert rows == [("tea", 0, [3, BLOCK - 1]), ("tea", 1, [0]), ("tea", 5, [2])]


def test_nothing_gives_nothing() -> None:
    occurrences = Occurrences(Lexicon())
    occurrences.add(1, Columns("", "", "", "?!"))
    assert list(occurrences.postings().rows()) == []
    assert occurrences.lengths() == {1: 0}
