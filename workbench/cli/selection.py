"""The options by which `case list`, `report`, `export` and `replay` choose their cases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from workbench.app import Home
    from workbench.app.selection import Selection
    from workbench.cli.common import Session

SetOption = Annotated[str | None, typer.Option("--set", help="The cases of this imported set.")]
CaseOption = Annotated[
    list[str] | None, typer.Option("--case", help="A case by its id or enough of its beginning; may be repeated.")
]


def chosen(here: Session, home: Home, set_name: str | None, case_ids: Sequence[str] | None) -> Selection:
    """The cases that the options name; the project's when they name none."""
    named = set_name is not None or bool(case_ids)
    return home.select(set_name, case_ids or (), None if named else home.project(here.root))
