"""Sets in BEIR layout (corpus.jsonl, queries.jsonl, qrels.tsv) as Markdown memories, one project a scope."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from workbench.core.errors import InputError
from workbench.core.hashing import sha256_hex

_FILES = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")


@dataclass(frozen=True, slots=True)
class Document:
    """One document; `path` is where its Markdown file stands below the memory root."""

    document_id: str
    path: str
    title: str
    text: str
    scope: str


@dataclass(frozen=True, slots=True)
class Question:
    """One query; with a scope, only documents of that scope are searched."""

    query_id: str
    text: str
    scope: str
    relevant: Set[str]


@dataclass(frozen=True, slots=True)
class BeirSet:
    """A whole set in file order. digest: sha256 over the three files' bytes."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
    digest: str

    def scopes(self) -> Iterator[tuple[str, tuple[Document, ...], tuple[Question, ...]]]:
        """Each scope that a query asks, with its documents and its questions; the empty scope holds all documents."""
        for scope in dict.fromkeys(question.scope for question in self.questions):
            documents = tuple(one for one in self.documents if scope in ("", one.scope))
            yield scope, documents, tuple(one for one in self.questions if one.scope == scope)


def read_beir(folder: Path) -> BeirSet:
    """Read a set. Raises: `InputError("invalid_argument")` naming the missing file or the first bad line."""
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise InputError("invalid_argument", f"{folder} is no set in BEIR layout: {', '.join(missing)} is missing.")
    relevant: dict[str, set[str]] = {}
    with (folder / "qrels.tsv").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            if int(row["score"]) > 0:
                relevant.setdefault(row["query-id"], set()).add(row["corpus-id"])
    documents = tuple(_document(row) for row in _rows(folder / "corpus.jsonl"))
    questions = tuple(_question(row, relevant) for row in _rows(folder / "queries.jsonl"))
    digest = sha256_hex(b"".join((folder / name).read_bytes() for name in _FILES))
    return BeirSet(folder.name, documents, questions, digest)


def write_memory(documents: tuple[Document, ...], root: Path) -> dict[str, str]:
    """Write each document as a Markdown file below `root`; return source_ref -> document id.

    A title goes into front matter; text that opens with front matter of its own stays as it is.
    """
    names: dict[str, str] = {}
    for document in documents:
        target = root / document.path
        if PurePosixPath(document.path).is_absolute() or ".." in PurePosixPath(document.path).parts:
            raise InputError("invalid_argument", f"{document.document_id}: {document.path!r} leads out of the memory.")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(_markdown(document), encoding="utf-8", newline="")
        names[document.path] = document.document_id
    return names


def _markdown(document: Document) -> str:
    if not document.title or document.text.startswith("---\n"):
        return document.text
    head = yaml.safe_dump({"title": document.title}, allow_unicode=True, width=1_000_000)
    return f"---\n{head}---\n{document.text}"


def _document(row: Mapping[str, Any]) -> Document:
    return Document(row["id"], row["path"], row.get("title", ""), row["text"], row.get("scope", ""))


def _question(row: Mapping[str, Any], relevant: Mapping[str, Set[str]]) -> Question:
    return Question(row["id"], row["text"], row.get("scope", ""), relevant.get(row["id"], frozenset()))


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError("invalid_argument", f"{file.name} line {number} is not JSON: {error}.") from error
