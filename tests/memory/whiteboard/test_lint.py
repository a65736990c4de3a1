"""Every lint rule finds what it is for and nothing beside it, and what needs a model is never called clean."""

from __future__ import annotations

from datetime import date

import pytest

from workbench.core.resource import Status
from workbench.memory.whiteboard.lint import LintInput, lint
from workbench.memory.whiteboard.report import Finding, LintReport, LintRule

TODAY = date(2026, 12, 1)
GLOSSARY = """---
kind: glossary
---
| word | 中文 | meaning |
|---|---|---|
| probe, logger | 记录仪 | the box |
| tour | 行程 | stops |
"""


def report(pages: dict[str, str], stale_days: int = 30, **more: object) -> LintReport:
    others = [(ref, text.encode()) for ref, text in more.pop("others", {}).items()]  # type: ignore[attr-defined]
    raw = {f"whiteboard/{name}": text.encode() for name, text in pages.items()}
    return lint(LintInput(raw, others, **more), TODAY, stale_days)  # type: ignore[arg-type]


def found(rule: LintRule, *arguments: object, **more: object) -> list[tuple[str, str, int]]:
    findings: tuple[Finding, ...] = report(*arguments, **more).findings  # type: ignore[arg-type]
    return [(one.page, one.card, one.line) for one in findings if one.rule is rule]


def card(card_id: str, title: str, body: str = "Text.") -> str:
    return f"<!-- card:{card_id} -->\n### {title}\n\n{body}\n\n"


@pytest.mark.spec("T4-5")
@pytest.mark.parametrize(
    "link",
    ["[[a]]", "[[Queue]]", "[[a|the queue]]", "[it](#a)", "[it](b.md#a)", "[it]: <#a>", "` [[a]]", "`x\n\n[[a]]`"],
)
def test_a_card_that_another_card_links_to_is_no_orphan_and_the_linking_one_is(link: str) -> None:
    pages = {"p.md": card("a", "Queue") + card("b", "Broker", f"See {link}\n\n{link}")}
    assert found(LintRule.ORPHAN, pages) == [("whiteboard/p.md", "b", 7)]


@pytest.mark.spec("T4-5")
@pytest.mark.parametrize(
    "no_link", ["a", "Queue", "[[aa]]", "[[queue]]", "`[[a]]`", "`` ` [[a]] ``", "```\n[[a]]\n```", "    [[a]]"]
)
def test_what_is_no_link_to_the_exact_id_or_title_leaves_an_orphan(no_link: str) -> None:
    pages = {"p.md": card("a", "Queue") + card("b", "Broker", no_link)}
    assert ("whiteboard/p.md", "a", 2) in found(LintRule.ORPHAN, pages)


@pytest.mark.spec("T4-5")
def test_a_card_cannot_save_itself_but_its_page_and_other_sources_can() -> None:
    own = {"p.md": card("a", "Queue", "[[a]]")}
    assert found(LintRule.ORPHAN, own) == [("whiteboard/p.md", "a", 2)]
    assert found(LintRule.ORPHAN, {"p.md": f"# Board\n\nFirst [[a]].\n\n{card('a', 'Queue')}"}) == []
    assert found(LintRule.ORPHAN, own, others={"log/2026.md": "## Today\n\nSee [[a]].\n"}) == []


@pytest.mark.spec("T4-5")
def test_a_chinese_title_links_and_is_missed_like_any_other() -> None:
    pages = {
        "p.md": card("s", "签名改为笔画存储") + card("b", "打印", "[[签名改为笔画存储]]") + card("c", "存储", "[[b]]")
    }
    assert found(LintRule.ORPHAN, pages) == [("whiteboard/p.md", "c", 12)]
    bare = {"p.md": card("s", "笔画存储") + card("b", "打印", "先看\n这次的笔画存储方案。")}
    assert found(LintRule.MISSING_LINK, bare) == [("whiteboard/p.md", "b", 10)]


@pytest.mark.spec("T4-5")
@pytest.mark.parametrize(("dated", "stale"), [("2026-10-31", True), ("2026-11-01", False), ("2026-11-30", False)])
@pytest.mark.parametrize("line", ["Date: {}", "- **Updated:** {}", "更新：{}", "checked: {} by Ines"])
def test_a_card_dated_more_than_thirty_days_ago_is_stale(line: str, dated: str, stale: bool) -> None:
    pages = {"p.md": card("a", "Queue", f"Text.\n\n{line.format(dated)}")}
    assert found(LintRule.STALE, pages) == ([("whiteboard/p.md", "a", 2)] if stale else [])


@pytest.mark.spec("T4-5")
def test_the_newest_own_date_counts_before_the_date_of_the_page() -> None:
    page = (
        "---\ndate: 2026-01-01\n---\n" + card("a", "Queue", "Date: 2026-01-02\n\nChecked: 2026-11-20") + card("b", "B")
    )
    assert found(LintRule.STALE, {"p.md": page}) == [("whiteboard/p.md", "b", 12)]
    assert found(LintRule.STALE, {"p.md": page}, 400) == []
    assert found(LintRule.STALE, {"p.md": page}, 10**15) == []


@pytest.mark.spec("T4-5")
def test_a_day_that_the_text_only_mentions_or_that_does_not_exist_is_no_date() -> None:
    pages = {"p.md": card("a", "Freeze", "No deployment until 2025-01-05.\n\nDate: 2026-02-30")}
    assert found(LintRule.STALE, pages) == []
    assert report(pages).coverage.undated == 1


@pytest.mark.spec("T4-5")
def test_a_card_that_is_not_current_is_stale_whatever_its_date() -> None:
    states = {"a": Status.RETRACTED}.get
    pages = {"p.md": card("a", "Queue", "Date: 2026-11-30") + card("b", "Broker")}
    status = lambda card_id: states(card_id, Status.CURRENT)  # noqa: E731
    assert found(LintRule.STALE, pages, status=status) == [("whiteboard/p.md", "a", 2)]


@pytest.mark.spec("T4-5")
@pytest.mark.parametrize("second", ["The loggers' logger.", "坏掉的记录仪。", "A PROBE."])
def test_a_glossary_term_on_two_cards_without_a_card_of_its_own_is_missed(second: str) -> None:
    pages = {"p.md": card("a", "Cold", "First.\nOne probe is late.") + card("b", "Warm", second)}
    more = {"others": {"notes/words.md": GLOSSARY}}
    assert found(LintRule.MISSING_CARD, pages, **more) == [("whiteboard/p.md", "a", 5)]


@pytest.mark.spec("T4-5")
@pytest.mark.parametrize(
    "pages",
    [
        card("a", "Cold", "One probe."),
        card("a", "Cold", "One probe.") + card("b", "Warm", "All probes, `probe`."),
        card("a", "Cold", "One probe.") + card("b", "Warm", "The probe.") + card("c", "The logger"),
        card("a", "Cold", "One probe.") + card("b", "Warm", "The probe.") + card("probe", "Box"),
    ],
    ids=["one card", "another word and code", "a title names it", "an id names it"],
)
def test_a_term_on_one_card_or_with_a_card_is_not_missed(pages: str) -> None:
    more = {"others": {"notes/words.md": GLOSSARY}}
    assert found(LintRule.MISSING_CARD, {"p.md": pages}, **more) == []


@pytest.mark.spec("T4-5")
def test_without_a_glossary_nothing_is_missed_and_the_report_says_why() -> None:
    pages = {"p.md": card("a", "Cold", "One probe.") + card("b", "Warm", "The probe.")}
    result = report(pages, others={"notes/words.md": GLOSSARY.replace("kind", "title")})
    missing = next(check for check in result.checks if check.rule is LintRule.MISSING_CARD)
    assert (missing.findings, missing.note) == (0, "0 terms of 0 glossaries")


@pytest.mark.spec("T4-5")
def test_terms_may_stand_in_a_list_too() -> None:
    pages = {"p.md": card("a", "Cold", "A tour.") + card("b", "Warm", "The tour. 偏离。") + card("c", "C", "偏离")}
    more = {"others": {"w.md": "---\nkind: glossary\n---\n- **tour**: a day\n- 偏离：超温\n"}}
    assert found(LintRule.MISSING_CARD, pages, **more) == [("whiteboard/p.md", "a", 4), ("whiteboard/p.md", "b", 9)]


@pytest.mark.spec("T4-5")
def test_a_title_in_a_body_without_a_link_is_reported_where_it_stands() -> None:
    pages = {"p.md": card("a", "Silence alarm"), "q.md": card("b", "Depots", "One.\nThe Silence alarm rings.")}
    assert found(LintRule.MISSING_LINK, pages) == [("whiteboard/q.md", "b", 5)]


@pytest.mark.spec("T4-5")
@pytest.mark.parametrize(
    "body",
    ["The silence alarm.", "Silence alarms.", "`Silence alarm`", "Silence alarm, see [[a]].", "[Silence alarm](#a)"],
)
def test_another_spelling_code_and_a_link_anywhere_in_the_card_miss_no_link(body: str) -> None:
    assert found(LintRule.MISSING_LINK, {"p.md": card("a", "Silence alarm") + card("b", "Depots", body)}) == []


@pytest.mark.spec("T4-5")
@pytest.mark.field(125)
def test_contradictions_are_not_checked_without_a_model_and_never_counted_as_none() -> None:
    result = report({"p.md": card("a", "Queue", "We use Postgres.") + card("b", "Broker", "We use MySQL.")})
    check = next(check for check in result.checks if check.rule is LintRule.CONTRADICTION)
    assert (check.checked, check.findings) == (False, None)
    assert [one.rule for one in result.checks] == list(LintRule)
    assert all(one.checked for one in result.checks if one is not check)


@pytest.mark.spec("T4-5")
def test_the_report_says_what_it_looked_at_and_what_it_could_not_read() -> None:
    pages = {"p.md": card("a", "Queue", "See [[b]]."), "archive/p.md": card("b", "Broker", "Date: 2020-01-01")}
    result = report(pages, others={"log/x.md": "[[a]]", "log/bad.md": "---\na: [\n---\n"})
    assert result.findings == ()
    coverage = result.coverage
    assert (coverage.pages, coverage.archive_pages) == (("whiteboard/p.md",), ("whiteboard/archive/p.md",))
    assert (coverage.cards, coverage.undated, coverage.linking_sources) == (1, 1, 1)
    assert coverage.skipped == ("log/bad.md: front_matter",)


def test_looking_over_a_page_of_open_backticks_and_brackets_ends() -> None:
    hostile = " ".join("`" * length + "x" for length in range(1, 1_500)) + "[[" * 100_000
    assert report({"p.md": card("a", "Queue", hostile)}).coverage.cards == 1


def test_an_empty_page_set_and_empty_pages_have_no_findings() -> None:
    assert report({}).findings == report({"p.md": "", "q.md": "# Only a heading\n"}).findings == ()


def test_lines_of_a_crlf_page_with_a_mark_are_those_of_the_file() -> None:
    text = "\ufeff# Board\n\n" + card("a", "Queue") + card("b", "Broker", "One.\nThe Queue.")
    pages = {"p.md": text.replace("\n", "\r\n")}
    assert found(LintRule.MISSING_LINK, pages) == [("whiteboard/p.md", "b", 12)]
