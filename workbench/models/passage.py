"""How a unit becomes one encoder input that fits the model, counted by the model's own tokenizer. Pure.

The path and the headings lose their outer end first, down to `HEADER_FLOOR` tokens; then the text loses its end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

HEADER_FLOOR = 16
"""Tokens of path and headings that stay even when the text alone would fill the model."""

TokenSpans = Callable[[str], list[tuple[int, int]]]
"""The character span of every token of a text, in order, without the model's special tokens."""


@dataclass(frozen=True, slots=True)
class PassageRule:
    """One model's rule: its prefix, its tokens, and how many of them it reads (special tokens apart; None: any)."""

    prefix: str
    spans_of: TokenSpans
    max_tokens: int | None

    def fit(self, path: str, heading_path: Sequence[str], text: str) -> str:
        """The prefix, then path, headings (joined by ` > `) and text on lines of their own, within `max_tokens`.

        An input that fits is tokenised once and returned unchanged.
        """
        header = "".join(f"{line}\n" for line in (path, " > ".join(heading_path)) if line)
        whole = self.prefix + header + text
        if self.max_tokens is None or len(spans := self.spans_of(whole)) <= self.max_tokens:
            return whole
        return self.prefix + self._cut_end(self._shorten(header, spans, self.max_tokens) + text, self.max_tokens)

    def _shorten(self, header: str, spans: Sequence[tuple[int, int]], limit: int) -> str:
        start, edge = len(self.prefix), len(self.prefix) + len(header)
        cuts = [begin - start for begin, _ in spans if start <= begin < edge]
        room = max(HEADER_FLOOR, limit - (len(spans) - len(cuts)))
        return header[cuts[-room] :].lstrip() if len(cuts) > room else header

    def _cut_end(self, body: str, limit: int) -> str:
        """The longest start of `body` found whose tokens fit. A cut can split a token, so each is counted again."""
        keep = limit
        while body and len(spans := self.spans_of(self.prefix + body)) > limit:
            end = spans[keep][0] - len(self.prefix)
            body = body[: max(0, min(end, len(body) - 1))].rstrip()
            keep = max(0, keep - 1)
        return body
