"""The home: opens its folder and its projects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.app.parts import HomeParts
from workbench.app.project import Project
from workbench.app.selection import Selection, select
from workbench.core.settings import home_folder, load_settings
from workbench.storage.files import owner_only_folder


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

    def select(
        self, set_name: str | None = None, case_ids: Sequence[str] = (), project: Project | None = None
    ) -> Selection:
        """The cases of an imported set, some by id, or all of a project. Raises: as `select`."""
        return select(self, set_name, case_ids, project)
