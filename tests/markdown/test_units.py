from __future__ import annotations

import pytest

from tests.markdown.reading import entries_of, units_of, words
from workbench.core.resource import Layer
from workbench.core.tokens import count_tokens

pytestmark = pytest.mark.spec("D3")


def parts(text: str) -> list[tuple[tuple[str, ...], str, int]]:
    return [(unit.heading_path, unit.part, unit.token_count) for unit in units_of(text)]


def keys(text: str) -> list[str]:
    return [unit.unit_key for unit in units_of(text)]


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (1, [("root", 1)]),
        (384, [("root", 384)]),
        (385, [("1", 385)]),
        (480, [("1", 480)]),
        (481, [("1", 384), ("2", 145)]),
        (1000, [("1", 384), ("2", 384), ("3", 328)]),
    ],
)
def test_a_body_is_whole_to_384_and_a_span_to_480_and_then_windows_share_48(
    tokens: int, expected: list[tuple[str, int]]
) -> None:
    assert [(part, count) for _, part, count in parts(words(tokens))] == expected


def test_a_description_is_a_unit_of_its_own() -> None:
    text = f"---\ndescription: About it\n---\n# T\n\n{words(10)}\n"
    description, root = units_of(text)
    assert (description.unit_key, description.text, description.token_count) == (
        "notes/a.md#@description",
        "About it",
        2,
    )
    assert (root.unit_key, root.text) == ("notes/a.md#@root", f"# T\n\n{words(10)}")
    assert description.span == root.span
    (alone,) = units_of("---\ndescription: About nothing\n---\n")
    assert alone.part == "description"


def test_a_long_body_is_cut_at_headings() -> None:
    text = f"{words(100)}\n\n# A\n\n{words(100)}\n\n## B\n\n{words(100)}\n\n# C\n\n{words(100)}\n"
    assert [(path, part) for path, part, _ in parts(text)] == [
        ((), "1"),
        (("A",), "1"),
        (("A", "B"), "1"),
        (("C",), "1"),
    ]
    assert keys(text) == ["notes/a.md#@1", "notes/a.md#A@1", "notes/a.md#A/B@1", "notes/a.md#C@1"]


def test_a_long_section_is_packed_from_whole_paragraphs() -> None:
    paragraphs = "\n\n".join([words(150)] * 5)
    assert [count for *_, count in parts(f"# A\n\n{paragraphs}\n")] == [303, 300, 150]


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
@pytest.mark.field(67)
def test_a_fence_is_no_structure_and_is_not_cut_while_it_fits(fence: str) -> None:
    code = f"{fence}python\n# comment\n\n## another\n{words(300)}\n{fence}"
    text = f"# A\n\n{words(200)}\n\n{code}\n\n### Below\n\n{words(100)}\n"
    units = units_of(text)
    assert [unit.heading_path for unit in units] == [("A",), ("A",), ("A", "Below")]
    assert units[1].text == code


@pytest.mark.field(67)
def test_a_fence_that_is_never_closed_reaches_to_the_end() -> None:
    units = units_of(f"# A\n\n{words(400)}\n\n```\n# no heading\n{words(100)}\n")
    assert {unit.heading_path for unit in units} == {("A",)}


@pytest.mark.parametrize("rows", [20, 40])
def test_a_table_is_not_cut_while_it_fits(rows: int) -> None:
    table = "| a | b |\n|---|---|\n" + "\n".join(["| abcde abcde | abcde |"] * rows)
    assert 100 < count_tokens(table) <= 480
    text = f"# A\n\n{words(370)}\n\n{table}\n\n{words(370)}\n"
    assert [unit.text for unit in units_of(text)][1] == table


@pytest.mark.parametrize("mark", ["- ", "1. ", "- [ ] "])
def test_a_long_list_is_cut_between_its_items(mark: str) -> None:
    items = [f"{mark}abcde {number:03} {words(118)}\n\n  {words(30)}" for number in range(7)]
    units = units_of("# A\n\n" + "\n".join(items) + "\n")
    assert len(units) == 4
    assert all(sum(item in unit.text for unit in units) == 1 for item in items)


def test_an_item_that_does_not_fit_is_cut_between_its_blocks() -> None:
    code = f"  ```\n  # c\n  {words(200)}\n  ```"
    units = units_of(f"- {words(300)}\n\n{code}\n\n  {words(200)}\n")
    assert [code.strip() in unit.text for unit in units] == [False, True, False]


def test_a_block_that_does_not_fit_takes_its_heading_into_the_first_window() -> None:
    first, *_ = units_of(f"# A\n\n{words(700)}\n")
    assert first.text.startswith("# A\n\nabcde")
    assert first.token_count <= 384


def test_a_block_that_just_fits_is_never_cut_for_its_heading() -> None:
    code = f"```\n{words(474)}\n```"
    assert count_tokens(code) <= 480
    assert code in [unit.text for unit in units_of(f"# A long heading of many words\n\n{code}\n")]


@pytest.mark.field(68)
def test_headings_are_what_commonmark_says() -> None:
    long = words(200)
    text = f"One *em* `code`\n===\n\n{long}\n\nTwo\n---\n\n{long}\n\n# Three #\n\n{long}\n\n#No\n\n> # No\n\n    # No\n"
    assert [path for path, *_ in parts(text)] == [("One em code",), ("One em code", "Two"), ("Three",)]


@pytest.mark.field(68)
def test_a_heading_without_text_is_no_unit_of_its_own() -> None:
    long = words(300)
    text = f"# A\n## B\n\n{long}\n\n## C\n\n## D\n\n{long}\n\n# Last\n"
    units = units_of(text)
    assert [unit.heading_path for unit in units] == [("A", "B"), ("A", "D")]
    assert [unit.text for unit in units] == [f"# A\n## B\n\n{long}", f"## C\n\n## D\n\n{long}\n\n# Last"]


@pytest.mark.field(68)
def test_windows_of_one_block_have_spans_of_their_own() -> None:
    spans = [unit.span for unit in units_of(words(2000))]
    assert len(set(spans)) == len(spans) == 6
    assert spans == sorted(spans, key=lambda span: span.byte_start)


@pytest.mark.field(73)
def test_repeated_headings_are_told_apart_by_their_occurrence() -> None:
    text = f"# A\n\n{words(200)}\n\n# A\n\n{words(200)}\n\n# A\n\n{words(200)}\n"
    assert keys(text) == ["notes/a.md#A@1", "notes/a.md#A~2@1", "notes/a.md#A~3@1"]


def test_no_two_units_share_a_key_whatever_the_headings_are() -> None:
    names = ["", "A", "A/B", "A~2", "A#B", "A@1", "%", "A", "A/B", "x" * 300, "x" * 301]
    text = f"{words(400)}\n\n" + "\n\n".join(f"# {name}\n\n{words(10)}\n\n## B\n\n{words(10)}" for name in names)
    assert len(set(keys(text))) == len(keys(text)) == 1 + 2 * len(names)


SECTIONS = [f"# Part {number}\n\n" + "\n\n".join([words(200)] * 3) for number in range(4)]


@pytest.mark.parametrize("edited", range(4))
def test_keys_and_hashes_elsewhere_outlive_an_edit(edited: int) -> None:
    before = {unit.unit_key: unit.content_hash for unit in units_of("\n\n".join(SECTIONS))}
    sections = list(SECTIONS)
    sections[edited] = f"# Part {edited}\n\nshort now\n"
    after = {unit.unit_key: unit.content_hash for unit in units_of("\n\n".join(sections))}
    untouched = {key for key in before if f"#Part {edited}@" not in key}
    assert len(untouched) == 6 * 3 // 2
    assert {key: before[key] for key in untouched} == {key: after[key] for key in untouched}


def test_a_rebuild_gives_the_same_units() -> None:
    text = "\n\n".join(SECTIONS)
    assert units_of(text) == units_of(text)
    assert units_of(text.replace("\n", "\r\n").encode()) != ()


def test_a_section_entry_carries_the_headings_above_it_but_not_in_its_keys() -> None:
    text = f"# Month\n\n## Day\n\n{words(300)}\n\n### Morning\n\n{words(300)}\n"
    (entry,) = entries_of(text, Layer.LOG, "log/a.md")
    units = entry.units("day")
    assert [unit.unit_key for unit in units] == ["day#@1", "day#Morning@1"]
    assert [unit.heading_path for unit in units] == [("Month", "Day"), ("Month", "Day", "Morning")]


@pytest.mark.field(62)
def test_the_end_of_a_long_note_is_in_a_unit() -> None:
    *_, last = units_of(words(20_000) + " needle")
    assert last.text.endswith("needle")


@pytest.mark.field(70)
@pytest.mark.parametrize("line", ["x" * 50_000, "记" * 20_000, "a=1;" * 20_000, "e\u0301" * 20_000, "<p>" * 10_000])
def test_one_endless_line_is_cut_in_windows_that_are_text(line: str) -> None:
    units = units_of(line)
    assert len(units) > 10
    assert all(0 < unit.token_count <= 384 for unit in units)
