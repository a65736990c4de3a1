"""The diagnostics widget of notebooks: hands a person's keys and clicks to the session, and shows what came of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anywidget
import traitlets

from workbench.evaluation.sets import Selection
from workbench.storage.run_pages import RunEnd, RunFilter
from workbench.views.diagnostics import steps
from workbench.views.diagnostics.candidates import Column
from workbench.views.diagnostics.indexes import DiagnosedProject
from workbench.views.diagnostics.render import render
from workbench.views.diagnostics.session import DiagnosticsHome, DiagnosticsSession
from workbench.views.diagnostics.state import DiagnosticsState
from workbench.views.diagnostics.work import Worker
from workbench.views.front import joined

Said = Mapping[str, Any]

STEPS: dict[str, Callable[[DiagnosticsState, Said], DiagnosticsState]] = {
    "newest": lambda state, said: steps.newest(state),
    "older": lambda state, said: steps.older(state),
    "newer": lambda state, said: steps.newer(state),
    "filter": lambda state, said: steps.choose(state, _filter(said), said["project"]),
    "open": lambda state, said: steps.open_run(state, said["run"]),
    "neighbour": lambda state, said: steps.neighbour(state, said["by"]),
    "sort": lambda state, said: steps.sort(state, Column(said["column"])),
    "why": lambda state, said: steps.why(state, said["resource"]),
    "look": lambda state, said: steps.look(state),
    "measure": lambda state, said: steps.measure(state),
    "export": lambda state, said: steps.export(state, said["folder"]),
    "ask_to_clear": lambda state, said: steps.ask_to_clear(state),
    "clear": lambda state, said: steps.clear(state),
    "keep": lambda state, said: steps.keep_history(state),
    "stop": lambda state, said: steps.stop(state),
}
"""What the front end can say, and the step that it is."""


class DiagnosticsWidget(anywidget.AnyWidget):
    """One look on screen. The traits are what `render` gives, each sent when it changed.

    origin: what is looked at, for people; export_to: the folder that is offered for an export.
    """

    _esm = joined(__package__, "front.js")
    _css = joined(__package__, "front.css")

    origin = traitlets.Unicode().tag(sync=True)
    export_to = traitlets.Unicode().tag(sync=True)
    head = traitlets.Dict().tag(sync=True)
    runs = traitlets.Dict().tag(sync=True)
    run = traitlets.Dict().tag(sync=True)
    indexes = traitlets.Dict().tag(sync=True)
    report = traitlets.Dict().tag(sync=True)
    heard = traitlets.Float(0.0).tag(sync=True)
    """The number of the last message that was dealt with."""

    def __init__(
        self, home: DiagnosticsHome, selection: Selection, projects: Sequence[DiagnosedProject], run_id: str, to: str
    ) -> None:
        self._workers = working, looking = Worker.here(), Worker.here()
        super().__init__(origin=selection.origin, export_to=to)
        self.session = DiagnosticsSession(
            home, selection, projects, working=working, looking=looking, changed=self._show
        )
        self.session.begin(run_id)
        self.on_msg(lambda _, said, __: self.hear(said))
        self._show()

    def hear(self, said: Said) -> None:
        """Deal with one message of the front end."""
        self.session.do(lambda state: STEPS[said["do"]](state, said))
        with self.hold_sync():
            self._show()
            self.heard = said.get("number", 0.0)

    @property
    def run_id(self) -> str:
        """The run that is looked into; empty for none."""
        return self.session.state.run_id

    def close(self) -> None:
        """Take the widget away; what is under way ends."""
        for worker in self._workers:
            worker.close()
        super().close()

    def _show(self) -> None:
        for part, value in render(self.session.state).items():
            setattr(self, part, value)


def diagnose(
    home: DiagnosticsHome,
    selection: Selection,
    projects: Sequence[DiagnosedProject] = (),
    *,
    run_id: str = "",
    export_to: str = "",
) -> DiagnosticsWidget:
    """The widget to look into runs, indexes and cases with. selection: whose runs, as `Home.select` gives it.

    projects: whose indexes are compared with their memories. run_id: the run that is opened, or enough of its
    beginning; empty: the newest. export_to: the folder that is offered for an export. Raises: `StorageError`.
    """
    return DiagnosticsWidget(home, selection, projects, run_id, export_to)


def _filter(said: Said) -> RunFilter:
    return RunFilter(RunEnd(said["end"]) if said["end"] else None, said["zero_hits"], said["degraded"])
