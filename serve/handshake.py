"""Who the service is, and its answer to `initialize`, which needs no engine and no SDK.

The SDK takes a second to import; a host should not wait for it. A test holds this answer to be the SDK's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench import __version__

NAME, TITLE, VERSION = "memory-workbench", "Memory Workbench", __version__
PROTOCOLS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Protocol revisions that begin with `initialize`, oldest first; a client of another one is offered the last."""

INSTRUCTIONS = """\
Long-term memory in Markdown. Call activate_memory with what you are working on: it returns the few passages that \
belong in your context now. Hand the `state` of its result back, unchanged, with the next call: what you hold already \
comes back as `reuse` without text, and `remove` lists what to drop. memory_recall is a single look-up without state. \
An error is an object {code, message, stage?, detail?}; its message names the next step."""


def is_opening(message: Mapping[str, Any]) -> bool:
    """Whether this `initialize` is one that the SDK would take; what is none is for it to refuse."""
    params, request_id = message.get("params"), message.get("id")
    if not isinstance(request_id, str | int) or isinstance(request_id, bool) or not isinstance(params, dict):
        return False
    client = params.get("clientInfo")
    named = isinstance(client, dict) and all(isinstance(client.get(key), str) for key in ("name", "version"))
    return named and isinstance(params.get("protocolVersion"), str) and isinstance(params.get("capabilities"), dict)


def answer(params: Mapping[str, Any]) -> dict[str, Any]:
    """The result of `initialize`."""
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in PROTOCOLS else PROTOCOLS[-1],
        "capabilities": {"resources": {"subscribe": False, "listChanged": False}, "tools": {"listChanged": False}},
        "serverInfo": {"name": NAME, "title": TITLE, "version": VERSION},
        "instructions": INSTRUCTIONS,
    }
