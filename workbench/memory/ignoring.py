"""What `.gitignore` and `.ignore` files exclude, the nested ones too, with git's precedence.

A deeper file beats a shallower one, a later line an earlier one, and `.ignore` the `.gitignore` beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".ignore")


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules that hold in one folder: its own on top of those of the folders above it."""

    levels: tuple[tuple[int, GitIgnoreSpec], ...] = ()

    def entering(self, folder_ref: str, folder: str, names: list[str]) -> IgnoreRules:
        """The rules inside a folder. folder_ref: its path from the root, ending in `/`; names: the files it holds."""
        present = [name for name in IGNORE_FILES if name in names]
        if not present:
            return self
        lines = [line for name in present for line in _lines(Path(folder, name))]
        return IgnoreRules(((len(folder_ref), _compile(lines)), *self.levels))

    def excludes(self, ref: str) -> bool:
        """Whether a path from the root is excluded; a folder's path ends in `/`."""
        for start, spec in self.levels:
            decided = spec.check_file(ref[start:]).include
            if decided is not None:
                return decided
        return False


def _lines(path: Path) -> list[str]:
    """The lines of an ignore file; none when it is unreadable or a symbolic link (as in git)."""
    try:
        return [] if path.is_symlink() else path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError:
        return []


def _compile(lines: list[str]) -> GitIgnoreSpec:
    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:
        return GitIgnoreSpec.from_lines([line for line in lines if _is_pattern(line)])


def _is_pattern(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
