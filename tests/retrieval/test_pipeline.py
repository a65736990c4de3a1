"""The whole chain over a real index: what is recalled, in which order it is handed out, and what could not serve."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.retrieval.world import World, codes
from workbench.core.activation import Ordering
from workbench.core.candidate import Candidate, Disposition, ExclusionReason
from workbench.core.deadline import Deadline
from workbench.core.errors import ModelError, WorkbenchError
from workbench.core.resource import Scope, Status
from workbench.models.base import LoadState, Vectors
from workbench.models.fake import FakeEmbedder, FakeReranker

Make = Callable[..., World]
TOPICS = ["apple", "banana", "cherry", "damson", "elder", "fig", "grape", "hazel"]
NOTES = {
    f"{topic}.md": f"# {topic}\n\nThe {topic} tree bears fruit in month {at}.\n" for at, topic in enumerate(TOPICS)
}
MANY = {f"n{number:03}.md": f"# Note {number}\n\nshared words and token{number}\n" for number in range(60)}


def rrf(candidate: Candidate) -> float:
    ranks = (candidate.bm25_rank, candidate.vector_rank)
    return math.fsum(1 / (60 + rank) for rank in ranks if rank is not None)


@pytest.mark.spec("D4")
def test_words_and_vectors_both_recall_and_every_score_can_be_worked_out_again(world: Make) -> None:
    candidates = world(NOTES, embedder=FakeEmbedder()).candidates("cherry tree")
    assert candidates[0].path == "cherry.md"
    assert candidates[0].bm25_rank == candidates[0].vector_rank == 1
    assert [one.rrf_score for one in candidates] == [rrf(one) for one in candidates]
    assert [one.final_rank for one in candidates] == [one.rrf_rank for one in candidates] == list(range(1, 9))


@pytest.mark.spec("D5")
def test_sixty_are_recalled_an_arm_forty_kept_and_the_rest_is_named(world: Make) -> None:
    trace = world(MANY, embedder=FakeEmbedder()).activate("shared words").trace
    assert len(trace.candidates) == 40
    assert len(trace.fused_out) == 20
    assert all(one.bm25_rank or one.vector_rank for one in trace.fused_out)


@pytest.mark.spec("D5")
def test_twenty_four_are_reranked_and_in_cross_encoder_order_the_rest_is_left_out(world: Make) -> None:
    backwards = FakeReranker(lambda query, texts: list(range(len(texts))))
    result, candidates = _both(world(MANY, embedder=FakeEmbedder(), reranker=backwards), "shared words")
    assert result.ordering is Ordering.CROSS_ENCODER
    assert [one.rrf_rank for one in candidates] == [*range(24, 0, -1), *range(25, 41)]
    assert {one.exclusion_reason for one in candidates[24:]} == {ExclusionReason.NOT_RERANKED}
    assert [one.unit_key for one in result.fragments] == [one.unit_key for one in candidates[:12]]


def _both(made: World, query: str, **request: object) -> tuple:
    activation = made.activate(query, **request)
    return activation.result, activation.trace.candidates


@pytest.mark.spec("T3-1")
def test_the_same_ranks_with_other_score_gaps_fuse_the_same(world: Make) -> None:
    """A dimension more in common raises every cosine and leaves the ranks."""

    plain = FakeEmbedder()

    class Closer(FakeEmbedder):
        def _vector(self, text: str) -> Vectors:
            return np.append(plain._vector(text) * np.float32(0.3), np.float32(0.9539392))

    closer = Closer(33, "closer")
    wide = world(NOTES, embedder=FakeEmbedder()).candidates("cherry tree in month 3")
    near = world(NOTES, embedder=closer).candidates("cherry tree in month 3")
    assert [one.vector_score for one in wide] != [one.vector_score for one in near]
    assert [(one.path, one.rrf_score) for one in wide] == [(one.path, one.rrf_score) for one in near]


@pytest.mark.spec("T3-2")
def test_a_fused_order_against_similarity_survives_to_the_fragments(world: Make) -> None:
    texts = {"both.md": "violet lamp " + "filler " * 60, "near.md": "lamp", "far.md": "violet"}
    result, candidates = _both(world(texts, embedder=FakeEmbedder()), "violet lamp")
    similarity = {one.path: one.vector_score or 0.0 for one in candidates}
    assert any(similarity[a.path] < similarity[b.path] for a, b in pairwise(candidates))
    selected = [one.unit_key for one in candidates if one.disposition is Disposition.SELECTED]
    assert [one.unit_key for one in result.fragments] == selected
    tight = world(texts, embedder=FakeEmbedder()).ask("violet lamp", limits={"fragments": 2})
    assert [one.unit_key for one in tight.fragments] == selected[:2]


@pytest.mark.spec("T3-3")
def test_a_unit_that_only_words_find_gets_in(world: Make) -> None:
    class Blind(FakeEmbedder):
        """Sees everything but the needle as equal to the question."""

        def _vector(self, text: str) -> Vectors:
            return super()._vector("needle" if "needle" in text and len(text) > 10 else "hay")

    texts = {f"h{number}.md": f"hay number {number}" for number in range(80)}
    made = world({**texts, "n.md": "a needle lies here"}, embedder=Blind())
    needle = next(one for one in made.candidates("needle") if one.path == "n.md")
    assert (needle.bm25_rank, needle.vector_rank, needle.vector_score) == (1, None, None)
    assert needle.disposition is Disposition.SELECTED


@pytest.mark.spec("T3-3")
@pytest.mark.spec("T3-5")
def test_without_the_dense_arm_words_answer_and_the_missing_score_is_null(world: Make) -> None:
    result, candidates = _both(world(NOTES), "cherry")
    assert [one.path for one in candidates] == ["cherry.md"]
    assert candidates[0].vector_score is None
    assert candidates[0].vector_rank is None
    assert codes(result) == ["dense_unavailable"]


@pytest.mark.spec("D4")
def test_a_query_without_any_term_still_has_vectors(world: Make) -> None:
    candidates = world(NOTES, embedder=FakeEmbedder()).candidates("?!")
    assert len(candidates) == len(NOTES)
    assert all(one.bm25_rank is None for one in candidates)


@pytest.mark.field(64)
def test_a_scope_is_searched_by_itself_and_not_cut_from_a_finished_list(world: Make) -> None:
    crowd = {f"n{number}.md": "common words" for number in range(200)}
    made = world({**crowd, "user/me.md": "common words and many others beside"}, embedder=FakeEmbedder())
    assert "user/me.md" not in made.paths("common words")
    assert made.paths("common words", scopes=(Scope.USER,)) == ["user/me.md"]
    assert made.paths("common words", scopes=()) == []


@pytest.mark.field(12)
@pytest.mark.parametrize("project_id", ["my-group", "a b", "0b5ad7e0-1111-4222-8333-abcdefabcdef", 'NOT "x"'])
def test_a_project_id_is_never_parsed(tmp_path: Path, project_id: str) -> None:
    made = World(tmp_path, project_id=project_id).write(NOTES).build()
    assert made.paths("cherry") == ["cherry.md"]
    made.index.close()


@pytest.mark.field(128)
@pytest.mark.parametrize("status", [Status.RETRACTED, Status.SUPERSEDED])
def test_what_is_no_longer_current_disappears_at_once_and_stays_in_the_trace(world: Make, status: Status) -> None:
    made = world({**NOTES, "x.md": "---\nid: old-cherry\n---\n\nThe old cherry tree.\n"})
    assert "x.md" in [one.path for one in made.ask("cherry").fragments]
    made.states(1, **{"old-cherry": status.value})
    result, candidates = _both(made, "cherry")
    assert [one.path for one in result.fragments] == ["cherry.md"]
    old = next(one for one in candidates if one.path == "x.md")
    assert (old.status, old.exclusion_reason) == (status, ExclusionReason.NOT_CURRENT)


def test_a_retraction_between_recall_and_assembly_is_seen(world: Make) -> None:
    made: World | None = None

    def retract_meanwhile(query: str, texts: Sequence[str]) -> list[float]:
        assert made is not None
        made.states(1, cherry="retracted")
        return [1.0] * len(texts)

    made = world({"x.md": "---\nid: cherry\n---\n\nThe cherry tree.\n"}, reranker=FakeReranker(retract_meanwhile))
    result, candidates = _both(made, "cherry")
    assert not result.fragments
    assert candidates[0].exclusion_reason is ExclusionReason.NOT_CURRENT


@pytest.mark.spec("D5")
def test_a_block_that_changed_on_disk_is_left_out_only_where_verified_text_was_asked_for(world: Make) -> None:
    made = world(NOTES, block_reader=lambda unit: None if unit.path == "cherry.md" else b"as it was")
    assert made.ask("cherry").fragments
    (only,) = made.candidates("cherry", verify=True)
    assert only.exclusion_reason is ExclusionReason.SNAPSHOT_MISMATCH


# Context.


@pytest.mark.spec("D14")
@pytest.mark.field(114)
@pytest.mark.field(115)
@pytest.mark.field(117)
def test_the_same_question_again_sends_no_text(world: Make) -> None:
    made = world(NOTES)
    first = made.ask("cherry tree")
    again = made.ask("cherry tree", state=first.state)
    assert {one.delta_action for one in first.fragments} == {"add"}
    assert {(one.delta_action, one.text) for one in again.fragments} == {("reuse", None)}
    assert [one.unit_key for one in again.fragments] == [one.unit_key for one in first.fragments]
    assert (again.remove, again.state, again.budget) == ((), first.state, first.budget)


@pytest.mark.spec("D14")
@pytest.mark.field(116)
def test_edits_are_replaced_and_what_was_deleted_or_retracted_is_withdrawn(world: Make) -> None:
    made = world({**NOTES, "x.md": "---\nid: old-tree\n---\n\nThe oldest tree.\n"})
    first = made.ask("tree")
    made.write({"cherry.md": "# cherry\n\nThe cherry tree was felled.\n", "fig.md": "# fig\n\nNothing grows.\n"})
    (made.root / "apple.md").unlink()
    made.states(1, **{"old-tree": "retracted"})
    made.build()
    second = made.ask("tree", state=first.state)
    actions = {one.path: (one.delta_action, one.text is None) for one in second.fragments}
    assert actions["cherry.md"] == ("replace", False)
    assert actions["banana.md"] == ("reuse", True)
    reasons = {one.unit_key.partition(".")[0]: one.reason for one in second.remove}
    assert reasons == {"apple": "gone", "fig": "changed", "old-tree#@root": "not_current"} or set(reasons.values()) == {
        "gone",
        "changed",
        "not_current",
    }
    assert made.ask("tree", state=second.state).remove == ()


@pytest.mark.field(118)
@pytest.mark.field(121)
def test_a_long_session_keeps_its_state_bounded(world: Make) -> None:
    made = world(MANY)
    state, held = None, set()
    for number in range(60):
        result = made.ask(f"token{number}", state=state, limits={"state_units": 20})
        held -= {one.unit_key for one in result.remove}
        held |= {one.unit_key for one in result.fragments}
        state = result.state
        assert len(held) <= 20
        assert len(state) < 20 * 120


@pytest.mark.spec("D14")
def test_a_state_of_another_project_is_refused(tmp_path: Path) -> None:
    one, other = (World(tmp_path / name, project_id=name).write(NOTES).build() for name in ("one", "other"))
    with pytest.raises(WorkbenchError) as refused:
        other.ask("cherry", state=one.ask("cherry").state)
    assert (refused.value.code, refused.value.stage) == ("activation_state_invalid", "state")
    one.index.close()
    other.index.close()


# Readiness and engines.


def test_before_the_first_index_it_says_so(tmp_path: Path) -> None:
    made = World(tmp_path)
    with pytest.raises(WorkbenchError) as refused:
        made.ask("anything")
    assert refused.value.code == "index_preparing"
    made.index.close()


@pytest.mark.parametrize(
    ("query", "says"),
    [("", "empty"), (" \n\t", "empty"), ("a" * 5_000, "5000"), ("a\x00b", "NUL"), ("a\ud83d", "Unicode")],
)
def test_what_is_no_query_is_refused_by_name(world: Make, query: str, says: str) -> None:
    with pytest.raises(WorkbenchError, match=says) as refused:
        world(NOTES).ask(query)
    assert (refused.value.code, refused.value.stage) == ("invalid_query", "query")


def test_a_query_of_4096_characters_is_answered(world: Make) -> None:
    assert world(NOTES).paths(("cherry " * 1_000)[:4_096]) == ["cherry.md"]


@pytest.mark.field(76)
@pytest.mark.field(78)
@pytest.mark.field(79)
@pytest.mark.parametrize("dimension", [32, 48])
def test_another_engine_than_the_index_holds_means_words_and_says_so(world: Make, dimension: int) -> None:
    made = world(NOTES, embedder=FakeEmbedder(dimension, name="new"), patient=True)
    made.build(embedder=FakeEmbedder(32, name="old"))
    result, candidates = _both(made, "cherry")
    assert codes(result) == ["dense_not_ready"]
    assert result.index.engine == "old"
    assert [one.vector_score for one in candidates] == [None]


def test_an_engine_that_fails_means_words_for_this_query(world: Make) -> None:
    made = world(NOTES, embedder=FakeEmbedder(fail_after=len(NOTES)))
    result = made.ask("cherry")
    assert codes(result) == ["dense_unavailable"]
    assert result.fragments[0].path == "cherry.md"


class Slow(FakeEmbedder):
    """Loads only when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()

    def load(self) -> None:
        if self.state is not LoadState.READY and threading.current_thread().name == "model-loader":
            self.state = LoadState.LOADING
            self.let.wait(10)
        super().load()


def test_a_model_that_loads_too_long_means_words_by_the_deadline(world: Make) -> None:
    engine = Slow()
    made = world(NOTES, embedder=engine)
    engine.state = LoadState.ABSENT
    result = made.ask("cherry", deadline=Deadline.after_ms(400))
    assert codes(result) == ["model_preparing"]
    assert result.fragments[0].path == "cherry.md"
    engine.let.set()


def test_an_impatient_retriever_answers_while_the_model_loads(world: Make) -> None:
    engine = FakeEmbedder()
    made = world(NOTES, embedder=engine, patient=False)
    engine.state = LoadState.LOADING
    assert codes(made.ask("cherry")) == ["model_preparing"]
    engine.state = LoadState.READY
    assert codes(made.ask("cherry")) == []


def test_a_reranker_that_cannot_load_leaves_the_rrf_order(world: Make) -> None:
    class Missing(FakeReranker):
        def load(self) -> None:
            raise ModelError("model_missing", "Run `workbench models install minilm-l12-ce`.")

    result = world(NOTES, reranker=Missing()).ask("cherry tree")
    assert codes(result) == ["dense_unavailable", "rerank_unavailable"]
    assert result.ordering is Ordering.RRF


def test_reranking_can_be_declined(world: Make) -> None:
    reranker = FakeReranker()
    assert world(NOTES, reranker=reranker).ask("cherry", rerank=False).ordering is Ordering.RRF
    assert not reranker.calls


# Deadlines.


@pytest.mark.field(83)
def test_a_slow_reranker_gives_way_to_the_rrf_order_before_the_deadline(world: Make) -> None:
    class Sleepy(FakeReranker):
        def score(self, query: str, texts: Sequence[str], deadline: Deadline) -> list[float]:
            while True:
                deadline.check()
                time.sleep(0.005)

    made = world(NOTES, reranker=Sleepy())
    result = made.ask("cherry", deadline=Deadline.after_ms(800))
    assert codes(result) == ["dense_unavailable", "rerank_timeout"]
    assert result.fragments[0].path == "cherry.md"


@pytest.mark.field(18)
def test_a_deadline_that_has_come_is_an_error_with_its_stage(world: Make) -> None:
    with pytest.raises(WorkbenchError) as late:
        world(NOTES).ask("cherry", deadline=Deadline(at=0.0, clock=lambda: 1.0))
    assert (late.value.code, late.value.stage) == ("deadline_exceeded", "head")


def test_a_cancelled_activation_stops(world: Make) -> None:
    made, deadline = world(NOTES, embedder=FakeEmbedder()), Deadline.after_ms(60_000)
    deadline.cancel()
    with pytest.raises(WorkbenchError) as stopped:
        made.ask("cherry", deadline=deadline)
    assert stopped.value.code == "deadline_exceeded"


def test_a_deadline_within_recall_answers_with_what_was_found(world: Make) -> None:
    class Dawdling(FakeEmbedder):
        """Uses up the time kept for recall."""

        def encode_query(self, query: str, deadline: Deadline | None = None) -> Vectors:
            clock.now = 9.95
            return super().encode_query(query)

    class Clock:
        now = 0.0

        def __call__(self) -> float:
            return self.now

    clock = Clock()
    made = world(NOTES, embedder=Dawdling())
    result = made.ask("cherry", deadline=Deadline(at=10.0, clock=clock))
    assert codes(result) == ["dense_deadline"]
    assert result.fragments[0].path == "cherry.md"


# Revisions.


@pytest.mark.spec("D1")
def test_every_edit_is_answered_as_a_fresh_index_would(world: Make) -> None:
    engine = FakeEmbedder()
    made = world(NOTES, embedder=engine)
    made.ask("tree")
    for step in range(4):
        made.write({f"{TOPICS[step]}.md": f"A {TOPICS[step]} tree no {step}.", f"new{step}.md": f"tree {step} is new"})
        (made.root / f"{TOPICS[7 - step]}.md").unlink()
        made.build()
        texts = {str(path.relative_to(made.root)): path.read_text() for path in made.root.glob("*.md")}
        fresh = world(texts, embedder=engine)
        wanted = [(one.unit_key, one.bm25_score, one.vector_score) for one in fresh.candidates("a tree that is new")]
        assert [
            (one.unit_key, one.bm25_score, one.vector_score) for one in made.candidates("a tree that is new")
        ] == wanted


def test_an_index_made_anew_is_not_mixed_with_vectors_held_in_memory(world: Make) -> None:
    made = world(NOTES, embedder=FakeEmbedder())
    made.ask("cherry")
    made.index.close()
    for path in made.index.folder.glob("index.db*"):
        path.unlink()
    made.write({"cherry.md": "Another fruit altogether."}).build().build()
    fresh = world({path.name: path.read_text() for path in made.root.glob("*.md")}, embedder=FakeEmbedder())
    question = "another cherry tree"
    assert [(one.path, one.vector_score) for one in made.candidates(question)] == [
        (one.path, one.vector_score) for one in fresh.candidates(question)
    ]


def test_a_newer_memory_than_the_revision_is_called_stale(world: Make) -> None:
    made = world(NOTES)
    old = made.snapshot
    made.write({"new.md": "new"}).build()
    assert not made.ask("cherry", current=made.snapshot).index.stale
    assert made.ask("cherry", current=old).index.stale


def test_threads_ask_at_once_and_all_get_the_same_answer(world: Make) -> None:
    made = world(MANY, embedder=FakeEmbedder())
    answers: list[list[str]] = []
    threads = [
        threading.Thread(target=lambda: answers.append([one.unit_key for one in made.ask("shared words").fragments]))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 6
    assert all(answer == answers[0] for answer in answers)
