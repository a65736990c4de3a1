"""Hashes are contracts: one canonical form, one algorithm (sha256), golden values in the tests."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def sha256_hex(data: bytes | str) -> str:
    """sha256 as 64 lower-case hex digits; text is hashed as UTF-8, lone surrogates kept apart by `surrogatepass`."""
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return hashlib.sha256(raw).hexdigest()


def canonical_json(value: Any) -> str:
    """The one JSON form that is hashed: sorted keys, no spaces, text unescaped, no NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """sha256 of the canonical JSON of a value."""
    return sha256_hex(canonical_json(value))
