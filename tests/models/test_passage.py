"""The encoder input of a unit: always within the model's limit, and what gives way first."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.models.tiny import word_tokenizer
from workbench.models.passage import HEADER_FLOOR, PassageRule

TOKENIZER = word_tokenizer()


def real_spans(text: str) -> list[tuple[int, int]]:
    return TOKENIZER.encode(text, add_special_tokens=False).offsets


def word_spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


words = st.lists(st.sampled_from(["the", "sky", "zebra", "数据库", "é", "🐘", "a.b/c", "\n\n", "  "]), max_size=60).map(
    " ".join
)


@given(words, st.lists(words, max_size=4), words, st.integers(4, 40))
def test_the_input_never_exceeds_the_limit_by_the_real_tokenizer(
    path: str, headings: list[str], text: str, limit: int
) -> None:
    fitted = PassageRule("a ", real_spans, limit).fit(path, headings, text)
    assert len(real_spans(fitted)) <= limit
    assert fitted.startswith("a ")


@given(words, st.lists(words, max_size=4), words)
def test_an_input_that_fits_is_unchanged(path: str, headings: list[str], text: str) -> None:
    lines = [line for line in (path, " > ".join(headings)) if line]
    whole = "passage: " + "".join(f"{line}\n" for line in lines) + text
    assert PassageRule("passage: ", word_spans, 10_000).fit(path, headings, text) == whole
    assert PassageRule("passage: ", word_spans, None).fit(path, headings, text) == whole


def test_path_and_headings_give_way_before_the_text() -> None:
    text = " ".join(f"t{number}" for number in range(70))
    fitted = PassageRule("p: ", word_spans, 100).fit("folder file.md", [f"h{number}" for number in range(30)], text)
    header, _, kept = fitted.partition("\n")
    assert kept == text
    assert header.endswith("h28 > h29")
    assert "file.md" not in fitted
    assert len(word_spans(fitted)) == 100


def test_the_nearest_headings_stay_when_the_text_is_longer_than_the_limit() -> None:
    text = " ".join(f"t{number}" for number in range(500))
    fitted = PassageRule("p: ", word_spans, 100).fit("folder file.md", [f"h{number}" for number in range(30)], text)
    header, _, kept = fitted.partition("\n")
    assert len(word_spans(header)) == HEADER_FLOOR + 1
    assert kept == " ".join(f"t{number}" for number in range(100 - HEADER_FLOOR - 1))


def test_a_text_is_tokenised_once_when_it_fits() -> None:
    seen: list[str] = []

    def counting(text: str) -> list[tuple[int, int]]:
        seen.append(text)
        return word_spans(text)

    PassageRule("p: ", counting, 100).fit("a.md", ["h"], "some text")
    assert len(seen) == 1
