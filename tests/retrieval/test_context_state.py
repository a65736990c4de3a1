"""The activation state as text: what goes in comes out, and nothing else is accepted."""

from __future__ import annotations

import base64
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core.errors import InputError
from workbench.core.hashing import canonical_json, sha256_hex
from workbench.retrieval.context_state import decode_state, encode_state

hashes = st.text("0123456789abcdef", min_size=64, max_size=64)
states = st.dictionaries(st.text(min_size=1).filter(lambda key: key.isprintable()), hashes, max_size=20)


def forged(document: object) -> str:
    payload = base64.urlsafe_b64encode(zlib.compress(canonical_json(document).encode())).decode().rstrip("=")
    return f"mw1.{payload}.{sha256_hex(payload)[:16]}"


@pytest.mark.spec("D14")
@given(states)
def test_a_state_comes_back_as_it_was_in_the_same_order(units: dict[str, str]) -> None:
    assert list(decode_state(encode_state("p", units), "p").items()) == list(units.items())


def test_no_state_is_an_empty_context() -> None:
    assert decode_state(None, "p") == {}


@pytest.mark.spec("D14")
@given(states, st.data())
def test_a_state_with_any_character_changed_is_refused(units: dict[str, str], data: st.DataObject) -> None:
    token = encode_state("p", units)
    at = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.characters(codec="utf-8").filter(lambda one: one != token[at]))
    with pytest.raises(InputError) as refused:
        decode_state(token[:at] + other + token[at + 1 :], "p")
    assert refused.value.code == "activation_state_invalid"


@pytest.mark.spec("D14")
def test_a_state_of_another_project_is_refused() -> None:
    with pytest.raises(InputError, match="another project"):
        decode_state(encode_state("p", {}), "q")


@pytest.mark.spec("D14")
@pytest.mark.parametrize(
    "token",
    [
        "",
        "mw1..",
        "mw2." + encode_state("p", {}).partition(".")[2],
        "花名.花名.花名",
        forged({}),
        forged(["p"]),
        forged(["p", {}]),
        forged(["p", [["key", "no hash"]]]),
        forged(["p", [["key", "0" * 64], ["key", "1" * 64]]]),
        forged(["p", [[f"key-{number}", "0" * 64] for number in range(513)]]),
        forged([None, []]),
    ],
)
def test_what_is_no_state_is_refused(token: str) -> None:
    with pytest.raises(InputError) as refused:
        decode_state(token, "p")
    assert refused.value.code == "activation_state_invalid"


@pytest.mark.field(121)
def test_a_state_that_would_unfold_without_end_is_refused() -> None:
    with pytest.raises(InputError):
        decode_state(forged(["p", "a" * 64_000_000]), "p")
