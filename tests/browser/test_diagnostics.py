"""A person looks into runs in JupyterLab, measures, exports and clears: what the store and the files say afterwards."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.app.places import QUERIES, asked_project, finished, workbench, write
from tests.browser.lab import PATIENCE_S, Lab, in_the_dark, keep_picture
from tests.browser.many_runs import many_runs
from tests.evaluation.recorded import record_run, request
from workbench.app import Home, Project
from workbench.core.case import EvidenceRef
from workbench.core.run import RunError
from workbench.evaluation.metrics import METRICS
from workbench.evaluation.runs import INTERRUPTED

pytestmark = [pytest.mark.browser, pytest.mark.slow]

QUEUE, TEA = "decisions/queue.md", "user/tea.md"
PATIENCE_MS = 1_000 * PATIENCE_S
BROKEN = RunError(stage="dense", code="internal", summary="The vectors could not be read.")
_STICKING_OUT = """root => [...root.querySelectorAll("*:not(.mwd-candidates *)")].filter((one) => {
    const around = one.parentElement.closest("section, .mwd");
    return one.getBoundingClientRect().right > around.getBoundingClientRect().right + 1;
}).map((one) => one.outerHTML.slice(0, 200))"""
Shown = Callable[..., "Diagnostics"]


class Diagnostics:
    """The widget on a page, and the home behind it."""

    def __init__(self, page: Page, project: Project) -> None:
        self.page, self.project = page, project
        self.root = page.locator(".mwd")
        expect(self.root).to_be_visible(timeout=PATIENCE_MS)
        self.root.scroll_into_view_if_needed()

    @property
    def rows(self) -> Locator:
        return self.root.locator(".mw-row")

    @property
    def candidates(self) -> Locator:
        return self.root.locator(".mwd-candidates tbody")

    def press(self, name: str) -> None:
        """A click on the button of this name."""
        self.root.get_by_role("button", name=name, exact=True).click()

    def says(self, text: str) -> None:
        """Wait until the widget says this of what was done last."""
        expect(self.root.locator(".mw-status")).to_contain_text(text, timeout=PATIENCE_MS)

    def sticking_out(self) -> list[str]:
        """What is drawn beyond the section that it is in; cells of tables are cut by intent."""
        found: list[str] = self.root.evaluate(_STICKING_OUT)
        return found

    def queries(self) -> list[str]:
        """The queries of all stored runs, the newest first, read by nobody's widget."""
        home = Home.open(self.project.home.folder, engine="fake")
        found = [run.query for run in home.history.list(self.project.project_id, 10_000)]
        home.store.close()
        return found


def confirm(project: Project, query: str, resource_id: str) -> str:
    """Make the run of a query a ready case; its id."""
    cases, runs = project.home.cases, project.home.history.list(project.project_id, 100)
    case = cases.create(next(run.run_id for run in runs if run.query == query))
    cases.resolve(case.case_id, 1, [EvidenceRef(resource_id=resource_id)], False)
    return case.case_id


def paths_of(project: Project, query: str) -> list[str]:
    """The candidates of a query's run, in final order."""
    history = project.home.history
    run_id = next(run.run_id for run in history.list(project.project_id, 100) if run.query == query)
    return [one.path for one in history.get(run_id).trace.candidates]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Four pages, six runs: one failed, one interrupted, one without hits; two are ready cases."""
    project = asked_project(tmp_path)
    history = project.home.history
    for error in (BROKEN, INTERRUPTED):
        run_id = history.begin(project.project_id, request(f"a run that is {error.code}"), "key")
        assert history.fail(run_id, error)
    record_run(history, project=project.project_id)
    confirm(project, "green tea water", TEA)
    confirm(project, QUERIES[0], QUEUE)
    return project


@pytest.fixture
def shown(lab: Lab, page: Page, tmp_path: Path) -> Shown:
    """The notebook on the runs that a project has."""

    def show(project: Project, **parameters: str) -> Diagnostics:
        given = {"home": str(project.home.folder), "memory": str(project.root), "out": str(tmp_path / "out")}
        lab.show(page, "11_diagnostics", queries=[], **given | parameters)
        return Diagnostics(page, project)

    return show


def test_a_person_opens_a_run_reads_its_ranks_and_asks_why(shown: Shown, project: Project) -> None:
    seen = shown(project)
    seen.rows.filter(has_text="green tea water").click()
    expect(seen.root.locator(".mwd-sheet .mw-query")).to_have_text("green tea water")
    expect(seen.candidates.locator("th")).to_have_text(paths_of(project, "green tea water"))
    expect(seen.candidates.first.locator("td b").first).to_have_text("1")
    expect(seen.rows.filter(has_text="green tea water")).to_have_attribute("aria-selected", "true")

    for _ in range(2):
        seen.root.locator(".mwd-candidates thead").get_by_role("button", name="vector").click()
    expect(seen.candidates.last.locator("th")).to_have_text(TEA)
    seen.root.get_by_label("A resource by path").fill(QUEUE)
    seen.press("Why?")

    expect(seen.root.locator(".mwd-answer")).to_contain_text(f"{QUEUE} was selected at rank 2")
    expect(seen.root.locator(".mwd-candidates [data-asked=true] th")).to_have_text([QUEUE])
    keep_picture(seen.page, "diagnostics")
    with in_the_dark(seen.page):
        keep_picture(seen.page, "diagnostics-dark")


def test_it_fits_a_narrow_window(shown: Shown, project: Project) -> None:
    seen = shown(project)
    seen.page.set_viewport_size({"width": 900, "height": 1_000})
    seen.rows.filter(has_text="green tea water").click()
    expect(seen.candidates).to_have_count(4)

    assert seen.sticking_out() == []
    seen.root.locator(".mwd-sheet").scroll_into_view_if_needed()
    keep_picture(seen.page, "diagnostics-narrow")


def test_runs_are_filtered_and_a_failed_one_says_why(shown: Shown, project: Project) -> None:
    seen = shown(project)
    expect(seen.rows).to_have_count(6)
    seen.root.get_by_label("Which runs").select_option("failed")
    expect(seen.rows.locator(".mw-line2")).to_have_text(["a run that is internal"])
    seen.rows.first.click()
    expect(seen.root.locator(".mwd-troubles")).to_have_text("internal in dense: The vectors could not be read.")

    seen.root.get_by_label("Which runs").select_option("")
    seen.root.get_by_label("zero hits").check()

    expect(seen.rows.locator(".mw-line2")).to_have_text(["how are hits fused"])
    expect(seen.rows.locator(".mwd-under")).to_contain_text("dense unavailable")
    seen.root.get_by_label("Which runs").select_option("running")
    expect(seen.root.locator(".mwd-runs .mw-empty")).to_have_text("No run is let through by this filter.")
    keep_picture(seen.page, "diagnostics-filter")


def test_keys_of_the_list_are_not_keys_of_the_notebook(shown: Shown, project: Project) -> None:
    """In a notebook, arrows go to another cell and d d deletes one."""
    seen = shown(project)
    cells = seen.page.locator(".jp-Notebook .jp-Cell")
    before = cells.count()
    seen.root.get_by_role("listbox").focus()

    for key in ("ArrowDown", "j", "j", "d", "d", "a"):
        seen.page.keyboard.press(key)

    expect(seen.root.locator(".mwd-sheet .mw-query")).to_have_text("green tea water")
    assert cells.count() == before


def test_an_edit_puts_the_index_behind_when_it_is_looked_at_again(shown: Shown, project: Project) -> None:
    seen = shown(project)
    expect(seen.root.locator(".mwd-index .mw-chip")).to_have_text("✓ current")
    write(project.root, {"new.md": "# New\n", TEA: "# Tea\n\nBlack tea.\n"})

    seen.press("Look again")

    expect(seen.root.locator(".mwd-index .mw-chip")).to_have_text("◐ behind")
    expect(seen.root.locator(".mwd-index")).to_contain_text("The memory has moved on: 1 new, 1 changed.")
    head = project.index.head()
    assert head is not None and head.revision_id == 1


def test_the_report_on_screen_is_the_report(shown: Shown, project: Project) -> None:
    seen = shown(project)

    seen.press("Compute the report")

    made = project.home.report(project.home.select(project=project))
    expected = [one.means[metric].text() for one in made.variants for metric in METRICS]
    table = seen.root.locator(".mw-report")
    expect(table.locator("caption")).to_have_text(f"2 ready cases of {made.origin}", timeout=PATIENCE_MS)
    expect(table.locator("td")).to_have_text(expected)
    expect(table).to_contain_text(made.set_digest)
    expect(table.locator(".mwd-note")).to_have_text([one.detail for one in made.notes])
    keep_picture(seen.page, "diagnostics-benchmark")


def test_an_export_is_imported_elsewhere_with_the_same_digest(shown: Shown, project: Project, tmp_path: Path) -> None:
    seen = shown(project)
    expect(seen.root.get_by_label("Folder of the export")).to_have_value(str(tmp_path / "out"))

    seen.press("Export")

    seen.says(f"2 cases exported into {tmp_path / 'out'}.")
    keep_picture(seen.page, "diagnostics-export")
    digest = json.loads((tmp_path / "out" / "report.json").read_bytes())["set_digest"]
    expect(seen.root.locator(".mwd-saved")).to_contain_text(digest)
    status, _, said = finished(
        workbench(tmp_path / "other", "import", "fixture", tmp_path / "out" / "fixture.json", "--name", "theirs")
    )
    assert status == 0, said
    status, report, said = finished(workbench(tmp_path / "other", "report", "--set", "theirs", "--json"))
    assert status == 0, said
    assert json.loads(report)["set_digest"] == digest
    seen.press("Export")
    seen.says("holds something already; name a new folder.")


@pytest.mark.spec("D11")
def test_the_history_is_cleared_after_a_question_and_not_without(shown: Shown, project: Project) -> None:
    seen = shown(project)
    seen.press("Clear history …")
    question = seen.root.get_by_role("alertdialog")
    expect(question).to_contain_text(f"4 runs of {project.project_id} will be removed for good.")
    expect(question).to_contain_text("What stays: 2 runs with a case.")
    keep_picture(seen.page, "diagnostics-clear")
    seen.page.keyboard.press("Escape")
    seen.says("Nothing was removed.")
    expect(question).to_be_hidden()
    assert len(seen.queries()) == 6

    seen.press("Clear history …")
    seen.press("Keep them")
    seen.says("Nothing was removed.")
    seen.press("Clear history …")
    seen.press("Clear")

    seen.says("4 runs removed.")
    assert seen.queries() == ["green tea water", QUERIES[0]]
    expect(seen.rows.locator(".mw-line2")).to_have_text(["green tea water", QUERIES[0]])


def test_a_lost_connection_is_said_and_the_answer_comes_when_it_is_back(
    shown: Shown, project: Project, lab: Lab
) -> None:
    seen = shown(project)
    with lab.unreachable():
        seen.rows.filter(has_text="job queue").click()
        expect(seen.root.get_by_role("alert")).to_contain_text("does not answer")
        keep_picture(seen.page, "diagnostics-lost")

    expect(seen.root.locator(".mwd-sheet .mw-query")).to_have_text(QUERIES[0])
    expect(seen.root.get_by_role("alert")).to_be_hidden()


def test_script_and_html_of_a_memory_are_text(shown: Shown, tmp_path: Path) -> None:
    hostile = "<script>window.ran = 1</script><img src=x onerror='window.ran = 2'><b>tea</b>"
    pages = {"<b>a.md": f"# {hostile}\n\nAbout tea {hostile}\n", "b.md": f"---\ndescription: {hostile}\n---\nTea.\n"}
    project = asked_project(tmp_path, pages, [f"tea {hostile}"])
    confirm(project, f"tea {hostile}", "<b>a.md")
    write(project.root, {f"{hostile[:22].replace('/', '')}.md": "---\n: [\n---\n"})
    seen = shown(project)
    expect(seen.root.locator(".mwd-sheet .mw-query")).to_have_text(f"tea {hostile}")

    seen.root.get_by_label("A resource by path").fill(hostile)
    seen.press("Why?")
    seen.press("Compute the report")
    expect(seen.root.locator(".mw-report caption")).to_be_visible(timeout=PATIENCE_MS)
    seen.root.locator("summary").click()

    expect(seen.root.locator(".mwd-answer")).to_contain_text(hostile)
    expect(seen.candidates.first).to_contain_text("<script>window.ran = 1</script>")
    keep_picture(seen.page, "diagnostics-hostile")
    assert seen.root.locator("script, img").count() == 0
    assert seen.page.evaluate("window.ran === undefined")


_KEY_TO_PAGE = """async (key) => {
    const list = document.querySelector(".mwd [role=listbox]");
    const at = () => list.querySelector(".mw-row")?.dataset.run;
    const before = at(), started = performance.now();
    list.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    while (at() === before) await new Promise(requestAnimationFrame);
    return performance.now() - started;
}"""
_KEY_TO_RUN = """async (key) => {
    const list = document.querySelector(".mwd [role=listbox]");
    const at = () => document.querySelector(".mwd-sheet .mw-query").textContent;
    const before = at(), started = performance.now();
    list.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    while (at() === before) await new Promise(requestAnimationFrame);
    return performance.now() - started;
}"""


def test_two_thousand_runs_are_paged_and_opened_without_a_wait(lab: Lab, page: Page, tmp_path: Path) -> None:
    """From a key to the next page, and to the next run with all its candidates: under 200 ms."""
    memory = many_runs(tmp_path, runs=2_000, body_bytes=50_000)
    lab.show(page, "11_diagnostics", home=str(tmp_path / "home"), memory=str(memory), queries=[])
    seen = Diagnostics(page, Home.open(tmp_path / "home", engine="fake").project(memory))
    expect(seen.root.locator(".mwd-runs .mw-dim").first).to_have_text("1–40 of 2,000")

    pages = [page.evaluate(_KEY_TO_PAGE, "PageDown") for _ in range(49)]
    expect(seen.root.locator(".mwd-runs .mw-dim").first).to_have_text("1,961–2,000 of 2,000")
    expect(seen.rows.last.locator(".mw-line2")).to_have_text("which writer holds the lock of revision 0")
    runs = [page.evaluate(_KEY_TO_RUN, "ArrowDown") for _ in range(15)]

    keep_picture(page, "diagnostics-long")
    assert seen.sticking_out() == []
    assert median(pages) < 200, pages
    assert median(runs) < 200, runs
    seen.root.get_by_role("listbox").focus()
    page.keyboard.press("Home")
    expect(seen.root.locator(".mwd-runs .mw-dim").first).to_have_text("1–40 of 2,000")
