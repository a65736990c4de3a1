"""A memory folder to write into, and captures of it that remember the last one, as an index does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.core.limits import resolve_limits
from workbench.core.resource import SourceStamp
from workbench.memory.reading import changed_ns
from workbench.memory.snapshot import MemorySnapshot, capture_snapshot


class Memory:
    """A memory root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.stamps: Mapping[str, SourceStamp] = {}

    def write(self, ref: str, text: str | bytes) -> Path:
        path = self.root / ref
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def state(self, version: int, states: Mapping[str, Any], **more: Any) -> Path:
        document = {"format": "memory-state-1", "record_state_version": version, "states": states, **more}
        return self.write(".memory/state.json", json.dumps(document))

    def capture(self, **limits: int) -> MemorySnapshot:
        """A capture that knows what the capture before it saw."""
        snapshot = capture_snapshot(self.root, "project", self.stamps, resolve_limits(limits))
        self.stamps = snapshot.stamps
        return snapshot


def settled(stamps: Mapping[str, SourceStamp], root: Path) -> dict[str, SourceStamp]:
    """The stamps as they would be had the files been old when they were read."""
    return {ref: replace(stamp, changed_ns=changed_ns((root / ref).stat())) for ref, stamp in stamps.items()}
