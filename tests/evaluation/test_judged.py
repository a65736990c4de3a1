"""Ready cases come out of the store as the history put them in; many of them fit a report's bounds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.evaluation.recorded import PROJECT, Note, candidate, dropped, history, record_corpus, record_run
from workbench.core.candidate import ExclusionReason
from workbench.core.case import EvidenceRef
from workbench.core.run import RecalledUnit
from workbench.evaluation.cases import CaseBook
from workbench.evaluation.judged import JudgedRun, RankedUnit, judged_runs, ready_cases
from workbench.evaluation.runs import RunHistory
from workbench.storage.blobs import BlobStore
from workbench.storage.central_store import CentralStore

NOTES = {"notes/1.md": Note("One", "First."), "notes/2.md": Note("Two", "Second.")}


class Place:
    """A home with its history and its cases."""

    def __init__(self, home: Path) -> None:
        self.history: RunHistory = history(home)
        self.store = CentralStore(home / "local.db")
        self.book = CaseBook(self.store, BlobStore(home / "evaluation-corpora"), self.history)

    def ready(self, *evidence: EvidenceRef, miv: str = "miv-1", project: str = PROJECT) -> str:
        """A ready case of one run over the corpus `NOTES`."""
        record_corpus(self.history, miv, NOTES, project)
        chosen = candidate(1, vector_rank=2, exact_rank=1, rerank_rank=3)
        lost = dropped(2, ExclusionReason.TOKEN_BUDGET)
        left_out = RecalledUnit(unit_key="u", resource_id="notes/2.md", vector_rank=60)
        run = record_run(self.history, chosen, lost, fused_out=(left_out,), miv=miv, project=project)
        case = self.book.create(run)
        return self.book.resolve(case.case_id, case.version, evidence, none_matched=False).case_id

    def read(self, *projects: str, cases: tuple[str, ...] | None = None) -> list[JudgedRun]:
        return list(judged_runs(self.store, ready_cases(self.store, projects or (PROJECT,), cases)))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_judged_run_is_the_stored_trace_with_its_evidence_and_corpus(place: Place) -> None:
    evidence = (
        EvidenceRef(resource_id="notes/2.md"),
        EvidenceRef(resource_id="notes/1.md", unit_key="notes/1.md#Fusion@0"),
    )
    case_id = place.ready(*evidence)

    (run,) = place.read()

    chosen, lost = candidate(1), candidate(2)
    assert (run.case_id, run.project_id, run.query, run.latency_us) == (case_id, PROJECT, "how are hits fused", 1_500)
    assert run.evidence == evidence
    assert run.ranked == (
        RankedUnit(chosen.unit_key, chosen.resource_id, chosen.resource_hash, 1, 1, 2, 1, 3),
        RankedUnit(lost.unit_key, lost.resource_id, lost.resource_hash, None, 2, None, 2, None),
        RankedUnit("u", "notes/2.md", None, None, None, 60, None, None),
    )
    assert run.fragments == ((chosen.unit_key, chosen.resource_id),)
    assert run.corpus == {name: note.content_hash for name, note in NOTES.items()}
    assert run.engine == "e5"


def test_only_ready_cases_are_reported(place: Place) -> None:
    ready = place.ready(EvidenceRef(resource_id="notes/1.md"))
    refuted = place.ready(EvidenceRef(resource_id="notes/1.md"))
    place.book.resolve(refuted, place.book.get(refuted).version, [], none_matched=True)
    place.book.create(record_run(place.history, candidate(1)))

    assert [run.case_id for run in place.read()] == [ready]


def test_a_case_that_stops_being_ready_while_it_is_read_is_left_out(place: Place) -> None:
    case_id = place.ready(EvidenceRef(resource_id="notes/1.md"))
    place.book.resolve(case_id, place.book.get(case_id).version, [], none_matched=True)

    assert list(judged_runs(place.store, [case_id])) == []


def test_the_chosen_projects_and_cases_are_read_and_no_others(place: Place) -> None:
    first, second = (place.ready(EvidenceRef(resource_id="notes/1.md")) for _ in range(2))
    other = place.ready(EvidenceRef(resource_id="notes/1.md"), project="other-0123456789")

    assert [run.case_id for run in place.read()] == [first, second]
    assert [run.case_id for run in place.read("other-0123456789")] == [other]
    assert [run.case_id for run in place.read(cases=(second,))] == [second]
    assert place.read("unknown") == []


def test_a_consumer_that_stops_in_the_middle_holds_no_transaction(place: Place) -> None:
    case_id = place.ready(EvidenceRef(resource_id="notes/1.md"))

    runs = judged_runs(place.store, [case_id])
    next(runs)

    assert place.book.get(case_id).case_id == case_id


BUILD_AND_REPORT = r"""
import json, pathlib, re, sys, time
from pathlib import Path
from tests.evaluation.large_store import fill
from workbench.evaluation.judged import judged_runs, ready_cases
from workbench.evaluation.report import build_report
from workbench.evaluation.metrics import score_orders

store = fill(Path(sys.argv[1]), cases=10_000, candidates=40)
score_orders({"q": {"a"}}, {"q": ["a"]})  # the imports, and what numba compiles once a machine
started, worked = time.perf_counter(), time.process_time()
report = build_report(judged_runs(store, ready_cases(store, ["large"])), origin="large")
seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - worked
# The peak that getrusage tells of starts at that of the process which started this one.
peak = int(re.search(r"VmHWM:\s+(\d+)", pathlib.Path("/proc/self/status").read_text())[1]) / 1024
measured = {"cases": report.cases, "seconds": round(seconds, 1), "cpu_seconds": round(cpu_seconds, 1)}
print(json.dumps({**measured, "peak_mib": round(peak)}))
"""


@pytest.mark.slow
def test_ten_thousand_cases_of_forty_candidates_are_reported_within_a_gibibyte(tmp_path: Path) -> None:
    command = [sys.executable, "-c", BUILD_AND_REPORT, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, encoding="utf-8")

    measured = json.loads(done.stdout)
    sys.stdout.write(f"{measured}\n")
    assert measured["cases"] == 10_000
    assert measured["peak_mib"] < 1_024
