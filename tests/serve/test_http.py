"""HTTP on real sockets: the same calls, the same errors, who is refused, and what the SDK's client gets."""

from __future__ import annotations

import http.client
import json
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from serve import openapi
from serve.calls import CALLS
from tests.serve.serving import QUERY, Daemon

BIG = 2 * 1024 * 1024


def test_a_script_gets_memory_as_json(client: httpx.Client) -> None:
    first = client.post("/v1/activate_memory", json={"query": QUERY}).json()
    again = client.post("/v1/activate_memory", json={"query": QUERY, "state": first["state"], "freshness": ""}).json()
    assert first["fragments"][0]["path"] == "decisions/queue.md"
    assert {fragment["delta_action"] for fragment in again["fragments"]} == {"reuse"}
    record = client.post("/v1/get_retrieval_run", json={"run_id": first["run_id"]}).json()
    assert [one["unit_key"] for one in record["fragments"]] == [one["unit_key"] for one in first["fragments"]]


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/v1/activate_memory", b'{"query": "tea", "glob": 1}', 400, "invalid_argument"),
        ("/v1/activate_memory", b'{"query": ""}', 400, "invalid_query"),
        ("/v1/activate_memory", b"[]", 400, "invalid_argument"),
        ("/v1/activate_memory", b"\xff", 400, "invalid_argument"),
        ("/v1/activate_memory", b"[" * 100_000, 400, "invalid_argument"),
        ("/v1/activate_memory", b'{"query": "\\ud800"}', 400, "invalid_query"),
        ("/v1/activate_memory", b'{"query": "tea", "request_key": "\\ud800"}', 400, "invalid_argument"),
        ("/v1/activate_memory", b'{"query": "tea", "\\ud800": ["\\ud800"]}', 400, "invalid_argument"),
        ("/v1/activate_memory", b'{"query": "tea", "project": "../.."}', 404, "project_unknown"),
        ("/v1/get_retrieval_run", b'{"run_id": "nope"}', 404, "run_not_found"),
        ("/v1/no_such_call", b"{}", 404, "invalid_argument"),
        ("/v2", b"{}", 404, "invalid_argument"),
        ("/healthz", b"{}", 405, "invalid_argument"),
    ],
)
def test_every_refusal_has_the_one_shape(client: httpx.Client, path: str, body: bytes, status: int, code: str) -> None:
    answer = client.post(path, content=body)
    assert answer.status_code == status
    assert answer.json()["code"] == code
    assert answer.json()["message"].endswith(".")
    assert answer.json().keys() <= {"code", "message", "stage", "detail"}


@pytest.mark.field(105)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1:1"}, 403),
        ({"host": "localhost.evil.example:{port}"}, 403),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"authorization": ""}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"host": "localhost:{port}", "origin": "http://localhost:{port}"}, 200),
    ],
)
@pytest.mark.parametrize("path", ["/v1/activate_memory", "/mcp"])
def test_foreign_hosts_origins_and_tokens_are_refused(
    daemon: Daemon, client: httpx.Client, headers: dict[str, str], status: int, path: str
) -> None:
    filled = {name: value.format(port=daemon.card["port"]) for name, value in headers.items()}
    answer = client.post(path, json={"query": QUERY}, headers=filled)
    if status == 200:
        assert answer.status_code not in {401, 403}
    else:
        assert (answer.status_code, answer.json()["code"]) == (status, "unauthorized")


def test_the_token_and_the_sockets_are_the_owners_alone(daemon: Daemon) -> None:
    for path in (daemon.place.token, daemon.place.mcp_socket, daemon.place.http_socket, daemon.place.card):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(daemon.place.folder.stat().st_mode) == 0o700


def test_the_owners_socket_needs_no_token(daemon: Daemon) -> None:
    transport = httpx.HTTPTransport(uds=str(daemon.place.http_socket))
    with httpx.Client(transport=transport, base_url="http://workbench") as client:
        assert client.post("/v1/activate_memory", json={"query": QUERY}).json()["fragments"]


@pytest.mark.parametrize("path", ["/v1/activate_memory", "/mcp"])
def test_a_body_over_the_bound_is_refused(client: httpx.Client, path: str) -> None:
    whole = client.post(path, content=b'{"query": "' + b"x" * BIG + b'"}')
    assert (whole.status_code, whole.json()["code"]) == (413, "invalid_argument")

    def pieces() -> Iterator[bytes]:
        yield b'{"query": "'
        for _ in range(32):
            yield b"x" * (BIG // 32)

    try:
        unannounced = client.post(path, content=pieces())
    except httpx.TransportError:
        return  # it was told while it still sent
    assert unannounced.status_code == 413


def test_stalled_slow_and_idle_clients_hold_nobody_up(daemon: Daemon, client: httpx.Client) -> None:
    port = daemon.card["port"]
    head = f"POST /v1/activate_memory HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {daemon.token}\r\n"
    begun = [b"POST /v1/act", head.encode(), f"{head}Content-Length: 100\r\n\r\n{{".encode()]
    body = b'{"query": "queue"}'
    unread = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
    try:
        for number, connection in enumerate(connections):
            connection.sendall([*begun, unread, b""][number % 5])
        for _ in range(10):
            assert client.post("/v1/activate_memory", json={"query": QUERY}).status_code == 200
    finally:
        for connection in connections:
            connection.close()
    assert client.get("/healthz").json() == {"status": "ok"}


@pytest.mark.parametrize(
    "request_lines",
    [b"no HTTP", b"GET / HTTP/1.1\r\nHost: a\r\nHost: b", b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 99_999],
)
def test_what_is_no_request_is_refused_in_the_one_shape(daemon: Daemon, request_lines: bytes) -> None:
    with socket.create_connection(("127.0.0.1", daemon.card["port"])) as connection:
        connection.sendall(request_lines + b"\r\n\r\n")
        response = http.client.HTTPResponse(connection)
        response.begin()
        assert response.status == 400
        assert json.loads(response.read())["code"] == "invalid_argument"


@pytest.mark.parametrize("answered_first", [False, True])
def test_a_body_that_breaks_off_the_protocol_ends_its_connection_and_no_more(
    daemon: Daemon, client: httpx.Client, answered_first: bool
) -> None:
    head = (
        f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{daemon.card['port']}\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    )
    with socket.create_connection(("127.0.0.1", daemon.card["port"])) as connection:
        connection.sendall(head if answered_first else head + b"no chunk\r\n")
        assert connection.recv(12) == (b"HTTP/1.1 200" if answered_first else b"HTTP/1.1 400")
        if answered_first:
            connection.sendall(b"no chunk\r\n")
        while connection.recv(4096):
            pass
    assert client.get("/healthz").status_code == 200
    log = (daemon.home.parent / "daemon.log").read_text(encoding="utf-8")
    assert '"level": "error"' not in log


def test_metrics_count_calls_by_name_and_code(client: httpx.Client) -> None:
    client.post("/v1/activate_memory", json={"query": "a very secret question"})
    client.post("/v1/activate_memory", json={})
    text = client.get("/metrics").text
    assert 'workbench_calls_total{call="activate_memory",code="ok"}' in text
    assert 'workbench_calls_total{call="activate_memory",code="invalid_argument"}' in text
    assert "secret" not in text


def test_health_needs_no_token_and_metrics_do(daemon: Daemon) -> None:
    with httpx.Client(base_url=daemon.base) as stranger:
        assert stranger.get("/healthz").status_code == 200
        assert stranger.get("/readyz").status_code == 200
        assert stranger.get("/metrics").status_code == 401
        assert stranger.get("/openapi.json").status_code == 401


@pytest.mark.spec("D13")
def test_the_served_document_is_the_kept_one(client: httpx.Client) -> None:
    assert client.get("/openapi.json").json() == openapi.document()


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["legacy", "auto"])
async def test_the_sdks_streamable_http_client_is_served(daemon: Daemon, era: Any) -> None:
    headers = {"authorization": f"Bearer {daemon.token}"}
    async with (
        httpx.AsyncClient(headers=headers, timeout=60) as web,
        Client(streamable_http_client(f"{daemon.base}/mcp", http_client=web), mode=era) as client,
    ):
        assert {tool.name for tool in (await client.list_tools()).tools} == CALLS.keys()
        answer = await client.call_tool("activate_memory", {"query": QUERY})
        refusal = await client.call_tool("activate_memory", {"query": QUERY, "typo": 1})
    assert answer.structured_content["fragments"][0]["path"] == "decisions/queue.md"
    assert refusal.is_error and "typo" in refusal.content[0].text


@pytest.mark.slow
def test_generated_requests_get_documented_answers_only(daemon: Daemon) -> None:
    """schemathesis over the kept document, against the real server."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", str(openapi.KEPT), "--url", daemon.base),
            *("--header", f"Authorization: Bearer {daemon.token}", "--max-examples", "40"),
            # An empty value counts as left out, and a query or a state holds to more than a schema can say.
            *("--exclude-checks", "positive_data_acceptance,negative_data_rejection"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
