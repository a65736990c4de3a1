"""Two indexes of one project, brought together by pages: in any order, twice, or not at all, never by half."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.index.builds import PROJECT, build, contents, snapshot_of, write
from tests.index.conftest import NOTES
from workbench.core.errors import InputError, NotReady, WorkbenchError
from workbench.index.receiving import Receiver
from workbench.index.transfer import Page, Receipt, Sender
from workbench.memory.snapshot import MemorySnapshot
from workbench.models.fake import FakeEmbedder
from workbench.storage.project_index import ProjectIndex

EDIT = {"notes/rust.md": "# Rust\n\nRewritten.\n", "notes/new.md": "# New\n\nArrived.\n"}


class Ends:
    """A memory with its own index, and a second index that only pages reach. sent: every page, as JSON and back."""

    def __init__(self, root: Path, folder: Path, **how: int) -> None:
        self.root, self.embedder = root, FakeEmbedder()
        self.near, self.far = ProjectIndex(folder / "near", PROJECT), ProjectIndex(folder / "far", PROJECT)
        self.sender, self.receiver = Sender(**how), Receiver(self.far, self.embedder)
        self.sent: list[Page] = []

    def snapshot(self) -> MemorySnapshot:
        """The memory as it is now, indexed at the near end."""
        build(self.root, self.near, FakeEmbedder())
        return snapshot_of(self.root, self.near)

    def receive(self, page: Page) -> Receipt:
        self.sent.append(Page.model_validate_json(page.model_dump_json()))
        return Receipt.model_validate_json(self.receiver.receive(self.sent[-1]).model_dump_json())

    def deliver(self) -> Receipt:
        self.sent.clear()
        return self.sender.deliver(self.snapshot(), self.receive)

    def edit(self) -> None:
        """One source changed, one new, one gone, one resource retracted."""
        write(self.root, EDIT)
        (self.root / "user/tea.md").unlink()
        retract(self.root, "notes/花名.md")

    def assert_equal(self) -> None:
        assert contents(self.far) == contents(self.near)


def retract(root: Path, *resource_ids: str, version: int = 1) -> None:
    states = ", ".join(f'"{one}": {{"status": "retracted"}}' for one in resource_ids)
    document = f'{{"format": "memory-state-1", "record_state_version": {version}, "states": {{{states}}}}}'
    write(root, {".memory/state.json": document})


@pytest.fixture
def ends(root: Path, tmp_path: Path) -> Ends:
    return Ends(root, tmp_path)


@pytest.fixture
def paged(root: Path, tmp_path: Path) -> Ends:
    """With one source a page."""
    return Ends(root, tmp_path, page_bytes=1)


@pytest.mark.spec("T2-7")
def test_the_first_transfer_is_full_and_the_next_sends_what_changed_only(ends: Ends) -> None:
    assert ends.deliver().outcome == "published"
    ends.assert_equal()
    encoded = len(ends.embedder.inputs)

    ends.edit()
    receipt = ends.deliver()

    assert (receipt.outcome, [page.full for page in ends.sent]) == ("published", [False])
    texts = [upsert.stamp.source.source_ref for page in ends.sent for upsert in page.upserts if upsert.cuts]
    assert texts == ["notes/new.md", "notes/rust.md", "notes/花名.md"], "the last one holds what was retracted"
    assert [stamp.source.source_ref for stamp in ends.sent[0].tombstones] == ["user/tea.md"]
    assert len(ends.embedder.inputs) == encoded + 2
    ends.assert_equal()


@pytest.mark.spec("T2-7")
def test_switched_off_everything_is_sent_every_time(root: Path, tmp_path: Path) -> None:
    ends = Ends(root, tmp_path, delta=False)
    ends.deliver()
    ends.edit()

    assert ends.deliver().outcome == "published"
    assert [page.full for page in ends.sent] == [True]
    ends.assert_equal()


@pytest.mark.spec("T2-7")
def test_a_base_that_does_not_match_is_refused_and_answered_by_one_full_transfer(paged: Ends) -> None:
    paged.deliver()
    write(paged.root, {"notes/elsewhere.md": "# Elsewhere\n\nSent by somebody else.\n"})
    other = Sender(page_bytes=1)
    other.deliver(paged.snapshot(), paged.receiver.receive)
    paged.edit()

    receipt = paged.deliver()

    assert receipt.outcome == "published"
    assert [page.full for page in paged.sent].index(True) == 1, "one page was refused, then everything came"
    assert len({page.transaction for page in paged.sent}) == 2
    paged.assert_equal()


@pytest.mark.spec("T2-7")
def test_a_transaction_that_is_replayed_changes_nothing_now_or_after_an_undo(paged: Ends) -> None:
    paged.deliver()
    original = {name: (paged.root / name).read_text(encoding="utf-8") for name in ("notes/rust.md", "user/tea.md")}
    paged.edit()
    paged.deliver()
    replayed, after = list(paged.sent), contents(paged.far)
    head = paged.far.head()

    assert {paged.receiver.receive(page).outcome for page in replayed} == {"present"}
    assert (contents(paged.far), paged.far.head()) == (after, head)

    write(paged.root, original)
    (paged.root / "notes/new.md").unlink()
    retract(paged.root, version=2)
    paged.deliver()
    undone = contents(paged.far)

    assert {paged.receiver.receive(page).outcome for page in replayed} == {"refused"}
    assert {Receiver(paged.far, paged.embedder).receive(page).outcome for page in replayed} == {"refused"}
    assert contents(paged.far) == undone


@pytest.mark.spec("T2-7")
def test_with_a_page_missing_nothing_is_published_and_the_page_completes_it(paged: Ends) -> None:
    paged.deliver()
    before = contents(paged.far)
    paged.edit()
    first, *rest = paged.sender.pages(paged.snapshot())
    assert rest

    receipts = [paged.receiver.receive(page) for page in rest]

    assert {receipt.outcome for receipt in receipts} == {"waiting"}
    assert receipts[-1].missing == (1,)
    assert contents(paged.far) == before
    assert paged.receiver.receive(first).outcome == "published"
    paged.assert_equal()


@pytest.mark.spec("T2-7")
@settings(max_examples=8)
@given(chance=st.randoms(use_true_random=False), lost=st.floats(0, 0.6))
def test_in_any_order_twice_or_lost_the_far_end_is_whole_before_and_after(chance: random.Random, lost: float) -> None:
    with _ends() as ends:
        ends.deliver()
        before = contents(ends.far)
        ends.edit()
        pages = list(ends.sender.pages(ends.snapshot()))
        arriving = [page for page in chance.choices(pages, k=2 * len(pages)) if chance.random() >= lost]
        come: set[int] = set()
        for page in arriving:
            outcome = ends.receiver.receive(page).outcome
            whole = come == {one.number for one in pages}
            come.add(page.number)
            complete = come == {one.number for one in pages}
            assert outcome == ("present" if whole else "published" if complete else "waiting")
            assert contents(ends.far) == (contents(ends.near) if complete else before)


@pytest.mark.spec("T2-7")
@settings(max_examples=8)
@given(data=st.data())
def test_after_any_edits_both_ends_hold_the_same(data: st.DataObject) -> None:
    names = ["notes/a.md", "notes/b.md", "user/c.md", "log/d.md"]
    with _ends() as ends:
        for version in range(1, data.draw(st.integers(1, 4)) + 1):
            for name in data.draw(st.lists(st.sampled_from(names))):
                text = data.draw(
                    st.sampled_from(["# A\n\none\n", "# B\n\ntwo\n", "---\nid: x\n---\n# C\n\nthree\n", ""])
                )
                (ends.root / name).unlink(missing_ok=True) if not text else write(ends.root, {name: text})
            retract(ends.root, *data.draw(st.sets(st.sampled_from([*names, "x"]))), version=version)
            if data.draw(st.booleans()):
                ends.sender = Sender(page_bytes=1)
            assert ends.deliver().outcome in ("published", "present")
            ends.assert_equal()


def test_a_resource_that_is_current_again_comes_with_its_text(ends: Ends) -> None:
    retract(ends.root, "notes/rust.md")
    ends.deliver()
    retract(ends.root, version=2)

    assert ends.deliver().outcome == "published"
    assert [page.full for page in ends.sent] == [False]
    ends.assert_equal()


def test_what_is_not_what_the_sender_named_is_refused_by_name(ends: Ends) -> None:
    (page,) = ends.sender.pages(ends.snapshot())
    other = page.upserts[0].model_copy(update={"cuts": page.upserts[1].cuts})
    swapped = page.model_copy(update={"upserts": (other, *page.upserts[1:])})
    fewer = page.model_copy(update={"upserts": page.upserts[1:]})

    for wrong in (swapped, fewer):
        with pytest.raises(WorkbenchError, match="is not what the sender named"):
            ends.receiver.receive(wrong)
        assert ends.far.head() is None
    with pytest.raises(InputError, match="not elsewhere"):
        ends.receiver.receive(page.model_copy(update={"project_id": "elsewhere"}))
    assert ends.receiver.receive(page).outcome == "published"


def test_an_end_that_somebody_else_keeps_moving_is_reported_and_not_fought_over(ends: Ends) -> None:
    snapshot = ends.snapshot()

    def refuse(page: Page) -> Receipt:
        ends.sent.append(page)
        return Receipt(outcome="refused", base=page.base)

    with pytest.raises(NotReady) as busy:
        ends.sender.deliver(snapshot, refuse)

    assert busy.value.code == "index_busy" and len(ends.sent) == 2


@contextmanager
def _ends() -> Iterator[Ends]:
    """Ends of their own for every example, with one source a page."""
    with TemporaryDirectory() as folder:
        root = Path(folder) / "memory"
        write(root, NOTES)
        yield Ends(root, Path(folder), page_bytes=1)
