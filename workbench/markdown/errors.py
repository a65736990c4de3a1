"""Why a source cannot be read. Whoever holds the other sources isolates it and names the reason."""

from __future__ import annotations

ENCODING, NUL, FRONT_MATTER = "encoding", "nul", "front_matter"


class UnreadableSource(Exception):
    """A source that cannot serve. reason: one stable word; what is wrong with the text is named above."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
