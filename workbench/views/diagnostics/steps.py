"""Every step of diagnostics, from one state to the next. Pure.

Nothing that is stored is removed but by `clear`, and that only with the question that the person said yes to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.core.case import CaseState
from workbench.core.run import RunState
from workbench.core.text import counted
from workbench.evaluation.explain import Whereabouts
from workbench.evaluation.figures import Report
from workbench.storage.run_pages import RunCounts, RunFilter, RunPage
from workbench.views.diagnostics.candidates import Column
from workbench.views.diagnostics.indexes import IndexRow
from workbench.views.diagnostics.state import (
    SILENT,
    Clear,
    Count,
    DiagnosticsState,
    Export,
    Kind,
    List,
    Look,
    Measure,
    Message,
    Open,
    Question,
    Request,
    Saved,
    Sheet,
    Stop,
    Task,
    Why,
)


def newest(state: DiagnosticsState) -> DiagnosticsState:
    """Ask for the newest runs as they are now."""
    return replace(state, behind=(), request=List(), message=SILENT)


def older(state: DiagnosticsState) -> DiagnosticsState:
    """Ask for the page of older runs, if there is one."""
    if not state.page.more:
        return state
    return replace(state, behind=(*state.behind, state.page.rows[-1].place), request=List(), message=SILENT)


def newer(state: DiagnosticsState) -> DiagnosticsState:
    """Ask for the page before, if there is one."""
    return replace(state, behind=state.behind[:-1], request=List(), message=SILENT) if state.behind else state


def choose(state: DiagnosticsState, chosen: RunFilter, project: str) -> DiagnosticsState:
    """Ask for the runs that a filter lets through, of one project or (empty) of all."""
    project = project if project in state.project_ids else ""
    return newest(replace(state, filter=chosen, project=project))


def listed(
    state: DiagnosticsState, page: RunPage, counts: RunCounts, cases: Mapping[CaseState, int]
) -> DiagnosticsState:
    """The page is there. One that has gone empty meanwhile is left for the one before."""
    if not page.rows and state.behind:
        return newer(state)
    return replace(state, page=page, counts=counts, cases=cases, request=None)


def open_run(state: DiagnosticsState, run_id: str) -> DiagnosticsState:
    """Ask for a run."""
    return replace(state, request=Open(run_id), message=SILENT)


def neighbour(state: DiagnosticsState, by: int) -> DiagnosticsState:
    """Ask for a run further down (or up) this page, as far as it goes; the first when none of it is open."""
    ids = [row.run_id for row in state.page.rows]
    if not ids:
        return state
    place = ids.index(state.run_id) + by if state.run_id in ids else 0
    return open_run(state, ids[max(0, min(place, len(ids) - 1))])


def opened(state: DiagnosticsState, sheet: Sheet) -> DiagnosticsState:
    """The run is on the sheet."""
    return replace(state, sheet=sheet, request=None)


def sort(state: DiagnosticsState, column: Column) -> DiagnosticsState:
    """Sort the candidates by a column; by the same one, the other way round."""
    return replace(state, sort=state.sort.by(column))


def why(state: DiagnosticsState, resource: str) -> DiagnosticsState:
    """Ask where a resource was lost in the run on the sheet; no name closes the answer."""
    if state.sheet is None:
        return state
    if not resource.strip():
        return replace(state, sheet=replace(state.sheet, asked=None))
    return replace(state, request=Why(resource.strip()), message=SILENT)


def answered(state: DiagnosticsState, asked: Whereabouts) -> DiagnosticsState:
    """Where it was lost."""
    assert state.sheet is not None
    return replace(state, sheet=replace(state.sheet, asked=asked), request=None)


def look(state: DiagnosticsState) -> DiagnosticsState:
    """Ask for every index to be compared with its memory, unless that is under way."""
    return state if state.looking else replace(state, looking=True, request=Look())


def looked(state: DiagnosticsState, rows: tuple[IndexRow, ...]) -> DiagnosticsState:
    """What was seen."""
    return replace(state, indexes=rows, looking=False)


def measure(state: DiagnosticsState) -> DiagnosticsState:
    """Ask for the report over the ready cases."""
    return _begin(state, Kind.BENCHMARK, Measure())


def measured(state: DiagnosticsState, report: Report) -> DiagnosticsState:
    """The report is there."""
    return replace(state, task=None, report=report, message=SILENT)


def export(state: DiagnosticsState, folder: str) -> DiagnosticsState:
    """Ask for the ready cases to be written into a folder."""
    return _begin(state, Kind.EXPORT, Export(folder.strip()))


def exported(state: DiagnosticsState, saved: Saved) -> DiagnosticsState:
    """The files are there."""
    said = Message(f"{counted(saved.cases, 'case')} exported into {saved.folder}.")
    return replace(state, task=None, saved=saved, message=said)


def ask_to_clear(state: DiagnosticsState) -> DiagnosticsState:
    """Ask how many runs a clear would remove."""
    return _refused(state) if state.task else replace(state, request=Count(), message=SILENT)


def counted_to_clear(state: DiagnosticsState, question: Question) -> DiagnosticsState:
    """Put the question, if there is anything to remove."""
    state = replace(state, request=None)
    if question.removable:
        return replace(state, question=question)
    stays = "stays" if question.pinned == 1 else "stay"
    kept = f" {counted(question.pinned, 'run')} with a case {stays}." if question.pinned else ""
    return replace(state, message=Message(f"There is no run to remove.{kept}"))


def keep_history(state: DiagnosticsState) -> DiagnosticsState:
    """Say no: nothing changes."""
    return replace(state, question=None, message=Message("Nothing was removed.")) if state.question else state


def clear(state: DiagnosticsState) -> DiagnosticsState:
    """Say yes to the question that is put."""
    if state.question is None:
        return state
    return _begin(replace(state, question=None), Kind.CLEAR, Clear(state.question))


def cleared(state: DiagnosticsState, question: Question, removed: int) -> DiagnosticsState:
    """So many runs were removed; a difference from what was agreed to is said. The runs are listed anew.

    A run on the sheet that no case refers to has gone with them.
    """
    more = removed - question.removable
    difference = ""
    if more > 0:
        difference = f" {more} of them ended after they were counted."
    elif more < 0:
        difference = f" {-more} fewer than were counted: meanwhile they got a case, or went by themselves."
    said = Message(f"{counted(removed, 'run')} removed.{difference}")
    kept = None if _is_gone(state.sheet, question) else state.sheet
    return replace(newest(replace(state, task=None, sheet=kept)), message=said)


def advanced(state: DiagnosticsState, phase: str, done: int, total: int) -> DiagnosticsState:
    """What is under way got further."""
    if state.task is None:
        return state
    return replace(state, task=replace(state.task, phase=phase, done=done, total=total))


def stop(state: DiagnosticsState) -> DiagnosticsState:
    """Ask for the end of what is under way."""
    if state.task is None or state.task.stopping:
        return state
    return replace(state, task=replace(state.task, stopping=True), request=Stop())


def stopped(state: DiagnosticsState) -> DiagnosticsState:
    """What was under way ended before it was done."""
    return replace(state, task=None, message=Message("Stopped; nothing was written."))


def failed(state: DiagnosticsState, text: str) -> DiagnosticsState:
    """What was wanted did not work; it can be asked for again."""
    return replace(state, request=None, message=Message(text, bad=True))


def task_failed(state: DiagnosticsState, text: str) -> DiagnosticsState:
    """What was under way did not work. A clear may have got some way: what there is now is listed."""
    state = newest(state) if state.task and state.task.kind is Kind.CLEAR else state
    return replace(state, task=None, message=Message(text, bad=True))


def _is_gone(sheet: Sheet | None, question: Question) -> bool:
    if sheet is None or sheet.case_state is not None:
        return False
    run = sheet.record.summary
    return run.project_id in question.project_ids and run.state is not RunState.RUNNING


def _begin(state: DiagnosticsState, kind: Kind, request: Request) -> DiagnosticsState:
    if state.task is not None:
        return _refused(state)
    return replace(state, task=Task(kind), request=request, message=SILENT)


def _refused(state: DiagnosticsState) -> DiagnosticsState:
    assert state.task is not None
    return replace(state, message=Message(f"Wait until the {state.task.kind} is done, or stop it.", bad=True))
