"""The time of day: read here by default, and written in one form (ISO 8601, UTC, milliseconds, `Z`)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """The time of day in UTC."""
    return datetime.now(UTC)


def time_text(moment: datetime) -> str:
    """The stored form of a moment; its text sorts by time."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
