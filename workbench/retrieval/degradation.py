"""Every degradation code of an activation: which part could not serve. What served instead stands in the detail."""

from __future__ import annotations

from enum import StrEnum

from workbench.core.activation import DegradationNote


class Degraded(StrEnum):
    """An arm that ran and found nothing is no degradation; each of these means that a part could not do its work."""

    IDENTITY_DEADLINE = "identity_deadline"
    LEXICAL_NOT_READY = "lexical_not_ready"
    LEXICAL_DEADLINE = "lexical_deadline"
    DENSE_UNAVAILABLE = "dense_unavailable"
    DENSE_NOT_READY = "dense_not_ready"
    DENSE_DEADLINE = "dense_deadline"
    MODEL_PREPARING = "model_preparing"
    RERANK_UNAVAILABLE = "rerank_unavailable"
    RERANK_TIMEOUT = "rerank_timeout"
    RERANK_INVALID = "rerank_invalid"
    RERANK_LANGUAGE = "rerank_language"
    DEADLINE = "deadline"
    INDEX_REFRESH_FAILED = "index_refresh_failed"

    def note(self, detail: str) -> DegradationNote:
        """The wire form, with what served instead."""
        return DegradationNote(code=self.value, detail=detail)


class PartOff(Exception):
    """A part cannot do its work now. Internal: the pipeline turns it into a degradation."""

    def __init__(self, code: Degraded, detail: str) -> None:
        super().__init__(detail)
        self.note = code.note(detail)
