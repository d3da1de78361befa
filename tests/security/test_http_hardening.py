"""A server that is open to others: guesses, half bodies, odd heads, and what never gets into a log."""

from __future__ import annotations

import contextlib
import hmac
import re
import socket
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest
from starlette.types import Message, Scope

from tests.edges.processes import PATIENCE
from tests.edges.test_http import ask
from tests.edges.wiki_server import WikiFolder, bearer, get, post
from tests.index.live_wiki import until
from wikimcp.access.keys import ApiKey, matching, mint
from wikimcp.edges.http_guards import BodyLimit, Deadlines, TimeLimit, single_key
from wikimcp.models import Caller

NOW = datetime(2031, 2, 3, tzinfo=UTC)


def _keys(count: int) -> tuple[list[ApiKey], list[str]]:
    minted = [mint(f"k{number}", scopes=["mcp_read"], now=NOW) for number in range(count)]
    return [key for key, _ in minted], [text for _, text in minted]


@pytest.mark.parametrize("at", [0, 3, 5])
def test_a_guess_is_compared_with_every_key_as_a_whole_wherever_it_fits(
    monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    keys, texts = _keys(5)
    compared: list[tuple[int, int]] = []
    compare = hmac.compare_digest

    def counted(first: str, second: str) -> bool:
        compared.append((len(first), len(second)))
        return compare(first, second)

    monkeypatch.setattr(hmac, "compare_digest", counted)
    found = matching(keys, texts[at] if at < 5 else "wikimcp_guess", now=NOW)
    assert (found is not None) == (at < 5)
    assert compared == [(64, 64)] * 5, "the same work, on texts of one length, whichever key it is"


def test_a_static_key_is_compared_by_digests_of_one_length(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[int, int]] = []
    compare = hmac.compare_digest

    def counted(first: bytes, second: bytes) -> bool:
        compared.append((len(first), len(second)))
        return compare(first, second)

    monkeypatch.setattr(hmac, "compare_digest", counted)
    authenticate = single_key("right", Caller())
    given = ("Bearer right", "Bearer r", "Bearer " + "x" * 5_000, "Basic right", None)
    assert [authenticate(header) is not None for header in given] == [True, False, False, False, False]
    assert compared == [(32, 32)] * 5


def test_keys_have_too_many_forms_to_be_guessed() -> None:
    _, texts = _keys(50)
    assert len(set(texts)) == 50
    assert all(re.fullmatch(r"wikimcp_[A-Za-z0-9_-]{43}", text) for text in texts)


def test_who_guesses_keys_is_slowed_down_and_whoever_has_one_is_not(tmp_path: Path) -> None:
    folder = WikiFolder(tmp_path)
    key = folder.create_key("reader")
    options = ("--set", "http.rate_per_minute=1", "--set", "http.rate_burst=3")
    with folder.served(*options) as server:
        told = [get(server, "/api/manifest", f"wikimcp_guess{number}").status for number in range(6)]
        assert told == [401, 401, 401, 429, 429, 429]
        assert get(server, "/api/manifest", key).status == 200


@pytest.mark.anyio
async def test_a_body_that_does_not_come_to_its_end_is_given_up() -> None:
    sent: list[Message] = []
    reached = False

    async def app(scope: Scope, receive: object, send: object) -> None:
        nonlocal reached
        reached = True

    async def receive() -> Message:
        if not sent:
            await anyio.lowlevel.checkpoint()
        return {"type": "http.request", "body": b"", "more_body": True}  # a byte now and then, for ever

    async def send(message: Message) -> None:
        sent.append(message)

    guard = TimeLimit(BodyLimit(app, 1_000), Deadlines(0.05))

    async def slowly() -> Message:
        await anyio.sleep(0.001)
        return await receive()

    with anyio.fail_after(PATIENCE):
        await guard({"type": "http", "method": "POST", "path": "/", "headers": []}, slowly, send)
    assert (sent[0]["status"], reached) == (503, False)


ODD_REQUESTS = [
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET " + b"/a" * 40_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 200_000 + b"\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx\r\n0\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz\r\n",
    b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}" + b"\x00noise" * 99,
    b"GET / HTTP/1.1\r\nHost: localhost\r\n folded: yes\r\n\r\n",
    b"GET http://wiki.example/api/manifest HTTP/1.1\r\nHost: wiki.example\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n",
]


def _answer(port: int, request: bytes) -> bytes:
    """Send bytes and return all that comes back until the server closes its end, which it may at any time."""
    answer = b""
    with (
        contextlib.suppress(ConnectionError),
        socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as wire,
    ):
        wire.sendall(request)
        with contextlib.suppress(OSError):  # closed by the server already, and no longer connected
            wire.shutdown(socket.SHUT_WR)
        while part := wire.recv(65_536):
            answer += part
    return answer


def test_odd_heads_get_an_error_or_a_closed_door_and_no_key_gets_into_a_log(tmp_path: Path) -> None:
    folder = WikiFolder(tmp_path)
    key, wrong = folder.create_key("reader"), "wikimcp_wrongwrongwrong"
    query = "theaskedquestion"
    with folder.served("--log-level", "debug") as server:
        for request in ODD_REQUESTS:
            answer = _answer(server.port, request)
            assert not answer or re.match(rb"HTTP/1\.1 (400|401|403|404|405|408|413|421|431) ", answer), (
                answer
            )
            assert b"Traceback" not in answer
        for header in (bearer(key), bearer(wrong), {"Authorization": f"Basic {key}"}, {"X-Api-Key": key}):
            ask(server, "GET", f"/api/bundle?query={query}", headers=header)
            ask(server, "POST", "/mcp", body=b"{", headers=header)
            ask(server, "GET", "/", headers={**header, "Host": "evil.example"})
            ask(server, "GET", "/", headers={**header, "Origin": "https://evil.example"})
        assert post(server, "/api/bundle", {"query": query}, key).status == 200
        status, log = server.stop()
    assert status == 0
    assert "evil.example" in log, "the log is the one that was asked for"
    for secret in (key, wrong, query, key[-12:]):
        assert secret not in log
    assert "Traceback" not in log
    assert str(tmp_path) not in log


def test_metrics_and_errors_tell_no_key(tmp_path: Path) -> None:
    folder = WikiFolder(tmp_path)
    key = folder.create_key("reader")
    with folder.served() as server:
        said = [get(server, f"/api/pages/{key}", key).text, get(server, "/metrics", key).text]
        said += [get(server, "/api/manifest", key[:-1]).text, get(server, "/api/status", key).text]
    assert key not in "".join(said[1:])


def test_connections_that_are_too_many_are_refused_and_the_open_ones_served(tmp_path: Path) -> None:
    with (
        WikiFolder(tmp_path).served("--set", "http.max_connections=4") as server,
        contextlib.ExitStack() as held,
    ):
        address = ("127.0.0.1", server.port)
        wires = [held.enter_context(socket.create_connection(address, timeout=PATIENCE)) for _ in range(4)]
        for wire in wires:  # an answer on each, so that the server has taken all of them
            assert _asked(wire).startswith(b"HTTP/1.1 200 ")
        refused = [
            _answer(server.port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") for _ in range(20)
        ]
        assert all(not answer or answer.startswith(b"HTTP/1.1 503 ") for answer in refused) and any(refused)
        assert _asked(wires[0]).startswith(b"HTTP/1.1 200 ")
        for wire in wires[1:]:
            wire.shutdown(socket.SHUT_RDWR)
            wire.close()
        last = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        until(lambda: _answer(server.port, last).startswith(b"HTTP/1.1 200 "), "a place came free")


def _asked(wire: socket.socket) -> bytes:
    wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = b""
    while not answer.endswith(b"}"):  # head and body may come apart
        answer += (part := wire.recv(65_536))
        assert part, answer
    return answer
