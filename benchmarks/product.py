"""The workbench as its users run it: `Home` and `Project` in process, the `workbench` command in new processes.

Vectors of large corpora are stand-ins, so that 100 thousand units need not be encoded for an hour. They keep the name
of the real engine, and whoever asks for it pays the real engine's time: nothing but their meaning is made up.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers import FLOATS, WIDTH, Row, SearchText, SearchVector
from workbench.app import Home, Project
from workbench.app.engines import Engines
from workbench.core.activation import ActivationRequest, ActivationResult
from workbench.core.deadline import Deadline
from workbench.core.limits import resolve_limits
from workbench.core.settings import Lexical
from workbench.models.base import Embedder, EngineIdentity, LoadState
from workbench.retrieval.arms import Corpus, recall_lexical
from workbench.retrieval.revision_view import RevisionCache
from workbench.retrieval.vector_index import VectorIndex

CLUSTERS, NOISES = 256, 4_096
INPUT_CHARS = 1_600


class StandIn:
    """An `Embedder` with vectors from a hash of the text: clustered, deterministic, instant.

    paying: also do the real engine's work and throw its vectors away.
    """

    state = LoadState.READY

    def __init__(self, real: Embedder, *, paying: bool) -> None:
        self.identity: EngineIdentity = real.identity
        self._real, self._paying = real, paying
        chance = np.random.default_rng(7)
        shape = (CLUSTERS + NOISES, self.identity.dimension)
        self._parts = chance.standard_normal(shape, dtype=np.float32)

    def load(self) -> None:
        if self._paying:
            self._real.load()

    def fit_passage(self, path: str, heading_path: Sequence[str], text: str) -> str:
        if self._paying:
            self._real.fit_passage(path, heading_path, text)
        return "\n".join((path, *heading_path, text))[:INPUT_CHARS]

    def encode_passages(self, inputs: Sequence[str], deadline: Deadline | None = None) -> FLOATS:
        if self._paying:
            self._real.encode_passages([self._real.fit_passage("", (), text) for text in inputs], deadline)
        return self.vectors(inputs)

    def encode_query(self, query: str, deadline: Deadline | None = None) -> FLOATS:
        if self._paying:
            self._real.encode_query(query, deadline)
        vector: FLOATS = self.vectors([query])[0]
        return vector

    def vectors(self, texts: Sequence[str]) -> FLOATS:
        """float32 (len(texts), dimension), L2-normalised: a cluster's centre and two noises each."""
        seeds = np.array([list(hashlib.blake2b(text.encode(), digest_size=6).digest()) for text in texts], dtype=int)
        seeds = seeds.reshape(-1, 6)
        first, second = (CLUSTERS + (seeds[:, at] * 256 + seeds[:, at + 1]) % NOISES for at in (1, 3))
        mixed = self._parts[seeds[:, 0]] + 0.7 * self._parts[first] + 0.7 * self._parts[second]
        return np.asarray(mixed / np.linalg.norm(mixed, axis=1, keepdims=True), dtype=np.float32)


class StandInHome(Home):
    """A home whose engine is a stand-in for the real one that is installed in it."""

    paying = False

    @cached_property
    def engines(self) -> Engines:
        engines, name = super().engines, self.settings.engine
        real = engines.get(name)
        if real is not None:
            engines.put(name, StandIn(real, paying=self.paying))
        return engines


class PayingHome(StandInHome):
    paying = True


def build(home: Path, root: Path, stand_in: bool) -> dict[str, Any]:
    """Index a folder and return the report. Module-level, so that it can run in a child process."""
    report = (StandInHome if stand_in else Home).open(home).project(root).refresh()
    return report.model_dump(mode="json")


def answer(home: Path, root: Path, queries: Sequence[str], stand_in: bool) -> list[dict[str, int]]:
    """Answer the queries one after the other and return their stage times."""
    project = open_project(home, root, stand_in=stand_in)
    return [ask(project, query).stage_us for query in queries]


def open_project(home: Path, root: Path, *, stand_in: bool, **settings: object) -> Project:
    """A project that pays the real engine's time for queries and edits."""
    return (PayingHome if stand_in else Home).open(home, **settings).project(root)


def ask(project: Project, query: str) -> ActivationResult:
    """One activation, as any host asks for it, without rerank."""
    return project.activate(ActivationRequest(query=query, rerank=False))


def rows_of(project: Project) -> list[Row]:
    """The units of the head as the peers index them."""
    with project.index.reader() as reader:
        codes = reader.scope_codes()
        units = reader.units(np.flatnonzero(codes).tolist())
    return [Row(unit.path, unit.title, " ".join(unit.heading_path), unit.text) for unit in units.values()]


def vectors_of(project: Project) -> FLOATS:
    """The vectors of the head, in ascending row order."""
    with project.index.reader() as reader:
        revision = reader.revision
        assert revision is not None and revision.engine_identity is not None
        return reader.vectors(revision.engine_identity)[1]


@contextmanager
def word_arm(project: Project) -> Iterator[SearchText]:
    """The default lexical arm alone, over one open reader as an activation has it."""
    with project.index.reader() as reader:
        revision = reader.revision
        assert revision is not None
        corpus = Corpus(reader, revision, RevisionCache(), resolve_limits(), None)
        yield lambda query: [hit.unit_rowid for hit in recall_lexical(corpus, query, Lexical.WORDS)]


def vector_arm(vectors: FLOATS) -> SearchVector:
    """The exact vector search alone."""
    index = VectorIndex.empty(vectors.shape[1]).extended(np.arange(1, len(vectors) + 1), vectors)
    return lambda query: [int(rowid) - 1 for rowid in index.search(query, WIDTH, None, Deadline.after_ms(60_000))[0]]


def append(source: Path, sentence: str) -> None:
    """Add a paragraph at the end of a file."""
    with source.open("a", encoding="utf-8") as file:
        file.write(f"\n{sentence}\n")


def edit_one(project: Project, round_: int) -> None:
    """Append a sentence to one file, refresh, and have it answered from the new head."""
    source = sorted(project.root.rglob("*.md"))[round_]
    marker = f"zanzibar{round_}"
    append(source, f"The {marker} was added by hand.")
    project.refresh()
    found = ask(project, marker).fragments
    assert any(marker in (fragment.text or "") for fragment in found), "the edit is not answered from the new head"


def command(home: Path, root: Path, query: str, **environment: str) -> None:
    """One answer from a new process, as a script asks for it."""
    script = str(Path(sys.executable).parent / "workbench")
    arguments = [script, "--project", str(root), "--json", "activate", query, "--no-refresh", "--no-rerank"]
    given = {**os.environ, **environment, "WORKBENCH_HOME": str(home)}
    subprocess.run(arguments, env=given, check=True, stdout=subprocess.DEVNULL)
