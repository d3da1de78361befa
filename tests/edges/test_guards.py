"""The parts of the edges on their own: hosts, deadlines, answers, lines."""

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from wikimcp.edges.answers import clean_json, strip_titles
from wikimcp.edges.http_guards import BodyLimit, Deadlines, HostRule, TimeLimit, is_loopback, single_key
from wikimcp.edges.jsonrpc import LineSplitter
from wikimcp.errors import SettingsError
from wikimcp.models import Caller

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("bound", "allowed", "authority", "accepted"),
    [
        ("127.0.0.1", (), "wiki.example.org", False),
        ("127.0.0.1", ("wiki.example.org",), "wiki.example.org", True),
        ("127.0.0.1", ("wiki.example.org",), "WIKI.example.org:8443", True),
        ("127.0.0.1", ("Wiki.Example.org:8443",), "wiki.example.org:8443", True),
        ("127.0.0.1", ("wiki.example.org:8443",), "wiki.example.org", False),
        ("127.0.0.1", ("wiki.example.org",), "a.wiki.example.org", False),
        ("192.168.1.5", (), "192.168.1.5:8000", True),
        ("192.168.1.5", (), "192.168.1.6:8000", False),
        ("192.168.1.5", (), "localhost:8000", True),
        ("0.0.0.0", (), "192.168.1.6:8000", True),
        ("0.0.0.0", (), "[fe80::1]:8000", True),
        ("0.0.0.0", (), "evil.test:8000", False),
        ("::", (), "10.1.2.3", True),
        ("fd00::7", (), "[fd00::7]:8000", True),
        ("fd00::7", (), "fd00::7", False),
        ("127.0.0.1", ("fd00::7",), "[FD00::7]", True),
    ],
)
def test_a_host_is_accepted_when_it_is_ours(
    bound: str, allowed: tuple[str, ...], authority: str, accepted: bool
) -> None:
    assert HostRule(bound, allowed).accepts(authority) is accepted


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_is_known(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "localhost.evil.test", "127.0.0.1.nip.io", ""])
def test_what_only_looks_like_loopback_is_not(host: str) -> None:
    assert not is_loopback(host)


def test_an_empty_key_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match="the API key is empty"):
        single_key(" ", Caller())


def test_the_scheme_of_a_key_may_be_in_any_case() -> None:
    caller = Caller(name="key")
    assert single_key("abc", caller)("bearer  abc ") == caller
    assert single_key("abc", caller)(None) is None


async def serve(app: object, *messages: Message) -> list[Message]:
    incoming = list(messages)
    sent: list[Message] = []

    async def receive() -> Message:
        return incoming.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {"type": "http", "method": "POST", "path": "/", "headers": []}
    await app(scope, receive, send)  # type: ignore[operator]
    return sent


async def sleeper(scope: Scope, receive: Receive, send: Send) -> None:
    await anyio.sleep_forever()


async def stream(scope: Scope, receive: Receive, send: Send) -> None:
    headers = [(b"content-type", b"text/event-stream")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await anyio.sleep_forever()


async def test_a_request_that_takes_too_long_is_answered_503() -> None:
    start, body = await serve(TimeLimit(sleeper, Deadlines(0.01)))
    assert start["status"] == 503
    assert b'"timeout"' in body["body"]


async def test_an_event_stream_outlives_the_limit_but_not_the_server() -> None:
    deadlines = Deadlines(0.01)
    sent: list[Message] = []
    ended = anyio.Event()

    async def run() -> None:
        sent.extend(await serve(TimeLimit(stream, deadlines)))
        ended.set()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await serve(TimeLimit(sleeper, Deadlines(0.05)))  # its limit is up later than the stream's
            assert not ended.is_set()
            deadlines.hurry(0.0)
            await ended.wait()
    assert [message["type"] for message in sent] == ["http.response.start"]


async def test_a_client_that_leaves_while_it_sends_gets_no_answer() -> None:
    part: Message = {"type": "http.request", "body": b"x", "more_body": True}
    assert await serve(BodyLimit(sleeper, 10), part, {"type": "http.disconnect"}) == []


async def test_a_body_in_parts_arrives_whole() -> None:
    seen: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.extend([await receive(), await receive()])

    await serve(
        BodyLimit(app, 10),
        {"type": "http.request", "body": b"12345", "more_body": True},
        {"type": "http.request", "body": b"67890"},
        {"type": "http.disconnect"},
    )
    assert seen == [
        {"type": "http.request", "body": b"1234567890", "more_body": False},
        {"type": "http.disconnect"},
    ]


def test_titles_go_but_properties_and_values_called_title_stay() -> None:
    schema = {
        "title": "Arguments",
        "properties": {
            "title": {"title": "Title", "type": "string", "default": {"title": "x"}, "enum": ["title"]},
            "other": {"anyOf": [{"title": "A", "type": "string"}, {"type": "null"}]},
        },
        "required": ["title"],
        "$defs": {"title": {"title": "T", "type": "object"}},
    }
    assert strip_titles(schema) == {
        "properties": {
            "title": {"type": "string", "default": {"title": "x"}, "enum": ["title"]},
            "other": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["title"],
        "$defs": {"title": {"type": "object"}},
    }


def test_json_that_is_clean_is_left_alone_and_the_rest_cleaned() -> None:
    clean = {"a": ["ж", 1, None, 2.5]}
    assert clean_json(clean) is clean
    dirty = {"a\ud800": [float("inf"), {"b": "x\udfff"}], "c": (1, 2)}
    assert clean_json(dirty) == {"a?": [None, {"b": "x?"}], "c": [1, 2]}
    with pytest.raises(TypeError):
        clean_json({"a": object()})


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_lines_are_cut_the_same_however_the_bytes_arrive(size: int) -> None:
    data = b"one\n\ntwo\r\n" + b"x" * 11 + b"\n" + b"y" * 10 + b"\nlast"
    splitter = LineSplitter(limit=10)
    lines: list[bytes | None] = []
    for start in range(0, len(data), size):
        lines += splitter.feed(data[start : start + size])
    lines += splitter.finish()
    assert lines == [b"one", b"", b"two\r", None, b"y" * 10, b"last"]
