"""Builds and warm queries of one size, beside the peers."""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import product
from benchmarks.corpus import KINDS, Query
from benchmarks.measure import Work, folder_bytes, in_child, interleaved
from benchmarks.peers import PEERS, Peer, faiss_flat
from benchmarks.report import Report
from workbench.app import Project

FULL_SIZE = 100_000
"""The size that the marks are about."""
WORKBENCH, TANTIVY, TRIGRAM = "workbench", "tantivy", "FTS5 trigram"


@dataclass
class Bench:
    """One size: where its files lie, what is asked, and where the figures go."""

    folder: Path
    installed: Path
    queries: list[Query]
    rounds: int
    encode: bool
    report: Report
    units: int = 0

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True)
        self.home.mkdir(mode=0o700)
        (self.home / "models").symlink_to(self.installed / "models")

    @property
    def root(self) -> Path:
        return self.folder / "memory"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def peers(self) -> list[Peer]:
        return [peer for peer in PEERS if peer.most is None or self.units <= peer.most]

    def place(self, peer: Peer) -> Path:
        return self.folder / peer.name.replace(" ", "-")

    def texts(self, kind: str) -> list[str]:
        return [query.text for query in self.queries if query.kind == kind]

    def mark(self, what: str, value: float, bound: float, unit: str = "×") -> None:
        """Record a mark, if this is the size that the marks are about."""
        if self.units >= 0.9 * FULL_SIZE:
            self.report.mark(what, value, bound, unit)


def builds(bench: Bench) -> None:
    """Units per CPU second, bytes against text, and peak memory, each build in a process of its own."""
    work = in_child(product.build, bench.home, bench.root, not bench.encode)
    project = product.open_project(bench.home, bench.root, stand_in=not bench.encode)
    rows = product.rows_of(project)
    bench.units = len(rows)
    text_bytes = sum(len(row.body.encode()) for row in rows)
    vector_bytes = product.vectors_of(project).nbytes
    sizes = {WORKBENCH: (folder_bytes(bench.home / "projects") - vector_bytes) / text_bytes}
    costs = {WORKBENCH: work}
    (bench.folder / "rows.pickle").write_bytes(pickle.dumps(rows))
    for peer in bench.peers():
        bench.place(peer).mkdir()
        costs[peer.name] = in_child(build_peer, peer.name, bench.place(peer), bench.folder / "rows.pickle")
        sizes[peer.name] = folder_bytes(bench.place(peer)) / text_bytes
    table = [_build_row(name, cost, len(rows), sizes[name]) for name, cost in costs.items()]
    bench.report.table(f"Build, {len(rows):,} units, {text_bytes / 1e6:.0f} MB of text", table)
    phases = [{"phase": phase, "wall s": seconds} for phase, seconds in costs[WORKBENCH].value["seconds"].items()]
    bench.report.table(f"Phases of the build, {len(rows):,} units", phases)
    bench.mark("index build without encoding ÷ bare FTS5 trigram", costs[WORKBENCH].cpu_s / costs[TRIGRAM].cpu_s, 0.5)
    bench.mark("index size ÷ text, vectors apart", sizes[WORKBENCH], 2)


def build_peer(name: str, folder: Path, rows: Path) -> None:
    """Build one peer from stored rows. Module-level, so that it can run in a child process."""
    peer = next(peer for peer in PEERS if peer.name == name)
    peer.build(folder, pickle.loads(rows.read_bytes()))


def arms(bench: Bench) -> None:
    """The default lexical arm beside the lexical peers, on each kind of query."""
    project = product.open_project(bench.home, bench.root, stand_in=not bench.encode)
    opened = {peer.name: peer.open(bench.place(peer)) for peer in bench.peers()}
    with product.word_arm(project) as words:
        for kind in KINDS:
            timings = interleaved({WORKBENCH: words, **opened}, bench.texts(kind), bench.rounds)
            bench.report.timings(f"Lexical arm, {kind}, {bench.units:,} units", timings, TANTIVY)
            if kind == "content words":
                cpu = {name: timing.cpu_p50 for name, timing in timings.items()}
                bench.mark("lexical arm, OR of content words ÷ tantivy", cpu[WORKBENCH] / cpu[TANTIVY], 1.5)
                bench.mark("lexical arm, OR of content words ÷ bare FTS5 trigram", cpu[WORKBENCH] / cpu[TRIGRAM], 0.05)


def queries(bench: Bench) -> None:
    """Whole warm activations beside tantivy and faiss flat glued together, and the time of every stage."""
    project = product.open_project(bench.home, bench.root, stand_in=not bench.encode)
    lexical = product.open_project(bench.home, bench.root, stand_in=False, engine="none")
    stages: dict[str, list[int]] = defaultdict(list)

    def activate(query: str) -> None:
        for stage, microseconds in product.ask(project, query).stage_us.items():
            stages[stage].append(microseconds)

    asked = [query.text for query in bench.queries]
    engines = {WORKBENCH: activate, "without vectors": lambda query: product.ask(lexical, query)}
    timings = interleaved({**engines, "tantivy + faiss": _glued(bench, project)}, asked, bench.rounds)
    bench.report.timings(f"Warm query without rerank, {bench.units:,} units", timings, "tantivy + faiss")
    table = [
        {"stage": stage, "p50 ms": float(np.median(times)) / 1e3, "p95 ms": float(np.percentile(times, 95)) / 1e3}
        for stage, times in stages.items()
    ]
    bench.report.table(f"Stages of a warm query, wall time, {bench.units:,} units", table)
    whole = timings[WORKBENCH]
    bench.mark("warm query ÷ tantivy + faiss flat", whole.cpu_p50 / timings["tantivy + faiss"].cpu_p50, 1.0)
    bench.mark("warm query, wall p50", whole.wall_p50, 60, "ms")
    bench.mark("warm query, wall p95", whole.wall_p95, 150, "ms")
    work = in_child(product.answer, bench.home, bench.root, asked[:20], not bench.encode)
    bench.report.say(f"Peak memory of a process that answers: {work.peak_mb:,.0f} MB")


def _glued(bench: Bench, project: Project) -> Callable[[str], object]:
    """What one would write in an afternoon: the same query vector, two engines, one fusion, keys only."""
    tantivy = next(peer for peer in PEERS if peer.name == TANTIVY)
    words, vectors = tantivy.open(bench.place(tantivy)), faiss_flat(product.vectors_of(project))
    embedder = project.home.embedder
    assert embedder is not None

    def search(query: str) -> list[int]:
        scores: dict[int, float] = defaultdict(float)
        for found in (words(query), vectors(embedder.encode_query(query))):
            for rank, row in enumerate(found, 1):
                scores[row] += 1 / (60 + rank)
        return sorted(scores, key=lambda row: -scores[row])[:40]

    return search


def _build_row(name: str, work: Work, units: int, size: float) -> dict[str, Any]:
    return {
        "engine": name,
        "units per CPU s": units / work.cpu_s,
        "wall s": work.wall_s,
        "size ÷ text": size,
        "peak MB": work.peak_mb,
    }
