"""Lexical recall end to end: a query is text, whatever its characters, in every script."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.retrieval.world import World, codes
from workbench.core.limits import resolve_limits
from workbench.core.settings import Lexical
from workbench.retrieval.contract import contract_terms, match_expression

Make = Callable[..., World]

NOTES = {
    "decisions.md": "# Choices\n\nDEC-0054 keeps the queue in Postgres. Its neighbour DEC-0055 is about caching.\n",
    "agents.md": "# Agents\n\nA multi-agent memory on gpt-4, written in C#, is ok. We don't use agents for this.\n",
    "agent.md": "# One\n\nThe single agent has no memory.\n",
    "code.md": "# Code\n\nCall apply_secrets() from __init__ before a-b or a'b runs.\n",
    "paths.md": "# Places\n\nThe recordings lie in Downloads/transcripts on the server.\n",
    "status.md": '# Status\n\nstatus: done. A timeout "error made us retry OR wait. body:quick *quick^ NEAR(quick)\n',
    "ubuntu.md": "# Systems\n\nThe build runs on ubuntu 20.04 only.\n",
    "migration.md": "# Moves\n\nThe migration of the old database took a night.\n",
    "phase.md": "# Plan\n\nPhase 2 begins in spring.\n",
    "contract.md": "# 合約\n\n這是一份中文合約，雙方同意。\n",
    "names.md": "# 名字\n\n他的花名叫小云。今天下雨。修复 ok。\n",
    "identity.md": "# 身份\n\n用户身份由混合检索确认。\n",
    "games.md": "# 遊び\n\nしりとり and 끝말잇기 are word games.\n",
    "russian.md": "# Зоны\n\nОчередь сообщений хранится в базе данных.\n",
    "cafe.md": "# Caf\u00e9\n\nThe caf\u00e9 opens at nine; \u00f3rg\u00e3os are listed.\n",
    "filler.md": "# Other\n\nNothing of interest is written here at all.\n",
}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Lexical, World]]:
    worlds = {
        lexical: World(tmp_path_factory.mktemp(lexical), lexical=lexical).write(NOTES).build() for lexical in Lexical
    }
    yield worlds
    for one in worlds.values():
        one.index.close()


OPERATORS = [
    '"',
    "*",
    "+",
    "AND",
    "NOT x",
    "(quick",
    "body:quick",
    "{body}:quick",
    "^quick",
    "quick*",
    "NEAR(quick fox, 2)",
]
OPERATORS += ["?", "{", "Queen 's Statements", "'; DROP TABLE search_units; --", "%", "_", "path : x"]
FOUND_FIRST = [
    pytest.param("DEC-0054", "decisions.md", marks=pytest.mark.field(1)),
    pytest.param('"DEC-0054"', "decisions.md", marks=pytest.mark.field(1)),
    pytest.param("multi-agent memory", "agents.md", marks=pytest.mark.field(2)),
    pytest.param("gpt-4", "agents.md", marks=pytest.mark.field(2)),
    pytest.param("apply_secrets", "code.md", marks=pytest.mark.field(3)),
    pytest.param("__init__", "code.md", marks=pytest.mark.field(3)),
    pytest.param("multi-agent", "agents.md", marks=pytest.mark.field(5)),
    pytest.param("Downloads/transcripts", "paths.md", marks=pytest.mark.field(6)),
    pytest.param("don't use agents", "agents.md", marks=pytest.mark.field(7)),
    pytest.param("status: done", "status.md", marks=pytest.mark.field(8)),
    pytest.param('timeout "error', "status.md", marks=pytest.mark.field(8)),
    pytest.param("retry OR", "status.md", marks=pytest.mark.field(8)),
    pytest.param("ubuntu 20.04", "ubuntu.md", marks=pytest.mark.field(9)),
    pytest.param("database migration", "migration.md", marks=pytest.mark.field(14)),
    pytest.param(
        "how long did the migration of that big old database take us", "migration.md", marks=pytest.mark.field(15)
    ),
    pytest.param("где хранится очередь сообщений и почему", "russian.md", marks=pytest.mark.field(16)),
    pytest.param("请问用户身份是怎么确认的呢", "identity.md", marks=pytest.mark.field(16)),
    pytest.param("中文合約", "contract.md", marks=pytest.mark.field(20)),
    pytest.param('"用户身份"', "identity.md", marks=pytest.mark.field(26)),
    pytest.param("しりとり", "games.md", marks=pytest.mark.field(28)),
    pytest.param("끝말잇기", "games.md", marks=pytest.mark.field(28)),
    pytest.param("混合检索", "identity.md", marks=pytest.mark.field(31)),
    pytest.param("cafe\u0301", "cafe.md", marks=pytest.mark.field(32)),
    pytest.param("órgãos", "cafe.md", marks=pytest.mark.field(11)),
]


@pytest.mark.spec("D4")
@pytest.mark.parametrize("lexical", Lexical)
@pytest.mark.parametrize(("query", "path"), FOUND_FIRST)
def test_text_with_marks_in_any_script_is_found_first(
    notes: dict[Lexical, World], lexical: Lexical, query: str, path: str
) -> None:
    assert notes[lexical].paths(query)[:1] == [path]


@pytest.mark.spec("D4")
@pytest.mark.parametrize(
    ("query", "path"),
    [
        pytest.param("a-b", "code.md", marks=pytest.mark.field(5)),
        pytest.param("a'b", "code.md", marks=pytest.mark.field(5)),
        pytest.param("C#", "agents.md", marks=pytest.mark.field(21)),
        pytest.param("修复 ok", "names.md", marks=pytest.mark.field(21)),
        pytest.param("花名", "names.md", marks=pytest.mark.field(22)),
        pytest.param("小云", "names.md", marks=pytest.mark.field(22)),
        pytest.param("雨", "names.md", marks=pytest.mark.field(24)),
        pytest.param("约", "nothing", marks=pytest.mark.field(24)),
        pytest.param("phase-2", "phase.md", marks=pytest.mark.field(25)),
        pytest.param("ecret", "code.md"),
        pytest.param("transcrip", "paths.md"),
    ],
)
def test_short_terms_and_parts_of_words_are_found(notes: dict[Lexical, World], query: str, path: str) -> None:
    assert notes[Lexical.WORDS].paths(query)[:1] == ([] if path == "nothing" else [path])


@pytest.mark.field(21)
def test_a_short_term_beside_a_longer_one_counts(world: Make) -> None:
    made = world({"both.md": "The quick fix is ok.", "one.md": "The quick fix is bad.", "other.md": "Something else."})
    assert made.paths("quick ok") == ["both.md", "one.md"]


@pytest.mark.spec("D4")
@pytest.mark.field(18)
@pytest.mark.field(19)
@pytest.mark.parametrize("lexical", Lexical)
@pytest.mark.parametrize("mark", string.punctuation + "“”‘’—…、。「」！？")
def test_no_punctuation_is_syntax(notes: dict[Lexical, World], lexical: Lexical, mark: str) -> None:
    made = notes[lexical]
    assert made.paths(f"migration{mark}")[:1] == made.paths(f"{mark}migration")[:1] == ["migration.md"]
    assert codes(made.ask(f"{mark} {mark}{mark}")) == ["dense_unavailable"]


@pytest.mark.spec("D4")
@pytest.mark.field(18)
@pytest.mark.field(19)
@pytest.mark.parametrize("lexical", Lexical)
@pytest.mark.parametrize(
    "query",
    OPERATORS,
)
def test_operators_of_query_languages_are_text(notes: dict[Lexical, World], lexical: Lexical, query: str) -> None:
    result = notes[lexical].ask(query)
    assert codes(result) == ["dense_unavailable"]
    if "quick" in query:
        assert notes[lexical].paths(query)[:1] == ["status.md"]


def accepted(query: str) -> bool:
    return "\x00" not in query and bool(query.strip())


@pytest.mark.spec("D4")
@pytest.mark.field(18)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    query=st.text(st.characters(codec="utf-8"), min_size=1, max_size=60).filter(accepted),
    lexical=st.sampled_from(Lexical),
)
def test_no_string_raises(notes: dict[Lexical, World], query: str, lexical: Lexical) -> None:
    assert codes(notes[lexical].ask(query)) == ["dense_unavailable"]


@pytest.mark.field(15)
@pytest.mark.field(14)
def test_a_long_question_is_never_a_phrase_and_never_all_of_its_words(notes: dict[Lexical, World]) -> None:
    question = "could you please tell me whether somebody wrote down which systems our nightly build pipeline runs on"
    for made in notes.values():
        assert "ubuntu.md" in made.paths(question)


@pytest.mark.field(20)
def test_an_arm_that_found_nothing_is_told_from_one_that_could_not_run(world: Make) -> None:
    made = world({"a.md": "Something."})
    assert codes(made.ask("zzzz")) == ["dense_unavailable"]
    without_trigrams = world({"a.md": "Something."}, lexical=Lexical.CONTRACT).build(trigram=False)
    assert codes(without_trigrams.ask("zzzz"))[0] in {"lexical_not_ready", "dense_unavailable"}


def test_words_serve_where_the_revision_holds_no_trigrams(tmp_path: Path) -> None:
    made = World(tmp_path, lexical=Lexical.CONTRACT).write({"a.md": "Something."}).build(trigram=False)
    assert made.paths("something") == ["a.md"]
    assert codes(made.ask("something")) == ["lexical_not_ready", "dense_unavailable"]
    made.index.close()


def test_cyrillic_terms_are_compared_in_one_normal_form(world: Make) -> None:
    made = world({"a.md": unicodedata.normalize("NFD", "Зимой здесь лежит йод.")})
    assert made.paths("йод") == ["a.md"]


@pytest.mark.spec("D4")
def test_the_contract_arm_cuts_at_most_thirty_two_windows_of_three() -> None:
    terms = contract_terms("使用" * 40 + " " + "".join(chr(0x4E00 + at) for at in range(60)), 32)
    assert len(terms) == 32
    assert all(len(term) == 3 for term in terms)
    assert contract_terms("用docker部署服务 ok", 32) == ["docker", "部署服", "署服务"]


@given(st.lists(st.text(min_size=1), min_size=1))
def test_every_term_of_a_match_expression_is_quoted(terms: list[str]) -> None:
    expression = match_expression(terms)
    assert expression.count('"') % 2 == 0
    assert expression.replace('""', "").count('"') >= 2 * len([term for term in terms if term.strip('"')])


# Query cost (part K): what reaches the index is bounded, whatever is pasted.


@pytest.mark.field(18)
@pytest.mark.parametrize("lexical", Lexical)
def test_a_pasted_log_is_answered_by_its_rarest_terms(world: Make, lexical: Lexical) -> None:
    common = " ".join(f"w{number}" for number in range(100))
    made = world({**{f"n{number}.md": common for number in range(9)}, "rare.md": "w1 xylophone"}, lexical=lexical)
    assert len(common.split()) > resolve_limits().query_terms
    assert made.paths(f"{common} xylophone")[0] == "rare.md"
