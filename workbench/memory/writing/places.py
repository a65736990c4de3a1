"""Where on the disk a source_ref stands, or would stand; refuses every place that memory is not read from."""

from __future__ import annotations

import os
import stat
import unicodedata
from pathlib import Path
from typing import NamedTuple

from workbench.core.hashing import sha256_hex
from workbench.core.resource import Layer
from workbench.core.text import is_valid_unicode
from workbench.markdown.errors import UnreadableSource
from workbench.memory.ignoring import IgnoreRules
from workbench.memory.journal import may_be_written
from workbench.memory.layout import Layout
from workbench.memory.reading import VANISHED, read_stable
from workbench.memory.scan import SKIPPED_FOLDERS, is_within, ref_of

_MOST_BYTES = 1 << 30
_ANYBODY_WRITES = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class Place(NamedTuple):
    """path: relative to the root, without links. held: the bytes there now; None when there is no file."""

    path: str
    layer: Layer
    held: bytes | None

    @property
    def digest(self) -> str | None:
        """sha256 of the bytes there now."""
        return None if self.held is None else sha256_hex(self.held)


class Misplaced(ValueError):
    """No source can stand there; the text says why."""


def find_place(root: Path, layout: Layout, source_ref: str) -> Place:
    """The place of a source. A link inside the root is followed; one of two equal names is never guessed.

    Raises: `Misplaced`.
    """
    parts = _parts(source_ref)
    layer = layout.layer_of(source_ref)
    if layer is None:
        raise Misplaced("memory.toml wants no such file, or it does not end in .md or .markdown")
    path = _descend(os.path.realpath(root), parts)
    within = os.path.relpath(path, os.path.realpath(root))
    if not may_be_written(within):
        raise Misplaced(f"a link leads to {within}, which is hidden or no Markdown file")
    return Place(within, layer, read_held(Path(path)))


def _parts(source_ref: str) -> list[str]:
    parts = source_ref.split("/")
    if not is_valid_unicode(source_ref) or "\x00" in source_ref or "\\" in source_ref:
        raise Misplaced("it holds characters that no source_ref has")
    if unicodedata.normalize("NFC", source_ref) != source_ref:
        raise Misplaced("it is not in Unicode NFC")
    if not all(parts) or ".." in parts or "." in parts:
        raise Misplaced("give a path relative to the memory root, without `..`")
    if any(part.startswith(".") or part in SKIPPED_FOLDERS for part in parts):
        raise Misplaced("hidden folders, hidden files and node_modules are not memory")
    return parts


def _descend(root: str, parts: list[str]) -> str:
    """The real path, from folder to folder, by the names that the folders really hold."""
    folder, ref, rules = root, "", IgnoreRules()
    for depth, part in enumerate(parts, start=1):
        names = _names(folder)
        rules = rules.entering(ref, folder, names)
        folder = os.path.realpath(f"{folder.rstrip(os.sep)}{os.sep}{_name_of(part, names)}")
        ref += part if depth == len(parts) else f"{part}/"
        if rules.excludes(ref):
            raise Misplaced("an ignore file excludes it")
        if not is_within(folder, root):
            raise Misplaced("a link leads out of the memory root")
    return folder


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)  # noqa: PTH208 - names, and nothing but names, of a folder that may be large
    except FileNotFoundError:
        return []
    except NotADirectoryError as error:
        raise Misplaced(f"{folder} is a file, not a folder") from error
    except OSError as error:
        raise Misplaced(f"{folder} cannot be listed ({error.strerror})") from error


def _name_of(part: str, names: list[str]) -> str:
    """The name on the disk that reads as this part; the part itself where there is none yet."""
    same = [name for name in names if name == part or ref_of(name) == part]
    if len(same) > 1:
        raise Misplaced(f"several files on the disk have the name {part}; rename one of them")
    return same[0] if same else part


def read_held(path: Path) -> bytes | None:
    """The bytes of a file; None when there is none.

    Raises: `Misplaced` for what is no file, cannot be read, or may not be written: a replacement would get around that.
    """
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            raise Misplaced("something stands there that is no file")
        if not mode & _ANYBODY_WRITES or not os.access(path, os.W_OK):
            raise Misplaced("the file is protected against writing; make it writable first")
        return read_stable(str(path), _MOST_BYTES).raw
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Misplaced(f"the file there cannot be looked at ({error.strerror})") from error
    except UnreadableSource as error:
        if error.reason == VANISHED:
            return None
        raise Misplaced(f"the file there cannot be read ({error.reason})") from error
