"""Every call of the service: the one table behind the MCP tools, the HTTP routes and the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping

from serve import evaluation_calls, memory_calls, retrieval_calls
from serve.call import Call

CALLS: Mapping[str, Call] = {
    call.name: call for call in (*retrieval_calls.CALLS, *memory_calls.CALLS, *evaluation_calls.CALLS)
}
"""name -> call, in the order in which they are shown."""
