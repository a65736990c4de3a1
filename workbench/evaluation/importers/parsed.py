"""What every importer yields: documents and questions, one memory a scope, and everything that was wrong with them."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.core.errors import InputError
from workbench.core.hashing import digest
from workbench.core.text import clean_text, one_line
from workbench.evaluation.sets import SetFormat

FINDING_CHARS = 300


@dataclass(frozen=True, slots=True)
class Document:
    """One document. path: where its Markdown file wants to stand below the memory root."""

    document_id: str
    path: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Target:
    """One piece of evidence: a document, or what of it a range (in characters of its text) or headings point to.

    headings: those that lead to the passage, joined by ` / `.
    """

    document_id: str
    span: tuple[int, int] | None = None
    headings: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One query. evidence: empty when nothing in its scope answers it."""

    query_id: str
    text: str
    evidence: tuple[Target, ...]


@dataclass(frozen=True, slots=True)
class SetScope:
    """Documents that are searched together, and the questions that are asked of them; one memory root."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class ParsedSet:
    """A whole set in the order of its files. digest: of the names and sha256 of all files that were read."""

    name: str
    format: SetFormat
    digest: str
    scopes: tuple[SetScope, ...]
    findings: tuple[str, ...]


class Findings:
    """What was wrong with a set, each with its place; texts of others are cut and made printable."""

    def __init__(self) -> None:
        self._found: list[str] = []

    def add(self, place: str, what: str) -> None:
        """Note one finding, `PLACE: what`."""
        self._found.append(clean_text(one_line(f"{place}: {what}", FINDING_CHARS)))

    def all(self) -> tuple[str, ...]:
        """Every finding, in the order in which it was met."""
        return tuple(self._found)


def files_digest(files: dict[str, str]) -> str:
    """The digest of a set: the canonical JSON of [name, sha256] of each file, by name."""
    return digest(sorted(files.items()))


def parsed_set(
    name: str, form: SetFormat, files: dict[str, str], scopes: list[SetScope], findings: Findings
) -> ParsedSet:
    """The set, when it asks anything. Raises: `InputError("invalid_argument")` with the findings as detail."""
    asked = tuple(scope for scope in scopes if scope.questions)
    if not asked:
        raise unusable(name, "no question of it can be asked", findings)
    return ParsedSet(name, form, files_digest(files), asked, findings.all())


def unusable(name: str, why: str, findings: Findings) -> InputError:
    """The error for a set that cannot be used at all."""
    first = "".join(f" First: {one}." for one in findings.all()[:1])
    return InputError("invalid_argument", f"The set {name[:80]} cannot be used: {why}.{first}", detail=findings.all())
