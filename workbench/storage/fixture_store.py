"""Writes an imported evaluation set into the central store: corpora, runs, cases and evidence at once, or nothing.

Bodies come first, under their hash, where half an import does no harm; inside the transaction, in which nobody can
collect, each is looked at again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.core.fixture import FixtureCase, FrozenBody, Manifest
from workbench.core.progress import Progress, no_progress
from workbench.storage import case_queries, corpus_queries
from workbench.storage.blobs import BlobStore
from workbench.storage.central_store import CentralStore
from workbench.storage.corpus_table import CorpusEntry, add_manifest, frozen_body
from workbench.storage.faults import step
from workbench.storage.run_table import add_source_run

_HAS_RUN = "SELECT 1 FROM retrieval_runs WHERE run_id = ?"
_HAS_PROJECT = """
SELECT EXISTS (SELECT 1 FROM retrieval_corpus_manifests WHERE project_id = :project_id)
    OR EXISTS (SELECT 1 FROM retrieval_runs WHERE project_id = :project_id)
"""


@dataclass(frozen=True, slots=True)
class NewCases:
    """What an import adds. corpora: project ids are those of this home; cases: their runs name a place in `corpora`."""

    bodies: Mapping[str, FrozenBody]
    corpora: Sequence[Manifest]
    cases: Sequence[FixtureCase]


class FixtureStore:
    """The writing side of an import."""

    def __init__(self, store: CentralStore, blobs: BlobStore) -> None:
        self._store, self._blobs = store, blobs

    def has_run(self, run_id: str) -> bool:
        """Whether a run of this id is here."""
        with self._store.reading() as connection:
            return connection.execute(_HAS_RUN, (run_id,)).fetchone() is not None

    def has_project(self, project_id: str) -> bool:
        """Whether this home has recorded anything of a project."""
        with self._store.reading() as connection:
            return bool(connection.execute(_HAS_PROJECT, {"project_id": project_id}).fetchone()[0])

    def add(self, new: NewCases, at: str, progress: Progress = no_progress) -> None:
        """Add everything in one durable transaction. progress: phases `bodies` and `cases`.

        Raises: `StorageError`; then no row was added.
        """
        bodies = {sha256: frozen_body(body) for sha256, body in new.bodies.items()}
        for done, data in enumerate(bodies.values(), start=1):
            self._blobs.write(data)
            progress("bodies", done, len(bodies))
        self._blobs.secure(list(bodies))
        step("fixture.bodies_written")
        with self._store.writing("import_fixture", durable=True) as connection:
            for data in bodies.values():
                self._blobs.write(data, durable=True)
            manifests = list(_add_corpora(connection, new.corpora, at))
            sizes = [(len(data), sha256) for sha256, data in bodies.items()]
            connection.executemany(corpus_queries.ARCHIVED, sizes)
            for done, case in enumerate(new.cases, start=1):
                step("central.import_fixture.case")
                project_id = new.corpora[case.run.corpus].project_id
                add_source_run(connection, case.run, project_id, manifests[case.run.corpus])
                _add_case(connection, case)
                progress("cases", done, len(new.cases))


def _add_corpora(connection: sqlite3.Connection, corpora: Sequence[Manifest], at: str) -> Iterator[int]:
    for corpus in corpora:
        step("central.import_fixture.corpus")
        entries = {
            one.resource_id: CorpusEntry(
                one.resource_id, one.resource_hash, one.layer, one.scope, one.kind, one.path, one.title
            )
            for one in corpus.resources
        }
        manifest = add_manifest(connection, corpus.project_id, corpus.miv, entries, at)
        connection.execute(corpus_queries.COMPLETE, (corpus.project_id, manifest))
        yield manifest


def _add_case(connection: sqlite3.Connection, case: FixtureCase) -> None:
    values = (case.case_id, case.run.run_id, case.version, case.created_at, case.updated_at)
    connection.execute(case_queries.ADD_READY, values)
    rows = [(case.case_id, one.resource_id, one.unit_key, one.excerpt) for one in case.evidence]
    connection.executemany(case_queries.ADD_EVIDENCE, rows)
