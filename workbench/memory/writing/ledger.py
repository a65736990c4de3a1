"""The record of every transaction: in the state manifest while it is recent, in `.memory/log/` for good.

A transaction of the manifest is

    {"number": 7, "at": "2026-11-02T09:00:00.000Z", "actor": "user", "reason": "...", "miv": MIV,
     "record_state_version": 3, "states": {ID: {"from": "current", "to": "retracted", "wording": DIGEST}},
     "entries": {ID: "added" or "changed" or "removed"},
     "written": {"notes/db.md": {"before": DIGEST or null, "after": DIGEST}}}

Numbers count all transactions of a memory. A file of the log, `NUMBER.json`, holds records by tx_id, the oldest under
that number, and is never changed; it can repeat what the manifest has, and says the same.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from workbench.core.errors import StorageError
from workbench.core.resource import Status
from workbench.memory.manifest import read_manifest
from workbench.memory.own_files import put_own
from workbench.memory.state import StateManifest, records_of
from workbench.memory.view import MemorySnapshot, SourceMoved
from workbench.memory.writing.checks import Planned, Target, wording
from workbench.memory.writing.values import Commit

LOG_FOLDER = ".memory/log"
MOST_RECENT, SPILLED = 256, 128


class Record(NamedTuple):
    """What a transaction says of itself."""

    tx_id: str
    at: str
    actor: str
    reason: str
    miv: str


def transaction(
    record: Record, snapshot: MemorySnapshot, planned: Planned, manifest: StateManifest, written: Sequence[Target]
) -> StateManifest:
    """The manifest with the record of this transaction. manifest: with its changes applied already."""
    document: dict[str, Any] = {
        "number": 1 + max((one["number"] for one in manifest.transactions.values()), default=0),
        "at": record.at,
        "actor": record.actor,
        "miv": record.miv,
        "record_state_version": manifest.record_state_version,
        "written": {one.write.source_ref: {"before": one.before, "after": one.after} for one in written},
    }
    if record.reason:
        document["reason"] = record.reason
    if entries := _entry_records(snapshot, planned, written):
        document["entries"] = entries
    if states := _state_records(snapshot, manifest):
        document["states"] = states
    return replace(manifest, transactions={**manifest.transactions, record.tx_id: document})


def spilled(root: Path, manifest: StateManifest) -> StateManifest:
    """The manifest with no more than the recent records; the older ones are in the log before it says so."""
    if len(manifest.transactions) <= MOST_RECENT:
        return manifest
    in_order = sorted(manifest.transactions.items(), key=lambda one: one[1]["number"])
    old = dict(in_order[:SPILLED])
    first = in_order[0][1]["number"]
    text = json.dumps(old, indent=1, sort_keys=True, ensure_ascii=False)
    put_own(root, f"{LOG_FOLDER}/{first:08}.json", f"{text}\n".encode(), area="memory.log")
    return replace(manifest, transactions=dict(in_order[SPILLED:]))


def all_transactions(root: Path, manifest: StateManifest) -> dict[str, Any]:
    """Every transaction by tx_id, the oldest first."""
    records: dict[str, Any] = {}
    for path in sorted((root / LOG_FOLDER).glob("*.json")):
        records |= _log_file(path, path.stat().st_mtime_ns)
    records |= manifest.transactions
    return dict(sorted(records.items(), key=lambda one: one[1]["number"]))


def commit_of(root: Path, snapshot: MemorySnapshot, tx_id: str) -> Commit | None:
    """The first result of a tx_id; None when it is new."""
    record = snapshot.manifest.transactions.get(tx_id) or all_transactions(root, snapshot.manifest).get(tx_id)
    if record is None:
        return None
    return Commit(
        tx_id=tx_id,
        written=tuple(sorted(record.get("written", ()))),
        miv=record.get("miv", snapshot.ref.miv),
        record_state_version=record["record_state_version"],
    )


def successor_in(root: Path, tx_id: str, resource_id: str) -> str | None:
    """What a transaction let take the place of a resource; None when it let nothing."""
    record = all_transactions(root, read_manifest(root)).get(tx_id, {})
    successor: str | None = record.get("states", {}).get(resource_id, {}).get("superseded_by")
    return successor


def withdrawn(root: Path, snapshot: MemorySnapshot, manifest: StateManifest) -> dict[str, str]:
    """Wording -> id of everything that is retracted: as it was when it was, else as it is."""
    retracted = {one for one, state in manifest.states.items() if state.status is Status.RETRACTED}
    if not retracted:
        return {}
    known: dict[str, str] = {}
    for record in all_transactions(root, snapshot.manifest).values():
        changes = record.get("states", {})
        known |= {one: changes[one]["wording"] for one in changes.keys() & retracted if "wording" in changes[one]}
    for one in retracted - known.keys():
        words = _wording_of(snapshot, one)
        known |= {} if words is None else {one: words}
    return {words: one for one, words in known.items()}


@lru_cache(maxsize=1024)
def _log_file(path: Path, changed_ns: int) -> dict[str, Any]:
    """Cached, since a file of the log is never changed. Raises: `StorageError("state_damaged")`."""
    try:
        return records_of(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError) as error:
        raise StorageError("state_damaged", f"The log {path} is damaged ({error}); restore it from a copy.") from error


def _entry_records(snapshot: MemorySnapshot, planned: Planned, written: Sequence[Target]) -> dict[str, str]:
    """What the writes do to the resources of their sources."""
    refs = {one.write.source_ref for one in written}
    before = {one: member.content_hash for one, member in snapshot.members.items() if member.source_ref in refs}
    after = {planned.identities.id_of(entry): entry.content_hash for one in written for entry in one.stamp.entries}
    changed = {one for one in before.keys() & after.keys() if before[one] != after[one]}
    return {
        **dict.fromkeys(sorted(after.keys() - before.keys()), "added"),
        **dict.fromkeys(sorted(changed), "changed"),
        **dict.fromkeys(sorted(before.keys() - after.keys()), "removed"),
    }


def _state_records(snapshot: MemorySnapshot, manifest: StateManifest) -> dict[str, Any]:
    before, records = snapshot.manifest, {}
    for one, state in manifest.states.items():
        if (before.status(one), before.superseded_by(one)) == (state.status, state.superseded_by):
            continue
        records[one] = {"from": str(before.status(one)), "to": str(state.status)}
        if state.superseded_by is not None:
            records[one]["superseded_by"] = state.superseded_by
        words = _wording_of(snapshot, one) if state.status is Status.RETRACTED else None
        if words is not None:
            records[one]["wording"] = words
    return records


def _wording_of(snapshot: MemorySnapshot, resource_id: str) -> str | None:
    member = snapshot.members.get(resource_id)
    if member is None:
        return None
    try:
        resources = snapshot.read(member.source_ref)
    except SourceMoved:
        return None
    return next((wording(resource) for resource, _ in resources if resource.resource_id == resource_id), None)
