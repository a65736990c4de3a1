"""Units and candidates for tests of the stages that need no index."""

from __future__ import annotations

from workbench.core.hashing import sha256_hex
from workbench.core.resource import Layer, Scope, Span, Status
from workbench.retrieval.candidates import Ranked
from workbench.storage.index_records import IndexedUnit


def a_unit(name: str, resource_id: str | None = None, **changes: object) -> IndexedUnit:
    """A unit of 10 tokens with a text of its own, at bytes 0 to 100 of its own resource."""
    text = str(changes.pop("text", f"{name} says {sha256_hex(name)}"))
    start, end = changes.pop("span", (0, 100))  # type: ignore[misc]
    resource_id = resource_id or name
    fields: dict[str, object] = {
        "unit_rowid": 1,
        "unit_key": f"{resource_id}#@{name}",
        "resource_id": resource_id,
        "resource_hash": sha256_hex(resource_id),
        "content_hash": sha256_hex(text),
        "layer": Layer.PROJECT,
        "scope": Scope.PROJECT,
        "kind": "note",
        "path": f"{resource_id}.md",
        "title": resource_id,
        "heading_path": (),
        "part": name,
        "text": text,
        "span": Span(start, end, 1, 2),
        "token_count": 10,
        "source_ref": f"{resource_id}.md",
        "file_digest": sha256_hex("file"),
    }
    return IndexedUnit(**{**fields, **changes})  # type: ignore[arg-type]


def in_rrf_order(*units: IndexedUnit, status: Status = Status.CURRENT) -> list[Ranked]:
    """The units as fused candidates, found by words alone."""
    return [
        Ranked(unit, status, None, (rank, 9.0 - rank), None, rank, 1 / (60 + rank))
        for rank, unit in enumerate(units, start=1)
    ]
