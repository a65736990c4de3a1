"""A real memory folder with a real index and a retriever over it; only the models are the shipped fakes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.core.activation import ActivationRequest, ActivationResult
from workbench.core.candidate import Candidate
from workbench.core.deadline import Deadline
from workbench.core.limits import resolve_limits
from workbench.core.resource import SnapshotRef
from workbench.core.settings import Lexical
from workbench.index.builder import build_index
from workbench.memory.manifest import ManifestReader
from workbench.memory.snapshot import capture_snapshot
from workbench.models.base import Embedder, Reranker
from workbench.retrieval.answer import Activation
from workbench.retrieval.pipeline import Retriever
from workbench.storage.project_index import ProjectIndex


class World:
    """A project. trigram: its index holds the contract's arm too; lexical: the arm that answers."""

    def __init__(
        self,
        folder: Path,
        *,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        lexical: Lexical = Lexical.WORDS,
        project_id: str = "project",
        **how: Any,
    ) -> None:
        self.root = folder / project_id
        self.root.mkdir(parents=True)
        self.index = ProjectIndex(folder / "home", project_id)
        self.embedder, self.lexical = embedder, lexical
        self.snapshot: SnapshotRef | None = None
        self.retriever = Retriever(
            self.index,
            embedder=embedder,
            reranker=reranker,
            manifest=ManifestReader(self.root),
            lexical=lexical,
            **how,
        )

    def write(self, texts: Mapping[str, str]) -> World:
        """Write files, path → text."""
        for path, text in texts.items():
            place = self.root / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8", newline="")
        return self

    def states(self, version: int, **states: str) -> None:
        """Set the status of resources in the state manifest, as the write gate will."""
        document = {
            "format": "memory-state-1",
            "record_state_version": version,
            "states": {name: {"status": status} for name, status in states.items()},
        }
        self.write({".memory/state.json": json.dumps(document)})

    def build(self, *, embedder: Embedder | None = None, trigram: bool | None = None) -> World:
        """Index the memory as it is."""
        snapshot = capture_snapshot(self.root, self.index.project_id, self.index.stamps(), resolve_limits())
        wanted = self.lexical is Lexical.CONTRACT if trigram is None else trigram
        build_index(self.index, snapshot, embedder or self.embedder, trigram=wanted)
        self.snapshot = snapshot.ref
        return self

    def activate(
        self,
        query: str,
        *,
        limits: Mapping[str, int] | None = None,
        deadline: Deadline | None = None,
        current: SnapshotRef | None = None,
        **request: Any,
    ) -> Activation:
        """One activation."""
        return self.retriever.activate(
            ActivationRequest(query=query, **request),
            resolve_limits(limits),
            deadline or Deadline.after_ms(60_000),
            current=current,
        )

    def ask(self, query: str, **request: Any) -> ActivationResult:
        """The result of one activation."""
        return self.activate(query, **request).result

    def candidates(self, query: str, **request: Any) -> tuple[Candidate, ...]:
        """The candidates of one activation in final order."""
        return self.activate(query, **request).trace.candidates

    def paths(self, query: str, **request: Any) -> list[str]:
        """The paths of all candidates, each once, in final order."""
        return list(dict.fromkeys(one.path for one in self.candidates(query, **request)))


def codes(result: ActivationResult) -> list[str]:
    """The degradation codes of a result."""
    return [one.code for one in result.degradations]
