"""API keys against a running server: who is let in, to what, how often, without a restart."""

from __future__ import annotations

import base64
import http.client
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.edges.processes import PATIENCE, HttpServer, call
from tests.edges.test_http import ask
from tests.edges.test_rest import ROUTES
from tests.edges.wiki_server import WikiFolder, bearer, get, mode_of, post, tool

SECRET = ("kestrel", "quillhaven", "osprey")


@pytest.fixture
def folder(tmp_path: Path) -> WikiFolder:
    return WikiFolder(tmp_path)


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[HttpServer, dict[str, str]]]:
    """Return a server with drafts allowed, and keys: reader, board (a label), drafts, author, which may not read."""
    folder = WikiFolder(tmp_path_factory.mktemp("labelled"))
    keys = {
        "reader": folder.create_key("reader"),
        "board": folder.create_key("board", "--label", "Board", "--label", "other"),
        "drafts": folder.create_key("drafts", "--scope", "mcp_read", "--scope", "drafts"),
        "author": folder.create_key("author", "--scope", "author"),
    }
    with folder.served("--allow-drafts") as server:
        yield server, keys


Labelled = tuple[HttpServer, dict[str, str]]


@pytest.mark.parametrize(("method", "path"), [*ROUTES, ("POST", "/mcp"), ("GET", "/api/nowhere")])
def test_every_route_needs_a_key_that_may_read(labelled: Labelled, method: str, path: str) -> None:
    server, keys = labelled
    for header in (
        {},
        bearer("wikimcp_wrong"),
        {"Authorization": "Basic !"},
        {"Authorization": keys["reader"]},
    ):
        reply = ask(server, method, path, headers=header)
        assert (reply.status, reply.body["error"]["code"]) == (401, "unauthorized")
        assert reply.headers["WWW-Authenticate"] == 'Bearer realm="wikimcp"'
    reply = ask(server, method, path, headers=bearer(keys["author"]))
    assert (reply.status, reply.body["error"]["code"]) == (403, "forbidden")
    assert "mcp_read" in reply.body["error"]["message"]
    assert ask(server, method, path, headers=bearer(keys["reader"])).status not in (401, 403)


def test_health_needs_no_key(labelled: Labelled) -> None:
    server, _ = labelled
    assert get(server, "/healthz").status == get(server, "/readyz").status == 200


def basic(user: str, text: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{text}".encode()).decode()}


def test_a_key_may_come_as_the_password_of_basic(labelled: Labelled) -> None:
    server, keys = labelled
    for user, status in (("reader", 200), ("", 200), ("board", 401)):
        assert ask(server, "GET", "/api/manifest", headers=basic(user, keys["reader"])).status == status
    assert ask(server, "GET", "/api/manifest", headers={"Authorization": "Basic Og=="}).status == 401
    both = ask(server, "GET", "/api/manifest", headers=bearer(keys["reader"]), also=(("Authorization", "x"),))
    assert both.status in (400, 401)


def test_a_label_opens_its_pages_over_rest_and_mcp_and_counts_follow(labelled: Labelled) -> None:
    server, keys = labelled
    for name, pages, sees in (("reader", 3, False), ("board", 4, True), ("drafts", 3, False)):
        key = keys[name]
        assert get(server, "/api/manifest", key).body["pages"] == pages
        assert get(server, "/api/pages", key).body["total"] == pages
        assert tool(server, "list_pages", key)["total"] == pages
        assert get(server, "/api/pages/board/kestrel", key).status == (200 if sees else 404)
        refs = [row["ref"] for row in get(server, "/api/source-refs", key).body["sources"]]
        assert ("the kestrel deed" in refs) is sees and "draft source" not in refs
        for mode in ("lexical", "hybrid"):
            bundles = [
                get(server, f"/api/bundle?query=kestrel+quillhaven&mode={mode}", key).body,
                tool(server, "assemble_bundle", key, query="kestrel quillhaven", mode=mode),
            ]
            for bundle in bundles:
                assert [s["slug"] for s in bundle["sections"]] == (["board/kestrel"] if sees else [])
                assert bundle["coverage"]["missingTerms"] == ([] if sees else ["kestrel", "quillhaven"])
                assert bundle["index"]["pages"] == pages
        tags = [row["tag"] for row in tool(server, "list_tags", key)["tags"]]
        assert ("kestreltag" in tags) is sees
        assert tool(server, "get_page", key, slug="open")["outlinkCount"] == int(sees)


def test_drafts_need_the_scope_the_switch_and_the_wish(labelled: Labelled, folder: WikiFolder) -> None:
    server, keys = labelled
    for name, sees, refs in (("reader", False, 2), ("board", False, 3), ("drafts", True, 3)):
        found = get(server, "/api/bundle?query=osprey+memo&include_drafts=true", keys[name]).body
        assert [s["slug"] for s in found["sections"]] == (["draft"] if sees else [])
        assert any("include_drafts" in note for note in found["notes"]) is not sees
        assert get(server, "/api/bundle?query=osprey+memo", keys[name]).body["sections"] == []
        assert get(server, "/api/source-refs?include_drafts=true", keys[name]).body["total"] == refs
    key = folder.create_key("drafts", "--scope", "mcp_read", "--scope", "drafts")
    with folder.served() as plain:
        found = get(plain, "/api/bundle?query=osprey+memo&include_drafts=true", key).body
        assert found["sections"] == [] and found["notes"]


def test_what_a_reader_is_told_holds_no_word_of_what_it_may_not_see(labelled: Labelled) -> None:
    server, keys = labelled
    key = keys["reader"]
    paths = [
        *(path for method, path in ROUTES if method == "GET"),
        "/api/pages/board%2Fkestre",
        "/api/pages/draf",
    ]
    for path in paths:
        told = get(server, path, key).text.lower().replace("board/kestre'", "")
        assert not [word for word in SECRET if word in told], path


def test_a_key_made_and_revoked_counts_at_once_without_a_restart(folder: WikiFolder) -> None:
    with folder.served() as server:
        assert get(server, "/api/manifest").status == 200
        assert get(server, "/api/manifest", "wikimcp_wrong").status == 401, "a wrong key is never anonymous"
        key = folder.create_key("late", "--label", "board")
        assert get(server, "/api/manifest").status == 401
        assert get(server, "/api/manifest", key).body["pages"] == 4
        assert folder.run("keys", "revoke", "late").returncode == 0
        assert get(server, "/api/manifest", key).status == 401
        assert get(server, "/api/manifest").status == 401, "revoking the last key opens nothing"


def test_a_file_of_keys_that_is_damaged_lets_nobody_in_and_stops_a_start(folder: WikiFolder) -> None:
    key = folder.create_key("ci")
    good = folder.keys.read_text(encoding="utf-8")
    with folder.served() as server:
        assert get(server, "/api/manifest", key).status == 200
        folder.keys.write_text("{broken", encoding="utf-8")
        assert get(server, "/api/manifest", key).status == get(server, "/api/manifest").status == 401
        refused = folder.run("serve", str(folder.vault), "--http", "127.0.0.1:0")
        assert refused.returncode == 1 and "damaged" in refused.stderr
        assert str(folder.keys.parent) not in refused.stderr
        assert folder.run("keys", "create", "more").returncode == 1
        assert folder.keys.read_text(encoding="utf-8") == "{broken"
        folder.keys.write_text(good, encoding="utf-8")
        assert get(server, "/api/manifest", key).status == 200
        _, stderr = server.stop()
    assert stderr.count("damaged") == 1 and key not in stderr


def test_anonymous_requests_are_answered_beside_keys_where_the_operator_says_so(folder: WikiFolder) -> None:
    key = folder.create_key("ana", "--label", "board")
    with folder.served("--allow-anonymous", "--allow-drafts") as server:
        assert get(server, "/api/manifest").body["pages"] == 3
        assert get(server, "/api/manifest", key).body["pages"] == 4
        assert get(server, "/api/manifest", "wrong").status == 401
        assert get(server, "/api/bundle?query=osprey&include_drafts=1").body["sections"] == []


def test_an_open_address_is_served_once_there_is_a_key(folder: WikiFolder) -> None:
    refused = folder.run("serve", str(folder.vault), "--http", "0.0.0.0:0")
    assert refused.returncode == 2
    assert "can be reached from other machines and there is no key" in refused.stderr
    assert "wikimcp keys create" in refused.stderr
    key = folder.create_key("ci")
    with folder.served(host="0.0.0.0") as server:
        local = HttpServer(server.process, f"http://127.0.0.1:{server.port}/mcp")
        assert get(local, "/api/manifest").status == 401
        assert get(local, "/api/manifest", key).status == 200


def test_requests_above_the_limit_are_told_when_to_come_again(folder: WikiFolder) -> None:
    first, second = folder.create_key("first"), folder.create_key("second")
    with folder.served("--set", "http.rate_per_minute=1", "--set", "http.rate_burst=3") as server:
        assert [get(server, "/api/manifest", first).status for _ in range(4)] == [200, 200, 200, 429]
        reply = get(server, "/api/manifest", first)
        assert reply.body["error"]["code"] == "rate_limited"
        assert 0 < int(reply.headers["Retry-After"]) <= 60
        assert post(server, "/mcp", call(1, "list_tags"), first).status == 429
        assert get(server, "/api/manifest", second).status == 200, "each key has its own"
        guesses = [get(server, "/api/manifest", f"wikimcp_{n}").status for n in range(5)]
        assert guesses == [401, 401, 401, 429, 429], "guessing is limited by address"
        assert [get(server, "/healthz").status for _ in range(5)] == [200] * 5


def test_pages_of_listed_origins_may_ask_and_no_others(folder: WikiFolder) -> None:
    key, origin = folder.create_key("web"), "https://app.example.org"
    with folder.served("--set", f"http.cors_origins={origin}") as server:
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        asked["Access-Control-Request-Headers"] = "authorization,content-type"
        preflight = ask(server, "OPTIONS", "/api/bundle", headers=asked)
        assert preflight.status == 200
        assert preflight.headers["Access-Control-Allow-Origin"] == origin
        reply = get(server, "/api/manifest", key, Origin=origin)
        assert (reply.status, reply.headers["Access-Control-Allow-Origin"]) == (200, origin)
        assert get(server, "/api/manifest", "", Origin=origin).status == 401
        for other in ("https://app.example.org.evil.test", "http://app.example.org", "null"):
            assert get(server, "/api/manifest", key, Origin=other).status == 403


def test_keys_are_kept_as_hashes_for_their_owner_alone(folder: WikiFolder) -> None:
    key = folder.create_key("ci", "--expires", "30d")
    assert key not in folder.keys.read_text(encoding="utf-8")
    assert mode_of(folder.keys) == 0o600 and mode_of(folder.keys.parent) == 0o700
    listed = folder.run("keys", "list", "--json")
    assert key not in listed.stdout
    (entry,) = json.loads(listed.stdout)["keys"]
    assert (entry["name"], entry["state"], entry["scopes"], entry["labels"]) == (
        "ci",
        "valid",
        ["mcp_read"],
        [],
    )
    again = folder.run("keys", "create", "ci")
    assert again.returncode == 1 and "already" in again.stderr


def test_a_head_that_does_not_come_to_its_end_is_given_up(tmp_path: Path) -> None:
    from tests.edges.slow_heads_main import start

    with start() as server, socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as slow:
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as silent:
            slow.sendall(b"GET /healthz HTTP/1.1\r\nHost: local")
            answer = slow.recv(4096)
            assert answer.startswith(b"HTTP/1.1 408 ") and slow.recv(4096) == b""
            assert silent.recv(4096) == b""
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
        connection.close()
