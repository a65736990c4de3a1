"""What a change of memory is asked as, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from workbench.core.resource import Status
from workbench.core.wire import Wire


@dataclass(frozen=True, slots=True)
class Write:
    """A source's new bytes. expected_digest: sha256 of the file as the writer read it; None: it must not exist."""

    source_ref: str
    content: bytes
    expected_digest: str | None


@dataclass(frozen=True, slots=True)
class StateChange:
    """A resource's new status; `superseded_by` with `superseded` and with nothing else."""

    status: Status
    superseded_by: str | None = None


class Commit(Wire):
    """A change that is done. written: the sources that have other bytes now; miv: the memory with this change."""

    ok: bool = True
    tx_id: str
    written: tuple[str, ...]
    miv: str
    record_state_version: int


class AnswerTarget(StrEnum):
    """Where an answer goes: a card of a page, a file of its own, or the handoff ledger."""

    CARD = "card"
    MEMORY = "memory"
    HANDOFF = "handoff"
