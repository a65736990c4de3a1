"""The labelling widget in JupyterLab as tests drive it, and the store behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.app.places import PAGES, QUERIES, write
from tests.browser.lab import PATIENCE_S, Lab
from workbench.app import Home
from workbench.core.case import Case, EvidenceRef

QUEUE, TEA, STORAGE = "decisions/queue.md", "user/tea.md", "decisions/storage.md"
PATIENCE_MS = 1_000 * PATIENCE_S
Shown = Callable[..., "Labelling"]


class Labelling:
    """The widget on a page, and the store behind it."""

    def __init__(self, page: Page, home: Path) -> None:
        self.page, self.home = page, home
        self.root = page.locator(".mwl")
        expect(self.root).to_be_visible(timeout=PATIENCE_MS)
        self.root.scroll_into_view_if_needed()

    def press(self, *keys: str) -> None:
        """Keys, one after another, as fast as they come."""
        self.root.focus()
        self.press_here(*keys)

    def press_here(self, *keys: str) -> None:
        """Keys for whatever has the focus."""
        for key in keys:
            self.page.keyboard.press(key)

    def asks(self, query: str) -> None:
        """Wait until this query is on the table."""
        expect(self.root.locator(".mwl-ask .mw-query")).to_have_text(query)

    def marked(self, *names: str) -> None:
        """Wait until exactly this is marked."""
        expect(self.root.locator(".mwl-mark bdi")).to_have_text(list(names))

    @property
    def cards(self) -> Locator:
        return self.root.locator(".mwl-card")

    def case(self, query: str) -> Case | None:
        """What the store has about a query, read by nobody's widget."""
        home = Home.open(self.home, engine="fake")
        (project_id,) = {case.project_id for case in home.cases.list(home_projects(home))} or {""}
        found = [case for case in home.cases.list([project_id]) if case.query == query]
        whole = home.cases.get(found[0].case_id) if found else None
        home.store.close()
        return whole

    def decide_elsewhere(self, query: str, resource_id: str) -> None:
        """Somebody else confirms a resource for a query that has no decision yet."""
        other = Home.open(self.home, engine="fake")
        (run,) = [run for run in other.history.list(home_projects(other)[0], 9) if run.query == query]
        case = other.cases.create(run.run_id)
        other.cases.resolve(case.case_id, 1, [EvidenceRef(resource_id=resource_id)], False)
        other.store.close()


def home_projects(home: Home) -> list[str]:
    return [folder.name for folder in (home.folder / "projects").iterdir()]


def show_labelling(
    lab: Lab, page: Page, folder: Path, pages: dict[str, str] = PAGES, queries: Sequence[str] = QUERIES
) -> Labelling:
    """The notebook on four pages and three runs, the newest about tea; or on other pages and questions."""
    memory, home = write(folder / "memory", pages), folder / "home"
    lab.show(page, "10_label_evidence", home=str(home), memory=str(memory), queries=list(queries))
    return Labelling(page, home)
