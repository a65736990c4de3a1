"""The home: opens its folder and its projects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.app.parts import HomeParts
from workbench.app.project import Project
from workbench.app.selection import Selection, select
from workbench.core.progress import Progress, no_progress
from workbench.core.settings import home_folder, load_settings
from workbench.evaluation.sets import read_set
from workbench.storage.files import owner_only_folder

if TYPE_CHECKING:
    from workbench.evaluation.export import EvaluationExport
    from workbench.evaluation.figures import Report, WarmLatency
    from workbench.evaluation.judged import JudgedRun
    from workbench.evaluation.replay import ReplayConfig
    from workbench.evaluation.sets import ImportedSet, SetFormat


class Home(HomeParts):
    """One home folder and the projects opened in it."""

    @classmethod
    def open(cls, folder: Path | None = None, **overrides: Any) -> Home:
        """Open a home (by default `WORKBENCH_HOME`), creating the folder for its owner only.

        overrides: settings by name; None means "not given". Raises: `home_unwritable`, `invalid_argument`.
        """
        place = (folder or home_folder()).expanduser().absolute()
        owner_only_folder(place)
        return cls(place, load_settings(place, **overrides))

    def project(self, root: Path) -> Project:
        """The project whose memory root is `root`. Raises: `project_unknown` when there is no such folder."""
        return Project(self, root)

    def set_projects(self, name: str) -> tuple[Project, ...]:
        """The projects of an imported set whose memories stand; none for a fixture. Raises: as `read_set`."""
        roots = map(Path, read_set(self.folder, name).roots)
        return tuple(self.project(root) for root in roots if root.is_dir())

    def select(
        self, set_name: str | None = None, case_ids: Sequence[str] = (), project: Project | None = None
    ) -> Selection:
        """The cases of an imported set, some by id, or all of a project. Raises: as `select`."""
        return select(self, set_name, case_ids, project)

    def import_set(
        self,
        form: SetFormat,
        path: Path,
        *,
        name: str | None = None,
        memory: Path | None = None,
        progress: Progress = no_progress,
    ) -> ImportedSet:
        """Bring an evaluation set in, as projects with cases. Raises: as `app.sets.import_set`."""
        from workbench.app.sets import import_set

        return import_set(self, form, path, name=name, memory=memory, progress=progress)

    def export(self, selection: Selection, *, seed: int = 0, progress: Progress = no_progress) -> EvaluationExport:
        """The ready cases of a selection as a fixture, beside their report. Raises: as `app.fixtures.export_set`."""
        from workbench.app.fixtures import export_set

        return export_set(self, selection, seed=seed, progress=progress)

    def save_export(self, exported: EvaluationExport, folder: Path) -> tuple[Path, ...]:
        """Write an export as files; replaces those of an earlier one. Raises: `home_unwritable`."""
        from workbench.app.fixtures import save_export

        return save_export(exported, folder)

    def export_note(self, exported: EvaluationExport) -> str:
        """What to know before importing an export; empty: nothing."""
        from workbench.app.fixtures import export_note

        return export_note(self, exported)

    def replay(
        self, selection: Selection, config: ReplayConfig, progress: Progress = no_progress
    ) -> Iterator[JudgedRun]:
        """The ready cases of a selection, each retrieved anew over its frozen corpus. Raises: as `app.replaying`."""
        from workbench.app.replaying import replayed

        return replayed(self, selection, config, progress)

    def replay_report(
        self, selection: Selection, config: ReplayConfig, *, seed: int = 0, progress: Progress = no_progress
    ) -> Report:
        """The benchmark of a replay. Raises: as `app.replaying`; `case_not_found` when no case is ready."""
        from workbench.app.replaying import replay_report

        return replay_report(self, selection, config, seed, progress)

    def warm_latency(
        self, selection: Selection, config: ReplayConfig, repeats: int, progress: Progress = no_progress
    ) -> WarmLatency:
        """The isolated warm benchmark over a selection's frozen corpora. Raises: as `app.replaying`."""
        from workbench.app.replaying import warm_latency

        return warm_latency(self, selection, config, repeats, progress)

    def report(self, selection: Selection, *, seed: int = 0, warm: int = 0, progress: Progress = no_progress) -> Report:
        """The benchmark of the ready cases of a selection, with so many warm repeats. Raises: as `app.reports`."""
        from workbench.app.reports import reported

        return reported(self, selection, seed, warm, progress)
