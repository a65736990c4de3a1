"""What a person who labels can see, read and reach, and what a key must never do."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import Lab, keep_picture
from tests.browser.labelling import Labelling, Shown, show_labelling

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
