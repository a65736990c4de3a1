from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from tests.index.builds import build, bytes_on_disk, check_integrity, contents, snapshot_of, write
from workbench.core.deadline import Deadline
from workbench.core.errors import ModelError, NotReady, WorkbenchError
from workbench.core.resource import Scope
from workbench.index.builder import build_index
from workbench.index.encoding import Passage
from workbench.memory.snapshot import SourceMoved
from workbench.models.fake import FakeEmbedder
from workbench.storage.project_index import ProjectIndex

LONG = "\n\n".join(f"## Part {number}\n\n" + f"word{number} " * 200 for number in range(3))


def state_file(root: Path, statuses: str) -> None:
    write(root, {".memory/state.json": statuses})


@pytest.mark.spec("D1")
def test_a_reader_opened_before_a_publication_sees_the_old_head_to_its_end(root: Path, index: ProjectIndex) -> None:
    build(root, index, FakeEmbedder())
    with index.reader() as before:
        write(root, {"notes/rust.md": "# Rust\n\nRewritten entirely.\n", "notes/new.md": "# New\n\nArrived.\n"})
        build(root, index, FakeEmbedder())
        assert before.revision is not None
        assert before.postings(["owner"]).keys() == {"owner"}
        assert before.postings(["arriv"]) == {}
        assert len(before.vectors(before.revision.engine_identity or "")[0]) == before.revision.unit_count
        with index.reader() as after:
            assert after.postings(["owner"]) == {}
            assert after.postings(["arriv"]).keys() == {"arriv"}


@pytest.mark.spec("T2-1")
def test_only_new_inputs_reach_the_encoder(root: Path, index: ProjectIndex) -> None:
    embedder = FakeEmbedder()
    first = build(root, index, embedder)
    assert len(embedder.inputs) == first.units == first.encoded
    build(root, index, embedder)
    assert len(embedder.inputs) == first.units
    write(root, {"notes/one.md": "# One\n\nAlpha.\n", "notes/two.md": "# Two\n\nBeta.\n"})
    report = build(root, index, embedder)
    assert report.encoded == report.units_added == 2
    assert sorted(text.rsplit("\n")[-1] for text in embedder.inputs[first.units :]) != []
    assert len(embedder.inputs) == first.units + 2


@pytest.mark.spec("T2-2")
def test_editing_the_last_of_three_blocks_encodes_one_input(root: Path, index: ProjectIndex) -> None:
    write(root, {"notes/long.md": f"# Long\n\n{LONG}\n"})
    embedder = FakeEmbedder()
    build(root, index, embedder)
    before = len(embedder.inputs)
    write(root, {"notes/long.md": f"# Long\n\n{LONG} changed\n"})
    build(root, index, embedder)
    assert len(embedder.inputs) == before + 1
    assert embedder.inputs[-1].endswith("changed")


@pytest.mark.spec("T2-2")
def test_units_renumbered_by_an_edit_above_them_are_not_encoded_again(root: Path, index: ProjectIndex) -> None:
    same = "## Same\n\n" + "repeated " * 200
    write(root, {"notes/long.md": f"# Long\n\n{same} first\n\n{same} second\n\n{same} third\n"})
    embedder = FakeEmbedder()
    build(root, index, embedder)
    before = len(embedder.inputs)
    write(root, {"notes/long.md": f"# Long\n\n{same} first\n\n{same} new\n\n{same} second\n\n{same} third\n"})
    build(root, index, embedder)
    assert [text.rsplit(maxsplit=1)[-1] for text in embedder.inputs[before:]] == ["new"]


@pytest.mark.spec("T2-3")
@pytest.mark.field(78)
def test_engines_of_one_dimension_never_share_a_vector(root: Path, index: ProjectIndex) -> None:
    first, second = FakeEmbedder(name="first"), FakeEmbedder(name="second")
    report = build(root, index, first)
    build(root, index, second)
    assert second.inputs == first.inputs
    with index.reader() as reader:
        assert len(reader.vectors(second.identity.digest)[0]) == report.units
        assert len(reader.vectors(first.identity.digest)[0]) == 0


def test_a_head_whose_encoder_inputs_follow_another_rule_is_encoded_again(root: Path, index: ProjectIndex) -> None:
    first = build(root, index, FakeEmbedder())
    as_built = contents(index)
    with closing(sqlite3.connect(index.path)) as connection, connection:
        connection.execute("UPDATE search_revisions SET input_version = 'input-0'")
        connection.execute("UPDATE search_vector_cache SET input_hash = randomblob(32), vector = zeroblob(4 * 32)")

    report = build(root, index, FakeEmbedder())

    assert (report.published, report.encoded) == (True, first.encoded)
    assert contents(index) == as_built


def test_going_back_to_the_last_engine_encodes_nothing(root: Path, index: ProjectIndex) -> None:
    first = FakeEmbedder(name="first")
    build(root, index, first)
    before = contents(index)
    build(root, index, FakeEmbedder(name="second"))
    asked = len(first.inputs)
    report = build(root, index, first)
    assert len(first.inputs) == asked
    assert report.reused == report.units
    assert contents(index) == before


@pytest.mark.spec("T2-4")
@pytest.mark.field(43)
@pytest.mark.field(45)
def test_what_is_deleted_is_not_found_and_encodes_nothing(root: Path, index: ProjectIndex) -> None:
    embedder = FakeEmbedder()
    build(root, index, embedder)
    before = len(embedder.inputs)
    (root / "notes/rust.md").unlink()
    build(root, index, embedder)
    assert len(embedder.inputs) == before
    with index.reader() as reader:
        assert reader.postings(["owner", "borrow"]) == {}
        assert reader.identity("notes/rust.md", 10, None) == []
        assert reader.resource("notes/rust.md") is None
        assert reader.terms_containing("orrow", 10) == []


@pytest.mark.field(60)
@pytest.mark.parametrize("trigram", [False, True])
def test_tables_stay_sound_after_churn(root: Path, index: ProjectIndex, trigram: bool) -> None:
    embedder = FakeEmbedder()
    for turn in range(6):
        write(root, {"notes/churn.md": f"# Churn {turn}\n\nthe turn number {turn}\n"})
        if turn % 2:
            (root / "notes/churn.md").unlink()
        build(root, index, embedder, trigram=trigram)
        check_integrity(index)


@pytest.mark.field(56)
@pytest.mark.parametrize("trigram", [False, True])
def test_deleted_text_leaves_the_disk(root: Path, index: ProjectIndex, trigram: bool) -> None:
    write(root, {"notes/secret.md": "# Safe\n\nthe code is xyzzyplugh\n"})
    build(root, index, trigram=trigram)
    assert b"xyzzyplugh" in bytes_on_disk(index)
    write(root, {"notes/secret.md": "# Safe\n\nthe code was removed\n"})
    build(root, index, trigram=trigram)
    assert b"xyzzyplugh" not in bytes_on_disk(index)


@pytest.mark.field(56)
def test_the_file_shrinks_when_most_of_the_memory_goes(root: Path, index: ProjectIndex) -> None:
    write(root, {f"notes/{number}.md": f"# {number}\n\n" + f"filler{number} " * 300 for number in range(300)})
    build(root, index)
    full = index.path.stat().st_size
    for number in range(300):
        (root / f"notes/{number}.md").unlink()
    build(root, index)
    assert index.path.stat().st_size < full / 4


@pytest.mark.spec("D2")
def test_the_old_head_answers_when_the_engine_fails_and_what_it_encoded_is_kept(
    root: Path, index: ProjectIndex
) -> None:
    build(root, index)
    before = contents(index)
    write(root, {f"notes/{number}.md": f"# {number}\n\nText {number}.\n" for number in range(600)})
    failing = FakeEmbedder(fail_after=300)
    with pytest.raises(WorkbenchError) as caught:
        build(root, index, failing)
    assert (caught.value.code, caught.value.stage) == ("index_build_failed", "encode")
    assert contents(index) == before
    assert index.last_error() == caught.value.message
    working = FakeEmbedder()
    report = build(root, index, working)
    assert report.encoded + report.reused == report.units
    assert report.reused >= 256
    assert index.last_error() is None


@pytest.mark.spec("D2")
@pytest.mark.parametrize("phase", ["encode", "publish", "encode_kept"])
def test_a_build_that_is_stopped_leaves_the_old_head_and_says_so(root: Path, index: ProjectIndex, phase: str) -> None:
    build(root, index, FakeEmbedder(name="before"))
    before, deadline = contents(index), Deadline.after_ms(600_000)
    write(root, {f"notes/{number}.md": f"# {number}\n\nText {number}.\n" for number in range(5)})

    def cancel(at: str, done: int, total: int) -> None:
        if at == phase:
            deadline.cancel()

    embedder = FakeEmbedder(name="after")
    with pytest.raises(WorkbenchError, match="stopped") as stopped:
        build(root, index, embedder, deadline=deadline, progress=cancel)

    assert stopped.value.code == "index_build_failed" and "stopped" in (index.last_error() or "")
    assert contents(index) == before
    assert build(root, index, embedder).published


def test_a_missing_model_is_named_as_such(root: Path, index: ProjectIndex) -> None:
    class Missing(FakeEmbedder):
        def fit_passage(self, path: str, heading_path: object, text: str) -> str:
            raise ModelError("model_missing", "Run `workbench models install e5-small`.")

    with pytest.raises(ModelError) as caught:
        build(root, index, Missing())
    assert caught.value.code == "model_missing"


@pytest.mark.field(80)
def test_vectors_that_are_not_normalised_never_reach_the_head(root: Path, index: ProjectIndex) -> None:
    class Long(FakeEmbedder):
        def encode_passages(self, inputs: object, deadline: object = None) -> object:
            return super().encode_passages(inputs, deadline) * 2  # type: ignore[arg-type]

    with pytest.raises(WorkbenchError, match="length 1"):
        build(root, index, Long())  # type: ignore[arg-type]
    assert index.head() is None


@pytest.mark.field(49)
def test_a_file_edited_during_a_build_stops_it_and_is_read_again(root: Path, index: ProjectIndex) -> None:
    build(root, index)
    write(root, {"notes/rust.md": "# Rust\n\nThe text as captured.\n"})
    captured = snapshot_of(root, index)
    write(root, {"notes/rust.md": "# Rust\n\nThe text as edited since, which is longer.\n"})
    report = None
    try:
        report = build_index(index, captured, None)
    except SourceMoved:
        build(root, index)
    else:
        assert report.published
        build(root, index)
    with index.reader() as reader:
        resource = reader.resource("notes/rust.md")
    assert resource is not None
    assert "edited since" in resource.body


def test_lexical_first_lets_a_revision_without_vectors_answer_meanwhile(root: Path, index: ProjectIndex) -> None:
    seen: list[tuple[str, ...]] = []

    class Watching(FakeEmbedder):
        def encode_passages(self, inputs: object, deadline: object = None) -> object:
            head = index.head()
            seen.append(head.arms if head else ())
            return super().encode_passages(inputs, deadline)  # type: ignore[arg-type]

    report = build(root, index, Watching(), lexical_first=True)  # type: ignore[arg-type]
    assert seen == [("identity", "words")]
    assert report.arms == ("identity", "words", "dense")
    assert report.encoded == report.units


def test_without_reuse_every_unit_is_encoded_anew(root: Path, index: ProjectIndex) -> None:
    first = build(root, index, FakeEmbedder())
    before = contents(index)
    write(root, {"notes/new.md": "# New\n\nArrived.\n"})
    again = FakeEmbedder()
    report = build(root, index, again, reuse=False)
    assert len(again.inputs) == report.units == first.units + 1
    (root / "notes/new.md").unlink()
    build(root, index, FakeEmbedder(), reuse=False)
    assert contents(index) == before


@pytest.mark.spec("T2-8")
def test_the_encoder_gets_exactly_the_planned_inputs(root: Path, index: ProjectIndex) -> None:
    embedder = FakeEmbedder()
    build(root, index, embedder)
    with index.reader() as reader:
        units = reader.units(range(1, 100)).values()
    passages = [Passage.of(one.unit_key, one.path, one.title, one.heading_path, one.text) for one in units]
    planned = {embedder.fit_passage(one.path, one.headings, one.text) for one in passages}
    assert sorted(embedder.inputs) == sorted(planned)


def test_a_second_builder_is_told_that_the_index_is_busy(root: Path, index: ProjectIndex) -> None:
    with index.build_lock(0), pytest.raises(NotReady) as caught:
        ProjectIndexBuild(root, index).run()
    assert caught.value.code == "index_busy"


class ProjectIndexBuild:
    """A build in another thread, since an OS lock of one thread's process can be taken again by it."""

    def __init__(self, root: Path, index: ProjectIndex) -> None:
        self._root, self._index = root, index
        self._error: BaseException | None = None

    def run(self) -> None:
        thread = threading.Thread(target=self._build)
        thread.start()
        thread.join()
        if self._error:
            raise self._error

    def _build(self) -> None:
        try:
            build(self._root, self._index, wait_s=0)
        except NotReady as error:
            self._error = error


def test_a_touched_file_is_stamped_again_without_a_new_revision(root: Path, index: ProjectIndex) -> None:
    first = build(root, index)
    (root / "notes/rust.md").touch()
    second = build(root, index)
    assert (second.published, second.revision) == (False, first.revision)
    assert snapshot_of(root, index).changes.changed == frozenset()


@pytest.mark.field(50)
def test_a_moved_file_with_an_id_of_its_own_keeps_it(root: Path, index: ProjectIndex) -> None:
    write(root, {"notes/a.md": "---\nid: plan\n---\n# Plan\n\nA plan.\n"})
    build(root, index)
    (root / "notes/a.md").rename(root / "notes/b.md")
    build(root, index)
    with index.reader() as reader:
        resource = reader.resource("plan")
        assert resource is not None
        assert resource.source_ref == "notes/b.md"
        assert reader.identity("notes/a.md", 10, None) == []
        assert len(reader.identity("plan", 10, None)) == 1


@pytest.mark.field(62)
def test_the_end_of_a_long_note_is_found(root: Path, index: ProjectIndex) -> None:
    write(root, {"notes/long.md": "# Long\n\n" + "hay " * 20_000 + "needle\n"})
    build(root, index)
    with index.reader() as reader:
        (rowid,) = reader.postings(["needl"])["needl"].rowids.tolist()
        assert "needle" in reader.units([rowid])[rowid].text


@pytest.mark.field(59)
def test_reading_writes_nothing(root: Path, index: ProjectIndex) -> None:
    build(root, index, FakeEmbedder())
    before = index.path.read_bytes()
    for _ in range(3):
        with index.reader() as reader:
            reader.postings(["tea"])
            reader.identity("notes/rust.md", 10, None)
            reader.units(range(1, 10))
    assert index.path.read_bytes() == before


def test_scope_limits_hold_inside_the_identity_arm(root: Path, index: ProjectIndex) -> None:
    build(root, index)
    with index.reader() as reader:
        assert len(reader.identity("user/tea.md", 10, [Scope.USER])) == 1
        assert reader.identity("user/tea.md", 10, [Scope.PROJECT]) == []
