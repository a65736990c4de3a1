"""One activation under way: its query, its two deadlines, its stage times and what could not serve."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from workbench.core.activation import DegradationNote
from workbench.core.deadline import Deadline, DeadlinePassed
from workbench.core.errors import ModelError
from workbench.core.limits import Limits
from workbench.retrieval.degradation import Degraded, PartOff
from workbench.retrieval.stages import Stages

RESERVED_SHARE, MOST_RESERVED_MS = 0.1, 250
"""Time kept for assembly: recall and rerank stop so long before the deadline, and what they found is still answered."""

Found = TypeVar("Found")


@dataclass(slots=True)
class Work:
    """previous: the client's state, unit_key → content_hash. deadline: for everything; early: for recall and rerank."""

    query: str
    previous: Mapping[str, str]
    limits: Limits
    deadline: Deadline
    early: Deadline
    stages: Stages
    notes: list[DegradationNote] = field(default_factory=list)

    @classmethod
    def begun(cls, query: str, previous: Mapping[str, str], limits: Limits, deadline: Deadline, stages: Stages) -> Work:
        """The work, with its early deadline set."""
        reserved_ms = min(MOST_RESERVED_MS, RESERVED_SHARE * deadline.remaining_ms())
        return cls(query, previous, limits, deadline, replace(deadline, at=deadline.at - reserved_ms / 1000), stages)

    def note(self, *notes: DegradationNote) -> None:
        """Remember what could not serve; of one code the first note stays."""
        known = {one.code for one in self.notes}
        self.notes += [one for one in notes if one.code not in known]

    def part(self, stage: str, late: Degraded, run: Callable[[], Iterable[Found]]) -> list[Found]:
        """What one part found; empty, with a degradation, when it could not run. late: its code for the deadline."""
        with self.stages.stage(stage):
            try:
                self.early.check()
                return list(run())
            except PartOff as off:
                self.note(off.note)
            except DeadlinePassed:
                self.note(late.note("the deadline came first; the other arms served"))
            except ModelError as error:
                self.note(Degraded.DENSE_UNAVAILABLE.note(f"{error.message} Identity and lexical recall served."))
        return []
