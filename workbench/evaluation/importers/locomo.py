"""LoCoMo: long conversations of two people in sessions, with questions whose evidence are turns (Maharana et al. 2024).

A conversation is a scope, and every turn a document of its own. A session would be cut into units at places that the
set knows nothing of, so that a judged unit held turns that nobody judged and recall measured the cutting; a turn is
exactly what was judged. Its title says session and time. Adversarial questions (category 5) ask for what was never
said: they expect nothing, and the turns that they name are those that mislead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from workbench.evaluation.importers.parsed import (
    Document,
    Findings,
    ParsedSet,
    Question,
    SetScope,
    Target,
    parsed_set,
    unusable,
)
from workbench.evaluation.importers.reading import SetFiles, text_of
from workbench.evaluation.sets import SetFormat

ADVERSARIAL = 5
_SESSION = re.compile(r"session_(\d{1,6})")
_TURN = re.compile(r"D:?0*(\d{1,6}):0*(\d{1,6})")
_BETWEEN = re.compile(r"[;,\s]+")


def read_locomo(path: Path) -> ParsedSet:
    """Read the list of conversations. What cannot be used is left out, with a finding for each.

    Raises: `InputError("invalid_argument")` when it is no such list or nothing can be asked, with all findings.
    """
    findings = Findings()
    files = SetFiles(path.parent, findings)
    samples = files.document(path.name)
    if not isinstance(samples, list):
        raise unusable(path.name, "it is not a list of conversations", findings)
    scopes: dict[str, SetScope] = {}
    for number, sample in enumerate(samples):
        place = f"[{number}]"
        conversation = sample.get("conversation") if isinstance(sample, Mapping) else None
        if not isinstance(conversation, Mapping):
            findings.add(place, "a sample without a `conversation`")
            continue
        name = text_of(sample, "sample_id") or f"conversation-{number + 1}"
        if name in scopes:
            findings.add(place, f"the sample {name!r} stands twice; the first one counts")
            continue
        turns = _turns(place, conversation, findings)
        questions = _questions(f"{place}.qa", name, sample.get("qa"), turns, findings)
        scopes[name] = SetScope(name, tuple(turns.values()), tuple(questions))
    return parsed_set(path.stem, SetFormat.LOCOMO, files.read, list(scopes.values()), findings)


def _turns(place: str, conversation: Mapping[str, Any], findings: Findings) -> dict[str, Document]:
    """turn id -> the turn as a document, session by session."""
    turns: dict[str, Document] = {}
    # A list, since `session_1` and `session_01` are two sessions of one number.
    sessions = [(int(match[1]), key) for key in conversation if (match := _SESSION.fullmatch(key))]
    for number, key in sorted(sessions):
        where = f"{place}.conversation.{key}"
        if not isinstance(conversation[key], list):
            findings.add(where, "not a list of turns")
            continue
        when = text_of(conversation, f"{key}_date_time")
        if when is None:
            findings.add(where, f"`{key}_date_time` is missing; its turns have no time")
        title = f"Session {number}, {when}" if when else f"Session {number}"
        for place_in_session, turn in enumerate(conversation[key]):
            _add_turn(f"{where}[{place_in_session}]", turn, title, turns, findings)
    return turns


def _add_turn(place: str, turn: Any, title: str, turns: dict[str, Document], findings: Findings) -> None:
    turn = turn if isinstance(turn, Mapping) else {}
    speaker, text = text_of(turn, "speaker"), text_of(turn, "text")
    match = _TURN.fullmatch(text_of(turn, "dia_id") or "")
    if speaker is None or text is None or match is None:
        findings.add(place, "a turn needs a `speaker`, a `text` and a `dia_id` such as D1:3")
        return
    turn_id, path = f"D{match[1]}:{match[2]}", f"session-{match[1]:0>2}/{match[2]:0>3}.md"
    if turn_id in turns:
        findings.add(place, f"the turn {turn_id} stands twice; the first one counts")
        return
    caption = text_of(turn, "blip_caption")
    shown = f"\n\n[shares an image: {caption}]" if caption else ""
    turns[turn_id] = Document(turn_id, path, title, f"{speaker}: {text}{shown}\n")


def _questions(
    place: str, name: str, asked: Any, turns: Mapping[str, Document], findings: Findings
) -> Iterator[Question]:
    if not isinstance(asked, list):
        findings.add(place, "not a list of questions")
        return
    for number, item in enumerate(asked):
        where = f"{place}[{number}]"
        text = text_of(item, "question") if isinstance(item, Mapping) else None
        if text is None:
            findings.add(where, "an item without a `question`")
            continue
        if "answer" not in item and "adversarial_answer" not in item:
            findings.add(where, "it has neither an `answer` nor an `adversarial_answer`")
        targets = tuple(Target(turn_id) for turn_id in _evidence(where, item.get("evidence"), turns, findings))
        if item.get("category") == ADVERSARIAL or ("adversarial_answer" in item and "answer" not in item):
            yield Question(f"{name}/{number}", text, ())
        elif targets:
            yield Question(f"{name}/{number}", text, targets)
        else:
            findings.add(where, "no turn is its evidence; it is left out")


def _evidence(place: str, given: Any, turns: Mapping[str, Document], findings: Findings) -> list[str]:
    """The distinct turns that an item names; what has another form is read where its meaning is clear, and reported."""
    if not isinstance(given, list):
        findings.add(place, "`evidence` is not a list")
        return []
    found: dict[str, None] = {}
    for entry in given:
        names = [name for name in _BETWEEN.split(entry) if name] if isinstance(entry, str) else []
        matches = [_TURN.fullmatch(name) for name in names]
        read = [f"D{match[1]}:{match[2]}" if match else None for match in matches]
        if read != [entry]:
            findings.add(place, f"evidence is read as {', '.join(filter(None, read)) or 'nothing'}, from {entry!r}")
        for turn_id in filter(None, read):
            if turn_id in turns:
                found[turn_id] = None
            else:
                findings.add(place, f"evidence {turn_id} is no turn of this conversation")
    return list(found)
