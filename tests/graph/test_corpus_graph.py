"""The graph of the corpus beside the clone, against plain counting in its files."""

from __future__ import annotations

import re
from collections import Counter, deque
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.graph.plain_knowledge import plain_knowledge
from wikimcp.graph.knowledge import KnowledgeGraph, Stated
from wikimcp.graph.page_rows import Naming, PageFacts, rows_of
from wikimcp.graph.projection import GraphProjection, assemble
from wikimcp.graph.resolve import LinkResolver
from wikimcp.models import ParsedPage
from wikimcp.vaults.detect import VaultOptions, detect

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "wikantik-pages"
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus beside the clone is not there")

FENCE = re.compile(r"^ {0,3}(```+|~~~+).*?^ {0,3}\1[ \t]*$|^ {0,3}(?:```|~~~).*\Z", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"(?<!\\)\[[^\[\]]*\]\(([^()\s]+)\)|\[\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\]")


@pytest.fixture(scope="module")
def pages() -> dict[str, ParsedPage]:
    adapter = detect(CORPUS, VaultOptions(adapter="generic"))
    found = [adapter.parse(adapter.read(stamp.path)) for stamp in adapter.scan().files]
    return {page.slug: page for page in found if not page.withheld}


@pytest.fixture(scope="module")
def stated(pages: dict[str, ParsedPage]) -> list[Stated]:
    ids = {page.canonical_id: page for page in pages.values()}
    naming = Naming(LinkResolver(pages.values()), pages, ids)
    facts = {
        slug: PageFacts(page.body.links, page.related, page.relations, page.source_refs)
        for slug, page in pages.items()
    }
    return [Stated(page, rows_of(page, facts[slug], naming), {}) for slug, page in pages.items()]


@pytest.fixture(scope="module")
def graph(stated: list[Stated]) -> GraphProjection:
    return assemble([item.page for item in stated], [item.rows for item in stated], None)


def test_the_knowledge_graph_is_what_plain_assembling_makes(stated: list[Stated]) -> None:
    ordered = sorted(stated, key=lambda item: item.page.path)
    nodes, edges = plain_knowledge(ordered, None)
    knowledge = KnowledgeGraph.of(ordered)
    assert list(knowledge.nodes.items()) == list(nodes.items())
    assert list(knowledge.edges) == edges


@pytest.fixture(scope="module")
def fronts(pages: dict[str, ParsedPage]) -> dict[str, Any]:
    return {slug: front(CORPUS / page.path) for slug, page in pages.items()}


def front(file: Path) -> dict[str, Any]:
    text = file.read_text("utf-8")
    found = yaml.safe_load(text.split("\n---", 1)[0].removeprefix("---")) if text.startswith("---") else None
    return found if isinstance(found, dict) else {}


def body(file: Path) -> str:
    text = file.read_text("utf-8")
    if text.startswith("---"):
        text = text.split("\n---", 1)[1]
    return CODE.sub(" ", FENCE.sub("\n", text))


def test_related_pages_are_those_that_the_files_name(
    graph: GraphProjection, pages: dict[str, ParsedPage], fronts: dict[str, Any]
) -> None:
    expected = {
        (slug, str(name))
        for slug, facts in fronts.items()
        for name in facts.get("related") or ()
        if str(name) in pages and str(name) != slug
    }
    found = {
        (edge.source.removeprefix("page:"), edge.target.removeprefix("page:"))
        for edge in graph.edges.values()
        if edge.relation == "related_to" and edge.target.startswith("page:")
    }
    assert len(expected) > 2_000
    assert expected <= found
    assert all(
        name.casefold() in {n.casefold() for n, _ in Counter(pages).items()} for _, name in found - expected
    )


def test_links_between_pages_are_those_that_stand_in_the_texts(
    graph: GraphProjection, pages: dict[str, ParsedPage]
) -> None:
    expected = set()
    for slug, page in pages.items():
        for match in LINK.finditer(body(CORPUS / page.path)):
            target = (match[1] or match[2]).partition("#")[0].strip()
            if target in pages and target != slug:
                expected.add((slug, target))
    found = {
        (edge.source.removeprefix("page:"), edge.target.removeprefix("page:"))
        for edge in graph.edges.values()
        if edge.relation in ("links_to", "embeds") and edge.target.startswith("page:")
    }
    assert len(expected) > 4_000
    assert sorted(found ^ expected) == []


def test_tags_are_counted_as_in_the_files(graph: GraphProjection, pages: dict[str, ParsedPage]) -> None:
    expected = Counter(tag.casefold() for page in pages.values() for tag in {t.casefold() for t in page.tags})
    found = Counter(
        edge.target.removeprefix("tag:").casefold()
        for edge in graph.edges.values()
        if edge.relation == "tagged"
    )
    assert found == expected


def test_two_hops_are_those_of_a_plain_walk(
    graph: GraphProjection, pages: dict[str, ParsedPage], stated: list[Stated]
) -> None:
    knowledge = KnowledgeGraph.of(stated)
    beside: dict[str, set[str]] = {}
    for edge in knowledge.edges:
        beside.setdefault(edge.source, set()).add(edge.target)
        beside.setdefault(edge.target, set()).add(edge.source)
    for slug in list(pages)[::100]:
        start = f"page:{slug}"
        expected = {start, *beside.get(start, ())}
        expected |= {far for near in tuple(expected) for far in beside.get(near, ())}
        depths, waiting = {start: 0}, deque([start])
        while waiting:
            at = waiting.popleft()
            for _, other in knowledge.edges_of(at) if depths[at] < 2 else ():
                if other not in depths:
                    depths[other] = depths[at] + 1
                    waiting.append(other)
        assert set(depths) == expected
        nodes, _, left_out = graph.neighborhood(start, depth=2, most_nodes=100_000)
        assert expected <= {node.id for node in nodes}
        assert left_out == 0
