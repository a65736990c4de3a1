"""Changing memory through its gate, and looking at the whiteboard. Everything is done in the name of the model."""

from __future__ import annotations

from pydantic import Field

from serve.call import Call, Desk, ForProject
from workbench.core.errors import InputError
from workbench.memory.whiteboard.contract import PageEdit
from workbench.memory.whiteboard.lint import STALE_DAYS
from workbench.memory.whiteboard.report import LintReport
from workbench.memory.writing import entries
from workbench.memory.writing.answers import Answer, ArchivedAnswer
from workbench.memory.writing.values import AnswerTarget, Commit

TX_ID = "a name for this change: the same one again changes nothing and gives the first result"
REASON = "why; kept in the log of changes"


class MemoryWrite(ForProject):
    """A new file, a new version of one that was read, or a dated section of a log or reflection."""

    source_ref: str = Field(description="path below the memory root, ending in .md")
    text: str = Field(description="Markdown: the whole file, or the section with `append`")
    append: bool = Field(False, description="add a dated section to a log or reflection")
    title: str = Field("", description="title of that section, behind its date")
    expected_digest: str | None = Field(
        None, description="sha256 of the file as it was read (see the catalog); left out for a new file"
    )
    renamed: dict[str, str] = Field(default_factory=dict, description="old id -> new id of cards on a whiteboard page")
    archived: dict[str, str] = Field(
        default_factory=dict, description="id -> reason of cards that leave a whiteboard page"
    )
    reason: str = Field("", description=REASON)
    tx_id: str | None = Field(None, description=TX_ID)


class MemorySupersede(ForProject):
    """Either `successor` or `text` takes the place of a resource; the old text stays and answers no query any more."""

    resource_id: str = Field(description="what is superseded")
    successor: str | None = Field(None, description="id of the resource that takes its place")
    text: str | None = Field(None, description="a new text that takes its place")
    source_ref: str | None = Field(None, description="where the new text goes, instead of beside the old one")
    title: str = Field("", description="title of the section in a log, behind its date")
    reason: str = Field("", description=REASON)
    tx_id: str | None = Field(None, description=TX_ID)


class Superseded(Commit):
    """The change, and the id of what took the place."""

    successor: str


class MemoryRetract(ForProject):
    """Take a resource out of every answer; its text stays on the disk and in the history."""

    resource_id: str = Field(description="what is retracted")
    reason: str = Field(description=REASON)
    tx_id: str | None = Field(None, description=TX_ID)


class ArchiveAnswer(ForProject):
    """Keep an answer that took work to find, once for each request_id."""

    request_id: str = Field(description="names the question; the same one again adds nothing")
    target: AnswerTarget = Field(description="a whiteboard card, a memory of its own, or the handoff ledger")
    title: str
    conclusion: str = Field(description="the answer, in Markdown")
    evidence_refs: tuple[str, ...] = Field((), description="ids of the resources that it rests on")
    page: str | None = Field(None, description="another page than the default")


class WhiteboardLint(ForProject):
    """What a person should look at on the whiteboard pages; nothing is repaired."""

    stale_days: int = Field(STALE_DAYS, ge=0, description="a card dated longer ago is stale")


def _write(desk: Desk, request: MemoryWrite) -> Commit:
    project, by = desk.project, _by(request.reason, request.tx_id)
    if request.append:
        return entries.append_entry(project.gate, request.source_ref, request.text, by, title=request.title)
    if request.renamed or request.archived:
        edit = PageEdit(renamed=request.renamed, archived=request.archived)
        content, expected = request.text.encode(), request.expected_digest
        return project.whiteboard.write(
            request.source_ref, content, expected, edit, reason=request.reason, tx_id=request.tx_id
        )
    return entries.write_source(project.gate, request.source_ref, request.text, request.expected_digest, by)


def _supersede(desk: Desk, request: MemorySupersede) -> Superseded:
    gate, by = desk.project.gate, _by(request.reason, request.tx_id)
    if (request.successor is None) == (request.text is None):
        raise InputError("invalid_argument", "Give what takes its place: either `successor` or `text`.")
    if request.successor is not None:
        commit, successor = entries.supersede(gate, request.resource_id, request.successor, by), request.successor
    else:
        commit, successor = entries.supersede_by_text(
            gate, request.resource_id, request.text or "", by, source_ref=request.source_ref, title=request.title
        )
    return Superseded(**commit.model_dump(), successor=successor)


def _retract(desk: Desk, request: MemoryRetract) -> Commit:
    return entries.retract(desk.project.gate, request.resource_id, _by(request.reason, request.tx_id))


def _archive(desk: Desk, request: ArchiveAnswer) -> ArchivedAnswer:
    return desk.project.whiteboard.archive_answer(Answer(**request.model_dump(exclude={"project"})))


def _lint(desk: Desk, request: WhiteboardLint) -> LintReport:
    return desk.project.whiteboard.lint(request.stale_days)


def _by(reason: str, tx_id: str | None) -> entries.By:
    return entries.By("model", reason, tx_id)


CALLS = (
    Call(
        "memory_write",
        "Write to memory: a new file, a new version of a file that you read (with its `expected_digest`), or with "
        "`append` a dated section of a log. Refused when somebody changed the file meanwhile.",
        MemoryWrite,
        Commit,
        _write,
        read_only=False,
        destructive=True,
        idempotent=False,
    ),
    Call(
        "memory_supersede",
        "Correct memory: another resource, or a new text, takes the place of one that is no longer true.",
        MemorySupersede,
        Superseded,
        _supersede,
        read_only=False,
        destructive=True,
        idempotent=False,
    ),
    Call(
        "memory_retract",
        "Take a resource that is wrong out of every answer. Its text stays on the disk.",
        MemoryRetract,
        Commit,
        _retract,
        read_only=False,
        destructive=True,
    ),
    Call(
        "archive_answer",
        "Keep an answer that took work to find, so that it is recalled the next time: as a whiteboard card, as a "
        "memory of its own, or in the handoff ledger.",
        ArchiveAnswer,
        ArchivedAnswer,
        _archive,
        read_only=False,
    ),
    Call(
        "whiteboard_lint",
        "Report what a person should look at on the whiteboard: orphans, stale cards, missing cards and links, and "
        "what was not checked.",
        WhiteboardLint,
        LintReport,
        _lint,
    ),
)
