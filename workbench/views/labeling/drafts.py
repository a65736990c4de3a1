"""What is not decided yet, kept in one small file a run, so that neither a page nor a kernel that ends loses it.

`<home>/labeling/<run_id>.json`. Two people at one run share its file: the last change stands. Decisions are no drafts,
they are in the store, where nobody overwrites unseen.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from workbench.storage.faults import step
from workbench.storage.files import atomic_write, owner_only_folder
from workbench.views.labeling.state import Draft


class DraftFolder:
    """The drafts of one home."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "labeling"

    def read(self, run_ids: Iterable[str]) -> dict[str, Draft]:
        """The drafts of these runs that there are. A file that cannot be read is none, and is replaced by the next."""
        files = {file.stem: file for file in self._folder.glob("*.json")}
        found = ((run_id, _read(files[run_id])) for run_id in run_ids if run_id in files)
        return {run_id: draft for run_id, draft in found if draft is not None}

    def write(self, run_id: str, draft: Draft) -> None:
        """Keep a draft. Raises: `StorageError("home_unwritable")`; the draft before it then stays."""
        step("labeling.draft")
        owner_only_folder(self._folder)
        data = draft.model_dump_json(exclude_defaults=True).encode("utf-8")
        atomic_write(self._folder / f"{run_id}.json", data, durable=False)


def _read(file: Path) -> Draft | None:
    try:
        return Draft.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None
