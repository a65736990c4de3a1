"""The one gate through which memory is changed: a change is done whole or not at all, and never over a newer edit.

No other code replaces a source or the state manifest. A commit waits for no index and no model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from workbench.core.clock import Clock, utc_now
from workbench.core.limits import Limits, resolve_limits
from workbench.memory.view import MemorySnapshot
from workbench.memory.whiteboard.contract import Actor, PageEdit
from workbench.memory.writing.values import Commit, StateChange, Write

__all__ = ["Commit", "PageEdit", "StateChange", "Write", "WriteGate"]


class WriteGate:
    """The gate of one memory root.

    capture: the memory as it is now. read_only: refuse every change; recovery goes on. clock: the time of day, UTC.
    on_commit: called with every commit that is done, after the lock is free; must return at once and not raise.
    """

    def __init__(
        self,
        root: Path,
        project_id: str,
        capture: Callable[[], MemorySnapshot],
        *,
        limits: Limits | None = None,
        read_only: bool = False,
        clock: Clock = utc_now,
    ) -> None:
        self.root, self.project_id, self.read_only = root, project_id, read_only
        self.on_commit: list[Callable[[Commit], None]] = []
        self._capture, self._clock = capture, clock
        self._limits = limits or resolve_limits()

    def commit_mutation(
        self,
        tx_id: str,
        writes: Sequence[Write] = (),
        state_changes: Mapping[str, StateChange] | None = None,
        *,
        expected: int | None = None,
        pages: Mapping[str, PageEdit] | None = None,
        archived: Mapping[str, str] | None = None,
        actor: Actor = "model",
        reason: str = "",
    ) -> Commit:
        """Replace sources and change statuses in one step. The same tx_id again returns the first result.

        expected: the record_state_version that the writer saw. pages: what the writer says about a write to a
        whiteboard page, by source_ref; a renamed or moved card is superseded by its new id and an archived one marked,
        in this very transaction. archived: further marks, id -> reason. actor, reason: kept in the log.
        Raises, with nothing changed: `InputError` `digest_conflict` (every file with the digest expected and found),
        `whiteboard_rejected`, `invalid_argument`, `read_only`; `NotReady("writer_busy")`; `StorageError`.
        """
        raise NotImplementedError

    def recover(self) -> None:
        """Finish or take back what a writer that died left; called by every commit, too. Raises: `writer_busy`."""
        raise NotImplementedError
