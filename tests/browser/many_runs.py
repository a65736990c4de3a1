"""A home with thousands of runs over long texts, recorded as a retrieval would."""

from __future__ import annotations

import random
from pathlib import Path

from tests.app.places import write
from tests.conftest import ROOT
from tests.evaluation.recorded import Note, candidate, fragment, record_corpus, request, result, trace
from workbench.app import Home
from workbench.core.resource import Layer
from workbench.core.unit import Unit
from workbench.evaluation.runs import RunHistory
from workbench.markdown.frozen import cut_frozen

RESOURCES, CANDIDATES, SECTION_WORDS = 40, 24, 120


def many_runs(folder: Path, *, runs: int, body_bytes: int) -> Path:
    """The memory whose project, in `folder`/home, has these runs: real words of the documentation, drawn by a seed."""
    draw = random.Random(1)
    words = [word for page in sorted((ROOT / "docs").glob("*.md")) for word in page.read_text("utf-8").split()]
    memory = write(folder / "memory", {"note.md": "# Note\n"})
    home = Home.open(folder / "home", engine="fake", limits={"retained_runs": runs})
    project_id = home.project(memory).project_id
    corpus = {f"notes/{n}.md": Note(f"Page {n}", _body(draw, words, n, body_bytes)) for n in range(RESOURCES)}
    record_corpus(home.history, "miv-1", corpus, project_id)
    units = [unit for one, note in corpus.items() for unit in cut_frozen(one, Layer.PROJECT, "", note.body)]
    for number in range(runs):
        query = f"which writer holds the lock of revision {number}"
        _record(home.history, project_id, query, draw.sample(units, CANDIDATES))
    home.store.close()
    return memory


def _body(draw: random.Random, words: list[str], number: int, size: int) -> str:
    text = f"# Page {number}\n"
    while len(text) < size:
        text += f"\n## Section {len(text)}\n\n{' '.join(draw.choices(words, k=SECTION_WORDS))}\n"
    return text


def _record(history: RunHistory, project_id: str, query: str, units: list[Unit]) -> None:
    found = [
        candidate(
            rank,
            unit_key=unit.unit_key,
            resource_id=unit.resource_id,
            path=unit.resource_id,
            heading_path=unit.heading_path,
            excerpt=unit.text[:200],
        )
        for rank, unit in enumerate(units, start=1)
    ]
    run_id = history.begin(project_id, request(query), query)
    assert history.succeed(run_id, result(*map(fragment, found[:12])), trace(*found), 1_500)
