from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.tokens import count_tokens, token_tenths, window_spans

FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
WORDS = st.lists(st.text(max_size=12), max_size=60).map(" ".join)


@pytest.mark.parametrize(
    ("text", "tenths"),
    [
        ("", 0),
        (" \n\t\u3000", 0),
        ("a", 9),
        ("four", 9),
        ("abcdefghij", 20),
        ("记忆", 14),
        ("しりとり", 28),
        ("끝말", 14),
        ("7", 9),
        ("2026", 15),
        (".", 14),
        ("```", 20),
        ("__init__", 17 + 9 + 17),
        ("用 e5-small 检索", 7 + 9 + 9 + 14 + 10 + 14),
        ("naïve", 10),
        ("हिन्दी", 12),
    ],
)
def test_the_rule_is_what_its_page_says(text: str, tenths: int) -> None:
    assert token_tenths(text) == tenths
    assert count_tokens(text) == -(-tenths // 10)


@given(st.text(), st.text())
def test_parts_between_white_space_add_up(one: str, other: str) -> None:
    assert token_tenths(f"{one}\n{other}") == token_tenths(one) + token_tenths(other)
    assert token_tenths(one + other) <= token_tenths(one) + token_tenths(other)


@given(st.text())
def test_only_blank_text_is_free(text: str) -> None:
    assert (count_tokens(text) == 0) == (not text.strip())


@given(WORDS, st.integers(20, 60), st.integers(0, 8))
def test_windows_cover_the_text_within_their_size_and_overlap(text: str, size: int, overlap: int) -> None:
    spans = window_spans(text, size, overlap)
    covered = {place for start, end in spans for place in range(start, end)}
    assert all(place in covered for place, character in enumerate(text) if not character.isspace())
    assert all(count_tokens(text[start:end]) <= size for start, end in spans)
    for (_, end), (start, _) in pairwise(spans):
        assert token_tenths(text[start:end]) <= 10 * overlap or start >= end
    assert spans == sorted(set(spans))


@pytest.mark.spec("D3")
def test_windows_of_equal_words_are_384_tokens_with_48_in_common() -> None:
    text = " ".join(["abcde"] * 1000)
    spans = window_spans(text, 384, 48)
    assert [len(text[start:end].split()) for start, end in spans] == [384, 384, 328]
    assert [len(text[start:end].split()) for (_, end), (start, _) in pairwise(spans)] == [48, 48]


@pytest.mark.field(70)
@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "0",
        "-",
        "_",
        "记",
        "e\u0301",
        "न्दी",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\U0001f44d\U0001f3fd",
        "\u2764\ufe0f",
        "var a=1;",
        "\u0301",
    ],
)
def test_a_line_without_an_end_is_cut_between_whole_characters(unit: str) -> None:
    text = unit * 5000
    spans = window_spans(text, 384, 48)
    assert len(spans) > 1
    for start, end in spans:
        assert count_tokens(text[start:end]) <= 384
        for cut in (start, end):
            after = text[cut : cut + 1]
            if unit != "\u0301" and after:
                assert unicodedata.category(after) not in ("Mn", "Mc", "Sk")
                assert "\u200d" not in (after, text[cut - 1 : cut])


@pytest.mark.data
@pytest.mark.model
@pytest.mark.parametrize("kind", ["english", "chinese", "code"])
def test_real_texts_count_as_the_default_models_tokenizer_counts_them(
    kind: str, real_folders: Path, evaluation_sets: Path, installed_model: Callable[[str], Path]
) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(installed_model("e5-small") / "tokenizer.json"))
    tokenizer.no_truncation()
    texts = list(real_texts(kind, real_folders, evaluation_sets))
    theirs = sum(len(one.ids) for one in tokenizer.encode_batch(texts, add_special_tokens=False))
    assert 0.85 <= sum(map(count_tokens, texts)) / theirs <= 1.15


def real_texts(kind: str, folders: Path, sets: Path) -> Iterable[str]:
    names = {"english": ["rust-book", "til"], "chinese": ["advanced-java-zh"], "code": ["rust-book", "til"]}
    for path in (path for name in names[kind] for path in sorted((folders / name).rglob("*.md"))):
        text = path.read_text("utf-8")
        fences = [found[0] for found in FENCE.finditer(text)]
        yield "\n".join(fences) if kind == "code" else FENCE.sub("", text)
    for name in {"english": ["scifact", "memorycode"], "chinese": ["cmrc2018"], "code": []}[kind]:
        lines = (sets / name / "corpus.jsonl").read_text("utf-8").splitlines()
        yield from (json.loads(line)["text"] for line in lines[:300])
