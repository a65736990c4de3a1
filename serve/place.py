"""Where the service of a home keeps its files: lock, sockets, token, log, and what it says of itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.core.errors import InputError
from workbench.storage.files import atomic_write, owner_only_folder

LONGEST_SOCKET_PATH = 103
"""Bytes that a unix socket's path may have on every system (104 on some, with the NUL at its end)."""


@dataclass(frozen=True)
class Place:
    """The files of one home's service, in an owner-only folder."""

    folder: Path

    @classmethod
    def of(cls, home: Path) -> Place:
        """The place in a home; the folder is made. Raises: `InputError` for a home whose path is too long."""
        place = cls(owner_only_folder(home.expanduser().absolute() / "serve"))
        if len(bytes(place.mcp_socket)) > LONGEST_SOCKET_PATH:
            raise InputError(
                "invalid_argument",
                "The path of the home is too long for a unix socket; set WORKBENCH_HOME to a shorter one.",
            )
        return place

    @property
    def lock(self) -> Path:
        """Held as long as the service lives; the system drops it however the process ends."""
        return self.folder / "lock"

    @property
    def mcp_socket(self) -> Path:
        """MCP in lines, for the bridges of stdio clients."""
        return self.folder / "mcp.sock"

    @property
    def http_socket(self) -> Path:
        """HTTP, for the owner of the home."""
        return self.folder / "http.sock"

    @property
    def token(self) -> Path:
        """The bearer token of the loopback port."""
        return self.folder / "token"

    @property
    def log(self) -> Path:
        """Where a service that was started for stdio clients writes its log."""
        return self.folder / "serve.log"

    @property
    def card(self) -> Path:
        """What the running service says of itself."""
        return self.folder / "service.json"

    def announce(self, **facts: Any) -> None:
        """Write the card."""
        atomic_write(self.card, json.dumps(facts).encode(), durable=False)

    def announced(self) -> dict[str, Any]:
        """The card of the service that runs, or ran last; empty when there is none."""
        try:
            card = json.loads(self.card.read_bytes())
        except (OSError, ValueError):
            return {}
        return card if isinstance(card, dict) else {}
