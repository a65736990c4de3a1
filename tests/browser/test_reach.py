"""What a person who labels can see, read and reach, and what a key must never do."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import Lab, keep_picture
from tests.browser.labelling import QUEUE, TEA, Labelling, Shown, show_labelling

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LONG = {f"notes/{n}.md": f"# Tea {n}\n\n" + "Green tea, water and rain.\n\n" * 60 for n in range(14)}
_IN_SIGHT = """one => {
    const around = one.closest(".mw-list, .mwl-text").getBoundingClientRect(), own = one.getBoundingClientRect();
    return own.top >= around.top - 1 && own.top < around.bottom - 20
        && (own.bottom <= around.bottom + 1 || own.height > around.height / 2);
}"""


@pytest.fixture
def shown(lab: Lab, page: Page, tmp_path: Path) -> Shown:
    """The labelling notebook, as `show_labelling` opens it."""
    return partial(show_labelling, lab, page, tmp_path)


def in_sight(seen: Labelling, selector: str) -> bool:
    """Whether a thing can be seen within the list or text that it is in: whole, or from its beginning."""
    found: bool = seen.root.locator(selector).evaluate(_IN_SIGHT)
    return found


def test_the_cursor_and_its_text_stay_in_sight(shown: Shown) -> None:
    seen = shown(LONG, [f"green tea {n}" for n in range(30)])
    for place in range(1, 12):
        seen.press("j")
        expect(seen.cards.nth(place)).to_have_attribute("aria-selected", "true")
        assert in_sight(seen, ".mwl-card[aria-selected=true]"), place
        assert in_sight(seen, ".mwl-unit"), place
    for number in range(28, 10, -1):
        seen.press("]")
        seen.asks(f"green tea {number}")
    keep_picture(seen.page, "labelling-sight")
    assert in_sight(seen, ".mw-row[aria-selected=true]")


_PRESS = """(element, [key, more]) => element.dispatchEvent(
    new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }))"""


def test_a_key_that_is_held_decides_once(shown: Shown) -> None:
    """The system repeats a held key: no second case may be decided by that."""
    seen = shown()
    seen.root.focus()
    for _ in range(8):
        seen.page.keyboard.down("n")
        seen.page.wait_for_timeout(100)
    seen.page.keyboard.up("n")

    seen.asks("发布前检查什么")
    expect(seen.root.locator(".mwl-counts b")).to_have_text("1 of 3 decided")
    for _ in range(8):
        seen.page.keyboard.down("j")
    expect(seen.cards.last).to_have_attribute("aria-selected", "true")


def test_keys_of_an_input_method_are_letters_and_no_commands(shown: Shown) -> None:
    """Some browsers tell of them by the code 229 alone; the Enter that takes a word must not search for it."""
    seen = shown()
    find, note = seen.root.get_by_role("searchbox"), seen.root.get_by_label("Note")
    find.fill("fa")
    for field, key in ((find, "Enter"), (find, "Escape"), (note, "Escape"), (seen.root, "n"), (seen.root, "x")):
        field.focus()
        for mark in ({"keyCode": 229}, {"isComposing": True}):
            assert field.evaluate(_PRESS, [key, mark]), "the browser's own part was prevented"
        expect(field).to_be_focused()

    seen.press("j")
    expect(seen.cards.nth(1)).to_have_attribute("aria-selected", "true")
    seen.marked()
    expect(seen.root.locator(".mwl-counts b")).to_have_text("0 of 3 decided")
    expect(seen.root.locator(".mwl-found .mw-title")).to_have_text("4 candidates")


def test_a_dialog_keeps_the_focus_and_gives_it_back(shown: Shown) -> None:
    seen = shown()
    seen.press("?")
    dialog = seen.root.get_by_role("dialog")
    for key in ("Tab", "Tab", "Shift+Tab"):
        seen.page.keyboard.press(key)
        expect(dialog.get_by_role("button")).to_be_focused()
    seen.page.keyboard.press("n")
    seen.page.keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    expect(seen.root).to_be_focused()

    seen.press("x")
    seen.marked(f"{TEA}#@root")
    seen.decide_elsewhere("green tea water", QUEUE)
    seen.press("Enter")
    conflict = seen.root.get_by_role("alertdialog")
    expect(conflict).to_be_focused()
    seen.press_here("j", "n", "x", "/")
    for name in ("m Store mine", "t Let theirs stand", "m Store mine"):
        seen.page.keyboard.press("Tab")
        expect(conflict.get_by_role("button", name=name)).to_be_focused()
    seen.page.keyboard.press("Enter")

    seen.asks("发布前检查什么")
    expect(seen.root).to_be_focused()
    case = seen.case("green tea water")
    assert case is not None and [one.resource_id for one in case.evidence] == [TEA]
