"""Which revisions there were, which one answers, and what it saw of every source.

Every function runs in the transaction of its caller.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from workbench.core.resource import SnapshotRef, SourceStamp

INTERRUPTED = "interrupted"
_ERROR_CHARS = 512
_KEPT_ROWS = 50
_as_json = json.JSONEncoder(ensure_ascii=False).encode
_BEGIN = """
INSERT INTO search_revisions (project_id, miv, record_state_version, state, engine_identity, engine_name, dimension,
                              arms, chunker_version, token_counter, terms_version, input_version, created_at)
VALUES (?, ?, ?, 'building', ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_READY = """
UPDATE search_revisions
SET state = 'ready', resource_count = ?, unit_count = ?, total_length = ?
WHERE revision_id = ?
"""
_PRUNE = """
DELETE FROM search_revisions
WHERE state <> 'building' AND revision_id NOT IN (SELECT revision_id FROM search_heads)
  AND revision_id <= (SELECT max(revision_id) FROM search_revisions) - ?
"""
_PUT_SOURCE = "INSERT OR REPLACE INTO search_sources VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


class Recipe(NamedTuple):
    """What a revision is made with. engine_*: None without the dense arm."""

    arms: tuple[str, ...]
    engine_identity: str | None
    engine_name: str | None
    dimension: int | None
    chunker_version: str
    token_counter: str
    terms_version: str
    input_version: str


def begin_revision(connection: sqlite3.Connection, ref: SnapshotRef, recipe: Recipe) -> int:
    """Record a revision as `building`; its id."""
    values = (
        *(ref.project_id, ref.miv, ref.record_state_version),
        *(recipe.engine_identity, recipe.engine_name, recipe.dimension, json.dumps(recipe.arms)),
        *(recipe.chunker_version, recipe.token_counter, recipe.terms_version, recipe.input_version),
        datetime.now(UTC).isoformat(timespec="milliseconds"),
    )
    return int(connection.execute(_BEGIN, values).lastrowid or 0)


def fail_revision(connection: sqlite3.Connection, revision_id: int, error: str) -> None:
    """Record why a revision did not become ready."""
    end = "UPDATE search_revisions SET state = 'failed', error = ? WHERE revision_id = ?"
    connection.execute(end, (error[:_ERROR_CHARS], revision_id))


def fail_interrupted(connection: sqlite3.Connection) -> None:
    """End what a killed process left `building`; only for the holder of the build lock."""
    end = "UPDATE search_revisions SET state = 'failed', error = ? WHERE state = 'building'"
    connection.execute(end, (INTERRUPTED,))


def make_head(connection: sqlite3.Connection, project_id: str, revision_id: int, total_length: int) -> tuple[int, int]:
    """Mark a revision ready, with counts of the live rows, and let it answer; its resources and units."""
    resources = connection.execute("SELECT count(*) FROM search_resources").fetchone()[0]
    units = connection.execute("SELECT count(*) FROM search_units").fetchone()[0]
    connection.execute(_READY, (resources, units, total_length, revision_id))
    connection.execute("INSERT OR REPLACE INTO search_heads VALUES (?, ?)", (project_id, revision_id))
    connection.execute(_PRUNE, (_KEPT_ROWS,))
    return resources, units


def put_stamps(connection: sqlite3.Connection, stamps: Iterable[SourceStamp]) -> None:
    """Remember sources."""
    rows = []
    for stamp in stamps:
        source, entries = stamp.source, _as_json(stamp.entries)
        identity = (source.source_ref, source.layer, source.source_epoch, source.source_version, source.file_digest)
        rows.append((*identity, source.byte_size, stamp.changed_ns, stamp.inode, entries, stamp.error))
    connection.executemany(_PUT_SOURCE, rows)


def drop_stamps(connection: sqlite3.Connection, source_refs: Iterable[str]) -> None:
    """Forget sources."""
    connection.executemany("DELETE FROM search_sources WHERE source_ref = ?", [(ref,) for ref in source_refs])


def indexed_resources(connection: sqlite3.Connection) -> Mapping[str, tuple[str, str]]:
    """resource_id -> (source_ref, content_hash) of everything indexed."""
    rows = connection.execute("SELECT resource_id, source_ref, content_hash FROM search_resources")
    return {resource_id: (source_ref, raw.hex()) for resource_id, source_ref, raw in rows}
