"""A person labels in JupyterLab: what was confirmed is in the store, whatever happens to page, kernel or server."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import median

import pytest
from playwright.sync_api import Page, expect

from tests.browser.lab import Lab, in_the_dark, keep_picture
from tests.browser.labelling import (
    PATIENCE_MS,
    QUEUE,
    STORAGE,
    TEA,
    Labelling,
    Shown,
    show_labelling,
)
from tests.browser.many_runs import many_runs
from workbench.core.case import Case, CaseState

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture
def shown(lab: Lab, page: Page, tmp_path: Path) -> Shown:
    """The labelling notebook on four pages and three runs, the newest about tea; or on other pages and questions."""
    return partial(show_labelling, lab, page, tmp_path)


def evidence(case: Case | None) -> list[tuple[str, str | None]]:
    assert case is not None and case.state is CaseState.READY
    return [(one.resource_id, one.unit_key) for one in case.evidence]


def test_a_person_labels_by_keys_and_sees_the_report_grow(shown: Shown) -> None:
    seen = shown()
    seen.asks("green tea water")
    expect(seen.root.locator(".mwl-unit mark")).to_have_text(["Tea", "Green", "tea", "water"])
    seen.press("?")
    expect(seen.root.get_by_role("dialog")).to_be_visible()
    keep_picture(seen.page, "labelling-keys")
    seen.press("Escape", "x")
    seen.marked(f"{TEA}#@root")
    keep_picture(seen.page, "labelling")
    assert seen.case("green tea water") is None

    seen.press("Enter")

    seen.asks("发布前检查什么")
    assert evidence(seen.case("green tea water")) == [(TEA, f"{TEA}#@root")]
    expect(seen.root.locator(".mw-report caption")).to_have_text("Report so far: 1 ready case", timeout=PATIENCE_MS)
    with in_the_dark(seen.page):
        keep_picture(seen.page, "labelling-dark")


def test_keys_of_the_widget_are_not_keys_of_the_notebook(shown: Shown) -> None:
    """In a notebook, d d deletes a cell, x cuts it, and z and shift-z undo and redo that."""
    seen = shown()
    cells = seen.page.locator(".jp-Notebook .jp-Cell")
    before = cells.count()

    seen.press("d", "d", "z", "x", "x", "a", "b", "m", "y")

    expect(seen.root.get_by_label("Order of the candidates")).to_have_value("blind")
    assert cells.count() == before


def test_none_matched_is_stored_and_undo_takes_it_back(shown: Shown) -> None:
    seen = shown()
    seen.press("n")
    seen.asks("发布前检查什么")
    case = seen.case("green tea water")
    assert case is not None and (case.state, case.version) == (CaseState.NEEDS_EVIDENCE, 2)

    seen.press("u")

    seen.asks("green tea water")
    case = seen.case("green tea water")
    assert case is not None and (case.state, case.version) == (CaseState.DRAFT, 3)


@pytest.mark.spec("D8")
def test_a_conflict_shows_both_versions_and_the_person_chooses(shown: Shown) -> None:
    seen = shown()
    seen.decide_elsewhere("green tea water", QUEUE)

    seen.press("x", "Enter")

    conflict = seen.root.get_by_role("alertdialog")
    expect(conflict.locator(".mwl-side li")).to_have_text([f"{TEA}#@root", f"{QUEUE} (whole)"])
    keep_picture(seen.page, "labelling-conflict")
    assert evidence(seen.case("green tea water")) == [(QUEUE, None)]
    seen.press("m")
    seen.asks("发布前检查什么")
    assert evidence(seen.case("green tea water")) == [(TEA, f"{TEA}#@root")]


def test_what_no_arm_recalled_is_found_in_the_frozen_corpus(shown: Shown) -> None:
    seen = shown()
    seen.press("/")
    seen.page.keyboard.type("thumbnails")
    seen.page.keyboard.press("Enter")
    expect(seen.cards.locator(".mw-path")).to_have_text([STORAGE])
    keep_picture(seen.page, "labelling-search")

    seen.press("x", "Enter")

    seen.asks("发布前检查什么")
    assert evidence(seen.case("green tea water")) == [(STORAGE, None)]


def test_everything_can_be_clicked_and_a_note_is_kept(shown: Shown) -> None:
    seen = shown()
    seen.root.locator(".mw-row", has_text="job queue").click()
    seen.asks("which database keeps the job queue")
    seen.cards.filter(has_text=QUEUE).get_by_role("button", name="Mark").click()
    seen.marked(f"{QUEUE}#@root")
    seen.root.get_by_label("Note").fill("also in <i>minutes</i>")
    seen.cards.filter(has_text=STORAGE).click()
    expect(seen.root.locator(".mw-row", has_text="job queue").get_by_title("has a note")).to_be_visible()

    seen.root.get_by_role("button", name="Confirm 1").click()

    expect(seen.root.locator(".mwl-counts b")).to_have_text("1 of 3 decided")
    assert evidence(seen.case("which database keeps the job queue")) == [(QUEUE, f"{QUEUE}#@root")]
    seen.root.locator(".mw-row").first.click()
    seen.root.get_by_role("button", name="Skip").click()
    expect(seen.root.locator(".mwl-counts")).to_contain_text("1 skipped")


def test_a_reload_in_the_middle_of_a_case_loses_nothing(shown: Shown) -> None:
    seen = shown()
    seen.press("n")
    seen.asks("发布前检查什么")
    seen.press("j", "r")
    seen.marked(f"{STORAGE} (whole)")
    seen.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")

    seen.page.reload()

    again = Labelling(seen.page, seen.home)
    again.asks("发布前检查什么")
    again.marked(f"{STORAGE} (whole)")
    again.press("Enter")
    again.asks("which database keeps the job queue")
    assert evidence(again.case("发布前检查什么")) == [(STORAGE, None)]
    decided = again.case("green tea water")
    assert decided is not None and decided.state is CaseState.NEEDS_EVIDENCE


def test_a_kernel_restart_in_the_middle_of_a_case_loses_nothing(shown: Shown, lab: Lab) -> None:
    seen = shown()
    seen.press("x", "Enter")
    seen.asks("发布前检查什么")
    seen.press("j", "r")
    seen.marked(f"{STORAGE} (whole)")

    seen.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    assert evidence(seen.case("green tea water")) == [(TEA, f"{TEA}#@root")]
    lab.run_all(seen.page)

    again = Labelling(seen.page, seen.home)
    again.asks("发布前检查什么")
    again.marked(f"{STORAGE} (whole)")
    expect(again.root.locator(".mwl-counts b")).to_have_text("1 of 3 decided")


def test_a_lost_connection_is_said_and_what_was_confirmed_arrives_when_it_is_back(shown: Shown, lab: Lab) -> None:
    seen = shown()
    with lab.unreachable():
        seen.press("x", "Enter")
        expect(seen.root.get_by_role("alert")).to_contain_text("does not answer")
        keep_picture(seen.page, "labelling-lost")
        assert seen.case("green tea water") is None

    seen.asks("发布前检查什么")

    expect(seen.root.get_by_role("alert")).to_be_hidden()
    assert evidence(seen.case("green tea water")) == [(TEA, f"{TEA}#@root")]


def test_script_and_html_of_a_memory_are_text(shown: Shown) -> None:
    hostile = "<script>window.ran = 1</script><img src=x onerror='window.ran = 2'><b>tea</b>"
    pages = {"<b>a.md": f"# {hostile}\n\nAbout tea {hostile}\n", "b.md": f"---\ndescription: {hostile}\n---\nTea.\n"}
    seen = shown(pages, [f"tea {hostile}"])

    seen.asks(f"tea {hostile}")
    seen.press("j", "k", "x", "j", "r")
    seen.press("/")
    seen.page.keyboard.type("tea")
    seen.page.keyboard.press("Enter")
    expect(seen.cards).to_have_count(2)

    expect(seen.root.locator(".mwl-unit")).to_contain_text("<script>window.ran = 1</script>")
    keep_picture(seen.page, "labelling-hostile")
    assert seen.root.locator("script, img, .mwl-text b, .mw-query b, .mwl-card b:not(.mw-path > b)").count() == 0
    assert seen.page.evaluate("window.ran === undefined")


_KEY_TO_CANDIDATE = """async (key) => {
    const root = document.querySelector(".mwl");
    const at = () => root.querySelector(".mwl-card[aria-selected=true]")?.id;
    const text = root.querySelector(".mwl-text");
    const before = at(), seen = text.textContent;
    const started = performance.now();
    root.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    while (at() === before || text.textContent === seen) await new Promise(requestAnimationFrame);
    return performance.now() - started;
}"""


def test_two_thousand_runs_of_long_texts_stay_responsive(lab: Lab, page: Page, tmp_path: Path) -> None:
    """From a key to the next candidate with its text: under 200 ms."""
    memory = many_runs(tmp_path, runs=2_000, body_bytes=50_000)
    lab.show(page, "10_label_evidence", home=str(tmp_path / "home"), memory=str(memory), queries=[])
    seen = Labelling(page, tmp_path / "home")
    expect(seen.root.locator(".mwl-counts b")).to_have_text("0 of 2000 decided")
    seen.root.focus()

    taken = [page.evaluate(_KEY_TO_CANDIDATE, key) for key in "j" * 15]

    keep_picture(page, "labelling-long")
    assert median(taken) < 200, taken
    assert seen.root.locator(".mw-row").count() <= 60
    seen.press("x", "Enter")
    expect(seen.root.locator(".mwl-counts b")).to_have_text("1 of 2000 decided")
