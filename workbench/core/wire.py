"""The base of every value that crosses a process border: frozen, closed, and finite."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Wire(BaseModel):
    """A frozen wire value. Unknown fields are refused by name; NaN and infinity never get out."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)
