"""The documents of one scope as the Markdown files of a memory root, one file a document.

A path is the document's own where it can stand on any file system; otherwise a name is made, and that is a finding.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

import yaml

from workbench.core.hashing import sha256_hex
from workbench.core.progress import Progress, no_progress
from workbench.core.text import clean_text
from workbench.evaluation.importers.parsed import Document, Findings
from workbench.evaluation.sets import RECORD
from workbench.markdown.errors import UnreadableSource
from workbench.markdown.front_matter import split_front_matter
from workbench.storage.mirror import mirror_files

LAYOUT = b'[layers]\nuser = []\nlog = []\nreflection = []\nwhiteboard = []\nproject = ["*.md"]\n'
"""Every file is one resource of layer `project`, whatever its folder is called."""
NAME_BYTES, PATH_BYTES = 200, 400
_UNSAFE = re.compile(r'[<>:"\\|?*\x00-\x1f\x7f\ud800-\udfff]|[ .]$|^\.|^ ')
_DEVICES = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")


def write_memory(
    documents: Sequence[Document], root: Path, findings: Findings, progress: Progress = no_progress
) -> dict[str, str]:
    """Make `root` the memory of these documents and nothing else. Returns path -> document id.

    progress: phase `write` in files. Raises: `StorageError("home_unwritable")`.
    """
    names = Names()
    paths = {names.path_of(document, findings): document for document in documents}
    files = {path: _markdown(document, findings) for path, document in paths.items()}
    mirror_files(root, {"memory.toml": LAYOUT, **files}, progress)
    return {path: document.document_id for path, document in paths.items()}


class Names:
    """Paths given out so far; no two are one on a file system without case, and none is the folder of another."""

    def __init__(self) -> None:
        self._files: set[str] = {"memory.toml"}
        self._folders: set[str] = set()

    def path_of(self, document: Document, findings: Findings) -> str:
        """The path of a document, in NFC, ending in `.md`."""
        wanted = unicodedata.normalize("NFC", document.path)
        wanted = wanted if wanted.lower().endswith(".md") else f"{wanted}.md"
        for path in _choices(wanted, document.document_id):
            if self._take(path):
                if path != wanted:
                    findings.add(
                        f"document {document.document_id!r}",
                        f"its file is {path!r}, since {wanted!r} is unsafe or taken",
                    )
                return path
        raise AssertionError("the choices do not end")

    def _take(self, path: str) -> bool:
        key, above = _key(path), [_key(str(one)) for one in PurePosixPath(path).parents][:-1]
        if key in self._files or key in self._folders or not self._files.isdisjoint(above):
            return False
        self._files.add(key)
        self._folders.update(above)
        return True


def folder_name(scope: str) -> str:
    """The folder of a scope: `all` for the whole set, its own name where that is safe, else a made one."""
    if not scope:
        return "all"
    is_own = is_safe(scope) and "/" not in scope and scope == scope.lower() and scope not in ("all", RECORD)
    return scope if is_own else f"scope-{sha256_hex(scope)[:16]}"


def is_safe(path: str) -> bool:
    """Whether this relative POSIX path can stand below any folder, on any usual file system, and is no hidden one."""
    parts = path.split("/")
    return len(path.encode("utf-8", "surrogatepass")) <= PATH_BYTES and all(map(_is_safe_name, parts))


def _is_safe_name(name: str) -> bool:
    return bool(
        0 < len(name.encode("utf-8", "surrogatepass")) <= NAME_BYTES
        and not _UNSAFE.search(name)
        and not _DEVICES.fullmatch(name)
        and name != "node_modules"
    )


def _choices(wanted: str, document_id: str) -> Iterator[str]:
    """What to try, in this order, without end."""
    made = sha256_hex(document_id)
    if is_safe(wanted):
        yield wanted
        if is_safe(beside := f"{wanted[:-3]}-{made[:8]}.md"):
            yield beside
    yield f"document-{made[:16]}.md"
    yield from (f"document-{made[:16]}-{number}.md" for number in itertools.count(2))


def _key(path: str) -> str:
    return unicodedata.normalize("NFC", path.casefold())


def _markdown(document: Document, findings: Findings) -> bytes:
    """The text, below front matter with the title unless it opens with readable front matter of its own."""
    text = storable(document.text)
    if text != document.text:
        findings.add(f"document {document.document_id!r}", "NUL and half characters in it are replaced by U+FFFD")
    try:
        own = split_front_matter(_lines(text.removeprefix("\ufeff"))).body_start > 0
        headed = bool(document.title) and not own
    except UnreadableSource:
        findings.add(f"document {document.document_id!r}", "its front matter cannot be read; it is kept as text")
        headed = True
    if not headed:
        return text.encode("utf-8")
    head = yaml.safe_dump({"title": clean_text(" ".join(document.title.split()))}, allow_unicode=True, width=1_000_000)
    return f"---\n{head}---\n{text}".encode()


def storable(text: str) -> str:
    """The text with what no Markdown file may hold replaced, character by character, so that offsets stay."""
    return re.sub("[\x00\ud800-\udfff]", "\ufffd", text)


def _lines(text: str) -> str:
    return re.sub("\r\n?", "\n", text)
