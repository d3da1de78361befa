"""The REST routes of a real server over a real vault."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.edges.processes import HttpServer
from tests.edges.test_http import BAD_HOSTS, ask
from tests.edges.wiki_server import WikiFolder, get, in_path, post, tool

ROUTES = [
    *(
        ("GET", path)
        for path in ("/api/bundle?query=valve", "/api/manifest", "/api/pages", "/api/pages/valve")
    ),
    *(("GET", path) for path in ("/api/source-refs", "/api/openapi.json", "/metrics", "/api/briefing")),
    *(("GET", path) for path in ("/api/graph", "/api/graph/neighborhood")),
    *(("POST", path) for path in ("/api/bundle", "/api/briefing")),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> WikiFolder:
    return WikiFolder(tmp_path_factory.mktemp("rest"))


@pytest.fixture(scope="module")
def server(folder: WikiFolder) -> Iterator[HttpServer]:
    with folder.served() as running:
        yield running


def plain(data: Any) -> Any:  # noqa: ANN401 - JSON
    data["index"].pop("ageSeconds", None)
    return data


def test_a_bundle_is_the_same_by_get_by_post_and_over_mcp(server: HttpServer) -> None:
    by_get = get(server, "/api/bundle?query=when+does+the+valve+close&limit=2&tags=ops")
    asked = {"query": "when does the valve close", "limit": 2, "tags": ["ops"]}
    by_post = post(server, "/api/bundle", asked)
    assert by_get.status == by_post.status == 200
    assert by_get.headers["content-type"] == "application/json"
    expected = plain(tool(server, "assemble_bundle", **asked))
    assert plain(by_get.body) == plain(by_post.body) == expected
    assert expected["sections"][0]["slug"] == "valve"


def test_a_list_is_a_name_several_times_in_the_url(server: HttpServer) -> None:
    found = get(server, "/api/pages?tags=ops&tags=wet").body
    assert [page["slug"] for page in found["pages"]] == ["valve"]


def test_pages_are_listed_part_by_part(server: HttpServer) -> None:
    first = get(server, "/api/pages?limit=2").body
    second = get(server, f"/api/pages?limit=2&cursor={first['nextCursor']}").body
    slugs = [page["slug"] for page in first["pages"] + second["pages"]]
    assert (first["total"], slugs) == (3, ["open", "ops/a b", "valve"])
    assert "nextCursor" not in second
    reply = get(server, f"/api/pages?limit=2&sort=title&cursor={first['nextCursor']}")
    assert (reply.status, reply.body["error"]["code"]) == (422, "bad_argument")


def test_pages_are_filtered_by_what_either_tool_can_filter(server: HttpServer) -> None:
    assert [p["slug"] for p in get(server, "/api/pages?type=runbook").body["pages"]] == ["ops/a b"]
    found = get(server, "/api/pages?verified=false&tags=ops&modified_after=2000").body
    assert [p["slug"] for p in found["pages"]] == ["ops/a b", "valve"]
    reply = get(server, "/api/pages?verified=false&author=ana")
    assert reply.status == 422 and "author" in reply.body["error"]["message"]


def test_one_page_is_told_by_metadata_markdown_or_outline(server: HttpServer, folder: WikiFolder) -> None:
    path = f"/api/pages/{in_path('ops/a b')}"
    told = get(server, path).body
    assert (told["slug"], told["title"], told["type"]) == ("ops/a b", "Spaced", "runbook")
    text = get(server, f"{path}?format=markdown").body
    assert text["content"] == (folder.vault / "ops/a b.md").read_text(encoding="utf-8")
    assert text["citation"]["handle"] == "ops/a b @ 1" and text["index"]["generation"] == 1
    outline = get(server, f"{path}?format=outline").body["outline"]
    assert [row["heading"] for row in outline] == ["Spaced", "Steps"]
    assert "Stop." in get(server, f"{path}?format=markdown&heading=Steps").body["content"]
    assert get(server, f"/api/pages/{in_path('Spaced')}").body["slug"] == "ops/a b"


def test_source_references_name_the_pages_that_rest_on_them(server: HttpServer) -> None:
    found = get(server, "/api/source-refs").body
    assert (found["total"], found["pageCount"]) == (2, 2)
    assert found["sources"] == [
        {"ref": "RFC 9110", "pageCount": 2, "pages": ["open", "valve"]},
        {"ref": "minutes", "pageCount": 1, "pages": ["open"]},
    ]
    assert get(server, "/api/source-refs?page=valve").body["total"] == 1
    assert get(server, "/api/source-refs?contains=MINUTES").body["sources"][0]["ref"] == "minutes"
    first = get(server, "/api/source-refs?limit=1").body
    rest = get(server, f"/api/source-refs?limit=1&cursor={first['nextCursor']}").body
    assert [row["ref"] for row in first["sources"] + rest["sources"]] == ["RFC 9110", "minutes"]
    assert get(server, "/api/source-refs?page=nowhere").status == 404


def test_the_manifest_counts_what_everybody_may_see(server: HttpServer) -> None:
    told = get(server, "/api/manifest").body
    assert (told["pages"], told["read_only"]) == (3, True)


ERRORS = [
    ("GET", "/api/pages/nowhere", None, 404, "not_found"),
    ("GET", "/api/pages/nowhere?format=markdown", None, 404, "not_found"),
    ("GET", "/api/pages/valve?format=html", None, 422, "bad_argument"),
    ("GET", "/api/pages/valve?slug=open", None, 422, "bad_argument"),
    ("GET", "/api/pages/valve?quary=x", None, 422, "bad_argument"),
    ("GET", "/api/pages/", None, 422, "bad_argument"),
    ("GET", "/api/pages?limit=many", None, 422, "bad_argument"),
    ("GET", "/api/pages?limit=1&limit=2", None, 422, "bad_argument"),
    ("GET", "/api/pages?modified_after=soon", None, 422, "bad_argument"),
    ("GET", "/api/bundle", None, 422, "bad_argument"),
    ("GET", "/api/manifest?x=1", None, 422, "bad_argument"),
    ("GET", "/api/pages/%00%ff", None, 404, "not_found"),
    ("GET", "/api/nowhere", None, 404, "not_found"),
    ("GET", "/api/pages/../../etc/passwd", None, 404, "not_found"),
    ("POST", "/api/bundle", b"{", 400, "bad_request"),
    ("POST", "/api/bundle", b"[1]", 400, "bad_request"),
    ("POST", "/api/bundle", b"\xff\xfe", 400, "bad_request"),
    ("POST", "/api/bundle", b'{"a":' * 20_000, 400, "bad_request"),
    ("POST", "/api/bundle", b"", 422, "bad_argument"),
    ("POST", "/api/bundle", b'{"query": {}}', 422, "bad_argument"),
    ("DELETE", "/api/bundle", None, 405, "bad_method"),
    ("POST", "/api/pages", b"{}", 405, "bad_method"),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), ERRORS)
def test_an_error_has_its_status_and_one_shape(
    server: HttpServer, method: str, path: str, body: bytes | None, status: int, code: str
) -> None:
    reply = ask(server, method, path, body=body)
    assert (reply.status, reply.body["error"]["code"]) == (status, code)
    assert set(reply.body) == {"error"} and set(reply.body["error"]) == {"code", "message"}
    assert len(reply.text) < 1_200
    if status == 405:
        assert "GET" in reply.headers["Allow"]


def test_several_pages_of_one_name_are_a_conflict(tmp_path: Path) -> None:
    folder = WikiFolder(tmp_path)
    folder.write("x/twin.md", "# One\n\nA.\n")
    folder.write("y/twin.md", "# Two\n\nB.\n")
    with folder.served() as server:
        for query in ("", "?format=markdown"):
            reply = get(server, f"/api/pages/twin{query}")
            assert (reply.status, reply.body["error"]["code"]) == (409, "ambiguous")
            assert "x/twin" in reply.body["error"]["message"]


def test_a_briefing_comes_as_markdown_and_as_json(server: HttpServer) -> None:
    reply = get(server, "/api/briefing?prompt=valve")
    assert (reply.status, reply.headers["Content-Type"].split(";")[0]) == (200, "text/markdown")
    data = get(server, "/api/briefing?prompt=valve&format=json").body
    assert data["prompt"] == "valve" and data["usedTokens"] <= data["budgetTokens"]


def test_the_graph_comes_whole_and_around_one_page(server: HttpServer) -> None:
    whole = get(server, "/api/graph").body
    page = next(node for node in whole["nodes"] if node["kind"] == "page")
    around = get(server, f"/api/graph/neighborhood?node={quote(page['label'])}").body
    assert around["start"] == page["id"]
    assert {node["id"] for node in around["nodes"]} <= {node["id"] for node in whole["nodes"]}


@pytest.mark.parametrize(
    "path", ["/api/bundle?query=valve", "/api/manifest", "/api/pages", "/api/openapi.json"]
)
def test_what_a_client_has_already_is_not_sent_again(server: HttpServer, path: str) -> None:
    reply = get(server, path)
    tag = reply.headers["ETag"]
    assert reply.headers["Cache-Control"] == "private, no-cache"
    assert "Authorization" in reply.headers["Vary"]
    for known in (tag, f'"other", {tag}', tag.removeprefix("W/"), "*"):
        again = get(server, path, **{"If-None-Match": known})
        assert (again.status, again.text, again.headers["ETag"]) == (304, "", tag)
    assert get(server, path, **{"If-None-Match": '"other"'}).status == 200


def test_an_edit_changes_the_tag(tmp_path: Path) -> None:
    folder = WikiFolder(tmp_path)
    with folder.served() as server:
        before = get(server, "/api/pages/valve").headers["ETag"]
        folder.write("valve.md", "# Valve\n\nThe valve closes at 50 C.\n")
        after = get(server, "/api/pages/valve", **{"If-None-Match": before})
        assert after.status == 200 and after.headers["ETag"] != before


def test_head_says_what_get_says_without_the_body(server: HttpServer) -> None:
    head, whole = ask(server, "HEAD", "/api/manifest"), get(server, "/api/manifest")
    assert (head.status, head.text, head.headers["ETag"]) == (200, "", whole.headers["ETag"])
    assert head.headers["Content-Length"] == str(len(whole.text.encode()))


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_every_route_refuses_foreign_hosts_and_origins(server: HttpServer, method: str, path: str) -> None:
    for host in BAD_HOSTS[:4]:
        assert ask(server, method, path, headers={"Host": host}).status == 421
    assert ask(server, method, path, headers={"Origin": "https://evil.test"}).status == 403
    assert ask(server, method, path, headers={"Origin": "null"}).status == 403


def test_the_api_description_lists_what_is_on_with_the_tools_own_schemas(server: HttpServer) -> None:
    told = get(server, "/api/openapi.json").body
    assert told["openapi"].startswith("3.1")
    assert {"/api/bundle", "/api/manifest", "/api/pages", "/api/pages/{slug}", "/api/source-refs"} <= set(
        told["paths"]
    )
    body = told["paths"]["/api/bundle"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert body["required"] == ["query"] and body["additionalProperties"] is False
    names = [parameter["name"] for parameter in told["paths"]["/api/pages"]["get"]["parameters"]]
    assert {"tags", "status", "verified", "cursor", "limit", "author"} <= set(names)
    assert len(names) == len(set(names))
    assert "title" not in json.dumps(body)


def test_metrics_count_requests_by_route_and_say_no_word_of_the_vault(server: HttpServer) -> None:
    get(server, "/api/pages/valve")
    get(server, "/api/pages/board/kestrel")
    get(server, "/api/secret-name?query=osprey")
    reply = get(server, "/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    line = re.compile(
        r'(# (HELP|TYPE) [a-z0-9_]+ .+|[a-z0-9_]+(\{([a-z]+="[^"\\]*",?)+\})? [0-9.e+-]+)\n', re.ASCII
    )
    assert line.sub("", reply.text) == ""
    assert 'wikimcp_http_requests_total{route="/api/pages/{slug}",method="GET",status="404"}' in reply.text
    assert 'route="other",method="GET",status="404"' in reply.text
    assert "\nwikimcp_index_pages 3\n" in reply.text and "\nwikimcp_ready 1\n" in reply.text
    assert 'wikimcp_index_state{state="ready"} 1' in reply.text
    for word in ("valve", "kestrel", "osprey", "secret"):
        assert word not in reply.text
    count = re.search(r'_count\{route="/api/pages/\{slug\}"\} (\d+)', reply.text)
    infinite = re.search(r'_bucket\{route="/api/pages/\{slug\}",le="\+Inf"\} (\d+)', reply.text)
    assert count and infinite and count[1] == infinite[1]
