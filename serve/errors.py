"""One shape for every error that leaves the service: `{code, message, stage?, detail?}`.

An internal error is its id and nothing else: no traceback, no foreign message, no path.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

import structlog
from pydantic import ValidationError

from workbench.core.errors import InputError, StorageError, WorkbenchError
from workbench.core.wire import Wire

HTTP_STATUS = {
    "unauthorized": 401,
    "project_unknown": 404,
    "run_not_found": 404,
    "case_not_found": 404,
    "evaluation_case_conflict": 409,
    "digest_conflict": 409,
    "run_not_succeeded": 409,
    "run_corpus_incomplete": 409,
    "read_only": 403,
    "cancelled": 499,
    "internal": 500,
    "home_unwritable": 500,
    "store_damaged": 500,
    "deadline_exceeded": 504,
}
"""code -> HTTP status; what is not ready is 503, another file or database that cannot serve 500, all else 400."""
_NOT_READY_EXIT = 3
_log = structlog.get_logger("serve")


class ErrorShape(Wire):
    """An error as it leaves the service. `code` is stable; `message` names the next step."""

    code: str
    message: str
    stage: str | None = None
    detail: Any = None


def public(error: Exception) -> WorkbenchError:
    """The error as a client may see it; what is not meant for clients is logged under an id."""
    if isinstance(error, StorageError) and error.code in {"internal", "home_unwritable", "store_damaged"}:
        return _hidden(error, error.code)
    if isinstance(error, WorkbenchError):
        return error
    return _hidden(error, "internal")


def http_status(error: WorkbenchError) -> int:
    """The HTTP status of an error that `public` gave."""
    if error.exit_status == _NOT_READY_EXIT:
        return 503
    return HTTP_STATUS.get(error.code, 500 if isinstance(error, StorageError) else 400)


def refused(error: ValidationError, known: Sequence[str]) -> InputError:
    """The refusal of arguments that are no request, with every finding and its place."""
    findings = [_finding(one) for one in error.errors(include_url=False, include_input=False, include_context=False)]
    hint = f" Known are: {', '.join(known)}." if any("no such argument" in finding for finding in findings) else ""
    return InputError("invalid_argument", f"Correct these arguments: {'; '.join(findings)}.{hint}", detail=findings)


def _finding(one: Any) -> str:
    place = ".".join(map(str, one["loc"])) or "arguments"
    said = "no such argument" if one["type"] == "extra_forbidden" else one["msg"]
    return f"{place}: {said}"


def _hidden(error: Exception, code: str) -> WorkbenchError:
    reference = uuid.uuid4().hex[:12]
    _log.error("internal_error", id=reference, code=code, **trouble(error))
    return WorkbenchError(code, f"An internal error, {reference}; the log of the service has its place.")


def trouble(error: BaseException) -> dict[str, Any]:
    """Type and frames of an error; its message stays out, since it may quote a query or a memory."""
    frames, trace = [], error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        frames.append(f"{code.co_filename}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return {"type": type(error).__name__, "frames": frames[-12:]}
