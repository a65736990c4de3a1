"""A person reads a unit where it stands: the parts are the frozen text, and the matches are the query's words."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluation.recorded import Note
from workbench.core.case import EvidenceRef
from workbench.core.terms import query_terms
from workbench.evaluation.corpus_search import search_corpus
from workbench.evaluation.frozen import FrozenCorpus
from workbench.markdown.frozen import cut_frozen
from workbench.storage.blobs import BlobStore
from workbench.storage.corpus_table import frozen_body
from workbench.views.labeling.passages import AROUND_CHARS, Passages, pieces

BODY = (
    f"# Fusion\n\n{'Ranks are summed. ' * 40}\n\n## 混合检索\n\n{'先取两路，再合并排名。' * 30}\n\n"
    f"## Ties\n\n{'By the better rank. ' * 40}\n"
)
NOTES = {
    "a.md": Note("Fusion", BODY, "How two lists become one"),
    "b.md": Note("Tea", "Green tea."),
    "c.md": Note("Green", "Nothing about leaves.\n" * 3 + "Tea at last."),
}


@pytest.fixture
def corpus(tmp_path: Path) -> FrozenCorpus:
    blobs = BlobStore(tmp_path)
    for note in NOTES.values():
        blobs.write(frozen_body(note))
    return FrozenCorpus([note.entry(one) for one, note in NOTES.items()], blobs)


def test_every_unit_stands_in_its_resource(corpus: FrozenCorpus) -> None:
    entry = corpus.entry("a.md")
    units = cut_frozen("a.md", entry.layer, NOTES["a.md"].description, BODY)
    assert len(units) > 2

    for unit in units:
        seen = Passages().read(corpus, EvidenceRef(resource_id="a.md", unit_key=unit.unit_key))
        if unit.part == "description":
            assert (seen.unit, seen.after, seen.before) == (unit.text, BODY, "")
        else:
            assert seen.before + seen.unit + seen.after == BODY
            assert seen.unit == unit.text
            assert seen.description == NOTES["a.md"].description


def test_a_whole_resource_is_read_at_once(corpus: FrozenCorpus) -> None:
    seen = Passages().read(corpus, EvidenceRef(resource_id="a.md"))

    assert (seen.unit, seen.before, seen.after, seen.missing) == (BODY, "", "", "")


def test_a_unit_that_the_frozen_text_does_not_have_is_said(corpus: FrozenCorpus) -> None:
    seen = Passages().read(corpus, EvidenceRef(resource_id="a.md", unit_key="a.md#Gone@0"))

    assert seen.missing and seen.unit == BODY


def test_of_a_long_resource_the_surroundings_are_shown_and_the_rest_is_counted(tmp_path: Path) -> None:
    sections = [f"## Part {number}\n\n{'words and more words. ' * 60}\n\n" for number in range(200)]
    note = Note("Long", "".join(sections))
    blobs = BlobStore(tmp_path)
    blobs.write(frozen_body(note))
    entry = note.entry("long.md")
    units = cut_frozen("long.md", entry.layer, "", note.body)
    middle = units[len(units) // 2]

    seen = Passages().read(FrozenCorpus([entry], blobs), EvidenceRef(resource_id="long.md", unit_key=middle.unit_key))

    assert len(seen.before) == len(seen.after) == AROUND_CHARS
    shown = seen.before + seen.unit + seen.after
    assert shown in note.body
    assert seen.cut_before + len(shown) + seen.cut_after == len(note.body)


@given(st.text(), st.text(max_size=30))
def test_the_pieces_of_any_text_are_the_text(text: str, query: str) -> None:
    assert "".join(pieces(text, tuple(query_terms(query)))) == text


@pytest.mark.parametrize(
    ("query", "text", "matches"),
    [
        ("fusing ranks", "Rank fusion: the ranks are fused.", ("Rank", "ranks", "fused")),
        ("发布检查", "先发布，再检查发布检查。", ("发布", "检查发布检查")),
        ("茶", "喝茶", ("茶",)),
        ("DEC-0054", "see dec-0054, not DEC-0055", ("dec-0054", "DEC-0055")),
        ("the of", "the end of it", ("the", "of")),
        ("Ｔｅａ", "tea ＴＥＡ", ("tea", "ＴＥＡ")),
        ("🚀", "go 🚀!", ("🚀",)),
        ("?", "what?", ()),
    ],
)
def test_matches_are_whole_words_that_share_a_term_with_the_query(
    query: str, text: str, matches: tuple[str, ...]
) -> None:
    assert pieces(text, tuple(query_terms(query)))[1::2] == matches


def test_a_corpus_search_puts_more_of_the_words_first_then_names(corpus: FrozenCorpus) -> None:
    found = search_corpus(corpus, "GREEN tea")

    assert [hit.resource_id for hit in found.hits] == ["b.md", "c.md"]
    assert [hit.words for hit in found.hits] == [2, 2]
    assert [hit.resource_id for hit in search_corpus(corpus, "green").hits] == ["c.md", "b.md"]
    assert [hit.resource_id for hit in search_corpus(corpus, "合并").hits] == ["a.md"]
    assert "合并" in search_corpus(corpus, "合并").hits[0].snippet
    assert search_corpus(corpus, "  ").hits == () == search_corpus(corpus, "zeppelin").hits


def test_a_corpus_search_names_what_it_cannot_read(corpus: FrozenCorpus, tmp_path: Path) -> None:
    damaged = corpus.entry("b.md").resource_hash
    (tmp_path / "blobs" / damaged[:2] / damaged).unlink()

    found = search_corpus(corpus, "tea")

    assert [hit.resource_id for hit in found.hits] == ["c.md"]
    assert found.unreadable == ("b.md",)
