from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.places import PAGES, ask, home_with, set_states, write
from tests.conftest import ROOT
from workbench.app import Home, Project
from workbench.core.activation import ActivationRequest
from workbench.core.case import EvidenceRef
from workbench.core.errors import InputError, ModelError, NotReady, StorageError
from workbench.core.run import RunRecord
from workbench.core.settings import Lexical
from workbench.evaluation.judged import JudgedRun, judged_runs
from workbench.evaluation.replay import ReplayConfig, plan_replay
from workbench.evaluation.sets import SetFormat
from workbench.models.fake import FakeEmbedder, FakeReranker

LONG = "# Long\n\n" + "".join(f"## Part {n}\n\n{f'Queue {n} holds jobs. ' * 90}\n\n" for n in range(3))
MORE = {
    "notes/long.md": LONG,
    "log/2026.md": "## 2026-01-02\n\nThe queue stopped.\n\n## 2026-01-03\n\nIt runs again.\n",
}
QUERIES = ("why PostgreSQL for the queue", "发布前检查什么", "decisions/storage.md")
SAME = ReplayConfig()


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    return write(tmp_path / "memory", PAGES | MORE)


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
def home(tmp_path: Path, embedder: FakeEmbedder) -> Home:
    return home_with(tmp_path / "home", embedder)


def confirmed(project: Project, query: str, **request: object) -> str:
    """A ready case of a new run, whose first candidate is the evidence; its id."""
    run_id = ask(project, query, **request).run_id
    case = project.home.cases.create(run_id or "")
    first = project.home.history.get(case.run_id).trace.candidates[0]
    ref = EvidenceRef(resource_id=first.resource_id, unit_key=first.unit_key)
    return project.home.cases.resolve(case.case_id, case.version, [ref], none_matched=False).case_id


def replayed(project: Project, config: ReplayConfig = SAME, *case_ids: str) -> list[JudgedRun]:
    home = project.home
    assert isinstance(home, Home)
    return list(home.replay(home.select(None, case_ids, None if case_ids else project), config))


def keys(record: RunRecord) -> list[str]:
    return [candidate.unit_key for candidate in record.trace.candidates]


def fused(run: JudgedRun) -> list[str]:
    return [unit.unit_key for unit in run.ranked if unit.rrf_rank is not None]


def test_the_source_settings_over_the_same_corpus_give_the_source_run_again(project: Project) -> None:
    cases = [confirmed(project, query) for query in QUERIES]
    cases.append(confirmed(project, "the queue", limits={"arm_width": 3, "fragments": 2}))
    (scoped,) = [confirmed(project, "tea water", scopes=["user"])]

    runs = replayed(project)

    sources = list(judged_runs(project.home.store, [*cases, scoped]))
    for run, source in zip(runs, sources, strict=True):
        assert (run.case_id, run.run_id, run.query) == (source.case_id, source.run_id, source.query)
        assert (run.evidence, run.corpus, run.engine) == (source.evidence, source.corpus, source.engine)
        assert run.ranked == source.ranked
        assert run.fragments == source.fragments


def test_a_section_is_replayed_without_the_page_title_above_it(
    project: Project, memory: Path, embedder: FakeEmbedder
) -> None:
    """The known gap: what stood above an entry in its file is not archived with it."""
    write(memory, {"log/2027.md": "# Diary\n\n## 2027-01-01\n\nA zeppelin passed.\n"})
    project.refresh()
    confirmed(project, "diary zeppelin")
    live, before = [one for one in embedder.inputs if "zeppelin" in one], len(embedder.inputs)

    (run,) = replayed(project)

    assert live == ["passage: log/2027.md\n2027-01-01 > Diary > 2027-01-01\n## 2027-01-01\n\nA zeppelin passed."]
    assert embedder.inputs[before:] == ["passage: log/2027.md\n2027-01-01\n## 2027-01-01\n\nA zeppelin passed."]
    assert fused(run)[0] == "log/2027.md#2027-01-01#@root"


def test_a_limit_an_engine_and_each_switch_change_what_they_should(project: Project, home: Home) -> None:
    confirmed(project, QUERIES[0])
    home.engines.put("other", FakeEmbedder(dimension=16, name="other"))
    (same,) = replayed(project)

    (few,) = replayed(project, ReplayConfig(limits={"fragments": 2, "fused_keep": 3, "rerank_window": 3}))
    (lexical,) = replayed(project, ReplayConfig(engine="none"))
    (other,) = replayed(project, ReplayConfig(engine="other"))
    (trigrams,) = replayed(project, ReplayConfig(lexical=Lexical.CONTRACT))
    (reranked,) = replayed(project, ReplayConfig(cross_encoder=True, reranker="fake"))
    unasked = confirmed(project, QUERIES[0], rerank=False)
    (asked,) = replayed(project, ReplayConfig(cross_encoder=True, reranker="fake"), unasked)

    assert (len(few.fragments), len(fused(few))) == (2, 3)
    assert (lexical.engine, {unit.vector_rank for unit in lexical.ranked}) == (None, {None})
    assert other.engine == "other" and len(fused(other)) == len(fused(same))
    assert len([unit for unit in trigrams.ranked if unit.bm25_rank]) != len([u for u in same.ranked if u.bm25_rank])
    assert {unit.rerank_rank for unit in same.ranked} == {None}
    assert sorted(unit.rerank_rank or 0 for unit in reranked.ranked) == list(range(1, len(reranked.ranked) + 1))
    assert [unit.rerank_rank for unit in asked.ranked] == [unit.rerank_rank for unit in reranked.ranked]
    assert fused(replayed(project)[0]) == fused(same)


def test_an_older_corpus_is_replayed_as_it_was(project: Project, memory: Path) -> None:
    old = confirmed(project, QUERIES[0])
    source = project.home.history.get(project.home.cases.get(old).run_id)
    write(memory, {"decisions/queue.md": "# Queue choice\n\nNothing is queued any more.\n"})
    (memory / "decisions/storage.md").unlink()
    set_states(memory, 1, **{"user/tea.md": "retracted"})
    project.refresh()
    new = confirmed(project, QUERIES[0])

    first, second = replayed(project)

    assert (first.case_id, second.case_id) == (old, new)
    assert fused(first) == keys(source)
    assert {unit.resource_hash for unit in first.ranked} == {one.resource_hash for one in source.trace.candidates}
    assert {"decisions/storage.md", "user/tea.md"} <= first.corpus.keys() - second.corpus.keys()
    assert not {"decisions/storage.md", "user/tea.md"} & {unit.resource_id for unit in second.ranked}
    assert fused(replayed(project, SAME, old)[0]) == fused(first)


def test_nothing_of_the_project_and_nothing_of_the_history_is_written(project: Project, memory: Path) -> None:
    confirmed(project, QUERIES[0])
    write(memory, {"decisions/new.md": "# New\n\nNot indexed yet.\n"})
    project.index.close()
    before, runs = project.index.path.read_bytes(), project.home.history.list(project.project_id, 99)

    replayed(project, ReplayConfig(engine="none"))
    replayed(project)

    assert project.index.path.read_bytes() == before
    assert project.home.history.list(project.project_id, 99) == runs


def test_what_the_project_has_encoded_is_not_encoded_again(project: Project, embedder: FakeEmbedder) -> None:
    for query in QUERIES:
        confirmed(project, query)
    encoded, asked = list(embedder.inputs), len(embedder.queries)

    replayed(project)
    shutil.rmtree(project.home.folder / "replay")
    replayed(project)

    assert embedder.inputs == encoded
    assert embedder.queries[asked:] == [*QUERIES, *QUERIES]


def test_without_the_projects_index_each_distinct_input_is_encoded_once(
    project: Project, memory: Path, embedder: FakeEmbedder
) -> None:
    for number in range(4):
        write(memory, {"decisions/queue.md": f"# Queue choice\n\nThe queue moved {number} times.\n"})
        project.refresh()
        confirmed(project, QUERIES[0])
    encoded = list(embedder.inputs)
    shutil.rmtree(project.index.folder)

    for _ in range(2):
        replayed(project)

    again = embedder.inputs[len(encoded) :]
    assert sorted(again) == sorted(set(again)) == sorted(set(encoded) - {encoded[first_queue(encoded)]})


def first_queue(inputs: list[str]) -> int:
    """The queue page before it was first changed: no case searched it."""
    return next(place for place, text in enumerate(inputs) if "gave way" in text)


def test_a_damaged_index_of_the_project_lends_nothing_and_is_left_alone(
    project: Project, embedder: FakeEmbedder
) -> None:
    confirmed(project, QUERIES[0])
    expected, encoded = replayed(project), len(embedder.inputs)
    shutil.rmtree(project.home.folder / "replay")
    project.index.close()
    project.index.path.write_bytes(b"no database" * 1_000)

    runs = replayed(project)

    assert [run.ranked for run in runs] == [run.ranked for run in expected]
    assert sorted(embedder.inputs[encoded:]) == sorted(embedder.inputs[:encoded])
    assert project.index.path.read_bytes() == b"no database" * 1_000


def test_a_damaged_or_missing_body_is_named_with_its_case_before_anything_is_replayed(
    project: Project, memory: Path, embedder: FakeEmbedder
) -> None:
    sound = confirmed(project, QUERIES[0])
    write(memory, {"decisions/queue.md": "# Queue choice\n\nKafka.\n", "more.md": "# More\n\nOf it.\n"})
    project.refresh()
    broken = confirmed(project, QUERIES[0])
    corpus = project.home.cases.frozen(project.home.cases.get(broken))
    hashes = {entry.resource_id: entry.resource_hash for entry in corpus.entries}
    blobs = project.home.folder / "evaluation-corpora" / "blobs"
    (blobs / hashes["more.md"][:2] / hashes["more.md"]).unlink()
    (blobs / hashes["decisions/queue.md"][:2] / hashes["decisions/queue.md"]).write_bytes(b"[]")
    asked = len(embedder.queries)

    with pytest.raises(StorageError) as error:
        replayed(project)

    assert error.value.code == "run_corpus_incomplete"
    assert [finding.split(": ")[:2] for finding in error.value.detail] == [
        [f"case {broken}", "decisions/queue.md"],
        [f"case {broken}", "more.md"],
    ]
    assert len(embedder.queries) == asked
    assert [run.case_id for run in replayed(project, SAME, sound)] == [sound]


PROCESS = """
import os, sys
from pathlib import Path
from workbench.app import Home
from workbench.evaluation.replay import ReplayConfig, plan_replay
from workbench.storage.faults import on_step

steps = []
def die(name):
    steps.append(name)
    if len(steps) > int(sys.argv[3]):
        os._exit(9)

home = Home.open(Path(sys.argv[1]), engine="fake")
with on_step(die):
    runs = list(home.replay(home.select(project=home.project(Path(sys.argv[2]))), ReplayConfig()))
print(len(runs))
"""


def in_a_process(home: Home, memory: Path, last_step: int = 10_000) -> subprocess.CompletedProcess[str]:
    """A replay of the project in a process of its own, which dies behind its `last_step`-th step."""
    command = [sys.executable, "-c", PROCESS, str(home.folder), str(memory), str(last_step)]
    return subprocess.run(command, cwd=ROOT, env=dict(os.environ), capture_output=True, text=True, check=False)


def test_two_replays_of_one_project_do_not_share_its_replay_index(project: Project, home: Home, memory: Path) -> None:
    for query in QUERIES:
        confirmed(project, query)
    selection = home.select(project=project)
    first = home.replay(selection, SAME)
    next(first)

    with pytest.raises(NotReady) as refused:
        next(home.replay(selection, SAME))
    elsewhere = in_a_process(home, memory)
    rest = list(first)

    assert refused.value.code == "index_busy"
    assert elsewhere.returncode == 1 and "Another replay of" in elsewhere.stderr
    assert len(rest) == len(QUERIES) - 1
    assert len(list(home.replay(selection, SAME))) == len(QUERIES)


@pytest.mark.slow
def test_a_replay_that_is_killed_at_any_step_is_done_again_from_what_it_left(
    project: Project, home: Home, memory: Path
) -> None:
    for number in range(2):
        write(memory, {"decisions/queue.md": f"# Queue choice\n\nThe queue moved {number} times.\n"})
        project.refresh()
        confirmed(project, QUERIES[0])
    expected = [run.ranked for run in replayed(project)]
    shutil.rmtree(project.home.folder / "replay")

    for steps in range(0, 200, 3):
        process = in_a_process(home, memory, steps)
        assert process.returncode in {0, 9}, process.stderr
        assert [run.ranked for run in replayed(project)] == expected
        shutil.rmtree(project.home.folder / "replay")
        if process.returncode == 0:
            return
    pytest.fail("the replay passes more steps than were tried")


def test_a_setting_that_cannot_serve_is_an_error_and_no_result(project: Project, home: Home) -> None:
    confirmed(project, QUERIES[0])
    home.engines.put("broken", FakeEmbedder(name="broken", fail_after=100))
    home.reranker = FakeReranker(scores=lambda query, texts: [float("nan")] * len(texts))

    with pytest.raises(ModelError, match="bge-small-en"):
        replayed(project, ReplayConfig(engine="bge-small-en"))
    with pytest.raises(InputError, match="no-such-model"):
        replayed(project, ReplayConfig(engine="no-such-model"))
    with pytest.raises(InputError, match="arm_width"):
        replayed(project, ReplayConfig(limits={"arm_width": 0}))
    with pytest.raises(ModelError, match="rerank_invalid"):
        replayed(project, ReplayConfig(cross_encoder=True))


def test_only_ready_cases_are_replayed_and_no_case_is_no_error(project: Project, home: Home) -> None:
    assert replayed(project) == []
    run_id = ask(project, QUERIES[0]).run_id
    case = home.cases.create(run_id or "")
    assert replayed(project) == []
    home.cases.resolve(case.case_id, 1, (), none_matched=True)
    assert replayed(project) == []


def test_a_case_that_stops_being_ready_before_it_is_replayed_is_left_out(project: Project, home: Home) -> None:
    stays, goes = (confirmed(project, query) for query in QUERIES[:2])
    home.cases.resolve(goes, 2, (), none_matched=True)

    planned = plan_replay(home.cases, home.history, [stays, goes])

    assert [one.case.case_id for corpus in planned for one in corpus.cases] == [stays]


def test_a_warm_measurement_counts_cases_by_repeats_and_names_every_stage(project: Project, home: Home) -> None:
    for query in QUERIES:
        confirmed(project, query)
    heard: list[tuple[str, int, int]] = []

    warm = home.warm_latency(home.select(project=project), SAME, 3, lambda *said: heard.append(said))

    assert (warm.repeats, warm.cases, warm.corpora, warm.resources) == (3, 3, 1, (7, 7))
    assert (warm.engine, warm.reranked) == ("fake", False)
    assert set(warm.stages) == set(project.activate(ActivationRequest(query=QUERIES[0])).stage_us)
    assert all(0 <= one.p50_us <= one.p95_us <= warm.whole.p95_us for one in warm.stages.values())
    assert [said for said in heard if said[0] == "warm"] == [("warm", done, 12) for done in range(1, 13)]


def test_a_warm_measurement_without_repeats_or_cases_is_refused(project: Project, home: Home) -> None:
    with pytest.raises(InputError, match="at least once"):
        home.warm_latency(home.select(project=project), SAME, 0)
    with pytest.raises(InputError, match="No case is ready"):
        home.warm_latency(home.select(project=project), SAME, 1)


def test_projects_of_a_set_are_replayed_one_after_the_other_and_progress_only_rises(
    tmp_path: Path, home: Home, project: Project
) -> None:
    other = home.project(write(tmp_path / "other", {"a.md": "# Alpha\n\nThe queue of another project.\n"}))
    other.refresh()
    cases = [confirmed(project, QUERIES[0]), confirmed(other, QUERIES[0])]
    heard: dict[str, list[int]] = {}

    def listen(phase: str, done: int, total: int) -> None:
        assert done <= total
        heard.setdefault(phase, []).append(done)

    runs = list(home.replay(home.select(None, cases), SAME, listen))

    assert {run.case_id for run in runs} == set(cases)
    assert [run.corpus.keys() for run in runs if run.project_id == other.project_id] == [{"a.md"}]
    assert all(done == sorted(set(done)) for done in heard.values())
    assert (heard["verify"][-1], heard["replay"]) == (2, [1, 2])


def test_an_imported_fixture_is_replayed_without_any_memory(tmp_path: Path, project: Project, home: Home) -> None:
    for query in QUERIES:
        confirmed(project, query)
    fixture = tmp_path / "fixture.json"
    fixture.write_text(home.export(home.select(project=project)).fixture_json, "utf-8")
    elsewhere = home_with(tmp_path / "elsewhere", FakeEmbedder())
    imported = elsewhere.import_set(SetFormat.FIXTURE, fixture)

    runs = list(elsewhere.replay(elsewhere.select(imported.name), SAME))

    assert {run.query: run.ranked for run in runs} == {run.query: run.ranked for run in replayed(project)}
