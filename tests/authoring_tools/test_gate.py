"""Who is offered the tools of the authoring profile, and how they are announced."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from tests.authoring_tools.conftest import AUTHOR, READER, Project, Talk
from tests.edges.processes import HttpServer, environment
from tests.edges.wiki_server import WikiFolder, post
from wikimcp.authoring_tools.registry import TOOLS, built
from wikimcp.errors import BadArgument, NotFound
from wikimcp.markdown.tokens import count_tokens
from wikimcp.tools.registry import TOOLS as KNOWLEDGE

BUILT = [tool.name for tool in built()]


def test_the_tools_are_beside_the_21_and_for_authors_only(talk: Talk) -> None:
    service = talk.service
    assert set(TOOLS).isdisjoint(KNOWLEDGE)
    assert [tool.name for tool in service.tools(AUTHOR)][-len(BUILT) :] == BUILT
    for caller in (READER, None):
        assert {tool.name for tool in service.tools(caller)} <= set(KNOWLEDGE)
        assert not {prompt.name for prompt in service.prompts(caller)} & {"wiki-init", "wiki-lint"}
    with pytest.raises(NotFound, match="no tool named"):
        service.call("wiki_init", {}, READER)
    with pytest.raises(NotFound):
        service.prompt("wiki-init", {}, READER)


def test_each_tool_says_what_it_does_to_the_wiki(talk: Talk) -> None:
    hints = {tool.name: tool.hints for tool in talk.service.tools(AUTHOR)}
    assert {name for name in BUILT if hints[name].read_only} >= {"wiki_search", "wiki_read_page"}
    assert not hints["wiki_init"].read_only and not hints["wiki_init"].destructive
    assert hints["wiki_update_hot"].destructive
    assert all(hints[name].read_only for name in KNOWLEDGE if name in hints)


def test_descriptions_and_schemas_stay_short() -> None:
    from wikimcp.tools.schemas import input_schema_of

    for tool in built():
        schema = input_schema_of(tool.params)
        assert len(tool.description) < 2_000
        assert all(parameter.get("description") for parameter in schema["properties"].values()), tool.name
        assert schema["additionalProperties"] is False
    whole = sum(count_tokens(json.dumps([t.description, input_schema_of(t.params)])) for t in built())
    assert whole < 5_000


def test_wrong_arguments_are_named(talk: Talk) -> None:
    with pytest.raises(BadArgument, match="nearest: title"):
        talk("wiki_record_insight", titel="x", content="y")


def test_every_prompt_has_a_text_and_asks_for_what_it_needs(talk: Talk) -> None:
    prompts = [prompt.name for prompt in talk.service.prompts(AUTHOR)]
    assert prompts[-4:] == ["wiki-init", "wiki-refresh", "wiki-lint", "wiki-ingest"]
    for name in prompts[-4:-1]:
        assert "1. Call wiki_" in talk.service.prompt(name, {}, AUTHOR)
    for name in ("wiki-refresh", "wiki-lint"):
        assert "set the page's `generated` to now" in talk.service.prompt(name, {}, AUTHOR)
    assert "path='a b.pdf'" in talk.service.prompt("wiki-ingest", {"path": "a b.pdf"}, AUTHOR)
    for wrong in ({}, {"path": "a", "url": "b"}):
        with pytest.raises(BadArgument, match="exactly one"):
            talk.service.prompt("wiki-ingest", wrong, AUTHOR)


@pytest.mark.anyio
async def test_over_stdio_the_client_is_an_author_from_an_empty_project_on(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "wikimcp", "serve", "--profile", "authoring", "--embedder", "none"],
        cwd=tmp_path / "project",
        env=environment(WIKIMCP_STATE_DIR=str(tmp_path / "state")),
    )
    async with Client(server) as client:
        offered = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        assert set(BUILT) <= set(offered) and "assemble_bundle" not in offered  # nothing to read yet
        wanted = offered["wiki_update_hot"]
        assert wanted is not None
        assert (wanted.read_only_hint, wanted.destructive_hint) == (False, True)
        made = await client.call_tool("wiki_init", {"deploy_skills": False})
        assert not made.is_error and (tmp_path / "project" / ".wiki" / "SCHEMA.md").is_file()
        kept = await client.call_tool(
            "wiki_record_insight", {"title": "The mill", "content": "It grinds barley."}
        )
        assert kept.structured_content is not None and kept.structured_content["status"] == "recorded"
        offered = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        assert set(KNOWLEDGE) - {"search_by_meaning"} >= set(offered) - set(BUILT)
        assert "read_pages" in offered
        found = await client.call_tool("wiki_search", {"query": "barley", "mode": "search"})
        assert found.structured_content is not None
        (match,) = found.structured_content["matches"]
        assert (match["page"], match["status"]) == ("concepts/the-mill.md", "proposed")
        refused = await client.call_tool("wiki_read_page", {"page_path": "../secret.md"})
        assert refused.is_error and refused.content[0].text.startswith("access_denied")  # type: ignore[union-attr]
        assert str(tmp_path) not in refused.content[0].text  # type: ignore[union-attr]


def test_over_http_a_key_with_the_scope_author_is_needed(tmp_path: Path) -> None:
    folder = WikiFolder(tmp_path)
    project = tmp_path / "project"
    project.mkdir()
    options = ("--profile", "authoring", "--workspace", str(project))

    def names(server: HttpServer, key: str) -> set[str]:
        reply = post(server, "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, key)
        return {tool["name"] for tool in reply.body["result"]["tools"]}

    with folder.served(*options) as server:
        assert names(server, "") <= set(KNOWLEDGE)
        reader = folder.create_key("reader")
        author = folder.create_key("author", "--scope", "mcp_read", "--scope", "author")
        assert names(server, reader) <= set(KNOWLEDGE)
        assert names(server, author) >= set(BUILT)
        call = {"name": "wiki_init", "arguments": {"deploy_skills": False}}
        asked = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
        refused = post(server, "/mcp", asked, reader).body["result"]
        assert refused["isError"] and refused["content"][0]["text"].startswith("not_found")
        assert not (project / ".wiki" / "index.md").exists()
        assert not post(server, "/mcp", asked, author).body["result"].get("isError")
        assert (project / ".wiki" / "index.md").is_file()


def test_the_knowledge_profile_has_none_of_it(project: Project) -> None:
    from wikimcp.app import build_service

    service = build_service(project.settings(watch=False), background=False)
    try:
        assert {tool.name for tool in service.tools(AUTHOR)}.isdisjoint(TOOLS)
    finally:
        service.close()
