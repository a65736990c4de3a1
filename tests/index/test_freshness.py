"""Whether an index is what its memory is: every state as it comes about, and nothing built by looking."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.index.builds import build, snapshot_of, write
from workbench.core.deadline import Deadline
from workbench.core.errors import WorkbenchError
from workbench.index.freshness import HeadState, head_state, look_at
from workbench.models.base import Vectors
from workbench.models.fake import FakeEmbedder
from workbench.storage.project_index import ProjectIndex


def state_of(root: Path, index: ProjectIndex, engine: FakeEmbedder | None = None) -> HeadState:
    identity = engine.identity.digest if engine else None
    return head_state(look_at(index), snapshot_of(root, index), identity)


def test_an_index_is_none_then_current_then_behind_and_looking_builds_nothing(root: Path, index: ProjectIndex) -> None:
    assert state_of(root, index) is HeadState.NONE
    assert index.head() is None

    built = build(root, index, FakeEmbedder())
    assert state_of(root, index, FakeEmbedder()) is HeadState.CURRENT

    write(root, {"notes/new.md": "# New\n\nArrived.\n"})
    assert state_of(root, index) is HeadState.BEHIND
    head = index.head()
    assert head is not None and head.revision_id == built.revision


def test_a_status_that_changed_puts_an_index_behind(root: Path, index: ProjectIndex) -> None:
    build(root, index)
    states = '{"format": "memory-state-1", "record_state_version": 1, "states": {"user/tea": {"status": "retracted"}}}'
    write(root, {".memory/state.json": states.replace("user/tea", "user/tea.md")})

    assert state_of(root, index) is HeadState.BEHIND


def test_another_engine_puts_an_index_behind_even_before_the_memory_is_looked_at(
    root: Path, index: ProjectIndex
) -> None:
    build(root, index, FakeEmbedder())
    other = FakeEmbedder(name="other")

    assert state_of(root, index, other) is HeadState.BEHIND
    assert head_state(look_at(index), None, other.identity.digest) is HeadState.BEHIND
    assert head_state(look_at(index), None, FakeEmbedder().identity.digest) is HeadState.UNKNOWN


def test_a_failed_build_is_said_until_one_succeeds(root: Path, index: ProjectIndex) -> None:
    build(root, index, FakeEmbedder())
    write(root, {"notes/new.md": "# New\n\nArrived.\n"})
    with pytest.raises(WorkbenchError):
        build(root, index, FakeEmbedder(fail_after=0))

    assert state_of(root, index) is HeadState.FAILED
    assert "The fake engine was told to fail here." in (look_at(index).error or "")

    build(root, index, FakeEmbedder())
    assert state_of(root, index) is HeadState.CURRENT
    assert look_at(index).error is None


def test_a_build_under_way_is_said_while_the_old_head_answers(root: Path, index: ProjectIndex) -> None:
    head = build(root, index, FakeEmbedder()).revision
    write(root, {"notes/new.md": "# New\n\nArrived.\n"})
    seen = []

    class Watched(FakeEmbedder):
        def encode_passages(self, inputs: Sequence[str], deadline: Deadline | None = None) -> Vectors:
            look = look_at(index)
            assert look.head is not None and look.head.revision_id == head
            seen.append(head_state(look, None, None))
            return super().encode_passages(inputs, deadline)

    build(root, index, Watched())

    assert seen == [HeadState.BUILDING]
