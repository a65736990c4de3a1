from __future__ import annotations

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.markdown.reading import entries_of, words
from tests.markdown.test_properties import FRAGMENTS
from workbench.core.resource import Layer
from workbench.core.unit import Unit
from workbench.markdown.frozen import cut_frozen
from workbench.markdown.source import Entry
from workbench.memory.layout import load_layout

MEMORY = ROOT / "fixtures" / "memory"
ODD_SPACE = "\x0b\x0c\x1c\x1d\x1e\x1f\x85\u2028\u2029"
"""White space that CommonMark takes for text at a line's end or on a line of its own; a trimmed body has lost it."""
TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Zs"], exclude_characters=f"\x00\r\ufeff{ODD_SPACE}"), max_size=40
)
HEADINGS = ["# Log", "# Later", "## 2026-01-02", "## 2026-01-02", "### Card", "### Other", "#### Deep"]
PAGES = st.lists(
    st.sampled_from([one for one in FRAGMENTS if not set(one) & set(ODD_SPACE)] + HEADINGS) | TEXTS, max_size=14
).map("\n\n".join)


def cut(units: tuple[Unit, ...]) -> list[tuple[str, str, str, int]]:
    return [(unit.unit_key, unit.part, unit.text, unit.token_count) for unit in units]


def frozen(entry: Entry, resource_id: str) -> tuple[Unit, ...]:
    return cut_frozen(resource_id, entry.layer, entry.description, entry.body)


def test_every_memory_of_the_fixtures_is_cut_from_its_frozen_body_as_from_its_file() -> None:
    layout, layers = load_layout(MEMORY), set()
    for page in sorted(MEMORY.rglob("*.md")):
        source_ref = page.relative_to(MEMORY).as_posix()
        layer = layout.layer_of(source_ref)
        assert layer is not None
        layers.add(layer)
        for entry in entries_of(page.read_bytes(), layer, source_ref):
            resource_id = entry.claimed_id or entry.derived_id
            assert cut(frozen(entry, resource_id)) == cut(entry.units(resource_id))
    assert layers == set(Layer)


@given(PAGES, st.sampled_from(list(Layer)))
@example(f"# Log\n\n{words(900)}\n\n## One\n\n{words(900)}\n\n# Later\n\n{words(900)}", Layer.LOG)
@example(f"# Page\n\n<!-- card:x -->\n### One\n\n{words(900)}\n\n### No card\n", Layer.WHITEBOARD)
@example(f"### No card\n\n{words(900)}\n\n### Another\n\n{words(900)}", Layer.WHITEBOARD)
def test_a_frozen_body_under_a_derived_id_gives_the_keys_parts_and_texts_of_the_live_cut(
    text: str, layer: Layer
) -> None:
    for entry in entries_of(text, layer):
        assert cut(frozen(entry, entry.derived_id)) == cut(entry.units(entry.derived_id))


@given(PAGES, st.sampled_from(list(Layer)), st.booleans())
def test_a_claimed_id_hides_where_an_entry_stood_in_two_shapes_only(text: str, layer: Layer, described: bool) -> None:
    front = "---\nid: claimed\n" + ("description: What it is\n" if described else "") + "---\n"
    for number, entry in enumerate(entries_of(f"{front}{text}", layer)):
        assume(not is_ambiguous(entry, number))
        resource_id = entry.claimed_id or entry.derived_id
        assert cut(frozen(entry, resource_id)) == cut(entry.units(resource_id))


def is_ambiguous(entry: Entry, number: int) -> bool:
    """A later level-1 section of a log, or a page without cards whose first heading is of level 3."""
    if entry.claimed_id is None or entry.description:
        return False
    if entry.layer is Layer.WHITEBOARD:
        return entry.body.startswith("### ") and "#" not in entry.derived_id
    return entry.layer in (Layer.LOG, Layer.REFLECTION) and number > 0 and not entry.title.startswith("2026")


@pytest.mark.parametrize("layer", list(Layer))
def test_a_blank_body_has_its_description_alone(layer: Layer) -> None:
    (unit,) = cut_frozen("a.md", layer, "What it is", "")
    assert (unit.unit_key, unit.text) == ("a.md#@description", "What it is")
    assert cut_frozen("a.md", layer, "", "") == ()
