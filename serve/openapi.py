"""The OpenAPI document of the HTTP calls, made from the table of calls. `python -m serve.openapi` writes it anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic.json_schema import models_json_schema

from serve.call import Call
from serve.calls import CALLS
from serve.errors import ErrorShape
from serve.handshake import TITLE, VERSION

KEPT = Path(__file__).parent / "openapi.json"
_SCHEMAS = "#/components/schemas/"
STATUSES = {
    "400": "the arguments do not fit, or something they name cannot be used",
    "401": "no valid token",
    "403": "a foreign Host or Origin, or writing is switched off",
    "404": "nothing has this name or id",
    "409": "somebody else was faster, or the state does not allow it",
    "413": "the body is too long",
    "500": "an internal error, by its id in the log",
    "503": "not ready yet, or overloaded: try again",
    "504": "the deadline came before any answer",
}


def document() -> dict[str, Any]:
    """The document, as a value."""
    models = [(call.request, "validation") for call in CALLS.values()]
    models += [(call.response, "serialization") for call in CALLS.values()] + [(ErrorShape, "serialization")]
    _, schema = models_json_schema(list(dict.fromkeys(models)), ref_template=f"{_SCHEMAS}{{model}}")  # type: ignore[arg-type]
    return {
        "openapi": "3.1.0",
        "info": {"title": TITLE, "version": VERSION, "description": "The calls of the MCP tools as JSON over HTTP."},
        "paths": {f"/v1/{call.name}": {"post": _operation(call)} for call in CALLS.values()},
        "components": {
            "schemas": schema["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def text() -> str:
    """The document as it is kept."""
    return json.dumps(document(), ensure_ascii=False, indent=1) + "\n"


def _operation(call: Call) -> dict[str, Any]:
    return {
        "operationId": call.name,
        "summary": call.description,
        "requestBody": {"required": True, "content": _json(call.request.__name__)},
        "responses": {
            "200": {"description": "the answer", "content": _json(call.response.__name__)},
            **{status: {"description": said, "content": _json("ErrorShape")} for status, said in STATUSES.items()},
        },
    }


def _json(model: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"{_SCHEMAS}{model}"}}}


if __name__ == "__main__":
    KEPT.write_text(text(), encoding="utf-8")
