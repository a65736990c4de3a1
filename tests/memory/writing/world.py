"""A memory with its gate, what it says in one value, and ways to break a writer."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

from tests.memory.folder import Memory
from workbench.core.hashing import sha256_hex
from workbench.memory.transaction import writer_lock
from workbench.memory.writing.gate import StateChange, Write, WriteGate
from workbench.storage.faults import on_step

KILLED = 9
NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)


class Broken(Exception):
    """What a test raises at a step."""


class World(Memory):
    """A memory root whose captures and writes go on from one another."""

    def gate(self, **options: Any) -> WriteGate:
        """A gate as a new process would open it."""
        return WriteGate(self.root, "project", self.capture, clock=lambda: NOON, **options)

    def read(self, ref: str) -> str:
        return (self.root / ref).read_text(encoding="utf-8")

    def seen(self, ref: str) -> str | None:
        """The digest of a source, as a writer reads it."""
        path = self.root / ref
        return sha256_hex(path.read_bytes()) if path.exists() else None

    def put(
        self, tx_id: str, texts: Mapping[str, str], states: Mapping[str, StateChange] | None = None, **more: Any
    ) -> Any:
        """Write texts over what is there now."""
        writes = [Write(ref, text.encode(), self.seen(ref)) for ref, text in texts.items()]
        return self.gate().commit_mutation(tx_id, writes, states or {}, **more)

    def told(self) -> dict[str, Any]:
        """Everything that the memory says: texts, statuses, version, and its identity."""
        snapshot = self.capture()
        return {
            "texts": {source.source_ref: snapshot.read_bytes(source) for source in snapshot.sources},
            "states": {one: (member.status, member.superseded_by) for one, member in snapshot.members.items()},
            "ref": snapshot.ref,
            "unreadable": [one for one in snapshot.degradations if one.code == "source_unreadable"],
        }

    @contextmanager
    def held(self) -> Iterator[None]:
        """Be a writer in another thread that holds the lock."""
        taken, free = Event(), Event()

        def hold() -> None:
            with writer_lock(self.root):
                taken.set()
                free.wait(30)

        thread = Thread(target=hold)
        thread.start()
        taken.wait(30)
        try:
            yield
        finally:
            free.set()
            thread.join()

    def litter(self) -> list[str]:
        """Files that no writer should leave: temporary ones and journal entries."""
        return sorted(str(path.relative_to(self.root)) for path in self.root.rglob("*") if _is_litter(path))


def _is_litter(path: Path) -> bool:
    return path.name.endswith(".mw-tmp") or path.parent.name == "journal"


@contextmanager
def broken_at(number: int) -> Iterator[list[str]]:
    """Raise at the step of this number, counted from 0; the list has the names of the steps up to there."""
    names: list[str] = []

    def raise_there(name: str) -> None:
        names.append(name)
        if len(names) == number + 1:
            raise Broken(name)

    with on_step(raise_there):
        yield names


def killed_at(number: int, work: Callable[[], object]) -> None:
    """Do the work in a process that ends at the step of this number, without any clean-up."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        left = [number]

        def die(name: str) -> None:
            if left[0] == 0:
                os._exit(KILLED)
            left[0] -= 1

        with on_step(die):
            work()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED
