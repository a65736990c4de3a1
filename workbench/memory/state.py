"""The state manifest as a value, and its one form in a file, `.memory/state.json`: the only owner of status.

    {
     "format": "memory-state-1",
     "record_state_version": 2,
     "states": {
      "db-choice": {"status": "superseded", "superseded_by": "db-choice-2"},
      "old-alias": {"status": "retracted"}
     },
     "archived": {"card-7": {"at": "2026-11-02T09:00:00Z", "reason": "done"}},
     "transactions": {"tx-1": {"number": 1, "record_state_version": 1}}
    }

Canonical form: sorted keys, one space of indent, UTF-8, a line break at the end. `states` names resources that are not
current, or were not once; whoever is missing is current. `archived` holds audit marks and is no status; `transactions`
holds the record of every recent tx_id (`memory/writing/ledger.py` says what is in it), so that a replay can return the
first result. Both may be left out. No file: version 0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeGuard

from workbench.core.hashing import digest
from workbench.core.resource import Status

MANIFEST_FORMAT = "memory-state-1"
_KEYS = frozenset({"format", "record_state_version", "states", "archived", "transactions"})


@dataclass(frozen=True, slots=True)
class ResourceState:
    """What the manifest says of one resource; `superseded_by` only with `superseded`."""

    status: Status
    superseded_by: str | None = None


@dataclass(frozen=True)
class StateManifest:
    """One state of the manifest. `record_state_version` grows by one per successful state change."""

    record_state_version: int = 0
    states: Mapping[str, ResourceState] = field(default_factory=lambda: MappingProxyType({}))
    archived: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    transactions: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))

    def status(self, resource_id: str) -> Status:
        """The status of a resource; `current` when the manifest does not name it."""
        state = self.states.get(resource_id)
        return Status.CURRENT if state is None else state.status

    def superseded_by(self, resource_id: str) -> str | None:
        """The resource that took its place, where it is superseded."""
        state = self.states.get(resource_id)
        return None if state is None else state.superseded_by

    @cached_property
    def digest(self) -> str:
        """sha256 of what is not current: naming a current resource says nothing new."""
        effective = {
            resource_id: [state.status, state.superseded_by]
            for resource_id, state in self.states.items()
            if state.status is not Status.CURRENT
        }
        return digest([MANIFEST_FORMAT, effective])


class ManifestDamaged(ValueError):
    """Bytes that are no manifest; the text says where."""


def parse_manifest(raw: bytes) -> StateManifest:
    """The manifest in these bytes.

    Raises: `ManifestDamaged`.
    """
    try:
        return manifest_of(json.loads(raw.decode("utf-8"), object_pairs_hook=_each_once))
    except (ValueError, RecursionError) as error:
        is_merge = any(line.startswith(b"<<<<<<< ") for line in raw.splitlines())
        raise ManifestDamaged("a merge left its marks in it" if is_merge else str(error)) from error


def manifest_of(document: Any) -> StateManifest:
    """The manifest that a JSON document describes.

    Raises: `ManifestDamaged`.
    """
    if not isinstance(document, dict) or document.get("format") != MANIFEST_FORMAT or not document.keys() <= _KEYS:
        raise ManifestDamaged(f"not a document of format {MANIFEST_FORMAT}")
    version = document.get("record_state_version")
    if not _is_count(version):
        raise ManifestDamaged("record_state_version is not a count")
    tables = {name: document.get(name, {}) for name in ("states", "archived", "transactions")}
    if not all(isinstance(table, dict) for table in tables.values()):
        raise ManifestDamaged("states, archived and transactions are not all objects")
    states = {resource_id: _state_of(resource_id, state) for resource_id, state in tables["states"].items()}
    return StateManifest(version, states, tables["archived"], records_of(tables["transactions"]))


def records_of(document: Any) -> dict[str, Any]:
    """The records of transactions in a JSON document, by tx_id.

    Raises: `ManifestDamaged`.
    """
    if not isinstance(document, dict):
        raise ManifestDamaged("transactions are not an object")
    for tx_id, record in document.items():
        if not isinstance(record, dict) or not _is_record(record):
            raise ManifestDamaged(f"the record of the transaction {tx_id!r} is none")
    return document


def document_of(manifest: StateManifest) -> dict[str, Any]:
    """The JSON document of a manifest."""
    states = {
        resource_id: {"status": str(state.status)}
        | ({} if state.superseded_by is None else {"superseded_by": state.superseded_by})
        for resource_id, state in manifest.states.items()
    }
    return {
        "format": MANIFEST_FORMAT,
        "record_state_version": manifest.record_state_version,
        "states": states,
        "archived": dict(manifest.archived),
        "transactions": dict(manifest.transactions),
    }


def render_manifest(manifest: StateManifest) -> bytes:
    """The canonical bytes of a manifest: one change of state is a change of few lines."""
    text = json.dumps(document_of(manifest), indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def _state_of(resource_id: str, state: Any) -> ResourceState:
    if not isinstance(state, dict) or not state.keys() <= {"status", "superseded_by"}:
        raise ManifestDamaged(f"the state of {resource_id!r} is not a status")
    if state.get("status") not in list(Status):
        raise ManifestDamaged(f"the state of {resource_id!r} has no known status")
    status, successor = Status(state["status"]), state.get("superseded_by")
    if not (successor is None or (isinstance(successor, str) and status is Status.SUPERSEDED)):
        raise ManifestDamaged(f"the state of {resource_id!r} names a successor that cannot be one")
    return ResourceState(status, successor)


def _is_record(record: dict[str, Any]) -> bool:
    tables = [record.get(name, {}) for name in ("written", "states", "entries")]
    if not all(isinstance(table, dict) for table in tables):
        return False
    written, states, entries = tables
    return (
        _is_count(record.get("number"))
        and _is_count(record.get("record_state_version"))
        and all(isinstance(record.get(name, ""), str) for name in ("at", "actor", "reason", "miv"))
        and all(isinstance(word, str) for word in entries.values())
        and all(_is_step(step, "before", "after") and isinstance(step["after"], str) for step in written.values())
        and all(_is_step(step, "from", "to") and {step["from"], step["to"]} <= {*Status} for step in states.values())
    )


def _is_step(step: Any, *ends: str) -> bool:
    """Whether a step of a record names where it led from and to, and holds nothing but texts."""
    return (
        isinstance(step, dict)
        and step.keys() >= {*ends}
        and all(value is None or isinstance(value, str) for value in step.values())
    )


def _is_count(number: Any) -> TypeGuard[int]:
    """Whether it is a count that a database can keep, too."""
    return type(number) is int and 0 <= number < 1 << 63


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object whose keys are all different: of two states for one resource neither is believed."""
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ManifestDamaged("a key stands twice")
    return table
