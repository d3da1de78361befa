"""SPARQL, the tools and plain Python over the files agree, on the sample vault and on the corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.triples.plain_reading import PlainVault
from wikimcp.app import build_service
from wikimcp.index.triples import TripleProjections
from wikimcp.models import Caller
from wikimcp.ports import TripleLimits
from wikimcp.service import WikiService
from wikimcp.settings import load_settings
from wikimcp.triples.selection import ENGINES, open_triples

ROOT = Path(__file__).parents[2]
VAULTS = {
    "sample vault": (ROOT / "sample_vault", "templates/"),
    "corpus": (ROOT.parent / "shared" / "corpus" / "wikantik-pages", "\0"),
}


class Asked:
    """A vault by both ways: ``plain`` from its files, ``rows`` and ``tool`` from the service."""

    def __init__(self, vault: Path, without: str, state: Path) -> None:
        self.plain = PlainVault(vault, without=without)
        flags = {"vault": str(vault), "state_dir": str(state), "embedder": "none", "answer_tokens": 100_000}
        flags |= {"sparql.seconds": 60}
        self.service: WikiService = build_service(load_settings(flags, env={}, cwd=vault), background=False)
        self.service.wait_ready("none")

    def tool(self, name: str, **arguments: object) -> dict[str, Any]:
        """Return the structured answer of a tool."""
        answer = self.service.call(name, arguments, Caller())
        assert answer.structured is not None
        return answer.structured

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query, of which nothing may be missing."""
        answer = self.tool("sparql_query", query=query)
        assert answer["truncated"] is False, answer["notes"]
        return [tuple(row) for row in answer["rows"]]

    def count(self, query: str) -> int:
        """Return the one number of a query."""
        [(number,)] = self.rows(query)
        assert isinstance(number, int)
        return number


@pytest.fixture(scope="module", params=VAULTS)
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    vault, without = VAULTS[request.param]
    if not vault.is_dir():
        pytest.skip("the corpus beside the repository is absent")
    found = Asked(vault, without, tmp_path_factory.mktemp("state"))
    yield found
    found.service.close()


def all_rows(asked: Asked, body: str, columns: str) -> set[tuple[Any, ...]]:
    """Return the rows of a query that may have thousands, part by part."""
    found: set[tuple[Any, ...]] = set()
    while True:
        part = asked.tool(
            "sparql_query", query=f"SELECT {columns} {{ {body} }} OFFSET {len(found)}", limit=1_000
        )
        found |= {tuple(row) for row in part["rows"]}
        if not part["truncated"]:
            return found


def every_page(asked: Asked, fetch: Callable[..., dict[str, Any]]) -> list[dict[str, Any]]:
    pages: list[dict[str, Any]] = []
    cursor = ""
    while True:
        part = fetch(limit=200, cursor=cursor)
        pages += part["pages"]
        cursor = part.get("nextCursor", "")
        if not cursor:
            return pages


def test_pages(asked: Asked) -> None:
    slugs = {slug for (slug,) in all_rows(asked, "?p a wm:Page ; wm:slug ?slug", "?slug")}
    assert slugs == set(asked.plain.pages)
    assert asked.count("SELECT (COUNT(*) AS ?n) { ?p a wm:Page }") == len(asked.plain.pages)
    listed = every_page(asked, lambda **more: asked.tool("list_pages", **more))
    assert {page["slug"] for page in listed} == slugs


def test_pages_per_cluster(asked: Asked) -> None:
    expected = Counter(cluster for page in asked.plain.pages.values() for cluster in page.clusters)
    assert len(expected) > 5
    example = next(e for e in asked.tool("get_ontology")["examples"] if e["question"] == "pages per cluster")
    found = {name: number for name, number in asked.rows(example["query"])}
    assert found == expected
    for cluster, number in list(expected.items())[:8]:
        members = asked.count(
            f"SELECT (COUNT(*) AS ?n) {{ ?p wm:inCluster/skos:broader* <urn:wikimcp:cluster:{quote(cluster, safe='')}> }}"
        )
        assert asked.tool("list_pages", cluster=cluster)["total"] == members >= number


def test_links_and_the_most_linked_pages(asked: Asked) -> None:
    links = {(slug, to) for slug, targets in asked.plain.links.items() for to in targets}
    assert len(links) > 200
    assert all_rows(asked, "?a wm:linksTo ?b . ?a wm:slug ?from . ?b wm:slug ?to", "?from ?to") == links
    expected = asked.plain.in_degrees()
    ranked = sorted(expected.items(), key=lambda item: (-item[1], item[0]))[:20]
    found = asked.rows(
        "SELECT ?to (COUNT(?a) AS ?n) { ?a wm:linksTo/wm:slug ?to } GROUP BY ?to ORDER BY DESC(?n) LIMIT 20"
    )
    assert found == ranked
    for slug, number in ranked[:3]:
        assert asked.tool("get_page", slug=slug)["backlinkCount"] == number


def test_orphans(asked: Asked) -> None:
    expected = set(asked.plain.pages) - set(asked.plain.in_degrees())
    query = "?p a wm:Page ; wm:slug ?slug FILTER NOT EXISTS { ?other wm:linksTo ?p }"
    assert {slug for (slug,) in all_rows(asked, query, "?slug")} == expected


def test_tags_used_once(asked: Asked) -> None:
    counts = Counter(tag for page in asked.plain.pages.values() for tag in page.tags)
    once = {tag for tag, number in counts.items() if number == 1}
    assert len(once) > 10
    query = "{ SELECT ?tag { ?p wm:tag ?tag } GROUP BY ?tag HAVING (COUNT(?p) = 1) } ?tag rdfs:label ?name"
    found = {name.casefold() for (name,) in all_rows(asked, query, "?name")}
    assert found == once
    assert asked.tool("list_tags", limit=1)["total"] == len(counts)


def test_pages_without_summary(asked: Asked) -> None:
    expected = {slug for slug, page in asked.plain.pages.items() if not page.has_summary}
    examples = asked.tool("get_ontology")["examples"]
    example = next(e for e in examples if e["question"] == "pages without summary")
    assert {slug for (slug,) in asked.rows(example["query"])} == expected


def test_pages_updated_since(asked: Asked) -> None:
    for since in ("2025-06-01", "2026-06-01"):
        count = asked.count(
            "SELECT (COUNT(*) AS ?n) { ?p dcterms:modified ?t "
            f'FILTER(?t >= "{since}T00:00:00Z"^^xsd:dateTime) }}'
        )
        assert asked.tool("list_pages_by_filter", updated_since=since)["total"] == count > 0


def test_two_hop_neighbours(asked: Asked) -> None:
    links = asked.plain.links
    for start in sorted(slug for slug, to in links.items() if to)[:12]:
        expected = {far for near in links[start] for far in links[near]}
        iri = f"<urn:wikimcp:page:{quote(start, safe='')}>"
        found = asked.rows(f"SELECT DISTINCT ?slug {{ {iri} wm:linksTo/wm:linksTo/wm:slug ?slug }}")
        assert {slug for (slug,) in found} == expected
        assert len(found) == len(expected)


def test_mentions_are_those_of_the_tools(asked: Asked) -> None:
    relations = {row["type"]: row["count"] for row in asked.tool("discover_schema")["relationTypes"]}
    assert relations["mentions"] > 20
    for relation in ("mentions", "co_mentioned"):
        count = asked.count(f"SELECT (COUNT(*) AS ?n) {{ ?a wm:{relation} ?b }}")
        assert count == relations.get(relation, 0)
    most = asked.rows(
        "SELECT ?slug (COUNT(?a) AS ?n) { ?a wm:mentions ?b . ?b wm:slug ?slug } "
        "GROUP BY ?slug ORDER BY DESC(?n) LIMIT 5"
    )
    for slug, number in most:
        found = asked.tool(
            "traverse",
            start_node=slug,
            max_depth=1,
            include_mentions=True,
            relations=["mentions"],
            direction="in",
            max_nodes=200,
        )
        assert found["nodeCount"] - 1 + found["frontier"] == number
    assert asked.count("SELECT (COUNT(*) AS ?n) { ?a wm:co_mentioned ?a }") == 0


def test_both_members_give_equal_rows_of_the_graph(asked: Asked) -> None:
    """Over the data of the sample vault; the corpus takes the slower member too long."""
    if len(asked.plain.pages) > 200:
        pytest.skip("the sample vault is enough")
    view = asked.service.keeper.reading().view
    data = TripleProjections().of(view)
    limits = TripleLimits(seconds=60.0, memory_bytes=1 << 30, most_bytes=10_000_000)
    answers = []
    for engine in ENGINES:
        store = open_triples(limits, engine)
        assert not isinstance(store, str)
        answers.append(store.query("SELECT ?a ?p ?b { ?a ?p ?b }", data, limit=50_000))
        store.close()
    assert answers[0].rows == answers[1].rows
    said = {row[1][1].rpartition("#")[2] for row in answers[0].rows if row[1] is not None}
    assert {"mentions", "linksTo", "level", "tag"} <= said


def test_frontmatter_keys_and_types(asked: Asked) -> None:
    typed = Counter(str(page.front["type"]) for page in asked.plain.pages.values() if page.front.get("type"))
    assert dict(asked.rows("SELECT ?t (COUNT(?p) AS ?n) { ?p wmf:type ?t } GROUP BY ?t")) == typed
    assert dict(asked.rows("SELECT ?t (COUNT(?p) AS ?n) { ?p wm:type ?t } GROUP BY ?t")) == typed
    hubs = sum(page.front.get("type") == "hub" for page in asked.plain.pages.values())
    assert asked.count("SELECT (COUNT(*) AS ?n) { ?p a wm:Hub, wm:Page }") == hubs
    listed = asked.tool("list_metadata_values", field="type")["values"]
    assert {row["value"]: row["count"] for row in listed} == typed


def test_the_ontology_counts_what_the_data_has(asked: Asked) -> None:
    ontology = asked.tool("get_ontology")
    classes = {item["name"]: item["count"] for item in ontology["classes"]}
    properties = {item["name"]: item["count"] for item in ontology["objectProperties"]}
    assert classes["wm:Page"] == len(asked.plain.pages)
    assert properties["wm:linksTo"] == sum(map(len, asked.plain.links.values()))
    assert properties["wm:tag"] == sum(len(page.tags) for page in asked.plain.pages.values())
    summaries = sum(page.has_summary for page in asked.plain.pages.values())
    keys = {item["name"]: item["count"] for item in ontology["datatypeProperties"]}
    assert keys["dcterms:description"] == summaries
    assert keys["wmf:title"] == sum("title" in page.front for page in asked.plain.pages.values())
