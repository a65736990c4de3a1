"""The rows of resources and their units, changed in place: what is equal keeps its rowid, all else gets a new one.

Owns `search_resources`, `search_names`, `search_units` and `search_units_fts`, and keeps the word index in step.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from workbench.core.resource import Resource
from workbench.core.unit import Unit
from workbench.storage.occurrences import Columns
from workbench.storage.word_index import WordIndex

_ID, _PATH, _TITLE = 1, 2, 4
_as_json = json.JSONEncoder(ensure_ascii=False).encode
_RESOURCE_COLUMNS = (
    "resource_id, source_ref, layer, scope, kind, path, title, description, body, content_hash, "
    "byte_start, byte_end, line_start, line_end"
)
_PUT_RESOURCE = f"""
INSERT OR REPLACE INTO search_resources (resource_rowid, {_RESOURCE_COLUMNS})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_LOCATOR = "ordinal, part, heading_path, byte_start, byte_end, line_start, line_end, token_count"
_TEXT = "text_start, text_size, own_text"
_UNITS_OF = f"""
SELECT unit_rowid, unit_key, content_hash, {_LOCATOR}, {_TEXT}
FROM search_units WHERE resource_rowid = ? ORDER BY ordinal
"""
_ADD_UNIT = f"""
INSERT INTO search_units (unit_key, resource_rowid, content_hash, {_LOCATOR}, {_TEXT})
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_MOVE_UNIT = f"""
UPDATE search_units SET ({_LOCATOR}, {_TEXT}) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE unit_rowid = ?
"""
_ADD_TRIGRAMS = """
INSERT INTO search_units_fts (rowid, path, title, heading, body, revision_id, unit_key) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
_FILL_TRIGRAMS = """
SELECT unit_rowid, path, title, heading_path,
       CAST(coalesce(own_text, substr(CAST(body AS BLOB), text_start + 1, text_size)) AS TEXT), ?, unit_key
FROM search_units JOIN search_resources USING (resource_rowid) ORDER BY unit_rowid
"""


class StoredUnit(NamedTuple):
    """A unit's row: identity, then what may change without a new rowid."""

    unit_rowid: int
    unit_key: str
    content_hash: bytes
    locator: tuple[int | str, ...]
    text: tuple[int | None, int | None, str | None]

    @property
    def heading(self) -> str:
        return heading_text(json.loads(str(self.locator[2])))


class StoredResource(NamedTuple):
    """A resource's row as far as its units depend on it; searched: path, title and scope; body: UTF-8."""

    resource_rowid: int
    searched: tuple[str, str, str]
    body: bytes
    units: dict[str, StoredUnit]

    def text_of(self, unit: StoredUnit) -> str:
        """The unit's text, cut from the body where it is not stored by itself."""
        start, size, own = unit.text
        if own is not None or start is None or size is None:
            return own or ""
        return self.body[start : start + size].decode("utf-8")


class Changes(NamedTuple):
    """What putting a resource did: the rowids of units that came and went."""

    added: list[int]
    removed: list[int]


def heading_text(heading_path: Sequence[str]) -> str:
    """The heading column of a unit."""
    return "\n".join(heading_path)


class UnitStore:
    """The units of the revision being published. trigrams: keep `search_units_fts` up to date with every change."""

    def __init__(self, connection: sqlite3.Connection, revision_id: int, trigrams: bool) -> None:
        self._connection, self._revision_id, self._trigrams = connection, revision_id, trigrams
        self._words = WordIndex(connection)

    def put(self, resource: Resource, units: Sequence[Unit]) -> Changes:
        """Make the index hold this resource with exactly these units."""
        old = stored_resource(self._connection, resource.resource_id)
        kept = kept_units(old, resource, units)
        removed = [unit for unit in old.units.values() if unit.unit_key not in kept] if old else []
        if old:
            self._remove_units(old, removed)
        rowid = self._put_resource(old, resource)
        added, texts = [], _Slices(resource.body)
        for ordinal, unit in enumerate(units):
            locator, text = _locator(ordinal, unit), texts.cut(unit.text)
            if same := kept.get(unit.unit_key):
                if (same.locator, same.text) != (locator, text):
                    self._connection.execute(_MOVE_UNIT, (*locator, *text, same.unit_rowid))
            else:
                added.append(self._add_unit(resource, rowid, unit, (*locator, *text)))
        return Changes(added, [unit.unit_rowid for unit in removed])

    def remove(self, resource_id: str) -> list[int]:
        """Take a resource out; the rowids of its units."""
        old = stored_resource(self._connection, resource_id)
        if old is None:
            return []
        self._remove_units(old, old.units.values())
        self._remove_names(old, resource_id)
        self._connection.execute("DELETE FROM search_resources WHERE resource_rowid = ?", (old.resource_rowid,))
        return [unit.unit_rowid for unit in old.units.values()]

    def finish(self) -> None:
        """Write what the word index still holds back."""
        self._words.finish()

    def _put_resource(self, old: StoredResource | None, resource: Resource) -> int:
        known = old.resource_rowid if old else None
        span = resource.span
        values = (
            *(resource.resource_id, resource.source_ref, resource.layer, resource.scope, resource.kind, resource.path),
            *(resource.title, resource.description, resource.body, bytes.fromhex(resource.content_hash)),
            *(span.byte_start, span.byte_end, span.line_start, span.line_end),
        )
        rowid = int(self._connection.execute(_PUT_RESOURCE, (known, *values)).lastrowid or 0)
        if old is None or old.searched != searched_header(resource):
            if old is not None:
                self._remove_names(old, resource.resource_id)
            names = _names(resource.resource_id, resource.path, resource.title)
            self._connection.executemany(
                "INSERT INTO search_names VALUES (?, ?, ?)", [(name, rowid, roles) for name, roles in names.items()]
            )
        return rowid

    def _remove_names(self, old: StoredResource, resource_id: str) -> None:
        path, title, _ = old.searched
        names = [(name, old.resource_rowid) for name in _names(resource_id, path, title)]
        self._connection.executemany("DELETE FROM search_names WHERE name = ? AND resource_rowid = ?", names)

    def _add_unit(self, resource: Resource, resource_rowid: int, unit: Unit, place: tuple[object, ...]) -> int:
        values = (unit.unit_key, resource_rowid, bytes.fromhex(unit.content_hash), *place)
        rowid = int(self._connection.execute(_ADD_UNIT, values).lastrowid or 0)
        columns = Columns(resource.path, resource.title, heading_text(unit.heading_path), unit.text)
        self._words.add(rowid, resource.scope, columns)
        if self._trigrams:
            self._connection.execute(_ADD_TRIGRAMS, (rowid, *columns, self._revision_id, unit.unit_key))
        return rowid

    def _remove_units(self, old: StoredResource, units: Iterable[StoredUnit]) -> None:
        path, title, _ = old.searched
        for unit in units:
            self._words.remove(unit.unit_rowid, Columns(path, title, unit.heading, old.text_of(unit)))
            self._connection.execute("DELETE FROM search_units WHERE unit_rowid = ?", (unit.unit_rowid,))
            if self._trigrams:
                self._connection.execute("DELETE FROM search_units_fts WHERE rowid = ?", (unit.unit_rowid,))


def stored_resource(connection: sqlite3.Connection, resource_id: str) -> StoredResource | None:
    """A resource as the index holds it, with its units by unit_key."""
    find = "SELECT resource_rowid, path, title, scope, CAST(body AS BLOB) FROM search_resources WHERE resource_id = ?"
    row = connection.execute(find, (resource_id,)).fetchone()
    if row is None:
        return None
    rowid, path, title, scope, body = row
    rows = connection.execute(_UNITS_OF, (rowid,))
    units = (StoredUnit(one[0], one[1], one[2], one[3:11], one[11:]) for one in rows)
    return StoredResource(rowid, (path, title, scope), body, {unit.unit_key: unit for unit in units})


def kept_units(old: StoredResource | None, resource: Resource, units: Iterable[Unit]) -> dict[str, StoredUnit]:
    """The stored units, by key, that stay as they are: nothing that is searched or encoded of them changes."""
    if old is None or old.searched != searched_header(resource):
        return {}
    return {
        unit.unit_key: same
        for unit in units
        if (same := old.units.get(unit.unit_key)) and same.content_hash == bytes.fromhex(unit.content_hash)
    }


def searched_header(resource: Resource) -> tuple[str, str, str]:
    """What every unit of a resource is searched by beside its own text."""
    return resource.path, resource.title, resource.scope


def clear_units(connection: sqlite3.Connection) -> None:
    """Forget all units and resources, as before the first build; rowids are not used again."""
    for table in ("resources", "names", "units", "postings", "blocks", "vector_aliases", "sources"):
        connection.execute(f"DELETE FROM search_{table}")
    connection.execute("DELETE FROM search_units_fts")
    connection.execute("DELETE FROM search_terms")
    connection.execute("INSERT INTO search_vocabulary (search_vocabulary) VALUES ('rebuild')")


def has_trigrams(connection: sqlite3.Connection) -> bool:
    """Whether the trigram table is filled; an index without units has it filled and empty at once."""
    units = connection.execute("SELECT 1 FROM search_units LIMIT 1").fetchone()
    return units is None or connection.execute("SELECT 1 FROM search_units_fts LIMIT 1").fetchone() is not None


def fill_trigrams(connection: sqlite3.Connection, revision_id: int) -> None:
    """Fill the empty trigram table with all units."""
    for rowid, path, title, headings, *rest in connection.execute(_FILL_TRIGRAMS, (revision_id,)):
        connection.execute(_ADD_TRIGRAMS, (rowid, path, title, heading_text(json.loads(headings)), *rest))


def empty_trigrams(connection: sqlite3.Connection) -> None:
    """Forget the trigram table's content."""
    connection.execute("DELETE FROM search_units_fts")


class _Slices:
    """Finds the texts of units, which come in order, in the body that they were cut from."""

    def __init__(self, body: str) -> None:
        self._body, self._from = body.encode("utf-8"), 0

    def cut(self, text: str) -> tuple[int | None, int | None, str | None]:
        """(start, size, None) in bytes of the body, or (None, None, text) for text that does not stand there."""
        raw = text.encode("utf-8")
        start = self._body.find(raw, self._from)
        if start < 0:
            return None, None, text
        self._from = start
        return start, len(raw), None


def _locator(ordinal: int, unit: Unit) -> tuple[int | str, ...]:
    span, headings = unit.span, _as_json(unit.heading_path)
    where = (span.byte_start, span.byte_end, span.line_start, span.line_end)
    return ordinal, unit.part, headings, *where, unit.token_count


def _names(resource_id: str, path: str, title: str) -> dict[str, int]:
    """The case-folded names of a resource, each with the roles that it has."""
    names: dict[str, int] = {}
    for name, role in ((resource_id, _ID), (path, _PATH), (title, _TITLE)):
        folded = name.casefold()
        if folded:
            names[folded] = names.get(folded, 0) | role
    return names
