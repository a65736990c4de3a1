"""The activation state: which units, at which content, are in the client's context. Self-contained and bounded.

As text `mw1.PAYLOAD.CHECK`: PAYLOAD is base64url of the deflated canonical JSON `[project_id, [[unit_key,
content_hash], ...]]`, the unit used longest ago first; CHECK is the start of the payload's sha256. The check finds
damage; it is no signature, since a client can only deceive itself.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

from workbench.core.errors import InputError
from workbench.core.hashing import canonical_json, sha256_hex
from workbench.core.limits import LIMIT_FIELDS

STATE_VERSION = "mw1"
CHECK_CHARS = 16
MOST_UNITS = LIMIT_FIELDS["state_units"].cap
MOST_BYTES = 4 * 1024 * 1024
"""Of JSON, before anything is parsed: no short text can unfold into more."""
_HASH = re.compile("[0-9a-f]{64}")


def encode_state(project_id: str, units: Mapping[str, str]) -> str:
    """The state as text. units: unit_key → content_hash, the one used longest ago first."""
    plain = canonical_json([project_id, list(units.items())]).encode("utf-8")
    payload = base64.urlsafe_b64encode(zlib.compress(plain, 9)).decode("ascii").rstrip("=")
    return f"{STATE_VERSION}.{payload}.{sha256_hex(payload)[:CHECK_CHARS]}"


def decode_state(token: str | None, project_id: str) -> dict[str, str]:
    """unit_key → content_hash as `encode_state` was given it; empty without a state.

    Raises: `InputError("activation_state_invalid")` when the text is damaged or was made for another project.
    """
    if token is None:
        return {}
    try:
        owner, pairs = _unfolded(token)
        units = _checked(pairs)
    except (ValueError, zlib.error, binascii.Error, RecursionError) as error:
        raise _refused(f"The activation state is damaged ({error})") from error
    if owner != project_id:
        raise _refused("The activation state belongs to another project")
    return units


def _unfolded(token: str) -> tuple[Any, Any]:
    if not token.isascii() or token.count(".") != 2 or len(token) > MOST_BYTES:
        raise ValueError("not a state")
    version, payload, check = token.split(".")
    if version != STATE_VERSION:
        raise ValueError("unknown version")
    if sha256_hex(payload)[:CHECK_CHARS] != check:
        raise ValueError("wrong check")
    packed = base64.b64decode(payload + "=" * (-len(payload) % 4), altchars=b"-_", validate=True)
    inflater = zlib.decompressobj()
    plain = inflater.decompress(packed, MOST_BYTES)
    if not inflater.eof or inflater.unused_data:
        raise ValueError("wrong length")
    document = json.loads(plain)
    if not isinstance(document, list) or len(document) != 2:
        raise ValueError("wrong shape")
    return document[0], document[1]


def _checked(pairs: Any) -> dict[str, str]:
    if not isinstance(pairs, list) or len(pairs) > MOST_UNITS or not all(map(_is_unit, pairs)):
        raise ValueError("wrong units")
    units: dict[str, str] = dict(pairs)
    if len(units) != len(pairs):
        raise ValueError("a unit stands twice")
    return units


def _is_unit(pair: Any) -> bool:
    return (
        isinstance(pair, list)
        and len(pair) == 2
        and all(isinstance(one, str) for one in pair)
        and _HASH.fullmatch(pair[1]) is not None
    )


def _refused(finding: str) -> InputError:
    message = f"{finding}; leave the state out to get everything anew."
    return InputError("activation_state_invalid", message, stage="state")
