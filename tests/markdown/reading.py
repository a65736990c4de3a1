"""Short ways to read one source in a test."""

from __future__ import annotations

from workbench.core.resource import Layer
from workbench.core.unit import Unit
from workbench.markdown.source import Entry, parse_source


def entries_of(text: str | bytes, layer: Layer = Layer.PROJECT, source_ref: str = "notes/a.md") -> tuple[Entry, ...]:
    raw = text if isinstance(text, bytes) else text.encode()
    return parse_source(source_ref, layer, raw).entries


def units_of(text: str | bytes, layer: Layer = Layer.PROJECT) -> tuple[Unit, ...]:
    """The units of all entries, each under its derived id."""
    return tuple(unit for entry in entries_of(text, layer) for unit in entry.units(entry.derived_id))


def words(count: int) -> str:
    """A paragraph of exactly `count` tokens."""
    return " ".join(["abcde"] * count)
