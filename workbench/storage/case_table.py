"""Cases and their evidence in the central store: one case a run, and evidence replaced whole or not at all."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Sequence
from typing import Any

from workbench.core.case import Case, CaseState, CaseSummary, Evidence
from workbench.core.errors import InputError
from workbench.core.text import counted
from workbench.storage import case_queries as sql
from workbench.storage.central_store import CentralStore
from workbench.storage.faults import step


class CaseTable:
    """The tables `evaluation_cases` and `evaluation_evidence`. Every write is one durable transaction."""

    def __init__(self, store: CentralStore) -> None:
        self._store = store

    def create(self, case_id: str, run_id: str, at: str) -> Case:
        """Make the draft of a succeeded run, or return the case it has already.

        Raises: `InputError("run_not_found")` when the run has gone.
        """
        with self._store.writing("create_case", durable=True) as connection:
            connection.execute(sql.CREATE, {"case_id": case_id, "run_id": run_id, "at": at})
            case = _case(connection, sql.BY_RUN, (run_id,))
            if case is None:
                raise InputError("run_not_found", f"The run {run_id} was removed; activate again.")
            return case

    def resolve(self, case_id: str, version: int, state: CaseState, evidence: Sequence[Evidence], at: str) -> Case:
        """Replace the state and the whole evidence of a case that still has this version.

        Raises: `InputError("evaluation_case_conflict")`, with the case as it is now as detail; nothing is changed.
        """
        values = {"case_id": case_id, "version": version, "state": state, "at": at}
        with self._store.writing("resolve_case", durable=True) as connection:
            if connection.execute(sql.RESOLVE, values).rowcount == 0:
                raise conflict(_found(connection, case_id), version)
            step("central.resolve_case.evidence")
            connection.execute(sql.DROP_EVIDENCE, (case_id,))
            rows = [(case_id, one.resource_id, one.unit_key, one.excerpt) for one in evidence]
            connection.executemany(sql.ADD_EVIDENCE, rows)
            return _found(connection, case_id)

    def get(self, case_id: str) -> Case:
        """A case by its id or the only one that starts so.

        Raises: `InputError("case_not_found")`; `InputError("invalid_argument")` when several start so.
        """
        with self._store.reading() as connection:
            return _found(connection, case_id)

    def of_run(self, run_id: str) -> Case | None:
        """The case of a run, if it has one."""
        with self._store.reading() as connection:
            return _case(connection, sql.BY_RUN, (run_id,))

    def list(self, project_ids: Sequence[str], states: Collection[CaseState] | None = None) -> tuple[CaseSummary, ...]:
        """The cases of these projects in these states (None: any), the oldest first."""
        values = {
            "project_ids": json.dumps(list(project_ids)),
            "states": None if states is None else json.dumps(sorted(states)),
        }
        with self._store.reading() as connection:
            return tuple(CaseSummary.model_validate(dict(row)) for row in _rows(connection, sql.LIST, values))

    def counts(self, project_ids: Sequence[str], case_ids: Sequence[str] | None = None) -> dict[CaseState, int]:
        """How many cases of these projects, all or only the given, are in each state."""
        values = {
            "project_ids": json.dumps(list(project_ids)),
            "case_ids": None if case_ids is None else json.dumps(list(case_ids)),
        }
        with self._store.reading() as connection:
            found = connection.execute(sql.COUNTS, values).fetchall()
        return dict.fromkeys(CaseState, 0) | {CaseState(state): count for state, count in found}


def conflict(case: Case, expected_version: int) -> InputError:
    """The error for somebody who read another version than the one that stands now."""
    return InputError(
        "evaluation_case_conflict",
        f"The case {case.case_id} is {case.state} with {counted(case.evidence_count, 'piece')} of evidence at "
        f"version {case.version}, not {expected_version}; look at it again and resolve what stands now.",
        detail=case.model_dump(mode="json"),
    )


def _found(connection: sqlite3.Connection, case_id: str) -> Case:
    found = _rows(connection, sql.BY_PREFIX, {"prefix": case_id.lower()}) if case_id.isascii() and case_id else []
    if not found:
        raise InputError("case_not_found", f"No case is called {case_id[:80]!r}; `workbench case list` lists them.")
    if len(found) > 1:
        raise InputError("invalid_argument", f"Several cases start with {case_id!r}; type more of the id.")
    return _whole(connection, found[0])


def _case(connection: sqlite3.Connection, query: str, values: Any) -> Case | None:
    found = _rows(connection, query, values)
    return _whole(connection, found[0]) if found else None


def _whole(connection: sqlite3.Connection, row: sqlite3.Row) -> Case:
    evidence = [dict(one) for one in _rows(connection, sql.EVIDENCE, (row["case_id"],))]
    return Case.model_validate(dict(row) | {"evidence": evidence})


def _rows(connection: sqlite3.Connection, query: str, values: Any) -> list[sqlite3.Row]:
    cursor = connection.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor.execute(query, values).fetchall()
