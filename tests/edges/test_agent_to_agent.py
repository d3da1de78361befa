"""The agent-to-agent surface: absent unless asked for, and then answering with bundles of visible pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.edges.processes import HttpServer
from tests.edges.test_http import ask
from tests.edges.wiki_server import WikiFolder, bearer, get, post

types = pytest.importorskip("a2a.types", reason="the extra a2a is not installed")
json_format = pytest.importorskip("google.protobuf.json_format")

CARD, SEND = "/.well-known/agent-card.json", "/message:send"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> WikiFolder:
    return WikiFolder(tmp_path_factory.mktemp("a2a"))


@pytest.fixture(scope="module")
def keys(folder: WikiFolder) -> dict[str, str]:
    return {"plain": folder.create_key("plain"), "board": folder.create_key("board", "--label", "board")}


@pytest.fixture(scope="module")
def server(folder: WikiFolder, keys: dict[str, str]) -> Iterator[HttpServer]:
    with folder.served("--a2a") as running:
        yield running


def message(text: str) -> dict[str, Any]:
    return {"message": {"messageId": "m1", "contextId": "c1", "role": "ROLE_USER", "parts": [{"text": text}]}}


def test_without_the_flag_there_is_nothing(folder: WikiFolder, keys: dict[str, str]) -> None:
    with folder.served() as server:
        assert get(server, CARD, keys["plain"]).status == 404
        assert post(server, SEND, message("valve"), keys["plain"]).status == 404


def test_the_card_is_one_that_the_sdk_reads(server: HttpServer, keys: dict[str, str]) -> None:
    reply = get(server, CARD, keys["plain"])
    card = json_format.ParseDict(reply.body, types.AgentCard())
    assert card.name == "wikimcp" and card.skills[0].id == "assemble_bundle"
    (interface,) = card.supported_interfaces
    assert interface.url == f"http://{server.host}:{server.port}"
    assert (interface.protocol_binding, interface.protocol_version) == ("HTTP+JSON", "1.0")
    assert not card.capabilities.streaming


def test_a_message_is_answered_with_the_bundle_of_what_its_key_may_see(
    server: HttpServer, keys: dict[str, str]
) -> None:
    for name, sees in (("plain", False), ("board", True)):
        reply = post(server, SEND, message("kestrel quillhaven"), keys[name])
        assert reply.status == 200
        assert reply.headers["content-type"] == "application/a2a+json"
        answer = json_format.ParseDict(reply.body, types.SendMessageResponse()).message
        assert (answer.role, answer.context_id) == (types.Role.ROLE_AGENT, "c1")
        text, data = answer.parts
        bundle = json_format.MessageToDict(data.data)
        assert [section["slug"] for section in bundle["sections"]] == (["board/kestrel"] if sees else [])
        assert ("ends in Quillhaven" in text.text) is sees
        assert ("ends in Quillhaven" in reply.text) is sees


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[]", 400),
        (b"{}", 400),
        (b'{"message": 1}', 400),
        (b'{"message": {"parts": "x"}}', 400),
        (b'{"message": {"parts": []}}', 422),
        (b'{"message": {"parts": [{"text": "  "}, {"url": "http://evil.test/"}]}}', 422),
    ],
)
def test_what_is_no_message_is_an_error_of_the_one_shape(
    server: HttpServer, keys: dict[str, str], body: bytes, status: int
) -> None:
    reply = ask(server, "POST", SEND, body=body, headers=bearer(keys["plain"]))
    assert reply.status == status
    assert set(reply.body["error"]) == {"code", "message"}
    assert "Traceback" not in reply.text


def test_the_guards_stand_before_it_too(server: HttpServer) -> None:
    for method, path in (("GET", CARD), ("POST", SEND)):
        assert ask(server, method, path).status == 401
        assert ask(server, method, path, headers={"Host": "evil.test"}).status == 421
        assert ask(server, method, path, headers={"Origin": "https://evil.test"}).status == 403
