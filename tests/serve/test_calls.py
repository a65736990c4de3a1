"""Arguments as agents send them: what is empty counts as left out, what is invented is refused by its name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from serve import openapi
from serve.call import Call, deadline_of
from serve.calls import CALLS
from serve.tools import tool_of
from workbench.core.activation import ActivationResult
from workbench.core.errors import InputError
from workbench.core.wire import Wire

GOLDEN = Path(__file__).parent / "golden"
calls = st.sampled_from(list(CALLS.values()))


def required(call: Call) -> dict[str, Any]:
    """The least arguments of a call."""
    names = [name for name, field in call.request.model_fields.items() if field.is_required()]
    return {name: {"target": "card", "expected_version": 1}.get(name, "text") for name in names}


@given(calls, st.data())
def test_empty_values_of_optional_arguments_count_as_left_out(call: Call, data: st.DataObject) -> None:
    optional = [name for name, field in call.request.model_fields.items() if not field.is_required()]
    empty = data.draw(st.dictionaries(st.sampled_from(optional), st.sampled_from(["", None]))) if optional else {}
    assert call.parse({**required(call), **empty}) == call.parse(required(call))


@pytest.mark.field(112)
@given(calls, st.dictionaries(st.text(min_size=1, max_size=12), st.integers(), min_size=1, max_size=4))
def test_invented_arguments_are_refused_by_their_names(call: Call, invented: dict[str, int]) -> None:
    invented = {name: value for name, value in invented.items() if name not in call.request.model_fields}
    if not invented:
        return
    with pytest.raises(InputError) as refusal:
        call.parse({**required(call), **invented})
    assert refusal.value.code == "invalid_argument"
    assert refusal.value.detail == [f"{name}: no such argument" for name in invented]


def test_every_wrong_argument_is_named_at_once() -> None:
    with pytest.raises(InputError) as refusal:
        CALLS["list_retrieval_runs"].parse({"limit": 0, "glob": "*.md", "project": 3})
    assert [finding.split(":")[0] for finding in refusal.value.detail] == ["project", "limit", "glob"]


def test_a_refusal_does_not_repeat_what_was_sent() -> None:
    with pytest.raises(InputError) as refusal:
        CALLS["activate_memory"].parse({"query": ["secret"], "limits": "secret"})
    assert "secret" not in json.dumps(refusal.value.as_dict())


@pytest.mark.parametrize("given_ms", [0, -1])
def test_a_deadline_without_time_is_refused(given_ms: int) -> None:
    with pytest.raises(InputError, match="at least 1 millisecond"):
        deadline_of(CALLS["activate_memory"].parse({"query": "x", "deadline_ms": given_ms}), {})


@pytest.mark.spec("D13")
def test_the_kept_openapi_document_is_the_one_that_the_calls_give() -> None:
    assert openapi.KEPT.read_text(encoding="utf-8") == openapi.text(), "run `python -m serve.openapi`"


@pytest.mark.spec("D13")
@pytest.mark.parametrize("name", CALLS)
def test_mcp_schemas_openapi_and_python_types_agree(name: str) -> None:
    call, document = CALLS[name], openapi.document()
    operation = document["paths"][f"/v1/{name}"]["post"]
    tool = tool_of(call)
    for schema, content in (
        (tool.input_schema, operation["requestBody"]["content"]),
        (tool.output_schema, operation["responses"]["200"]["content"]),
    ):
        assert schema is not None
        title = content["application/json"]["schema"]["$ref"].rsplit("/", 1)[-1]
        shared = document["components"]["schemas"][title]
        assert shared["properties"].keys() == schema["properties"].keys()
        assert shared.get("required") == schema.get("required")
        assert shared["additionalProperties"] is schema["additionalProperties"] is False
    assert tool.input_schema["properties"].keys() == call.request.model_fields.keys()


@pytest.mark.spec("D13")
@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.json")), ids=lambda file: file.stem)
def test_an_older_clients_answer_still_decodes(file: Path) -> None:
    """Every file is an answer as an earlier version sent or stored it: NAME.VERSION.json."""
    call = CALLS[file.name.split(".")[0]]
    answer: Wire = TypeAdapter(call.response).validate_json(file.read_bytes())
    assert holds(answer.model_dump(mode="json"), json.loads(file.read_bytes()))


def holds(newer: Any, older: Any) -> bool:
    """Whether everything that the older value said is still there."""
    if isinstance(older, dict):
        return all(name in newer and holds(newer[name], value) for name, value in older.items())
    if isinstance(older, list):
        return len(newer) == len(older) and all(map(holds, newer, older))
    return bool(newer == older)


def test_the_golden_answers_hold_a_whole_activation() -> None:
    newest = max(GOLDEN.glob("activate_memory.*.json"))
    assert ActivationResult.model_validate_json(newest.read_bytes()).fragments
