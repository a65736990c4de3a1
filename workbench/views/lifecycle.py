"""What becomes of a memory's entries, and of what a few questions bring back, while the memory is changed step by step.

Only looks: the changes are made elsewhere, between two looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from workbench.core.activation import ActivationRequest, ActivationResult
from workbench.core.text import one_line
from workbench.memory.view import Member, MemorySnapshot
from workbench.views.plots.look import BLUE, GREY, PAPER, VERMILION, canvas, described, house_style

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from workbench.memory.writing.history import ResourceHistory, Transaction

_TEXT_CHARS, _LABEL_CHARS = 160, 40
_LOOKS = {"current": (BLUE, ""), "superseded": (VERMILION, "////"), "retracted": (GREY, "....")}
"""Colour and hatching of a status: told apart without colours, too."""


class Look(NamedTuple):
    """The memory after one step, and the answers it gives, one a query."""

    step: str
    snapshot: MemorySnapshot
    results: tuple[ActivationResult, ...]


class Lifecycle:
    """Looks at one memory, in order. refresh brings its index up to date, activate asks it, capture reads it."""

    def __init__(
        self,
        queries: Sequence[str],
        refresh: Callable[[], object],
        activate: Callable[[ActivationRequest], ActivationResult],
        capture: Callable[[], MemorySnapshot],
    ) -> None:
        self.queries, self.looks = tuple(queries), list[Look]()
        self._refresh, self._activate, self._capture = refresh, activate, capture

    def look(self, step: str) -> pd.DataFrame:
        """Ask everything again; the answers as a table, one row a fragment, in their order.

        A query that brought nothing back has a row without a rank.
        """
        import pandas as pd

        self._refresh()
        results = tuple(self._activate(ActivationRequest(query=query)) for query in self.queries)
        self.looks.append(Look(step, self._capture(), results))
        rows = [row for query, result in zip(self.queries, results, strict=True) for row in _rows(query, result)]
        return pd.DataFrame(rows, columns=["query", "rank", "path", "text"]).astype({"rank": "Int64"})

    @house_style()
    def picture(self, resource_ids: Sequence[str]) -> Figure:
        """These resources (rows) after each step (columns): their status, and the best rank that a query gave them.

        Where a resource was not there yet, or is no more, nothing is drawn.
        """
        from matplotlib.patches import Patch

        figure, axes = canvas(0.55 * max(len(resource_ids), 2) + 1.6)
        for row, resource_id in enumerate(resource_ids):
            for column, look in enumerate(self.looks):
                _draw(axes, column, row, look.snapshot.members.get(resource_id), _best_rank(resource_id, look))
        axes.set_xlim(-0.5, len(self.looks) - 0.5)
        axes.set_ylim(max(len(resource_ids), 1) - 0.5, -0.5)
        axes.set_xticks(range(len(self.looks)), [one_line(look.step, _LABEL_CHARS // 2) for look in self.looks])
        axes.set_yticks(range(len(resource_ids)), [one_line(one, _LABEL_CHARS) for one in resource_ids])
        axes.set_title("Status after each step, and the best rank in an answer")
        patches = [Patch(facecolor=colour, hatch=hatch, label=name) for name, (colour, hatch) in _LOOKS.items()]
        figure.legend(handles=patches, loc="outside lower left", ncols=len(patches))
        return described(figure, " ".join(map(self._words, resource_ids)))

    def _words(self, resource_id: str) -> str:
        told = []
        for look in self.looks:
            member, rank = look.snapshot.members.get(resource_id), _best_rank(resource_id, look)
            found = f"at rank {rank}" if rank else "not found"
            told.append(f"{look.step}: " + (f"{member.status}, {found}" if member else "not there"))
        return f"{resource_id}: {'; '.join(told)}."


def log_table(transactions: Sequence[Transaction]) -> pd.DataFrame:
    """One row a transaction, in the order given: when, who, what, why."""
    import pandas as pd

    rows = [
        {
            "at": one.at,
            "actor": one.actor,
            "statuses": ", ".join(f"{resource_id} → {step.after}" for resource_id, step in one.states.items()),
            "entries": ", ".join(f"{resource_id} {what}" for resource_id, what in one.entries.items()),
            "reason": one.reason,
        }
        for one in transactions
    ]
    return pd.DataFrame(rows, columns=["at", "actor", "statuses", "entries", "reason"])


def versions_table(history: ResourceHistory) -> pd.DataFrame:
    """One row a version of a resource, the oldest first: until when it stood, and its text."""
    import pandas as pd

    rows = [{"until": one.until or "now", "title": one.title, "text": one.text} for one in history.versions]
    return pd.DataFrame(rows, columns=["until", "title", "text"])


def _rows(query: str, result: ActivationResult) -> Iterator[tuple[str, int | None, str, str]]:
    for rank, one in enumerate(result.fragments, start=1):
        yield query, rank, one.path, one_line(one.text or "", _TEXT_CHARS)
    if not result.fragments:
        yield query, None, "nothing", ""


def _best_rank(resource_id: str, look: Look) -> int | None:
    ranks = (
        rank
        for result in look.results
        for rank, one in enumerate(result.fragments, start=1)
        if one.resource_id == resource_id
    )
    return min(ranks, default=None)


def _draw(axes: Axes, column: int, row: int, member: Member | None, rank: int | None) -> None:
    if member is None:
        return
    colour, hatch = _LOOKS[member.status]
    axes.barh(row, 0.86, left=column - 0.43, height=0.7, color=colour, hatch=hatch, edgecolor=PAPER)
    label, ground = f"rank {rank}" if rank else "not found", {"facecolor": PAPER, "edgecolor": "none", "pad": 2.5}
    axes.text(column, row, label, fontsize=9, ha="center", va="center", bbox=ground)
