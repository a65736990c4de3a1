"""What the tests of the index share: a memory on disk, builds of it, and a view of everything that an index holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.limits import resolve_limits
from workbench.index.builder import build_index
from workbench.index.report import BuildReport
from workbench.memory.snapshot import MemorySnapshot, capture_snapshot
from workbench.models.base import Embedder
from workbench.storage.index_records import TRIGRAM
from workbench.storage.project_index import ProjectIndex

PROJECT = "p"


def write(root: Path, files: Mapping[str, str]) -> None:
    """Write Markdown files under a memory root."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def snapshot_of(root: Path, index: ProjectIndex) -> MemorySnapshot:
    """The memory as it is now, given what the index remembers."""
    return capture_snapshot(root, PROJECT, index.stamps(), resolve_limits())


def build(root: Path, index: ProjectIndex, embedder: Embedder | None = None, **options: Any) -> BuildReport:
    """Capture and build."""
    return build_index(index, snapshot_of(root, index), embedder, **options)


def contents(index: ProjectIndex) -> dict[str, Any]:
    """Everything that the head says, by names that survive a rebuild: no rowid, no revision number, no time."""
    with index.reader() as reader:
        assert reader.revision is not None
        lengths, codes = reader.lengths(), reader.scope_codes()
        units = reader.units(np.flatnonzero(codes).tolist())
        keys = {rowid: unit.unit_key for rowid, unit in units.items()}
        engine = reader.revision.engine_identity or ""
        rowids, vectors = reader.vectors(engine)
        with closing(sqlite3.connect(f"{index.path.as_uri()}?mode=ro", uri=True)) as connection:
            terms = [row[0] for row in connection.execute("SELECT term FROM search_terms")]
            postings = [row[0] for row in connection.execute("SELECT DISTINCT term FROM search_postings")]
        trigrams = reader.trigram_search('"the"', 50, None) if TRIGRAM in reader.revision.arms else []
        assert sorted(terms) == sorted(postings)
        return {
            "miv": reader.revision.miv,
            "arms": reader.revision.arms,
            "counts": (reader.revision.resource_count, reader.revision.unit_count, reader.revision.total_length),
            "resources": list(reader.resources()),
            "units": sorted(_without_rowid(unit) for unit in units.values()),
            "lengths": {keys[rowid]: int(lengths[rowid]) for rowid in keys},
            "scopes": {keys[rowid]: int(codes[rowid]) for rowid in keys},
            "postings": {
                term: sorted((keys[int(rowid)], int(tf)) for rowid, tf in zip(*found, strict=True))
                for term, found in reader.postings(terms).items()
            },
            "vectors": {keys[int(rowid)]: row.tobytes() for rowid, row in zip(rowids, vectors, strict=True)},
            "trigrams": [keys[rowid] for rowid, _ in trigrams],
        }


def check_integrity(index: ProjectIndex) -> None:
    """Let SQLite and FTS5 look at every page and every row of their tables."""
    with closing(sqlite3.connect(index.path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        for table in ("search_units_fts", "search_vocabulary"):
            connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")


def bytes_on_disk(index: ProjectIndex) -> bytes:
    """Every byte in the project's folder."""
    return b"".join(path.read_bytes() for path in index.folder.iterdir() if path.is_file())


def _without_rowid(unit: Any) -> str:
    return repr([getattr(unit, name) for name in type(unit).__slots__ if name != "unit_rowid"])
