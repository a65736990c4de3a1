"""Many resolvers of one case, in threads and in processes: one wins each version, and nobody's evidence is mixed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.evaluation.recorded import candidate, case_book, case_draft, history, notes, record_corpus, record_run
from tests.evaluation.test_history_failures import ROOT

PROCESSES, THREADS, VERSIONS = 4, 8, 6
RESOLVERS = PROCESSES * THREADS
SCRIPT = """
import json, sys, threading
from pathlib import Path
from tests.evaluation.recorded import *
from workbench.core.errors import InputError
home, case_id, first, count, versions = Path(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:])
wins, conflicts = [], []
def resolve(resolver):
    book = case_book(home, history(home), patience_ms=60_000)
    own = [resource(2 * resolver + 1), resource(2 * resolver + 2)]
    for version in range(1, versions + 1):
        try:
            case = book.resolve(case_id, version, own, False)
            wins.append((version, resolver, [one.resource_id for one in case.evidence]))
        except InputError as error:
            conflicts.append((error.code, error.detail["version"] > version, len(error.detail["evidence"])))
sys.stdin.readline()
threads = [threading.Thread(target=resolve, args=(first + number,)) for number in range(count)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(json.dumps([wins, conflicts]))
"""
CREATE = """
import sys
from pathlib import Path
from tests.evaluation.recorded import *
book = case_book(Path(sys.argv[1]), history(Path(sys.argv[1])), patience_ms=60_000)
sys.stdin.readline()
print(book.create(sys.argv[2]).case_id)
"""


def at_once(script: str, *arguments: tuple[object, ...]) -> list[str]:
    """What processes print that were all ready before the first one began."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", script, *map(str, given)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for given in arguments
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return [process.communicate(timeout=120)[0] for process in processes]


@pytest.mark.spec("D8")
@pytest.mark.field(96)
def test_one_of_32_resolvers_wins_each_version_and_its_evidence_stands_alone(tmp_path: Path) -> None:
    runs = history(tmp_path)
    case = case_draft(tmp_path, runs, 2 * RESOLVERS)

    shares = [(tmp_path, case.case_id, number * THREADS, THREADS, VERSIONS) for number in range(PROCESSES)]
    outcomes = [json.loads(said) for said in at_once(SCRIPT, *shares)]

    wins = [win for won, _ in outcomes for win in won]
    lost = [tuple(one) for _, conflicts in outcomes for one in conflicts]
    assert Counter(version for version, _, _ in wins) == dict.fromkeys(range(1, VERSIONS + 1), 1)
    assert all(seen == own(resolver) for _, resolver, seen in wins)
    assert Counter(lost) == {("evaluation_case_conflict", True, 2): RESOLVERS * VERSIONS - VERSIONS}
    stands = case_book(tmp_path, runs).get(case.case_id)
    assert stands.version == VERSIONS + 1
    assert [one.resource_id for one in stands.evidence] == own(max(wins)[1])


def test_processes_that_create_a_case_at_once_get_the_same_one(tmp_path: Path) -> None:
    runs = history(tmp_path)
    record_corpus(runs, "miv-1", notes(20))
    run_id = record_run(runs, candidate(1))
    made = at_once(CREATE, *[(tmp_path, run_id)] * 4)
    assert len(set(made)) == 1


def own(resolver: int) -> list[str]:
    return [f"notes/{2 * resolver + 1}.md", f"notes/{2 * resolver + 2}.md"]
