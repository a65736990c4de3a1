"""The one error root and the one list of stable codes.

Every failure a caller can act on is a `WorkbenchError` with a code from `ERROR_CODES` and one readable sentence that
says what to do next. Foreign exceptions are translated once, at the seam where they enter.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

ERROR_CODES = MappingProxyType(
    {
        "invalid_query": "the query is empty, too long, or holds characters that are not text",
        "invalid_argument": "an argument is unknown or outside its range",
        "project_unknown": "no memory root stands at this path",
        "project_unreadable": "the memory root cannot be listed, or is suddenly empty; the last index is left alone",
        "home_unwritable": "the home folder cannot be written",
        "index_preparing": "no complete revision exists yet; one is being built",
        "index_busy": "another process is building this project's index",
        "index_build_failed": "the index could not be built",
        "model_preparing": "the model is still loading",
        "model_unknown": "the catalogue has no such model",
        "model_missing": "the model is not installed",
        "model_invalid": "the installed model does not pass its check",
        "install_failed": "the model could not be installed",
        "deadline_exceeded": "the deadline came before any answer",
        "overloaded": "the service had no free slot before the deadline",
        "cancelled": "the caller cancelled the call, or went away",
        "service_interrupted": "the service ended while the call ran",
        "unauthorized": "the request carries no valid token, or comes from a foreign host or origin",
        "activation_state_invalid": "the activation state is damaged or was made by something else",
        "run_not_found": "no run has this id",
        "run_not_succeeded": "the run did not succeed",
        "run_corpus_incomplete": "the run's frozen corpus is incomplete",
        "case_not_found": "no evaluation case has this id",
        "evaluation_case_conflict": "the case was changed since it was read",
        "evidence_invalid": "evidence names nothing in the case's frozen corpus",
        "evidence_duplicate": "the same evidence stands twice in one case",
        "resolution_invalid": "a resolution has evidence or none_matched, and not both",
        "fixture_invalid": "the evaluation set cannot be imported as it is",
        "digest_conflict": "the file was changed since the writer read it",
        "whiteboard_rejected": "the page breaks a rule of the whiteboard",
        "writer_busy": "another process is writing this memory",
        "read_only": "writing is switched off here",
        "state_damaged": "the state manifest is damaged",
        "schema_too_new": "the database was written by a newer version",
        "store_damaged": "the central store is damaged; it is never overwritten",
        "limits_invalid": "the limits contradict each other or exceed a hard cap",
        "policy_incompatible": "the policy was calibrated for another feature version",
        "internal": "an internal error; the log has the same id",
    }
)
"""code -> what it means in general. A message names the particular case. Sorted by the place in the chain."""

USAGE_EXIT, NOT_READY_EXIT, INTERNAL_EXIT = 2, 3, 4
_NOT_READY = frozenset(
    {"index_preparing", "index_busy", "model_preparing", "model_missing", "writer_busy", "overloaded"}
)
_INTERNAL = frozenset({"internal", "index_build_failed"})


class WorkbenchError(Exception):
    """A failure with a stable code.

    code: a key of `ERROR_CODES`; message: one sentence that names the next step; stage: the pipeline or build stage
    that failed, if any; detail: JSON-able findings, each with its place.
    """

    def __init__(self, code: str, message: str, *, stage: str | None = None, detail: Any = None) -> None:
        if code not in ERROR_CODES:
            raise LookupError(f"unknown error code {code!r}")
        super().__init__(message)
        self.code, self.message, self.stage, self.detail = code, message, stage, detail

    def as_dict(self) -> dict[str, Any]:
        """The wire shape `{code, message, stage?, detail?}`."""
        shape: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.stage is not None:
            shape["stage"] = self.stage
        if self.detail is not None:
            shape["detail"] = self.detail
        return shape

    @property
    def outline(self) -> str:
        """The message as it may travel: it names no place on this machine outside of the memory."""
        return self.message

    @property
    def exit_status(self) -> int:
        """The exit status of the `workbench` command for this error: 2 bad input, 3 not ready, 4 internal."""
        if self.code in _INTERNAL:
            return INTERNAL_EXIT
        return NOT_READY_EXIT if self.code in _NOT_READY else USAGE_EXIT


class InputError(WorkbenchError):
    """The caller gave something that cannot be used; nothing was changed."""


class NotReady(WorkbenchError):
    """An index or a model is not there yet; trying again later, or the named command, helps."""


class StorageError(WorkbenchError):
    """A file or database cannot serve."""

    @property
    def outline(self) -> str:
        """What the code means: the message says where the file is."""
        return f"{ERROR_CODES[self.code]}."


class ModelError(WorkbenchError):
    """A model is missing, damaged, or cannot be installed."""
