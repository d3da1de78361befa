"""The contract of all tools: names, parameters, schemas, token budgets, gating."""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.tools.small_wiki import SmallWiki
from wikimcp.markdown.tokens import count_tokens
from wikimcp.models import Audience
from wikimcp.tools.contract import AnyTool
from wikimcp.tools.registry import TOOLS, Backends, available, load
from wikimcp.tools.rendering import compact_json
from wikimcp.tools.schemas import input_schema, output_schema

SIGNATURES = {
    "read_pages": ["slugs", "heading", "format", "cursor", "include_drafts"],
    "get_page": ["slug", "include_drafts"],
    "list_pages": [
        "cluster",
        "tags",
        "type",
        "author",
        "modified_after",
        "modified_before",
        "sort",
        "limit",
        "cursor",
        "include_drafts",
    ],
    "list_metadata_values": ["field", "limit", "cursor", "include_drafts"],
    "list_clusters": ["limit", "cursor", "include_drafts"],
    "list_tags": ["min_pages", "limit", "cursor", "include_drafts"],
    "list_pages_by_filter": [
        "type",
        "cluster",
        "tag",
        "status",
        "updated_since",
        "stale_days",
        "verified",
        "sort",
        "limit",
        "cursor",
        "include_drafts",
    ],
    "get_page_by_id": ["id", "include_drafts"],
    "get_ontology": ["include_drafts"],
    "sparql_query": ["query", "format", "limit", "include_drafts"],
}
REQUIRED = {
    "read_pages": ["slugs"],
    "get_page": ["slug"],
    "get_page_by_id": ["id"],
    "sparql_query": ["query"],
}
validator: Any = import_module("jsonschema").Draft202012Validator  # comes with the MCP library, untyped
EVERYTHING = Backends(pages=True, embedder=True, graph=True, triples=True, citations=True)


def tool_of(name: str) -> AnyTool:
    tool = load(name)
    assert tool is not None
    return tool


def test_the_contract_names_21_tools_in_its_order() -> None:
    names = """
        assemble_bundle get_briefing
        retrieve_context read_pages get_page list_pages list_metadata_values
        list_clusters list_tags list_pages_by_filter get_page_by_id
        discover_schema query_nodes get_node traverse search_knowledge find_similar
        get_page_for_agent get_ontology sparql_query list_stale_citations
    """
    assert list(TOOLS) == names.split()


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_tool_has_exactly_its_parameters_in_order(name: str) -> None:
    schema = input_schema(tool_of(name))
    assert list(schema["properties"]) == SIGNATURES[name]
    assert schema.get("required", []) == REQUIRED.get(name, [])


@pytest.mark.parametrize("name", SIGNATURES)
def test_defaults_and_ranges_are_those_of_the_contract(name: str) -> None:
    shown = {
        (parameter, key): value
        for parameter, facts in input_schema(tool_of(name))["properties"].items()
        for key, value in facts.items()
        if key in ("default", "minimum", "maximum", "enum", "maxItems")
    }
    expected: dict[str, dict[tuple[str, str], Any]] = {
        "read_pages": {
            ("slugs", "maxItems"): 20,
            ("format", "enum"): ["markdown", "outline"],
            ("format", "default"): "markdown",
        },
        "list_pages": {
            ("sort", "enum"): ["path", "updated", "title"],
            ("sort", "default"): "path",
            ("limit", "default"): 50,
            ("limit", "minimum"): 1,
            ("limit", "maximum"): 200,
        },
        "list_tags": {("min_pages", "default"): 1},
        "sparql_query": {
            ("format", "enum"): ["json", "table"],
            ("format", "default"): "table",
            ("limit", "maximum"): 1_000,
        },
    }
    assert expected.get(name, {}).items() <= shown.items()


def all_schemas(schema: object) -> list[dict[str, Any]]:
    if isinstance(schema, dict):
        inner = [found for value in schema.values() for found in all_schemas(value)]
        return [schema, *inner]
    if isinstance(schema, list):
        return [found for value in schema for found in all_schemas(value)]
    return []


@pytest.mark.parametrize("name", SIGNATURES)
def test_schemas_are_plain_described_and_closed(name: str) -> None:
    schema = input_schema(tool_of(name))
    assert schema["additionalProperties"] is False
    assert all(facts["description"] for facts in schema["properties"].values())
    for shown in (schema, output_schema(tool_of(name))):
        validator.check_schema(shown)
        text = compact_json(shown)
        assert not any(word in text for word in ('"anyOf"', '"$ref"', '"$defs"', '"null"', "Params"))
        assert not any(isinstance(found.get("title"), str) for found in all_schemas(shown))


def test_schemas_are_the_same_every_time_and_belong_to_the_caller() -> None:
    tool = tool_of("list_pages")
    first = input_schema(tool)
    first["properties"].clear()
    assert list(input_schema(tool)["properties"]) == SIGNATURES["list_pages"]


@pytest.mark.parametrize("name", SIGNATURES)
def test_descriptions_are_short_and_say_when_to_use_the_tool(name: str) -> None:
    tool = tool_of(name)
    assert len(tool.description.encode()) < 2_048
    assert "use it" in tool.description.split(". ")[0]
    assert tool.title


def test_the_reading_and_listing_tools_leave_room_in_the_token_budgets() -> None:
    tools = [tool_of(name) for name in SIGNATURES]
    asked = sum(count_tokens(compact_json([t.name, t.description, input_schema(t)])) for t in tools)
    answered = sum(count_tokens(compact_json(output_schema(t))) for t in tools)
    assert asked < 1_700
    assert answered < 3_000


def test_all_built_tools_are_within_the_token_budgets() -> None:
    tools = [load(name) for name in available(EVERYTHING)[0]]
    asked = sum(count_tokens(compact_json([t.name, t.description, input_schema(t)])) for t in tools)
    answered = sum(count_tokens(compact_json(output_schema(t))) for t in tools)
    assert len(tools) == 21
    assert asked < 5_000
    assert asked + answered < 9_000


def test_without_pages_no_tool_is_registered_and_each_says_why() -> None:
    tools, off = available(Backends(embedder=True, graph=True, triples=True, citations=True))
    assert tools == ()
    assert list(off) == list(TOOLS)
    assert off["read_pages"] == "the wiki has no pages"


def test_a_known_reason_replaces_the_usual_one() -> None:
    _, off = available(Backends(reasons={"pages": "the vault is not mounted"}))
    assert off["get_page"] == "the vault is not mounted"


def test_tools_come_in_the_order_of_the_contract_and_the_others_say_what_is_missing() -> None:
    names, off = available(Backends(pages=True, triples=True, citations=True))
    order = list(TOOLS)
    assert all(order.index(first) < order.index(second) for first, second in pairwise(names))
    assert set(names) | set(off) == set(TOOLS) and not set(names) & set(off)
    assert set(off.values()) == {"the knowledge graph is off", "no embedder is on"}
    assert [load(name).name for name in TOOLS] == order


def test_a_tool_is_gated_by_each_backend_it_needs() -> None:
    assert Backends(pages=True, graph=True, embedder=True).reason_against("find_similar") == ""
    assert Backends(pages=True, embedder=True).reason_against("find_similar") == "the knowledge graph is off"
    assert Backends(pages=True, graph=True).reason_against("find_similar") == "no embedder is on"
    assert Backends(graph=True, embedder=True).reason_against("find_similar") == "the wiki has no pages"


def test_an_unknown_name_is_no_tool_of_the_contract() -> None:
    with pytest.raises(KeyError):
        load("os")


@pytest.fixture
def wiki(tmp_path: Path) -> SmallWiki:
    wiki = SmallWiki(tmp_path)
    body = "# Backup\n\nHow.\n\n## Restore\n\nRun it.\n"
    wiki.add("ops/backup.md", body, type="runbook", tags=("ops",), clusters=("platform/db",), author="Ana")
    wiki.add("ops/index.md", "# Ops\n", type="hub", clusters=("platform",), frontmatter={"type": "hub"})
    return wiki


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read_pages", {"slugs": ["backup", "absent"]}),
    ("read_pages", {"slugs": ["backup"], "format": "outline"}),
    ("get_page", {"slug": "backup"}),
    ("list_pages", {"limit": 1}),
    ("list_metadata_values", {}),
    ("list_metadata_values", {"field": "type"}),
    ("list_clusters", {}),
    ("list_tags", {}),
    ("list_pages_by_filter", {"type": "runbook"}),
    ("get_page_by_id", {"id": "01TESTTESTTESTTEST00000001"}),
]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_structured_results_keep_their_schema(wiki: SmallWiki, name: str, arguments: dict[str, Any]) -> None:
    data = wiki.data(name, **arguments)
    schema = output_schema(tool_of(name))
    assert schema is not None
    validator(schema).validate(data)
    assert set(data) <= set(schema["properties"])
    assert list(data)[-2:] == ["notes", "index"]
    assert data["index"] == {
        "generation": 7,
        "state": "ready",
        "pages": 2,
        "pending": 0,
        "skipped": 0,
        "ageSeconds": 0.0,
        "dense": "off",
    }


def scalars(data: object) -> list[str]:
    if isinstance(data, dict):
        return [found for value in data.values() for found in scalars(value)]
    if isinstance(data, list):
        return [found for value in data for found in scalars(value)]
    return [data if isinstance(data, str) else compact_json(data)]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_every_fact_of_the_structured_channel_is_in_the_text(
    wiki: SmallWiki, name: str, arguments: dict[str, Any]
) -> None:
    answer = wiki.ask(name, **arguments)
    found = scalars(answer.structured)
    assert len(found) > 8
    missing = [
        fact for fact in found if fact not in answer.text and compact_json(fact)[1:-1] not in answer.text
    ]
    assert missing == []


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_the_same_call_gives_the_same_bytes(wiki: SmallWiki, name: str, arguments: dict[str, Any]) -> None:
    first, second = wiki.ask(name, **arguments), wiki.ask(name, **arguments)
    assert (first.text, compact_json(first.structured)) == (second.text, compact_json(second.structured))


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_a_draft_is_seen_only_by_an_audience_that_may(
    wiki: SmallWiki, name: str, arguments: dict[str, Any]
) -> None:
    before = wiki.ask(name, **arguments)
    wiki.add("ops/merger.md", "# Merger\n", withheld="draft", tags=("ops",), clusters=("platform",))
    assert wiki.ask(name, **arguments).text == before.text
    drafts = Audience(drafts=True)
    if name == "list_pages":
        rows = wiki.ask(name, audience=drafts).structured
        assert rows is not None
        assert [row.get("draft") for row in rows["pages"]] == [None, None, True]


@pytest.mark.parametrize(("name", "arguments"), CALLS)
def test_ignored_drafts_are_noted_in_both_channels(
    wiki: SmallWiki, name: str, arguments: dict[str, Any]
) -> None:
    answer = wiki.call(name, {**arguments, "include_drafts": True}, drafts_ignored=True)
    assert answer.structured is not None
    assert "include_drafts was ignored: the operator has not allowed drafts" in answer.structured["notes"]
    assert "note: include_drafts was ignored" in answer.text
