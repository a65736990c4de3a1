"""Export of chosen cases as a fixture beside their report, and import of a fixture as a set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.app.reports import save_report
from workbench.core.clock import time_text, utc_now
from workbench.core.errors import InputError
from workbench.core.limits import resolve_limits
from workbench.core.progress import Progress, no_progress
from workbench.evaluation.export import EvaluationExport, frozen_set
from workbench.evaluation.fixture import invalid, read_fixture
from workbench.evaluation.fixture_import import FixtureImporter
from workbench.evaluation.judged import judged_runs, ready_cases
from workbench.evaluation.report import build_report
from workbench.evaluation.sets import ImportedSet, Selection, SetFormat, free_name, write_set
from workbench.evaluation.trec import trec_files
from workbench.storage.files import atomic_write, owner_only_folder
from workbench.storage.fixture_store import FixtureStore

if TYPE_CHECKING:
    from workbench.app.parts import HomeParts

FIXTURE_FILE = "fixture.json"


def export_set(
    home: HomeParts, selection: Selection, *, seed: int = 0, progress: Progress = no_progress
) -> EvaluationExport:
    """The ready cases of a selection as a fixture, and the report on them. Raises: as `frozen_set`."""
    case_ids = ready_cases(home.store, selection.project_ids, selection.case_ids)
    frozen = frozen_set(home.cases, home.history, case_ids, selection.origin, progress)
    report = build_report(frozen.judged(), origin=selection.origin, seed=seed, progress=progress)
    return EvaluationExport(fixture_json=frozen.fixture_json(), report=report)


def save_export(exported: EvaluationExport, folder: Path) -> tuple[Path, ...]:
    """Write the fixture and, as `save_report` does, the report; replaces these files. Raises: `home_unwritable`."""
    return *_save(folder, {FIXTURE_FILE: exported.fixture_json}), *save_report(exported.report, folder)


def export_note(home: HomeParts, exported: EvaluationExport) -> str:
    """What to know before importing an export; empty: nothing."""
    size, most = len(exported.fixture_json.encode()), resolve_limits(home.settings.limits).fixture_bytes
    if size <= most:
        return ""
    return f"fixture.json has {size} bytes; an import takes it where the limit fixture_bytes is more than {most}."


def save_trec(home: HomeParts, selection: Selection, folder: Path) -> tuple[Path, ...]:
    """Write the ready cases of a selection as TREC files; replaces these files. Raises: `home_unwritable`."""
    case_ids = ready_cases(home.store, selection.project_ids, selection.case_ids)
    return tuple(_save(folder, trec_files(judged_runs(home.store, case_ids))))


def import_fixture(
    home: HomeParts, path: Path, name: str | None = None, progress: Progress = no_progress
) -> ImportedSet:
    """Bring a fixture in, whole or not at all; its set is called by `name` or by its digest.

    Raises: `InputError("fixture_invalid")` with every finding; `InputError("invalid_argument")` when the file cannot be
    read or another set has this name.
    """
    fixture = read_fixture(_bytes(path.expanduser(), resolve_limits(home.settings.limits).fixture_bytes))
    name = free_name(home.folder, name or f"fixture-{fixture.digest[:10]}", fixture.digest)
    importer = FixtureImporter(home.cases, home.history, FixtureStore(home.store, home.blobs))
    projects = importer.run(fixture, time_text(utc_now()), progress)
    imported = ImportedSet(
        name=name,
        format=SetFormat.FIXTURE,
        digest=fixture.digest,
        origin=fixture.origin,
        project_ids=projects,
        roots=(),
        cases=tuple(case.case_id for case in fixture.cases),
        findings=(),
    )
    write_set(home.folder, imported)
    return imported


def _save(folder: Path, files: Mapping[str, str]) -> Iterator[Path]:
    owner_only_folder(folder)
    for name, text in files.items():
        atomic_write(folder / name, text.encode("utf-8"), durable=False)
        yield folder / name


def _bytes(path: Path, most: int) -> bytes:
    """The file, of which no more than the limit is read: a pipe or a growing file does not say how long it will be."""
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            data = b"" if size > most else file.read(most + 1)
    except OSError as error:
        raise InputError("invalid_argument", f"{path} cannot be read: {error.strerror}.") from error
    if (size := max(size, len(data))) > most:
        raise invalid([f"{path.name}: {size} bytes, more than the limit fixture_bytes of {most}"])
    return data
