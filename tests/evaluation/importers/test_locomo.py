"""LoCoMo: a turn is a document, its evidence is exact, and nothing that is malformed is lost without a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from workbench.core.errors import InputError
from workbench.evaluation.importers.locomo import read_locomo
from workbench.evaluation.importers.parsed import ParsedSet, Target


def turn(turn_id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"speaker": "Mara", "dia_id": turn_id, "text": text, **more}


def sample(**more: Any) -> dict[str, Any]:
    """A conversation of two sessions with one question."""
    conversation = {
        "speaker_a": "Mara",
        "speaker_b": "Jon",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [turn("D1:1", "I planted tomatoes."), turn("D1:2", "Look!", blip_caption="a red tomato")],
        "session_10_date_time": "9:00 am on 9 June, 2023",
        "session_10": [turn("D10:1", "They are ripe.")],
    }
    question = {"question": "What did Mara plant?", "answer": "tomatoes", "category": 4, "evidence": ["D1:1"]}
    return {"sample_id": "conv-1", "conversation": conversation, "qa": [question], **more}


def read(tmp_path: Path, *samples: Any) -> ParsedSet:
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps(samples), encoding="utf-8")
    return read_locomo(path)


def asked(**more: Any) -> dict[str, Any]:
    return {"question": "Which?", "answer": "this", "category": 1, "evidence": ["D1:1"], **more}


def test_a_conversation_is_a_scope_and_each_turn_a_document_with_its_time(tmp_path: Path) -> None:
    found = read(tmp_path, sample())

    (scope,) = found.scopes
    assert (scope.name, found.findings, found.name) == ("conv-1", (), "locomo")
    assert [(one.document_id, one.path) for one in scope.documents] == [
        ("D1:1", "session-01/001.md"),
        ("D1:2", "session-01/002.md"),
        ("D10:1", "session-10/001.md"),
    ]
    assert scope.documents[1].text == "Mara: Look!\n\n[shares an image: a red tomato]\n"
    assert scope.documents[2].title == "Session 10, 9:00 am on 9 June, 2023"
    assert [(one.query_id, one.evidence) for one in scope.questions] == [("conv-1/0", (Target("D1:1"),))]


def test_two_sessions_of_one_number_are_both_read(tmp_path: Path) -> None:
    twice = sample()
    twice["conversation"] |= {
        "session_01_date_time": "noon",
        "session_01": [turn("D1:9", "Late."), turn("D1:1", "No.")],
    }

    found = read(tmp_path, twice)

    assert [one.document_id for one in found.scopes[0].documents] == ["D1:9", "D1:1", "D1:2", "D10:1"]
    assert found.findings == ("[0].conversation.session_1[0]: the turn D1:1 stands twice; the first one counts",)


@pytest.mark.parametrize(
    ("evidence", "expected", "said"),
    [
        (["D1:1", "D10:1"], ["D1:1", "D10:1"], []),
        (["D1:1; D1:2"], ["D1:1", "D1:2"], ["is read as D1:1, D1:2"]),
        (["D1:1 D1:2", "D1:1"], ["D1:1", "D1:2"], ["is read as D1:1, D1:2"]),
        (["D:1:2"], ["D1:2"], ["is read as D1:2"]),
        (["D10:01"], ["D10:1"], ["is read as D10:1"]),
        (["D1:1", "D"], ["D1:1"], ["is read as nothing"]),
        (["D1:1", "D4:36"], ["D1:1"], ["D4:36 is no turn"]),
        (["D1:1", 7], ["D1:1"], ["is read as nothing, from 7"]),
        (["D1:1", "D1:" + "9" * 5_000], ["D1:1"], ["is read as nothing"]),
        ("D1:1", [], ["is not a list", "is left out"]),
        (None, [], ["is not a list", "is left out"]),
        ([], [], ["is left out"]),
        (["D9:9"], [], ["D9:9 is no turn", "is left out"]),
    ],
)
def test_evidence_of_every_form_is_read_or_reported(
    tmp_path: Path, evidence: object, expected: list[str], said: list[str]
) -> None:
    found = read(tmp_path, sample(qa=[asked(evidence=evidence), asked(question="kept")]))

    questions = [one for one in found.scopes[0].questions if one.text == "Which?"]
    assert [target.document_id for one in questions for target in one.evidence] == expected
    assert len(found.findings) == len(said)
    assert all(one.startswith("[0].qa[0]: ") for one in found.findings)
    assert all(part in one for part, one in zip(said, found.findings, strict=True))


def test_adversarial_questions_expect_nothing(tmp_path: Path) -> None:
    trap = {"question": "What did Jon plant?", "adversarial_answer": "tomatoes", "category": 5, "evidence": ["D1:1"]}
    found = read(tmp_path, sample(qa=[trap, trap | {"answer": "nothing"}, asked()]))

    assert [one.evidence for one in found.scopes[0].questions] == [(), (), (Target("D1:1"),)]
    assert found.findings == ()


def test_everything_else_that_is_malformed_is_a_finding_with_its_place(tmp_path: Path) -> None:
    broken = sample(qa=["no item", {"answer": "x"}, asked(), {"question": "no answer", "evidence": ["D1:1"]}])
    talk = broken["conversation"]
    talk["session_1"] += [turn("D1:1", "again"), turn("one", "no id"), {"dia_id": "D1:9", "text": "nobody"}, "text"]
    talk["session_2"] = "no list"
    talk["session_3"] = [turn("D3:1", "no time")]
    talk["session_3_summary"] = "not a session"

    found = read(tmp_path, broken, "no sample", {"sample_id": "x"}, sample(), sample(sample_id="conv-2", qa={}))

    places = [one.partition(": ")[0] for one in found.findings]
    assert places == [
        *(f"[0].conversation.session_1[{number}]" for number in (2, 3, 4, 5)),
        "[0].conversation.session_2",
        "[0].conversation.session_3",
        *(f"[0].qa[{number}]" for number in (0, 1, 3)),
        "[1]",
        "[2]",
        "[3]",
        "[4].qa",
    ]
    assert [scope.name for scope in found.scopes] == ["conv-1"]
    assert [one.query_id for one in found.scopes[0].questions] == ["conv-1/2", "conv-1/3"]
    assert found.scopes[0].documents[-2].title == "Session 3"


@pytest.mark.parametrize("text", ["{}", "[]", "[[]]", "not json", "[" * 50_000])
def test_what_is_no_list_of_conversations_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "locomo.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        read_locomo(path)
    assert refused.value.code == "invalid_argument"


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_locomo(tmp_path / "none.json")
