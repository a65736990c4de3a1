"""A store with any number of ready cases, written straight into the tables."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.storage.central_store import CentralStore

RESOURCES = 2_000
_CANDIDATE = (
    "run_rowid, final_rank, unit_key, resource_id, content_hash, resource_hash, scope, kind, layer, status, path, "
    "heading_path, excerpt, token_count, bm25_rank, bm25_score, vector_rank, vector_score, rrf_rank, rrf_score, "
    "rerank_rank, disposition"
)


def fill(home: Path, *, cases: int, candidates: int) -> CentralStore:
    """Runs of one project `large` over one corpus, each with as many units again that fusion left out."""
    store, draw = CentralStore(home / "local.db"), random.Random(1)
    with store.writing("large") as connection:
        connection.execute(
            "INSERT INTO retrieval_corpus_manifests VALUES ('large', 1, 'miv', ?, 1, 'now')", (RESOURCES,)
        )
        connection.executemany(
            "INSERT INTO retrieval_run_resources VALUES ('large', ?, 1, NULL, ?, 'project', 'project', 'note', ?, '')",
            ((f"notes/{n}.md", f"hash {n}", f"notes/{n}.md") for n in range(RESOURCES)),
        )
        for number in range(cases):
            left_out = [[f"notes/{n}.md#Out@0", f"notes/{n}.md", None, n % 60 + 1, None] for n in range(candidates)]
            connection.execute(
                "INSERT INTO retrieval_runs (run_rowid, run_id, project_id, request_key, query, request, state, "
                "started_at, latency_us, manifest, fused_out) "
                "VALUES (?, ?, 'large', 'key', ?, '{}', 'succeeded', 'now', ?, 1, ?)",
                (number, f"run {number:06}", f"question {number:06}", draw.randrange(9_000), json.dumps(left_out)),
            )
            placeholders = ", ".join("?" * len(_CANDIDATE.split(", ")))
            connection.executemany(
                f"INSERT INTO retrieval_run_candidates ({_CANDIDATE}) VALUES ({placeholders})",
                _candidates(number, candidates, draw),
            )
            connection.execute(
                "INSERT INTO evaluation_cases (case_id, run_id, state, created_at, updated_at) "
                "VALUES (?, ?, 'ready', 'now', 'now')",
                (f"case {number:06}", f"run {number:06}"),
            )
            for resource in draw.sample(range(60), 2):
                connection.execute(
                    "INSERT INTO evaluation_evidence VALUES (?, ?, NULL, '')",
                    (f"case {number:06}", f"notes/{resource}.md"),
                )
    return store


def _candidates(run: int, count: int, draw: random.Random) -> Iterator[tuple[Any, ...]]:
    words, vectors, reranked = (draw.sample(range(1, count + 1), count) for _ in range(3))
    for place, resource in enumerate(draw.sample(range(60), count)):
        rank, name = place + 1, f"notes/{resource}.md"
        yield (
            *(run, rank, f"{name}#A heading of usual length@0", name, "content", f"hash {resource}"),
            *("project", "note", "project", "current", name, "[]", "An excerpt. " * 20, 120),
            *(words[place], 1.5, vectors[place], 0.8, rank, 1 / (60 + rank), reranked[place]),
            "selected" if rank <= 12 else "excluded",
        )
