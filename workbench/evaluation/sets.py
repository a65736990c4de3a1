"""Imported sets: what came in, from where, and which cases it became; and a choice of cases to report on.

A set's record is `<home>/sets/<name>/set.json`, written when all of its cases are there: no record, no set.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import ValidationError

from workbench.core.errors import InputError, StorageError
from workbench.core.wire import Wire
from workbench.storage.files import atomic_write, owner_only_folder

RECORD = "set.json"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


class SetFormat(StrEnum):
    """What can be imported."""

    BEIR = "beir"
    LOCOMO = "locomo"
    QUESTIONS = "questions"
    FIXTURE = "fixture"


class ImportedSet(Wire):
    """One imported set. digest: sha256 of what was imported; origin: what a report on it says of its cases, which for
    a fixture is what was said where it was exported; cases: case ids in the set's order.

    roots: the memory roots written for it, one a project; empty for a fixture, whose corpora are frozen already.
    """

    name: str
    format: SetFormat
    digest: str
    origin: str
    project_ids: tuple[str, ...]
    roots: tuple[str, ...]
    cases: tuple[str, ...]
    findings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Selection:
    """Cases that were chosen. origin: how, for a report to state; case_ids: None means all cases of the projects."""

    origin: str
    project_ids: tuple[str, ...]
    case_ids: tuple[str, ...] | None = None


def set_folder(home: Path, name: str) -> Path:
    """Where a set of this name lies. Raises: `InputError("invalid_argument")` for what cannot name a set."""
    if not _NAME.fullmatch(name):
        raise InputError(
            "invalid_argument",
            f"{name[:80]!r} cannot name a set: use 1 to 64 of a-z, 0-9, '.', '_' and '-', a letter or digit first.",
        )
    return home / "sets" / name


def list_sets(home: Path) -> tuple[ImportedSet, ...]:
    """All imported sets, by name. Raises: `StorageError("store_damaged")` for a record that cannot be read."""
    return tuple(read_set(home, name) for name in _names(home))


def find_set(home: Path, name: str) -> ImportedSet | None:
    """The set of this name, or None. Raises: as `set_folder` and `list_sets`."""
    record = set_folder(home, name) / RECORD
    try:
        return ImportedSet.model_validate_json(record.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise StorageError("store_damaged", f"{record} is not readable; move it away and import again.") from error


def read_set(home: Path, name: str) -> ImportedSet:
    """The set of this name. Raises: `InputError("invalid_argument")` when there is none; as `list_sets`."""
    found = find_set(home, name)
    if found is None:
        known = ", ".join(_names(home)) or "none yet"
        raise InputError("invalid_argument", f"No imported set is called {name}; known are: {known}.")
    return found


def free_name(home: Path, name: str, digest: str, memory: Path | None = None) -> str:
    """The name, when no set has it or the one that has it is this very set. memory: which questions are about.

    Raises: `InputError("invalid_argument")`; as `find_set`.
    """
    known = find_set(home, name)
    same_memory = known is None or memory is None or known.roots == (str(memory.expanduser().resolve()),)
    if known is not None and (known.digest != digest or not same_memory):
        raise InputError("invalid_argument", f"Another set is called {name} here; choose a name with --name.")
    return name


def write_set(home: Path, imported: ImportedSet) -> None:
    """Make the record of a set, in place of an earlier one."""
    folder = owner_only_folder(set_folder(home, imported.name))
    atomic_write(folder / RECORD, (imported.model_dump_json(indent=1) + "\n").encode("utf-8"), durable=True)


def _names(home: Path) -> list[str]:
    return sorted(record.parent.name for record in (home / "sets").glob(f"*/{RECORD}"))
