"""What one page adds to the graph: its edges and the nodes that are no pages, out of links and properties.

Pure: what the page says comes in as PageFacts, where its links lead is the resolver's matter. Rows of
a page stay right while neither its text nor any name in the vault changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import unquote

from wikimcp.graph.predicates import property_relation
from wikimcp.graph.resolve import LinkResolver, LinkTarget, fold, joined_path
from wikimcp.markdown.links import is_issue_key
from wikimcp.models import GraphEdge, GraphNode, Link, LinkKind

HUMAN, INFERRED, DERIVED = "human-authored", "ai-inferred", "derived"
"""Kinds of provenance: written by a page's author, made by a model, read off by matching names."""

PAGE = "page:"
"""What the node id of a page begins with."""

_URL = ("http://", "https://", "mailto:", "tel:", "ftp://")
_LONGEST_NAME = 500


class GraphPage(LinkTarget, Protocol):
    """What the graph needs to know of a page beside what links need."""

    @property
    def canonical_id(self) -> str:
        """The page's canonical id."""

    @property
    def summary(self) -> str:
        """The page's summary."""

    @property
    def type(self) -> str:
        """The page's type."""

    @property
    def tags(self) -> tuple[str, ...]:
        """The page's tags."""


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What a page says of others: links, and what its frontmatter names."""

    links: tuple[Link, ...] = ()
    related: tuple[str, ...] = ()
    relations: tuple[tuple[str, str], ...] = ()
    source_refs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Naming:
    """How names lead to pages.

    ``hierarchy``: dotted names are a tree, as in Dendron; ``stubs``: a reference without a file is
    normal, as in Logseq.
    """

    resolver: LinkResolver
    slugs: Mapping[str, GraphPage]
    ids: Mapping[str, GraphPage]
    hierarchy: bool = False
    stubs: bool = False

    def page_named(self, name: str, page: GraphPage) -> str:
        """Return the slug of the page that a property names by link target, slug or id; empty for none."""
        target, _, fragment = name.partition("#")
        link = Link(LinkKind.WIKILINK, target.strip() or name, fragment)
        found = self.resolver.resolve(link, page).slug
        if not found and (by_id := self.ids.get(name)) is not None:
            return by_id.slug
        return found


@dataclass(frozen=True, slots=True)
class PageRows:
    """The edges that a page states and the nodes at their other ends that are no pages."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


def page_id(slug: str) -> str:
    """Return the node id of a page."""
    return f"{PAGE}{slug}"


def rows_of(page: GraphPage, facts: PageFacts, naming: Naming) -> PageRows:
    """Return all that one page adds, without its headings."""
    rows = _Rows(page, naming)
    for link in facts.links:
        if not link.in_comment:
            rows.link(link)
    for name in facts.related:
        rows.named("related_to", name, "related")
    for relation, name in facts.relations:
        rows.named(property_relation(relation) or "related_to", name)
    for reference in facts.source_refs:
        rows.cited(reference)
    for tag in page.tags:
        rows.add(_tag_node(tag), "tagged", {})
    if naming.hierarchy:
        rows.parents()
    return PageRows(tuple(rows.nodes.values()), merge_edges(rows.edges))


class _Rows:
    """Collects the rows of one page."""

    def __init__(self, page: GraphPage, naming: Naming) -> None:
        self.page = page
        self.naming = naming
        self.own = page_id(page.slug)
        self.nodes: dict[str, GraphNode] = {}
        self.edges: list[GraphEdge] = []

    def add(self, node: GraphNode | str, relation: str, metadata: Mapping[str, Any]) -> None:
        """Add an edge from the page to a node, or to the page of that id."""
        if isinstance(node, GraphNode):
            self.nodes.setdefault(node.id, node)
            node = node.id
        if node != self.own:
            facts = {"provenance": HUMAN, **metadata}
            self.edges.append(GraphEdge(self.own, node, relation, facts))

    def link(self, link: Link) -> None:
        """Add what a link states: where it stands in a property, under the property's name as well."""
        relation = "embeds" if link.kind is LinkKind.EMBED else "links_to"
        metadata: dict[str, Any] = {"line": link.line} if link.line else {}
        typed = property_relation(link.prop) if link.prop else ""
        if link.prop:
            metadata["property"] = link.prop
        if link.kind is LinkKind.CITATION:
            self.citation(link, metadata)
            return
        if link.kind is LinkKind.EXTERNAL:
            self.add(_external(link.target), relation, metadata)
            return
        target = self.target(link, metadata)
        if target is None:
            return
        if typed and target != self.own:
            self.add(target, typed, metadata)
        self.add(target, relation, metadata)

    def target(self, link: Link, metadata: dict[str, Any]) -> GraphNode | str | None:
        """Return where a link leads, and put into ``metadata`` what is to be said of that; None: nowhere."""
        found = self.naming.resolver.resolve(link, self.page)
        if found.slug:
            if link.fragment:
                metadata["fragment"] = link.fragment
            if found.via not in ("", "path", "name", "folder"):
                metadata["via"] = found.via
            if found.ambiguous:
                metadata["ambiguous"] = list(found.candidates)
            return page_id(found.slug)
        if link.kind is LinkKind.BLOCK or not link.target:
            return None  # a block that is nowhere has no name to show
        if self.naming.hierarchy and link.prop == "tags":
            return None  # a tag without a note of its own: it is a node already
        if found.attachment or link.kind is LinkKind.ATTACHMENT:
            name = self.file(link.target, found.attachment)
            return GraphNode(f"source:{name}", name, "attachment")
        if not self.naming.stubs:
            metadata["resolved"] = False
        return unknown(link.target, stub=self.naming.stubs)

    def file(self, written: str, found: str) -> str:
        """Return the name of a file: its path where a link gives it from page or root, else as written.

        So one file is one node and files of one name in several folders are several. Where a file was found
        by its name alone its folder is not told, as nobody may see a page of that folder.
        """
        place = joined_path(self.page.path.rpartition("/")[0], written)
        return found if found in (place, written.lstrip("/")) and found else written

    def named(self, relation: str, name: str, key: str = "") -> None:
        """Add the relation to what a property names, with or without the brackets of a link."""
        metadata = {"property": key} if key else {}
        if name.startswith(_URL):
            self.add(_external(name), relation, metadata)
            return
        found = self.naming.page_named(name, self.page)
        target = page_id(found) if found else unknown(name, stub=self.naming.stubs)
        self.add(target, relation, metadata)

    def cited(self, reference: str) -> None:
        """Add a source that the frontmatter names."""
        found = "" if reference.startswith(_URL) else self.naming.page_named(reference, self.page)
        name = reference[:_LONGEST_NAME]
        target = page_id(found) if found else GraphNode(f"source:{name}", name, "source")
        self.add(target, "cites", {"property": "sources"})

    def citation(self, link: Link, metadata: dict[str, Any]) -> None:
        """Add a ``cite://`` link or a source anchor; claim and span stay with the page."""
        if link.target[:7].lower() == "cite://":
            canonical_id, _, _ = link.target[7:].partition("?")[0].partition("/")
            cited = self.naming.ids.get(unquote(canonical_id))
            if cited is None:
                self.add(unknown(unquote(canonical_id)), "cites", {**metadata, "resolved": False})
            else:
                self.add(page_id(cited.slug), "cites", metadata)
            return
        path = link.target.removeprefix("file:").partition("#")[0]
        self.add(GraphNode(f"source:{path}", path, "source"), "cites", metadata)

    def parents(self) -> None:
        """Add ``parent_of`` along the whole chain of a dotted name; a note that is not there is a stub.

        The note beside the page comes first, then one of the same folder in its slug, then one of any vault.
        """
        folder, slash, name = self.page.slug.rpartition("/")
        if slash and name in self.naming.slugs:  # the folder only tells it from its namesake
            folder, slash = "", ""
        place = self.page.path.rpartition("/")[0]
        below, parts = self.own, name.split(".")
        for length in range(len(parts) - 1, 0, -1):
            dotted = ".".join(parts[:length])
            above = f"{folder}{slash}{dotted}"
            beside = self.naming.resolver.at(f"{place}/{dotted}" if place else dotted)
            found = beside or next((slug for slug in (above, dotted) if slug in self.naming.slugs), "")
            if found:
                node = page_id(found)
            else:
                stub = unknown(above, stub=True)
                self.nodes.setdefault(stub.id, stub)
                node = stub.id
            self.edges.append(GraphEdge(node, below, "parent_of", {"provenance": HUMAN}))
            below = node


def unknown(name: str, *, stub: bool = False) -> GraphNode:
    """Return the node of a name that no visible page has."""
    name = name.strip()[:_LONGEST_NAME]
    if name.startswith(_URL) or is_issue_key(name):
        return _external(name)
    return GraphNode(f"placeholder:{name}", name, "stub" if stub else "placeholder")


def _external(target: str) -> GraphNode:
    name = target.strip()[:_LONGEST_NAME]
    return GraphNode(f"external:{name}", name, "external")


def _tag_node(tag: str) -> GraphNode:
    return GraphNode(f"tag:{tag}", tag, "tag")


def merge_edges(edges: Sequence[GraphEdge]) -> tuple[GraphEdge, ...]:
    """Return edges with each (source, target, relation) once, their metadata joined."""
    merged: dict[tuple[str, str, str], GraphEdge] = {}
    for edge in edges:
        key = (edge.source, edge.target, edge.relation)
        known = merged.get(key)
        merged[key] = edge if known is None else joined(known, edge)
    return tuple(merged.values())


def joined(one: GraphEdge, other: GraphEdge) -> GraphEdge:
    """Return two edges of the same ends and relation as one."""
    return GraphEdge(one.source, one.target, one.relation, joined_metadata(one.metadata, other.metadata))


_MOST_VALUES = 50  # that a key keeps of conflicting ones


def joined_metadata(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Join two mappings: keys of both are kept, and where values differ they make a list."""
    merged = dict(one)
    for key, value in other.items():
        if key not in merged:
            merged[key] = value
        elif merged[key] != value:
            merged[key] = list(_distinct([*_listed(merged[key]), *_listed(value)]))[:_MOST_VALUES]
    return merged


def _listed(value: Any) -> Sequence[Any]:  # noqa: ANN401 - any JSON value
    return value[:_MOST_VALUES] if isinstance(value, list) else [value]


def _distinct(values: Sequence[Any]) -> Iterator[Any]:
    seen: list[Any] = []
    for value in values:
        if not any(type(value) is type(other) and value == other for other in seen):
            seen.append(value)
            yield value


def folded_id(node_id: str) -> str:
    """Return the id under which names that differ in case alone are one node."""
    return fold(node_id)
