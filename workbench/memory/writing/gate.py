"""The one gate through which memory is changed: a change is done whole or not at all, and never over a newer edit.

No other code replaces a source or the state manifest. A commit waits for no index and no model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from workbench.core.clock import Clock, time_text, utc_now
from workbench.core.errors import InputError
from workbench.core.limits import Limits, resolve_limits
from workbench.core.resource import Layer, Status
from workbench.core.text import clean_text
from workbench.memory.journal import FileChange, JournalEntry
from workbench.memory.layout import load_layout
from workbench.memory.manifest import MANIFEST_PATH
from workbench.memory.state import StateManifest
from workbench.memory.transaction import WRITER_WAIT_S, perform, recover, writer_lock
from workbench.memory.view import MemorySnapshot
from workbench.memory.whiteboard.contract import Actor, PageEdit, page_violations, whiteboard_rejected
from workbench.memory.writing import checks
from workbench.memory.writing.checks import Planned, Target
from workbench.memory.writing.ledger import Record, commit_of, spilled, transaction, withdrawn
from workbench.memory.writing.places import Misplaced
from workbench.memory.writing.values import Commit, StateChange, Write
from workbench.storage.swapping import FileMoved

__all__ = ["Commit", "PageEdit", "StateChange", "Write", "WriteGate"]

_TX_ID_CHARS = 200


class WriteGate:
    """The gate of one memory root.

    capture: the memory as it is now. read_only: refuse every change; recovery goes on. whiteboard_write: off refuses
    changes of whiteboard pages. clock: the time of day, UTC.
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
        whiteboard_write: bool = True,
        clock: Clock = utc_now,
        wait_s: float = WRITER_WAIT_S,
    ) -> None:
        self.root, self.project_id, self.read_only = root, project_id, read_only
        self.whiteboard_write = whiteboard_write
        self.on_commit: list[Callable[[Commit], None]] = []
        self.capture, self._clock, self._wait_s = capture, clock, wait_s
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
        self._refuse(tx_id)
        said = pages or {}
        changes = {**_left_cards(said), **(state_changes or {})}
        marks = {**{card: why for edit in said.values() for card, why in edit.archived.items()}, **(archived or {})}
        with writer_lock(self.root, self._wait_s):
            recover(self.root)
            snapshot = self.capture()
            done = commit_of(self.root, snapshot, tx_id)
            if done is not None:
                return done
            _check_version(snapshot, expected)
            targets = self._checked_targets(snapshot, writes, said)
            manifest = _changed(snapshot.manifest, changes, {card: self._mark(why) for card, why in marks.items()})
            planned = Planned(snapshot, targets)
            self._check_meaning(snapshot, targets, planned, changes, manifest)
            written = [one for one in targets if one.changes]
            record = Record(
                tx_id, time_text(self._clock()), actor, clean_text(reason), planned.miv(self.project_id, manifest)
            )
            after = spilled(self.root, transaction(record, snapshot, planned, manifest, written))
            entry = JournalEntry(tx_id, _file_changes(written), snapshot.manifest, after)
            self._perform(entry, written)
        commit = Commit(
            tx_id=tx_id,
            written=tuple(sorted(entry.writes)),
            miv=record.miv,
            record_state_version=manifest.record_state_version,
        )
        for listener in self.on_commit:
            listener(commit)
        return commit

    def recover(self) -> None:
        """Finish or take back what a writer that died left; every commit does it, too.

        Raises: `NotReady("writer_busy")`; `StorageError`.
        """
        with writer_lock(self.root, self._wait_s):
            recover(self.root)

    def first_result(self, tx_id: str) -> Commit | None:
        """What a transaction of this tx_id gave; None when it is new. Raises: as `capture`."""
        return commit_of(self.root, self.capture(), tx_id)

    def today(self) -> date:
        """The date by the gate's clock, for a dated entry."""
        return self._clock().date()

    def _refuse(self, tx_id: str) -> None:
        if self.read_only:
            raise InputError("read_only", "Writing is switched off; set memory_mutation_mode = readwrite first.")
        if not tx_id.strip() or len(tx_id) > _TX_ID_CHARS or not tx_id.isprintable():
            raise InputError("invalid_argument", f"A tx_id is 1 to {_TX_ID_CHARS} printable characters.")

    def _checked_targets(
        self, snapshot: MemorySnapshot, writes: Sequence[Write], pages: Mapping[str, PageEdit]
    ) -> list[Target]:
        """The writes as they can be done. Raises: `InputError`: all findings of the first kind of fault."""
        most = self._limits.source_bytes
        targets, findings = checks.find_targets(self.root, load_layout(self.root), snapshot, writes, most)
        _raise_invalid(findings)
        _raise_conflicts(checks.digest_conflicts(targets))
        if not self.whiteboard_write and any(one.changes and one.place.layer is Layer.WHITEBOARD for one in targets):
            raise InputError(
                "read_only", "Writing to the whiteboard is switched off; set whiteboard_write = true first."
            )
        violations = {
            one.write.source_ref: page_violations(one.place.held, one.write.content, pages.get(one.asked, PageEdit()))
            for one in targets
            if one.place.layer is Layer.WHITEBOARD
        }
        if any(violations.values()):
            raise whiteboard_rejected(violations)
        _raise_invalid(checks.unreadable_writes(targets, most))
        return targets

    def _check_meaning(
        self,
        snapshot: MemorySnapshot,
        targets: Sequence[Target],
        planned: Planned,
        changes: Mapping[str, StateChange],
        manifest: StateManifest,
    ) -> None:
        findings = [
            *checks.contested_ids(snapshot, planned),
            *checks.broken_states(changes, snapshot, planned, manifest),
        ]
        if targets:
            texts = withdrawn(self.root, snapshot, manifest)
            findings += checks.resurrections(targets, snapshot, planned, manifest, texts)
        _raise_invalid(findings)

    def _perform(self, entry: JournalEntry, written: Sequence[Target]) -> None:
        try:
            perform(self.root, entry)
        except FileMoved as error:
            # What stands there by now may be no file any more, and has no digest to name.
            with suppress(Misplaced):
                _raise_conflicts(checks.digest_conflicts([one.as_now(self.root) for one in written]))
            message = f"{error} was changed just now; read it again and repeat the change."
            raise InputError("digest_conflict", message) from error

    def _mark(self, why: str) -> dict[str, str]:
        return {"at": time_text(self._clock()), "reason": clean_text(why)}


def _left_cards(pages: Mapping[str, PageEdit]) -> dict[str, StateChange]:
    return {
        old: StateChange(Status.SUPERSEDED, new)
        for edit in pages.values()
        for old, new in (*edit.renamed.items(), *edit.moved.items())
    }


def _changed(manifest: StateManifest, changes: Mapping[str, StateChange], marks: Mapping[str, Any]) -> StateManifest:
    """The manifest with these changes; its version grows only when one of them changes something."""
    states = {
        resource_id: checks.state_of(change)
        for resource_id, change in changes.items()
        if (manifest.status(resource_id), manifest.superseded_by(resource_id)) != (change.status, change.superseded_by)
    }
    return replace(
        manifest,
        record_state_version=manifest.record_state_version + bool(states),
        states={**manifest.states, **states},
        archived={**manifest.archived, **marks},
    )


def _file_changes(written: Sequence[Target]) -> dict[str, FileChange]:
    return {
        one.write.source_ref: FileChange(one.place.path, one.before, one.after, one.write.content) for one in written
    }


def _check_version(snapshot: MemorySnapshot, expected: int | None) -> None:
    found = snapshot.manifest.record_state_version
    if expected is not None and expected != found:
        message = f"{MANIFEST_PATH} is at version {found}, not {expected}; read the memory again."
        detail = [{"source_ref": MANIFEST_PATH, "expected": expected, "found": found}]
        raise InputError("digest_conflict", message, detail=detail)


def _raise_invalid(findings: Iterable[str]) -> None:
    listed = list(findings)
    if listed:
        raise InputError("invalid_argument", f"Nothing was written. {'; '.join(listed)}.", detail=listed)


def _raise_conflicts(conflicts: Sequence[Mapping[str, Any]]) -> None:
    if conflicts:
        told = "; ".join(_told_conflict(**one) for one in conflicts)
        message = f"Nothing was written, since a file is not as it was read: {told}. Read it again and repeat."
        raise InputError("digest_conflict", message, detail=list(conflicts))


def _told_conflict(source_ref: str, expected: str | None, found: str | None) -> str:
    if expected is None:
        return f"{source_ref} is there already, at {found}"
    if found is None:
        return f"{source_ref} is gone, and was at {expected}"
    return f"{source_ref} is at {found}, not at {expected}"
