"""What a person who labels can see, read and reach, and what a key must never do."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import Lab, in_the_dark, keep_picture
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


_FAINT = """root => {
    const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const read = (colour) => {
        pixel.clearRect(0, 0, 1, 1);
        pixel.fillStyle = colour;
        pixel.fillRect(0, 0, 1, 1);
        const [red, green, blue, alpha] = pixel.getImageData(0, 0, 1, 1).data;
        return [red, green, blue, alpha / 255];
    };
    const over = (top, below) => [0, 1, 2].map((part) => top[part] * top[3] + below[part] * (1 - top[3]));
    const ground = (element) => {
        const layers = [];
        for (let one = element; one; one = one.parentElement) layers.push(read(getComputedStyle(one).backgroundColor));
        return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
    };
    const linear = (part) => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const luminance = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    const faint = [];
    for (const one of root.querySelectorAll("*:not(option)")) {
        const field = one.matches("input, textarea"), style = getComputedStyle(one, field ? "::placeholder" : null);
        const text = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
        if (!(field || text) || !one.getClientRects().length || one.disabled) continue;
        const below = ground(one), ink = over(read(style.color).with(3, read(style.color)[3] * style.opacity), below);
        const [dark, light] = [luminance(ink), luminance(below)].sort((a, b) => a - b);
        const ratio = (light + 0.05) / (dark + 0.05);
        if (ratio < 4.5) faint.push(`${ratio.toFixed(2)} ${one.className} ${one.textContent.slice(0, 40)}`);
    }
    return faint;
}"""


def test_all_text_stands_out_in_light_and_dark(shown: Shown) -> None:
    """WCAG 2.2, 1.4.3: at least 4.5 to 1, on whatever ground it stands."""
    seen = shown()
    seen.press("n")
    seen.asks("发布前检查什么")
    seen.press("x", "j", "r", "k")
    expect(seen.root.locator(".mwl-mark")).to_have_count(2)
    assert seen.root.evaluate(_FAINT) == []
    with in_the_dark(seen.page):
        assert seen.root.evaluate(_FAINT) == []
        seen.press("?")
        assert seen.root.evaluate(_FAINT) == []
    keep_picture(seen.page, "labelling-keys-narrow")


_IS_WHOLE = """one => {
    const own = one.getBoundingClientRect(), around = one.closest(".mw-dialog").getBoundingClientRect();
    return own.width > 0 && own.left > around.left && own.height < 30;
}"""


@pytest.mark.parametrize("width", [1400, 900])
def test_keys_are_whole_and_runs_are_reached_without_keys_in_any_window(shown: Shown, page: Page, width: int) -> None:
    long = f"{'a-folder-of-a-long-name/' * 7}page.md"
    page.set_viewport_size({"width": width, "height": 700})
    seen = shown({long: "# Tea\n\nGreen tea.\n"}, ["green tea", "tea again"])
    seen.root.get_by_role("button", name="Keys").click()
    for key in seen.root.locator(".mw-dialog kbd").all():
        assert key.evaluate(_IS_WHOLE), key.text_content()
    keep_picture(seen.page, f"labelling-keys-{width}")
    seen.root.get_by_role("button", name="Close").click()

    seen.root.locator(".mw-row", has_text="green tea").click()

    seen.asks("green tea")
    title = seen.root.locator(".mwl-read .mw-title")
    expect(title).to_have_attribute("title", long)
    assert title.evaluate("one => getComputedStyle(one).textOverflow") == "ellipsis"
    keep_picture(seen.page, f"labelling-{width}")


def test_a_screen_reader_follows_the_cursor_and_hears_the_next_query(shown: Shown) -> None:
    """What has the focus names the option that the cursor is on, in each view of a widget that is shown twice."""
    seen = shown()
    seen.press("j")
    expect(seen.cards.nth(1)).to_have_attribute("aria-selected", "true")
    named = "root => document.getElementById(root.getAttribute('aria-activedescendant')).textContent"
    assert seen.root.evaluate(named) == seen.cards.nth(1).text_content()
    expect(seen.root.locator(".mwl-ask [aria-live=polite]")).to_have_text("green tea water")

    seen.page.evaluate("window.jupyterapp.commands.execute('notebook:create-output-view')")
    expect(seen.page.locator(".mwl")).to_have_count(2)
    ids = "ids => [...document.querySelectorAll('.mwl-card')].map((one) => one.id)"
    found = seen.page.evaluate(ids)
    assert len(set(found)) == len(found)
