"""A knowledge graph that goes on from edit to edit equals one that is put together at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.graph.plain_knowledge import plain_knowledge
from wikimcp.graph.knowledge import KnowledgeGraph, Stated
from wikimcp.graph.page_rows import Naming, PageFacts, rows_of
from wikimcp.graph.resolve import LinkResolver
from wikimcp.graph.sidecar import Sidecar, SidecarEdge, SidecarNode
from wikimcp.graph.sidecar_ends import SidecarRows
from wikimcp.models import Link, LinkKind


@dataclass(frozen=True)
class Page:
    """As much of a page as the graph looks at."""

    path: str
    aliases: tuple[str, ...] = ()
    summary: str = ""
    tags: tuple[str, ...] = ()
    type: str = ""
    title_explicit: bool = False
    conflict_copy: bool = False

    @property
    def slug(self) -> str:
        return self.path.removesuffix(".md")

    @property
    def canonical_id(self) -> str:
        return f"id-{self.slug}"

    @property
    def title(self) -> str:
        return self.slug.capitalize()


SLUGS = ("oak", "mill.oak", "mill.oak.low", "people/ana", "zinc")
ENDS = ("oak", "people/ana", "Idea", "idea", "IDEA", "https://x.org", "plan.pdf", "GH-42", "mill.oak")
relations = st.lists(st.tuples(st.sampled_from(("uses", "part_of")), st.sampled_from(ENDS)), max_size=2)
links = st.lists(
    st.builds(
        Link,
        st.sampled_from((LinkKind.WIKILINK, LinkKind.EMBED, LinkKind.EXTERNAL, LinkKind.ATTACHMENT)),
        st.sampled_from(ENDS),
        line=st.integers(0, 2),
        prop=st.sampled_from(("", "", "depends on")),
    ),
    max_size=4,
)
facts = st.builds(
    PageFacts,
    links=links.map(tuple),
    related=st.lists(st.sampled_from(ENDS), max_size=1).map(tuple),
    relations=relations.map(tuple),
    source_refs=st.lists(st.sampled_from(ENDS), max_size=1).map(tuple),
)
pages = st.builds(
    lambda aliases, summary, tags, kind, said: (aliases, summary, tags, kind, said),
    st.sampled_from(((), ("The oak",), ("Idea",))),
    st.sampled_from(("", "Short.")),
    st.sampled_from(((), ("ops",), ("Ops", "idea"))),
    st.sampled_from(("", "person")),
    facts,
)
metadata = st.fixed_dictionaries(
    {},
    optional={
        "confidence": st.sampled_from((0.5, 0.9)),
        "note": st.sampled_from(("first", "second")),
        "description": st.just("Said."),
        "provenance": st.sampled_from(("ai-inferred", "human-authored")),
    },
)
NAMES = (*ENDS, "ana", "tag:ops", "placeholder:idea", "entity:guild", "guild")
sidecars = st.none() | st.builds(
    lambda nodes, edges: Sidecar(tuple(nodes), tuple(edges)),
    st.lists(
        st.builds(
            SidecarNode,
            st.sampled_from(NAMES),
            st.sampled_from(("Guild", "Idea", "Oak")),
            st.sampled_from(("", "person", "tool")),
            st.sampled_from(("", "", "oak")),
            st.sampled_from(((), ("G",))),
            metadata,
        ),
        max_size=2,
    ),
    st.lists(
        st.builds(
            SidecarEdge,
            st.sampled_from(NAMES),
            st.sampled_from(NAMES),
            st.sampled_from(("uses", "links_to", "contains", "tagged")),
            metadata,
        ),
        max_size=4,
    ),
)
edits = st.tuples(st.sampled_from(SLUGS), st.none() | pages)


class Vault:
    """Pages as they are written now; rows are made again only where they have to be."""

    def __init__(self, *, hierarchy: bool, stubs: bool) -> None:
        self.written: dict[str, Any] = {}
        self.known: dict[str, tuple[Any, Stated]] = {}
        self.slugs: set[str] = set()
        self.aliases: dict[str, Any] = {}
        self.style = {"hierarchy": hierarchy, "stubs": stubs}

    def stated(self) -> list[Stated]:
        found = {slug: Page(f"{slug}.md", *written[:4]) for slug, written in sorted(self.written.items())}
        aliases = {slug: page.aliases for slug, page in found.items()}
        if aliases != self.aliases:  # a name changed: links may lead elsewhere
            self.known, self.aliases = {}, aliases
        ids = {page.canonical_id: page for page in found.values()}
        naming = Naming(LinkResolver(found.values()), found, ids, **self.style)
        for slug, page in found.items():
            if slug not in self.known or self.known[slug][0] is not self.written[slug]:
                written = self.written[slug]
                rows = rows_of(page, written[4], naming)
                self.known[slug] = (written, Stated(page, rows, {"kept": written[1]}))
        return [self.known[slug][1] for slug in sorted(found, key=lambda slug: f"{slug}.md")]


def same(graph: KnowledgeGraph, stated: list[Stated], sidecar: SidecarRows | None) -> None:
    """Compare a graph with the plain one, and its edges both ways with plain lists."""
    nodes, edges = plain_knowledge(stated, sidecar)
    assert list(graph.nodes.items()) == list(nodes.items())
    assert list(graph.edges) == edges
    for name in nodes:
        assert list(graph.outgoing(name)) == [edge for edge in edges if edge.source == name]
        assert list(graph.incoming(name)) == [edge for edge in edges if edge.target == name]
    fresh = KnowledgeGraph.of(stated, sidecar)
    assert list(fresh.nodes.items()) == list(nodes.items()) and list(fresh.edges) == edges
    assert graph.names == fresh.names


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    first=st.fixed_dictionaries({slug: pages for slug in SLUGS}),
    steps=st.lists(st.tuples(edits, st.booleans(), sidecars), max_size=4),
    hierarchy=st.booleans(),
    stubs=st.booleans(),
    sidecar=sidecars,
)
def test_a_graph_carried_over_edits_equals_one_made_at_once(
    first: dict[str, Any],
    steps: list[tuple[tuple[str, Any], bool, Sidecar | None]],
    hierarchy: bool,
    stubs: bool,
    sidecar: Sidecar | None,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wikimcp.graph.stated._MOST_CHANGED", 1.0)  # of few pages a few are many
        carried_over(first, steps, Vault(hierarchy=hierarchy, stubs=stubs), sidecar)


def carried_over(
    first: dict[str, Any],
    steps: list[tuple[tuple[str, Any], bool, Sidecar | None]],
    vault: Vault,
    sidecar: Sidecar | None,
) -> None:
    """Take the steps, comparing after each."""
    vault.written = dict(first)
    stated = vault.stated()
    rows = SidecarRows(sidecar, [item.page for item in stated], ()) if sidecar else None
    graph = KnowledgeGraph.of(stated, rows)
    same(graph, stated, rows)
    for (slug, written), other_sidecar, now in steps:
        if written is None:
            vault.written.pop(slug, None)
        else:
            vault.written[slug] = written
        before = [item.page for item in stated]
        stated = vault.stated()
        if other_sidecar:
            sidecar = now
        if other_sidecar or [item.page for item in stated] != before:
            rows = SidecarRows(sidecar, [item.page for item in stated], ()) if sidecar else None
        graph = KnowledgeGraph.of(stated, rows, before=graph)
        same(graph, stated, rows)


def test_an_edit_costs_its_page_and_those_whose_ends_it_moves() -> None:
    vault = Vault(hierarchy=False, stubs=False)
    link = Link(LinkKind.WIKILINK, "Idea")
    vault.written = {f"p{n:02}": ((), "", (), "", PageFacts(links=(link,))) for n in range(30)}
    first = KnowledgeGraph.of(vault.stated())
    assert len(first.nodes) == 30 and not first.edges
    vault.written["p07"] = ((), "", (), "", PageFacts(links=(Link(LinkKind.WIKILINK, "p08"),)))
    second = KnowledgeGraph.of(vault.stated(), before=first)
    assert [(edge.source, edge.target) for edge in second.edges] == [("page:p07", "page:p08")]
    assert len(first._converted.keys() & second._converted.keys()) == 30
    assert second.nodes["page:p11"] is first.nodes["page:p11"], "what did not change is not made again"
    vault.written["p09"] = ((), "", (), "", PageFacts(relations=(("uses", "idea"),)))
    third = KnowledgeGraph.of(vault.stated(), before=second)
    assert {edge.target for edge in third.edges} == {"page:p08", "placeholder:Idea"}
    assert len(third.incoming("placeholder:Idea")) == 29, "it is a node for all who link to it now"
    assert not first.edges and len(second.edges) == 1, "graphs that are read go on as they were"
