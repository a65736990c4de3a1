"""One JupyterLab and one Chromium for each file of browser tests; without Chromium they are skipped, visibly.

Not for the whole session: while Playwright is open, an event loop runs in which no other test can start its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.lab import Lab, browser, chromium_path, running_lab


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab with nothing of the person who runs the tests."""
    if chromium_path() is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    with running_lab(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture(scope="module")
def context(lab: Lab) -> Iterator[BrowserContext]:
    """What the pages of all tests share: a cache, and no more."""
    with browser() as launched:
        yield launched.new_context(viewport={"width": 1400, "height": 1000})


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page on which no script may fail."""
    opened = context.new_page()
    failures: list[str] = []
    opened.on("pageerror", lambda error: failures.append(str(error)))
    yield opened
    opened.close()
    assert not failures
