"""The files of a memory root that are sources, with what `stat` says of them; none of them is opened.

Never leaves the root: a symbolic link counts only when its target lies inside, and every path in the result is free of
links, so that whoever opens it can refuse links altogether.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from workbench.core.errors import InputError, StorageError
from workbench.core.resource import UNSETTLED, Layer
from workbench.memory.ignoring import IgnoreRules
from workbench.memory.layout import MARKDOWN_SUFFIXES, Layout
from workbench.memory.reading import changed_ns, reason_of

NAME_TWIN = "name_twin"
SKIPPED_FOLDERS = frozenset({"node_modules"})
_UNDECODABLE = re.compile("[\udc80-\udcff]")


class Found(NamedTuple):
    """One source as listed. path: absolute, without links; error: why it cannot even be looked at."""

    source_ref: str
    path: str
    layer: Layer
    byte_size: int
    changed_ns: int
    inode: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Scan:
    """found: by source_ref. twins: refs that a second file claims, too. unlisted: folders (ending in `/`) and why."""

    found: dict[str, Found] = field(default_factory=dict)
    twins: list[str] = field(default_factory=list)
    unlisted: dict[str, str] = field(default_factory=dict)


class _Folder(NamedTuple):
    ref: str
    path: str
    rules: IgnoreRules


def scan_sources(root: Path, layout: Layout) -> Scan:
    """Every source under the root. Of two names that are one in NFC, the one in NFC is found; the other is a twin.

    Raises: `InputError("project_unknown")` when no folder stands there; `StorageError("project_unreadable")` when it
    cannot be listed.
    """
    walk = _Walk(os.path.realpath(root), layout)
    try:
        walk.enter(_Folder("", walk.root, IgnoreRules()))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError("project_unknown", f"No folder stands at {root}; give the path of a memory root.") from error
    except OSError as error:
        message = f"The memory root {root} cannot be listed ({error.strerror}); the last index is left alone."
        raise StorageError("project_unreadable", message) from error
    while walk.pending:
        folder = walk.pending.pop()
        try:
            walk.enter(folder)
        except OSError as error:
            walk.scan.unlisted[folder.ref] = reason_of(error)
    return walk.scan


class _Walk:
    """The state of one walk. A folder behind a link is entered once, and never below itself: loops end."""

    def __init__(self, root: str, layout: Layout) -> None:
        self.root, self.layout = root, layout
        self.scan = Scan()
        self.pending: list[_Folder] = []
        self._entered_by_link: set[str] = set()

    def enter(self, folder: _Folder) -> None:
        """List one folder: its sources go to the scan, its folders to `pending`."""
        with os.scandir(folder.path) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        rules = folder.rules.entering(folder.ref, folder.path, [entry.name for entry in entries])
        inside = _Folder(folder.ref, folder.path, rules)
        for entry in entries:
            if not entry.name.startswith("."):
                self._take(entry, inside)

    def _take(self, entry: os.DirEntry[str], folder: _Folder) -> None:
        ref, path = folder.ref + ref_of(entry.name), self._resolve(entry, folder)
        if path is None:
            return
        if _is_folder(entry):
            self._take_folder(_Folder(f"{ref}/", path, folder.rules), entry, folder)
        elif entry.name.lower().endswith(MARKDOWN_SUFFIXES) and not folder.rules.excludes(ref):
            self._take_file(ref, path, entry)

    def _resolve(self, entry: os.DirEntry[str], folder: _Folder) -> str | None:
        """The entry's path without links; None when a link leads out of the root."""
        path = f"{folder.path.rstrip(os.sep)}{os.sep}{entry.name}"
        if not entry.is_symlink():
            return path
        target = os.path.realpath(path)
        return target if is_within(target, self.root) else None

    def _take_folder(self, folder: _Folder, entry: os.DirEntry[str], parent: _Folder) -> None:
        if entry.name in SKIPPED_FOLDERS or folder.rules.excludes(folder.ref):
            return
        if entry.is_symlink():
            if folder.path in self._entered_by_link or is_within(parent.path, folder.path):
                return
            self._entered_by_link.add(folder.path)
        self.pending.append(folder)

    def _take_file(self, ref: str, path: str, entry: os.DirEntry[str]) -> None:
        layer = self.layout.layer_of(ref)
        if layer is None:
            return
        try:
            status = entry.stat()
        except OSError as error:
            self._note(Found(ref, path, layer, 0, UNSETTLED, 0, reason_of(error)))
            return
        if stat.S_ISREG(status.st_mode):
            self._note(Found(ref, path, layer, status.st_size, changed_ns(status), status.st_ino))

    def _note(self, found: Found) -> None:
        ref = found.source_ref
        if ref in self.scan.found:
            self.scan.twins.append(ref)
            if not found.path.endswith(ref):
                return
        self.scan.found[ref] = found


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def ref_of(name: str) -> str:
    """A file name as part of a source_ref: NFC, with bytes that are not UTF-8 written `%e9`."""
    if name.isascii():
        return name
    return unicodedata.normalize("NFC", _UNDECODABLE.sub(lambda byte: f"%{ord(byte[0]) - 0xDC00:02x}", name))


def is_within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
