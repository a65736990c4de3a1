"""The labelling widget of notebooks: hands a person's keys and clicks to the session, and shows what came of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from workbench.core.case import EvidenceRef
from workbench.evaluation.growing import GrowingMeans, GrowingReport
from workbench.evaluation.sets import Selection
from workbench.views.front import joined
from workbench.views.labeling import steps
from workbench.views.labeling.queue import Filter, Order, Standing, standings
from workbench.views.labeling.render import render
from workbench.views.labeling.session import LabelingHome, LabelingSession
from workbench.views.labeling.state import LabelingState

if TYPE_CHECKING:
    import pandas as pd

Said = Mapping[str, Any]

STEPS: dict[str, Callable[[LabelingState, Said], LabelingState]] = {
    "open": lambda state, said: steps.open_run(state, said["run"]),
    "move": lambda state, said: steps.move(state, said["by"]),
    "point": lambda state, said: steps.point(state, said["place"]),
    "mark": lambda state, said: steps.mark(state, whole=said["whole"]),
    "toggle": lambda state, said: steps.toggle(state, EvidenceRef.model_validate(said["ref"])),
    "confirm": lambda state, said: steps.confirm(state),
    "none": lambda state, said: steps.none_matched(state),
    "skip": lambda state, said: steps.skip(state),
    "undo": lambda state, said: steps.undo(state),
    "mine": lambda state, said: steps.keep_mine(state),
    "theirs": lambda state, said: steps.take_theirs(state),
    "search": lambda state, said: steps.search(state, said["text"]),
    "note": lambda state, said: steps.note(state, said["run"], said["text"]),
    "order": lambda state, said: steps.arrange(state, Order(said["order"])),
    "filter": lambda state, said: steps.choose(state, _filter(said)),
}
"""What the front end can say, and the step that it is."""


class LabelingWidget(anywidget.AnyWidget):
    """One queue on screen. The traits are what `render` gives, each sent when it changed."""

    _esm = joined(__package__, "front.js")
    _css = joined(__package__, "front.css")

    head = traitlets.Dict().tag(sync=True)
    queue = traitlets.Dict().tag(sync=True)
    cards = traitlets.Dict().tag(sync=True)
    text = traitlets.Dict().tag(sync=True)
    report = traitlets.Dict().tag(sync=True)
    heard = traitlets.Float(0.0).tag(sync=True)
    """The number of the last message that was dealt with."""

    def __init__(self, session: LabelingSession, report: GrowingReport) -> None:
        super().__init__()
        self.session, self._growing = session, report
        self._measuring = ThreadPoolExecutor(max_workers=1, thread_name_prefix="labeling-report")
        self.on_msg(lambda _, said, __: self.hear(said))
        self._show()
        self._measure()

    def hear(self, said: Said) -> None:
        """Deal with one message of the front end. One that was meant for a run no longer on the table is let go."""
        on_table = said.get("at", self.session.state.run_id) == self.session.state.run_id
        deciding = on_table and self.session.do(lambda state: STEPS[said["do"]](state, said))
        with self.hold_sync():
            self._show()
            self.heard = said.get("number", 0.0)
        self.session.read_ahead()
        if deciding:
            self._measure()

    @property
    def run_id(self) -> str:
        """The run on the table; empty for none."""
        return self.session.state.run_id

    def counts(self) -> dict[str, int]:
        """How many runs of the queue stand where."""
        counted = standings(self.session.state.rows, self.session.state.drafts)
        return {str(one): count for one, count in counted.items()}

    def notes(self) -> pd.DataFrame:
        """The notes taken so far, in the order of the queue."""
        import pandas as pd

        drafts = self.session.state.drafts
        noted = [row for row in self.session.state.rows if row.run_id in drafts and drafts[row.run_id].note]
        rows = [{"query": row.query, "note": drafts[row.run_id].note, "run_id": row.run_id} for row in noted]
        return pd.DataFrame(rows, columns=["query", "note", "run_id"])

    def _show(self) -> None:
        for part, value in render(self.session.state, self.session.passage()).items():
            setattr(self, part, value)

    def _measure(self) -> None:
        """Bring the report up to date; in a kernel beside whatever the person does meanwhile."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._show_report(self._growing.means())
            return
        measuring = loop.run_in_executor(self._measuring, self._growing.means)
        measuring.add_done_callback(lambda done: self._show_report(done.result()))

    def _show_report(self, grown: GrowingMeans) -> None:
        means = {str(variant): dict(figures) for variant, figures in grown.means.items()}
        self.report = {"cases": grown.cases, "means": means}


def label(
    home: LabelingHome, selection: Selection, *, order: str = Order.FINAL, standing: str = Standing.OPEN, seed: int = 0
) -> LabelingWidget:
    """The widget to confirm evidence with. selection: whose runs, as `Home.select` gives it.

    order: how candidates are shown, an `Order`; seed: of the shuffle of `blind`. standing: which runs are shown, a
    `Standing`; empty: all. Raises: `ValueError` for any other; `StorageError`.
    """
    chosen = Filter(Standing(standing) if standing else None)
    session = LabelingSession(home, selection, order=Order(order), seed=seed, chosen=chosen)
    return LabelingWidget(session, GrowingReport(home.store, home.cases, selection))


def _filter(said: Said) -> Filter:
    standing = Standing(said["standing"]) if said["standing"] else None
    return Filter(standing, said["project"], said["zero_hits"], said["disagreeing"])
