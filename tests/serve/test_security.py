"""Who may ask over the loopback, to the letter of each header, and what a token has to be."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send

from serve.security import Guard, token_of
from tests.serve.serving import Daemon
from workbench.core.errors import InputError


def asked(daemon: Daemon, *headers: str, target: str = "/metrics") -> int:
    """The status of a GET with just these header lines."""
    port = daemon.card["port"]
    filled = [line.format(port=port, token=daemon.token) for line in headers]
    with socket.create_connection(("127.0.0.1", port)) as connection:
        request = "\r\n".join([f"GET {target.format(port=port)} HTTP/1.1", *filled, "Connection: close", "", ""])
        connection.sendall(request.encode("latin-1"))
        return int(connection.makefile("rb").readline().split()[1])


HOST, TOKEN = "Host: 127.0.0.1:{port}", "Authorization: Bearer {token}"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([HOST, TOKEN], 200),
        ([HOST, "Authorization: bearer {token}"], 200),
        ([HOST, "authorization: BEARER   {token}"], 200),
        ([HOST, "Authorization: {token}"], 401),
        ([HOST, "Authorization: Basic {token}"], 401),
        ([HOST, "Authorization: Bearer"], 401),
        ([HOST, "Authorization: Bearer {token} {token}"], 401),
        ([HOST, "Authorization: Bearer \xe9"], 401),
        ([HOST, TOKEN, "Authorization: Bearer wrong"], 401),
        ([HOST, "Authorization: Bearer wrong", TOKEN], 401),
    ],
)
def test_the_token_comes_once_and_as_a_bearer_token(daemon: Daemon, headers: list[str], status: int) -> None:
    assert asked(daemon, *headers) == status


def test_a_token_in_the_address_is_no_token(daemon: Daemon) -> None:
    assert asked(daemon, HOST, target=f"/metrics?token={daemon.token}&access_token={daemon.token}") == 401


@pytest.mark.field(105)
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("LocalHost:{port}", 200),
        ("[::1]:{port}", 200),
        ("localhost.:{port}", 403),
        ("127.0.0.1.evil.example:{port}", 403),
        ("127.0.0.1", 403),
        ("127.0.0.1:0{port}", 403),
        ("somebody@127.0.0.1:{port}", 403),
        ("0.0.0.0:{port}", 403),
        ("", 403),
    ],
)
def test_the_host_is_this_one_with_its_port(daemon: Daemon, host: str, status: int) -> None:
    assert asked(daemon, f"Host: {host}", TOKEN) == status


@pytest.mark.field(105)
def test_two_hosts_or_another_one_in_the_request_line_are_refused(daemon: Daemon) -> None:
    assert asked(daemon, HOST, "Host: evil.example", TOKEN) == 400
    assert asked(daemon, "Host: evil.example:{port}", TOKEN, target="http://127.0.0.1:{port}/metrics") == 403
    assert asked(daemon, HOST, TOKEN, target="http://evil.example/metrics") == 404


@pytest.mark.anyio
@pytest.mark.parametrize(("host", "passed"), [(b"localhost", True), (b"localhost:80", True), (b"evil.example", False)])
async def test_the_port_that_clients_leave_out_may_be_left_out(host: bytes, passed: bool) -> None:
    seen: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope["path"])

    async def send(message: Message) -> None:
        pass

    scope = {"type": "http", "method": "GET", "path": "/healthz", "headers": [(b"host", host)]}
    await Guard(app, "a token")(scope | {"server": ("127.0.0.1", 80)}, None, send)  # type: ignore[arg-type]
    assert bool(seen) is passed


@pytest.mark.field(105)
@pytest.mark.parametrize(
    "origins",
    [
        ["localhost:{port}"],
        ["https://localhost:{port}"],
        ["http://localhost:{port}.evil.example"],
        ["http://http://localhost:{port}"],
        ["file://"],
        [""],
        ["http://localhost:{port}", "https://evil.example"],
    ],
)
def test_every_origin_is_this_very_one(daemon: Daemon, origins: list[str]) -> None:
    assert asked(daemon, HOST, TOKEN, *(f"Origin: {origin}" for origin in origins)) == 403


@pytest.mark.parametrize("held", [b"", b"\n", b"short", b"\xff" * 40, b"two words of a token that is long"])
def test_what_is_no_token_lets_nobody_in(tmp_path: Path, held: bytes) -> None:
    """An empty file, as a full disk leaves it, must not mean that no token is asked for."""
    path = tmp_path / "token"
    path.write_bytes(held)
    path.chmod(0o600)
    with pytest.raises(InputError, match="remove it") as refusal:
        token_of(path)
    assert refusal.value.code == "unauthorized"


def test_a_token_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "token"
    made = token_of(path)
    assert token_of(path) == made
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o640)
    with pytest.raises(InputError, match="Others can read"):
        token_of(path)
