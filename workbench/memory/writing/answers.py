"""Keeping an answer: as a card, as a memory of its own, or as an entry of the handoff ledger; once for each request.

Only appends. The handoff ledger is history: what stands in it is never changed, and the state of the work stands on the
whiteboard, to which it refers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from workbench.core.errors import InputError
from workbench.core.hashing import sha256_hex
from workbench.core.resource import Layer, Status
from workbench.core.text import clean_text
from workbench.core.wire import Wire
from workbench.markdown.blocks import HEADING_CHARS, heading_text, leaves_open, parse_blocks
from workbench.markdown.errors import UnreadableSource
from workbench.markdown.source import parse_source
from workbench.memory.view import MemorySnapshot
from workbench.memory.whiteboard.contract import Actor, PageEdit
from workbench.memory.whiteboard.places import appended
from workbench.memory.writing.again import until_unmoved
from workbench.memory.writing.gate import WriteGate
from workbench.memory.writing.ledger import commit_of
from workbench.memory.writing.values import AnswerTarget, Commit, Write
from workbench.memory.writing.whiteboard import digest_of, read_source, require_layer

LEDGER = "# Handoff ledger\n\n## Status\n\nThe state of the work stands on the whiteboard and is not repeated here.\n"


_LAYERS = {
    AnswerTarget.CARD: Layer.WHITEBOARD,
    AnswerTarget.MEMORY: Layer.PROJECT,
    AnswerTarget.HANDOFF: Layer.LOG,
}
_PAGES = {
    AnswerTarget.CARD: "whiteboard/answers.md",
    AnswerTarget.MEMORY: "answers/{}.md",
    AnswerTarget.HANDOFF: "log/handoff.md",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What is to be kept. evidence_refs: ids of the resources it rests on; page: another one than the default."""

    request_id: str
    target: AnswerTarget
    title: str
    conclusion: str
    evidence_refs: Sequence[str] = ()
    page: str | None = None

    @property
    def resource_id(self) -> str:
        """The id that the answer gets: the same for the same request."""
        return f"answer-{sha256_hex(self.request_id)[:12]}"

    @property
    def source_ref(self) -> str:
        """The page it goes to."""
        return self.page or _PAGES[self.target].format(self.resource_id)


class ArchivedAnswer(Wire):
    """Where an answer is kept, and the commit that put it there, be it this one or the first with its request_id."""

    request_id: str
    resource_id: str
    page: str
    commit: Commit


def archive_answer(gate: WriteGate, answer: Answer, today: date, actor: Actor = "model") -> ArchivedAnswer:
    """Keep an answer. The same request_id again keeps nothing and returns the first result, whatever else is said.

    Raises: `invalid_argument` for a title or conclusion that cannot stand as it is; `evidence_invalid` naming each
    reference that is no current resource; and what the gate raises.
    """
    if not answer.request_id.strip():
        raise InputError("invalid_argument", "Give a request_id: it keeps a repeated request from adding twice.")
    commit = until_unmoved(lambda: _commit(gate, answer, today, actor))
    page = answer.source_ref if answer.source_ref in commit.written else commit.written[0]
    return ArchivedAnswer(request_id=answer.request_id, resource_id=answer.resource_id, page=page, commit=commit)


def _commit(gate: WriteGate, answer: Answer, today: date, actor: Actor) -> Commit:
    tx_id, page, snapshot = f"archive-{answer.resource_id}", answer.source_ref, gate.capture()
    done = commit_of(gate.root, snapshot, tx_id)
    if done is not None:
        return done
    require_layer(gate, page, _LAYERS[answer.target])
    _require_evidence(snapshot, answer.evidence_refs)
    before = read_source(snapshot, page)
    content = _with_answer(before, answer, today)
    _require_entry(answer, content)
    write = Write(page, content, digest_of(before))
    reason = f"answer to {answer.request_id}"
    return gate.commit_mutation(tx_id, [write], pages={page: PageEdit(actor)}, actor=actor, reason=reason)


def _with_answer(before: bytes | None, answer: Answer, today: date) -> bytes:
    title = " ".join(clean_text(answer.title).split())
    if not title or len(title) > HEADING_CHARS:
        raise InputError("invalid_argument", f"Give the answer a title of 1 to {HEADING_CHARS} characters.")
    body = _body(answer, today)
    if answer.target is AnswerTarget.CARD:
        return appended(before, f"<!-- card:{answer.resource_id} -->\n### {title}\n\n{body}".encode(), "# Answers")
    if answer.target is AnswerTarget.HANDOFF:
        text = f"<!-- memory:{answer.resource_id} -->\n## {today.isoformat()} {title}\n\n{body}"
        return appended(before, text.encode(), LEDGER.rstrip())
    if before is not None:
        raise InputError("invalid_argument", f"{answer.source_ref} is there already; name a file that is new.")
    quoted = json.dumps(title, ensure_ascii=False)
    return f"---\nid: {answer.resource_id}\ntitle: {quoted}\nkind: answer\n---\n{body}\n".encode()


def _body(answer: Answer, today: date) -> str:
    """The conclusion, its date, and what it rests on."""
    lines = [_without_headings(answer.conclusion), f"Date: {today.isoformat()}"]
    if answer.evidence_refs:
        lines.append(f"Evidence: {', '.join(f'[[{ref}]]' for ref in answer.evidence_refs)}")
    return "\n\n".join(lines)


def _without_headings(conclusion: str) -> str:
    """The text with its headings in bold: a heading would end the entry that it stands in.

    Raises: `invalid_argument` for a text that is blank, or leaves a fence or a comment open.
    """
    text = clean_text(conclusion).replace("\r\n", "\n").replace("\r", "\n").strip()
    if not text or leaves_open(text):
        raise InputError("invalid_argument", "Give a conclusion that leaves no code fence and no comment open.")
    lines = text.split("\n")
    for block in reversed(parse_blocks(text)):
        if block.is_heading:
            lines[block.first : block.last] = [f"**{heading_text(block)}**"]
    return "\n".join(lines)


def _require_evidence(snapshot: MemorySnapshot, refs: Sequence[str]) -> None:
    members = snapshot.members
    unknown = [ref for ref in refs if ref not in members or members[ref].status is not Status.CURRENT]
    if unknown:
        message = f"These are no current resources: {', '.join(unknown)}. Name what the answer rests on by its id."
        raise InputError("evidence_invalid", message, detail=unknown)


def _require_entry(answer: Answer, content: bytes) -> None:
    """Raises: `invalid_argument` when the page, as it is, cannot be read or would swallow what is put behind it."""
    message = f"{answer.source_ref} ends inside a code fence or a comment; close it first."
    try:
        entries = parse_source(answer.source_ref, _LAYERS[answer.target], content).entries
    except UnreadableSource as error:
        entries, message = (), f"{answer.source_ref} cannot be read ({error.reason}); mend it first."
    if not any(entry.claimed_id == answer.resource_id for entry in entries):
        raise InputError("invalid_argument", message)
