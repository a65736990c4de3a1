"""Wiring of a report: the ready cases of a selection read, scored, and saved."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.core.progress import Progress
from workbench.evaluation.figures import Report
from workbench.evaluation.judged import judged_runs, ready_cases
from workbench.evaluation.report import build_report
from workbench.evaluation.sets import Selection
from workbench.storage.files import atomic_write, owner_only_folder

if TYPE_CHECKING:
    from workbench.app.parts import HomeParts

REPORT_FILE, CASES_FILE = "report.json", "cases.csv"
_CASE_COLUMNS = ("case_id", "run_id", "project_id", "query", "evidence", "candidates", "resources", "latency_us")


def reported(home: HomeParts, selection: Selection, seed: int, warm: int, progress: Progress) -> Report:
    """The report of the ready cases of a selection; warm: with the warm benchmark of so many repeats, 0 for without.

    Raises: `case_not_found` when no case is ready; with `warm`, as `app.replaying`.
    """
    case_ids = ready_cases(home.store, selection.project_ids, selection.case_ids)
    chosen = len(case_ids) if selection.case_ids is None else len(selection.case_ids)
    runs = judged_runs(home.store, case_ids, progress)
    left_out = chosen - len(case_ids)
    made = build_report(runs, origin=selection.origin, seed=seed, not_ready=left_out, progress=progress)
    if not warm:
        return made
    from workbench.app.replaying import warm_latency
    from workbench.evaluation.replay import ReplayConfig

    return made.model_copy(update={"warm": warm_latency(home, selection, ReplayConfig(), warm, progress)})


def save_report(report: Report, folder: Path) -> tuple[Path, Path]:
    """Write the report as JSON and its cases as a table, one row a case; replaces both. Raises: `home_unwritable`."""
    owner_only_folder(folder)
    whole, cases = folder / REPORT_FILE, folder / CASES_FILE
    atomic_write(whole, report.model_dump_json(indent=2).encode("utf-8"), durable=False)
    atomic_write(cases, case_table(report).encode("utf-8"), durable=False)
    return whole, cases


def case_table(report: Report) -> str:
    """The cases as CSV in the report's order, a column for every figure of every order."""
    text = StringIO()
    table = csv.writer(text)
    names = [(one.variant, metric) for one in report.variants for metric in one.means]
    table.writerow((*_CASE_COLUMNS, "survival", *(f"{variant} {metric}" for variant, metric in names)))
    for row in report.rows:
        shown = (getattr(row, column) for column in _CASE_COLUMNS)
        table.writerow((*shown, row.survival, *(row.figures[variant][metric] for variant, metric in names)))
    return text.getvalue()
