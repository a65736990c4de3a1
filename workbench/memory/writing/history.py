"""Looking back at a memory: its transactions, and every version of one resource with its text. Never writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.core.errors import InputError
from workbench.core.resource import Layer, Resource, Status
from workbench.core.wire import Wire
from workbench.markdown.errors import UnreadableSource
from workbench.memory.journal import CONFLICTS_FOLDER, JOURNAL_FOLDER, entry_files, read_entry
from workbench.memory.layout import Layout, load_layout
from workbench.memory.versions import read_version
from workbench.memory.view import MemorySnapshot
from workbench.memory.writing.ledger import all_transactions


class FileStep(Wire):
    """What a transaction did to a source: the digests of its bytes before (None: it was new) and after."""

    before: str | None
    after: str


class StateStep(Wire):
    """What a transaction did to the status of a resource."""

    before: Status
    after: Status
    superseded_by: str | None = None


class Transaction(Wire):
    """One change of the memory: who, when, why, what. entries: resource_id -> `added`, `changed` or `removed`."""

    tx_id: str
    number: int
    at: str
    actor: str
    reason: str
    record_state_version: int
    states: dict[str, StateStep]
    entries: dict[str, str]
    written: dict[str, FileStep]


class Version(Wire):
    """A resource as it once was. until, replaced_by: when and by which tx_id it was replaced; None: it is so now."""

    title: str
    text: str
    content_hash: str
    source_ref: str
    until: str | None = None
    replaced_by: str | None = None


class StateEvent(StateStep):
    """A change of a resource's status, with who, when and why."""

    tx_id: str
    at: str
    actor: str
    reason: str


class ResourceHistory(Wire):
    """A resource: what it is now, and all that is known of what it was, the oldest first.

    source_ref is None, and no version is the present one, when its text is no longer in the memory.
    """

    resource_id: str
    status: Status
    superseded_by: str | None
    source_ref: str | None
    versions: tuple[Version, ...]
    changes: tuple[StateEvent, ...]


class Unsettled(Wire):
    """A transaction that could not be finished. file: below the memory root; sources: what it wanted to write."""

    file: str
    tx_id: str | None
    sources: tuple[str, ...]


class WritingHealth(Wire):
    """pending: transactions that the next writer settles. conflicts: those set aside, since somebody edited a file."""

    pending: tuple[Unsettled, ...]
    conflicts: tuple[Unsettled, ...]


def read_log(root: Path, snapshot: MemorySnapshot, limit: int | None = None) -> tuple[Transaction, ...]:
    """The transactions, the newest first; limit: at most so many."""
    records = list(all_transactions(root, snapshot.manifest).items())[::-1]
    return tuple(_transaction(tx_id, record) for tx_id, record in records[:limit])


def resource_history(root: Path, snapshot: MemorySnapshot, resource_id: str) -> ResourceHistory:
    """All that is known of one resource. Raises: `InputError("invalid_argument")` when nothing is."""
    member, manifest = snapshot.members.get(resource_id), snapshot.manifest
    log = read_log(root, snapshot)[::-1]
    versions = list(_versions(root, snapshot, log, resource_id))
    changes = tuple(_event(one, one.states[resource_id]) for one in log if resource_id in one.states)
    if member is None and not versions and resource_id not in manifest.states:
        raise InputError("invalid_argument", f"No resource has, or ever had, the id {resource_id}.")
    return ResourceHistory(
        resource_id=resource_id,
        status=manifest.status(resource_id),
        superseded_by=manifest.superseded_by(resource_id),
        source_ref=member.source_ref if member else None,
        versions=tuple(versions),
        changes=changes,
    )


def writing_health(root: Path) -> WritingHealth:
    """What is unfinished, and what a person has to look at."""
    return WritingHealth(pending=_unsettled(root, JOURNAL_FOLDER), conflicts=_unsettled(root, CONFLICTS_FOLDER))


def _unsettled(root: Path, folder: str) -> tuple[Unsettled, ...]:
    entries = ((path, read_entry(root, path)) for path in entry_files(root, folder))
    return tuple(
        Unsettled(
            file=f"{folder}/{path.name}",
            tx_id=entry.tx_id if entry else None,
            sources=tuple(sorted(entry.writes)) if entry else (),
        )
        for path, entry in entries
    )


def _transaction(tx_id: str, record: dict[str, Any]) -> Transaction:
    return Transaction(
        tx_id=tx_id,
        number=record["number"],
        at=record.get("at", ""),
        actor=record.get("actor", ""),
        reason=record.get("reason", ""),
        record_state_version=record["record_state_version"],
        states={
            one: StateStep(before=step["from"], after=step["to"], superseded_by=step.get("superseded_by"))
            for one, step in record.get("states", {}).items()
        },
        entries=record.get("entries", {}),
        written={ref: FileStep(**step) for ref, step in record.get("written", {}).items()},
    )


def _event(one: Transaction, step: StateStep) -> StateEvent:
    return StateEvent(**step.model_dump(), tx_id=one.tx_id, at=one.at, actor=one.actor, reason=one.reason)


def _versions(
    root: Path, snapshot: MemorySnapshot, log: tuple[Transaction, ...], resource_id: str
) -> Iterator[Version]:
    """What each transaction replaced, then what is there now."""
    layout = load_layout(root)
    for one in log:
        if one.entries.get(resource_id) not in ("changed", "removed"):
            continue
        for ref, step in one.written.items():
            resource = _resource_in(root, layout, ref, step, resource_id)
            if resource is not None:
                yield _version(resource, one)
    member = snapshot.members.get(resource_id)
    if member is not None:
        now = next(one for one, _ in snapshot.read(member.source_ref) if one.resource_id == resource_id)
        yield _version(now, None)


def _resource_in(root: Path, layout: Layout, ref: str, step: FileStep, resource_id: str) -> Resource | None:
    """The resource in the bytes that a transaction replaced."""
    raw = None if step.before is None else read_version(root, step.before)
    if raw is None:
        return None
    # Heavy, and not needed by the log.
    from workbench.markdown.source import parse_source

    try:
        entries = parse_source(ref, layout.layer_of(ref) or Layer.PROJECT, raw).entries
    except UnreadableSource:
        return None
    wanted = (one for one in entries if resource_id in (one.claimed_id, one.derived_id))
    return next((one.resource(resource_id) for one in wanted), None)


def _version(resource: Resource, replaced: Transaction | None) -> Version:
    return Version(
        title=resource.title,
        text=resource.body,
        content_hash=resource.content_hash,
        source_ref=resource.source_ref,
        until=replaced.at if replaced else None,
        replaced_by=replaced.tx_id if replaced else None,
    )
