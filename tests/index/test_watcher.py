"""The watcher in real folders: what any program does to a memory is noticed, what cannot change it is not."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.index.builds import write
from workbench.index.watcher import Watcher, is_relevant

PATIENCE_S = 30.0


class Watched:
    """A running watcher, and how often it noticed each root."""

    def __init__(self) -> None:
        self.notices: Counter[Path] = Counter()
        self.watcher = Watcher(lambda root: self.notices.update([root]))

    def until(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < end, f"nothing happened in time: {self.notices}"
            time.sleep(0.02)

    def until_noticed(self, root: Path, change: Callable[[], object]) -> None:
        before = self.notices[root]
        change()
        self.until(lambda: self.notices[root] > before)


@contextmanager
def watching(*roots: Path) -> Iterator[Watched]:
    """A watcher that has noticed every root that stands."""
    watched = Watched()
    for root in roots:
        watched.watcher.add(root)
    watched.watcher.start()
    try:
        watched.until(lambda: all(watched.notices[root] for root in roots if root.exists()))
        yield watched
    finally:
        watched.watcher.stop()


def edit(root: Path) -> None:
    write(root, {"notes/rust.md": "# Rust\n\nEdited.\n"})


def replace_as_editors_do(root: Path) -> None:
    write(root, {"notes/.rust.md.swp": "# Rust\n\nSaved by an editor.\n"})
    (root / "notes/.rust.md.swp").replace(root / "notes/rust.md")


CHANGES: dict[str, Callable[[Path], object]] = {
    "an edit": edit,
    "a file replaced in one step": replace_as_editors_do,
    "a deletion": lambda root: (root / "user/tea.md").unlink(),
    "a rename": lambda root: (root / "user/tea.md").rename(root / "user/green.md"),
    "a folder that is moved away": lambda root: shutil.move(root / "notes", root.parent / "elsewhere"),
    "a folder that is deleted": lambda root: shutil.rmtree(root / "notes"),
    "a new file in a new folder": lambda root: write(root, {"new/deep/page.md": "# New\n"}),
    "a change of status": lambda root: write(root, {".memory/state.json": "{}"}),
    "a change of layers": lambda root: write(root, {"memory.toml": "[layers]\n"}),
    "a change of what is ignored": lambda root: write(root, {"notes/.gitignore": "*.md\n"}),
    "a name in another case": lambda root: write(root, {"notes/RUST.md": "# Rust\n\nA twin.\n"}),
}


@pytest.mark.field(43, 50)
@pytest.mark.parametrize("change", CHANGES)
def test_it_is_noticed(root: Path, change: str) -> None:
    with watching(root) as watched:
        watched.until_noticed(root, lambda: CHANGES[change](root))


@pytest.mark.field(46)
def test_every_root_is_noticed_at_the_start_and_when_it_is_added(root: Path, tmp_path: Path) -> None:
    later = tmp_path / "later"
    write(later, {"a.md": "# A\n"})
    with watching(root) as watched:
        assert watched.watcher.state(root) == "watching"
        watched.until_noticed(later, lambda: watched.watcher.add(later))
        watched.until_noticed(root, lambda: edit(root))
        watched.until_noticed(later, lambda: write(later, {"a.md": "# A\n\nEdited.\n"}))


@pytest.mark.field(42)
def test_a_root_that_vanishes_and_comes_back_is_noticed_and_followed_again(root: Path, tmp_path: Path) -> None:
    with watching(root) as watched:
        root.rename(tmp_path / "away")
        watched.until(lambda: watched.watcher.state(root) == "away")
        watched.until_noticed(root, lambda: (tmp_path / "away").rename(root))
        watched.until(lambda: watched.watcher.state(root) == "watching")
        watched.until_noticed(root, lambda: edit(root))


def test_a_root_that_is_not_there_yet_is_noticed_when_it_comes(tmp_path: Path) -> None:
    with watching(tmp_path / "later") as watched:
        assert watched.watcher.state(tmp_path / "later") == "away"
        watched.until_noticed(tmp_path / "later", lambda: write(tmp_path / "later", {"a.md": "# A\n"}))


def test_a_burst_of_files_is_a_few_notices(root: Path) -> None:
    with watching(root) as watched:
        watched.until_noticed(root, lambda: write(root, {f"burst/{n}.md": f"# {n}\n" for n in range(500)}))
        time.sleep(0.5)

        assert watched.notices[root] < 50


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("notes/rust.md", True),
        ("notes/RUST.MARKDOWN", True),
        ("notes", True),
        ("notes/gone-folder", True),
        (".memory/state.json", True),
        (".memory", True),
        (".memory/journal/1.json", False),
        (".memory/gate.lock", False),
        (".git/index", False),
        (".git/gone", False),
        ("notes/.rust.md.swp", False),
        ("notes/picture.png", False),
        ("node_modules/package/readme.md", False),
        ("notes/memory.toml", False),
        ("../elsewhere/page.md", False),
    ],
)
def test_only_what_can_change_the_memory_is_relevant(root: Path, name: str, expected: bool) -> None:
    write(root, {"notes/picture.png": "", "notes/memory.toml": ""})
    path = root.parent / name.removeprefix("../") if name.startswith("../") else root / name

    assert is_relevant(root, path) is expected
