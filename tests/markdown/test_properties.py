from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.markdown.reading import words
from workbench.core.resource import Layer
from workbench.core.tokens import count_tokens
from workbench.core.unit import Unit
from workbench.markdown.errors import UnreadableSource
from workbench.markdown.source import ParsedSource, parse_source

FRAGMENTS = [
    "# Title",
    "## Section",
    "## Section",
    "### Card",
    "#",
    "Setext\n---",
    words(30),
    words(300),
    words(430),
    words(900),
    "她的花名叫小云。" * 40,
    "cafe\u0301 на\u0438\u0306 \u1100\u1161\u11a8 " * 60,
    f"```py\n# no\n{words(200)}\n```",
    "~~~\nopen",
    f"- a\n  - b {words(300)}\n\n  {words(300)}\n- c",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    f"> {words(500)}\n>\n> # quoted",
    "[ref]: https://example.com/a",
    "<!-- memory:one -->",
    "<!-- card:two -->",
    "<div>\n\n# in html\n</div>",
    "    # indented",
    "\t",
    "\u2028\x0b\x0c\x85",
    "---",
]
NOISE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)
DOCUMENTS = st.tuples(
    st.lists(st.sampled_from(FRAGMENTS) | NOISE, max_size=14), st.sampled_from(["\n", "\n\n", "\r\n", "\r\n\r\n", "\r"])
).map(lambda drawn: drawn[1].join(fragment.replace("\n", drawn[1][:2]) for fragment in drawn[0]))
LAYERS = st.sampled_from(list(Layer))


def read(text: str, layer: Layer) -> ParsedSource:
    try:
        return parse_source("a.md", layer, text.encode())
    except UnreadableSource as error:
        assert error.reason == "front_matter"
        return ParsedSource("a.md", layer, ())


def units_of(text: str, layer: Layer = Layer.PROJECT) -> tuple[Unit, ...]:
    return tuple(unit for entry in read(text, layer).entries for unit in entry.units(entry.derived_id))


def clean(text: str) -> str:
    return unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))


def solid(text: str) -> str:
    return "".join(clean(text).split())


@pytest.mark.spec("D3")
@given(DOCUMENTS, LAYERS)
@example("\ufeff# A\r\n\r\n" + "cafe\u0301 " * 900, Layer.PROJECT)
@example("\u1100\u1161\u11a8" * 900, Layer.PROJECT)
@example("[a]: x\n" * 400, Layer.PROJECT)
def test_units_cover_the_body_and_are_what_their_span_holds(text: str, layer: Layer) -> None:
    raw = text.encode()
    for entry in read(text, layer).entries:
        assert clean(raw[entry.span.byte_start : entry.span.byte_end].decode()) == entry.body
        units = [unit for unit in entry.units("x") if unit.part != "description"]
        covered: set[int] = set()
        for unit in units:
            span = unit.span
            assert entry.span.byte_start <= span.byte_start < span.byte_end <= entry.span.byte_end
            assert clean(raw[span.byte_start : span.byte_end].decode()) == unit.text
            covered.update(range(span.byte_start, span.byte_end))
        missed = bytes(
            raw[place] for place in range(entry.span.byte_start, entry.span.byte_end) if place not in covered
        )
        assert not missed.decode().strip()


@pytest.mark.spec("D3")
@given(DOCUMENTS, LAYERS)
def test_units_keep_their_limits_and_say_their_length(text: str, layer: Layer) -> None:
    for unit in units_of(text, layer):
        assert unit.token_count == count_tokens(unit.text) > 0
        assert unit.token_count <= (384 if unit.part == "root" else 480)
        lines = clean(text).split("\n")[unit.span.line_start - 1 : unit.span.line_end]
        assert solid(unit.text) in solid("\n".join(lines))


@given(DOCUMENTS, LAYERS)
@example("\u2028\x0c\n# Title\n" + words(900), Layer.USER)
def test_keys_and_ids_are_unique_and_only_windows_overlap(text: str, layer: Layer) -> None:
    parsed = read(text, layer)
    ids = [entry.derived_id for entry in parsed.entries]
    assert len(set(ids)) == len(ids)
    units = units_of(text, layer)
    assert len({unit.unit_key for unit in units}) == len(units)
    for one, other in pairwise(units):
        assert one.span.byte_start < other.span.byte_start
        if one.resource_id != other.resource_id or one.heading_path != other.heading_path:
            assert one.span.byte_end <= other.span.byte_start


@given(DOCUMENTS, LAYERS)
def test_the_same_words_are_the_same_units_however_they_are_stored(text: str, layer: Layer) -> None:
    stored = [clean(text), "\ufeff" + clean(text), clean(text).replace("\n", "\r\n")]
    (first, *others) = [[(unit.unit_key, unit.content_hash) for unit in units_of(one, layer)] for one in stored]
    assert others == [first, first]


@given(st.lists(st.sampled_from(FRAGMENTS[6:13]), min_size=1, max_size=6), st.sampled_from(FRAGMENTS[6:13]))
def test_what_is_added_under_another_heading_changes_no_key_or_hash(section: list[str], added: str) -> None:
    page = "# A\n\n{}\n\n# B\n\n{}\n\n# C\n\n{}\n"
    body = "\n\n".join(section)
    before, after = (
        {unit.unit_key: unit.content_hash for unit in units_of(page.format(words(400), middle, body))}
        for middle in (body, f"{added}\n\n{body}\n\n{added}")
    )
    others = {key for key in before if "#B" not in key}
    assert {key: before[key] for key in others} == {key: after[key] for key in after if "#B" not in key}


@pytest.mark.field(35)
@given(st.binary(max_size=200) | NOISE.map(str.encode), LAYERS)
def test_no_bytes_raise_anything_but_a_reason(raw: bytes, layer: Layer) -> None:
    try:
        entries = parse_source("a.md", layer, raw).entries
    except UnreadableSource as error:
        assert error.reason in {"encoding", "nul", "front_matter"}
    else:
        assert all(entry.resource(entry.derived_id).content_hash for entry in entries)


@pytest.mark.parametrize(
    "text", ["> " * 3000, "- " * 3000, "[" * 30_000, "*" * 30_000, "|" * 30_000, "# " + "[" * 3000]
)
def test_deep_nesting_is_read_like_any_text(text: str) -> None:
    assert units_of(text) != ()
