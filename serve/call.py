"""One call of the service: its request, its answer and its handler, as MCP, HTTP and the OpenAPI document show it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import Field, ValidationError

from serve.errors import refused
from workbench.core.deadline import Deadline
from workbench.core.errors import InputError
from workbench.core.limits import resolve_limits
from workbench.core.text import is_valid_unicode
from workbench.core.wire import Wire

if TYPE_CHECKING:
    from workbench.app import Home, Project
    from workbench.app.live import LiveIndex


class ForProject(Wire):
    """The base of every request: which of the served memories it is about."""

    project: str | None = Field(
        None, description="project_id or folder of a served memory; left out where only one is served"
    )


@dataclass(frozen=True)
class Desk:
    """What a handler works with. named: the project of the request; None where the call is about none."""

    home: Home
    live: LiveIndex
    served: Mapping[str, Project]
    deadline: Deadline
    named: Project | None

    @property
    def project(self) -> Project:
        """The project of a `ForProject` request."""
        assert self.named is not None
        return self.named


@dataclass(frozen=True)
class Call:
    """One call. read_only: changes no memory and no evaluation data, though a retrieval leaves its run behind."""

    name: str
    description: str
    request: type[Wire]
    response: type[Wire]
    run: Callable[[Desk, Any], Wire]
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True

    @cached_property
    def request_schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""
        return self.request.model_json_schema()

    @cached_property
    def response_schema(self) -> dict[str, Any]:
        """JSON Schema of the answer."""
        return self.response.model_json_schema(mode="serialization")

    def parse(self, arguments: Mapping[str, Any]) -> Wire:
        """The request in these arguments; an empty text or null for an optional one means that it was left out.

        Raises: `InputError("invalid_argument")` naming every argument that is unknown or does not fit.
        """
        if not is_valid_unicode(json.dumps({**arguments, "query": ""}, ensure_ascii=False)):
            raise InputError("invalid_argument", "An argument holds half a character; send valid Unicode.")
        fields = self.request.model_fields
        given = {
            name: value
            for name, value in arguments.items()
            if not (name in fields and not fields[name].is_required() and value in ("", None))
        }
        try:
            return self.request.model_validate(given)
        except ValidationError as error:
            raise refused(error, tuple(fields)) from None


def deadline_of(request: Wire | None, limits: Mapping[str, int]) -> Deadline:
    """The deadline of a request, counted from now: its own, at most the limit's. limits: the home's, under its own.

    Raises: `InputError("invalid_argument")` when it leaves no time at all; `InputError("limits_invalid")`.
    """
    most = resolve_limits({**limits, **getattr(request, "limits", {})}).deadline_ms
    asked = getattr(request, "deadline_ms", None)
    if asked is not None and asked < 1:
        raise InputError("invalid_argument", f"deadline_ms is {asked}; give at least 1 millisecond.")
    return Deadline.after_ms(most if asked is None else min(asked, most))
