"""How long work tells how far it is."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Called with the phase's name, the work done and the work in all, in the phase's own unit, `done` rising."""

    def __call__(self, phase: str, done: int, total: int) -> None: ...


def no_progress(phase: str, done: int, total: int) -> None:
    """The callback of whoever does not watch."""


def rising(progress: Progress) -> Progress:
    """For work that passes the same phase several times: what would fall behind what was said already is left out."""
    said: dict[str, int] = {}

    def advance(phase: str, done: int, total: int) -> None:
        if done > said.get(phase, -1):
            said[phase] = done
            progress(phase, done, total)

    return advance
