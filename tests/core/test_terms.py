from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.terms import TERM_CHARS, QueryTerm, index_terms, query_terms


def words(query: str) -> list[str]:
    return [term.text for term in query_terms(query)]


def is_found(query: str, text: str) -> bool:
    terms = set(index_terms(text))
    return any(
        any(term.startswith(wanted.text) for term in terms) if wanted.prefix else wanted.text in terms
        for wanted in query_terms(query)
    )


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        pytest.param("DEC-0054", ["dec-0054", "dec", "0054"], marks=pytest.mark.field(1)),
        pytest.param('"DEC-0054"', ["dec-0054", "dec", "0054"], marks=pytest.mark.field(1)),
        pytest.param("multi-agent memory", ["multi-agent", "multi", "agent", "memori"], marks=pytest.mark.field(2)),
        pytest.param("gpt-4", ["gpt-4", "gpt", "4"], marks=pytest.mark.field(2)),
        pytest.param("apply_secrets", ["apply_secrets", "appli", "secret"], marks=pytest.mark.field(3)),
        pytest.param("__init__", ["__init__", "init"], marks=pytest.mark.field(3)),
        pytest.param(
            "Downloads/transcripts", ["downloads/transcripts", "download", "transcript"], marks=pytest.mark.field(6)
        ),
        pytest.param("don't use agents", ["use", "agent"], marks=pytest.mark.field(7)),
        pytest.param("ubuntu 20.04", ["ubuntu", "20.04", "20", "04"], marks=pytest.mark.field(9)),
        pytest.param("Queen 's Statements", ["queen", "statement"], marks=pytest.mark.field(11)),
        pytest.param("órgãos", ["órgãos"], marks=pytest.mark.field(11)),
        pytest.param("a'b", ["a'b", "a", "b"], marks=pytest.mark.field(5)),
        pytest.param("{body}:quick ^quick*", ["bodi", "quick"], marks=pytest.mark.field(19)),
        ("C# or C++", ["c#", "c", "c++"]),
        ("src/apply_secrets.py", ["src/apply_secrets.py", "apply_secrets", "src", "appli", "secret", "py"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("gpt4", ["gpt4", "gpt", "4"]),
        ("Зоны", ["зоны"]),
        ("हिन्दी", ["हिन्दी"]),
        ("🐘", ["🐘"]),
        ("?", []),
        ("-- { __", []),
    ],
)
def test_terms_of_a_query(query: str, terms: list[str]) -> None:
    assert words(query) == terms


@pytest.mark.parametrize(
    ("query", "text"),
    [
        pytest.param("phase-2", "Phase 2", marks=pytest.mark.field(25)),
        pytest.param("Phase 2", "phase-2", marks=pytest.mark.field(25)),
        pytest.param("混合检索", "支持混合检索。", marks=[pytest.mark.field(29), pytest.mark.field(31)]),
        pytest.param("花名", "她的花名叫小云", marks=pytest.mark.field(22)),
        pytest.param("雨", "下雨了", marks=pytest.mark.field(24)),
        pytest.param("雨", "昨夜有雨", marks=pytest.mark.field(24)),
        pytest.param("“用户身份”", "校验用户身份的流程", marks=pytest.mark.field(26)),
        pytest.param("끝말잇기", "어제 끝말잇기를 했다", marks=pytest.mark.field(29)),
        pytest.param("しりとり", "しりとりで遊ぶ", marks=pytest.mark.field(29)),
        pytest.param("caf\u00e9", "cafe\u0301", marks=pytest.mark.field(32)),
        pytest.param("ｇｐｔ", "GPT", marks=pytest.mark.field(32)),
        pytest.param("don't", "I don’t know", marks=pytest.mark.field(7)),
        ("agents", "one agent"),
        ("C#", "written in C#."),
        ("语言", "C语言"),
        ("ภาษา", "ภาษาไทย"),
        ("cooperate", "co\u00adoperate"),
        ("the", "to be or not to be, the question"),
    ],
)
def test_what_a_query_asks_for_is_in_the_text(query: str, text: str) -> None:
    assert is_found(query, text)


@pytest.mark.parametrize(("query", "text"), [("雨天", "雨停了，今天"), ("phase-2", "phrase"), ("花名", "名花")])
def test_what_is_not_there_is_not_found(query: str, text: str) -> None:
    assert not is_found(query, text)


def test_common_words_are_dropped_only_beside_others() -> None:
    assert words("what is the retry budget") == ["retri", "budget"]
    assert words("what is it") == ["what", "is", "it"]
    assert words("这 is") == ["这"]


def test_one_character_of_a_script_without_spaces_is_a_prefix() -> None:
    assert query_terms("雨") == [QueryTerm("雨", prefix=True)]
    assert query_terms("雨天") == [QueryTerm("雨天")]


def test_a_query_names_each_term_once_and_a_text_as_often_as_it_is_there() -> None:
    assert words("retry retries Retry") == ["retri"]
    assert index_terms("retry retries Retry") == ["retri"] * 3


@pytest.mark.field(35)
@given(st.text(st.characters(exclude_categories=[])))
def test_any_text_finds_itself_and_none_raises(text: str) -> None:
    assert {term.text for term in query_terms(text) if not term.prefix} <= set(index_terms(text))
    assert is_found(text, text) or not query_terms(text)


@given(st.text())
def test_ascii_is_only_a_shorter_way_to_the_same_terms(text: str) -> None:
    plain = text.encode("ascii", "ignore").decode()
    assert index_terms(plain) == index_terms(plain + "\u200b")


@pytest.mark.field(70)
def test_a_blob_costs_no_endless_term() -> None:
    blob = "QUJD+" * 100_000
    assert all(len(term) <= TERM_CHARS for term in [*index_terms(blob), *words(blob)])
    assert is_found("abcdef0123456789" * 40, "abcdef0123456789" * 40)
