"""Which cases a report, an export or a replay is about: an imported set's, some by id, or all of a project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from workbench.core.errors import InputError
from workbench.evaluation.sets import Selection, read_set

if TYPE_CHECKING:
    from workbench.app.parts import HomeParts
    from workbench.app.project import Project

__all__ = ["Selection", "select"]


def select(home: HomeParts, set_name: str | None, case_ids: Sequence[str], project: Project | None) -> Selection:
    """The cases of exactly one of the three.

    Raises: `invalid_argument` for several, none, or an unknown set; `case_not_found` as `CaseBook.get`.
    """
    if (set_name is not None) + bool(case_ids) + (project is not None) != 1:
        raise InputError("invalid_argument", "Choose the cases by a set, by case ids or by a project: one of them.")
    if set_name is not None:
        chosen = read_set(home.folder, set_name)
        return Selection(chosen.origin, chosen.project_ids, chosen.cases)
    if project is not None:
        return Selection(f"project {project.project_id}", (project.project_id,))
    cases = {case.case_id: case for case in map(home.cases.get, case_ids)}
    projects = tuple(dict.fromkeys(case.project_id for case in cases.values()))
    return Selection(f"{len(cases)} chosen cases", projects, tuple(cases))
