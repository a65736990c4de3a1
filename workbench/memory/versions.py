"""The bytes that writes have replaced, each kept once under its own digest: `.memory/versions/<2 hex>/<sha256>.md`.

Nothing is ever removed from there.
"""

from __future__ import annotations

from pathlib import Path

from workbench.core.hashing import sha256_hex
from workbench.memory.own_files import put_own

VERSIONS_FOLDER = ".memory/versions"


def keep_version(root: Path, data: bytes) -> None:
    """Keep bytes before they are replaced. Raises: `StorageError("home_unwritable")`."""
    digest = sha256_hex(data)
    if read_version(root, digest) is None:
        put_own(root, _ref(digest), data, area="memory.version")


def read_version(root: Path, digest: str) -> bytes | None:
    """The bytes of this digest; None when they were never kept, or are not what they were."""
    try:
        data = (root / _ref(digest)).read_bytes()
    except OSError:
        return None
    return data if sha256_hex(data) == digest else None


def _ref(digest: str) -> str:
    return f"{VERSIONS_FOLDER}/{digest[:2]}/{digest}.md"
