"""The corpus that a case froze: which resources its run searched, and their texts as they were then.

Every text is checked against its hash at every read. It stands on the archive alone, never on a project's index or
files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from workbench.storage.blobs import BlobStore
from workbench.storage.corpus_table import CorpusEntry


@dataclass(frozen=True, slots=True)
class FrozenResource:
    """One resource as it was searched."""

    entry: CorpusEntry
    title: str
    description: str
    body: str


class FrozenCorpus:
    """The resources of one manifest, by resource_id."""

    def __init__(self, entries: Iterable[CorpusEntry], blobs: BlobStore) -> None:
        self.entries = tuple(entries)
        self._by_id = {entry.resource_id: entry for entry in self.entries}
        self._blobs = blobs

    def __contains__(self, resource_id: str) -> bool:
        return resource_id in self._by_id

    def entry(self, resource_id: str) -> CorpusEntry:
        """What is known of a resource without its text. Raises: `KeyError` when it is not in this corpus."""
        return self._by_id[resource_id]

    def read(self, resource_id: str) -> FrozenResource:
        """A resource with its text.

        Raises: `KeyError` when it is not in this corpus; `StorageError("run_corpus_incomplete")` when its archived
        body is missing or was changed on disk.
        """
        entry = self._by_id[resource_id]
        title, description, body = json.loads(self._blobs.read(entry.resource_hash))
        return FrozenResource(entry, title, description, body)
