"""What is said of one thing of a wiki as N-Triples: a page, its sections and links, a tag, a cluster.

Pure functions over records and cells of the catalog; which of them belong together is the matter of
``triples``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from wikimcp.graph.knowledge import KnowledgeNode
from wikimcp.graph.links import LinkGraph
from wikimcp.graph.predicates import KNOWN_PREDICATES, page_kind
from wikimcp.index.clusters import Cluster
from wikimcp.index.names import fold
from wikimcp.index.page_record import PageRecord
from wikimcp.markdown.publication import fold_key
from wikimcp.models import GraphEdge, Link, LinkKind
from wikimcp.triples.terms import (
    DCTERMS,
    ID,
    RDF,
    RDFS,
    SKOS,
    WM,
    WMF,
    encoded,
    moment_literal,
    scalar_literal,
    text_literal,
    thing,
    whole_literal,
)
from wikimcp.triples.vocabulary import NODE_CLASSES, PAGE_CLASSES, vocabulary_terms

_A = f"<{RDF}type>"
_LABEL = f"<{RDFS}label>"
_PART_OF = f"<{DCTERMS}isPartOf>"
_LINKS_TO, _UNRESOLVED, _CITES = f"<{WM}linksTo>", f"<{WM}unresolvedLink>", f"<{WM}cites>"
_TAG, _IN_CLUSTER, _SOURCE = f"<{WM}tag>", f"<{WM}inCluster>", f"<{DCTERMS}source>"
_HEADING, _LEVEL, _FIRST_LINE = f"<{WM}heading>", f"<{WM}level>", f"<{WM}firstLine>"
_SECTION = f"<{WM}Section>"
_TEXTS = (
    (f"<{DCTERMS}title>", "title"),
    (f"<{DCTERMS}identifier>", "canonical_id"),
    (f"<{DCTERMS}creator>", "author"),
    (f"<{WM}slug>", "slug"),
    (f"<{WM}path>", "path"),
    (f"<{WM}type>", "type"),
    (f"<{WM}status>", "status"),
)
_PAGE_LINKS = frozenset((LinkKind.WIKILINK, LinkKind.EMBED, LinkKind.MARKDOWN, LinkKind.BLOCK))
_CITE = re.compile(r"cite:(?://)?([^/?#]+)", re.IGNORECASE)
_LONGEST_TEXT = 2_000
_OWN_TERMS = frozenset(iri.removeprefix(WM) for iri in vocabulary_terms() if iri.startswith(WM))
"""What the vocabulary says in its own words; a relation that a page calls ``status`` is none of it."""


def page_iri(slug: str) -> str:
    """Return the id of a page in angle brackets."""
    return f"<{thing('page', slug)}>"


def page_lines(page: PageRecord, frontmatter: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the page's own fields and its frontmatter say."""
    me = page_iri(page.slug)
    for name in _classes_of(page):
        yield f"{me} {_A} <{WM}{name}> .\n"
    for predicate, field in _TEXTS:
        if value := getattr(page, field):
            yield f"{me} {predicate} {text_literal(value)} .\n"
    if page.summary:
        given = any(
            value for key, value in frontmatter.items() if fold_key(key) in ("summary", "description")
        )
        predicate = f"<{DCTERMS}description>" if given else f"<{WM}excerpt>"
        yield f"{me} {predicate} {text_literal(page.summary)} .\n"
    for name, value in (("modified", page.updated_at), ("created", page.created)):
        if value:
            yield f"{me} <{DCTERMS}{name}> {moment_literal(value)} .\n"
    for alias in dict.fromkeys(page.aliases):
        yield f"{me} <{SKOS}altLabel> {text_literal(alias)} .\n"
    yield f"{me} <{WM}version> {whole_literal(page.version)} .\n"
    yield from _frontmatter_lines(me, frontmatter)


def _classes_of(page: PageRecord) -> Iterable[str]:
    """Return the classes of a page: those of its type as written and of its kind in the knowledge graph."""
    kind = PAGE_CLASSES.get(page_kind(page.type, page.path), ("Page",))
    return dict.fromkeys((*PAGE_CLASSES.get(fold(page.type), ()), *kind))


def _frontmatter_lines(me: str, frontmatter: Mapping[str, Any]) -> Iterator[str]:
    """Yield every scalar of the frontmatter under its key; a list of scalars gives each of them once."""
    for key, value in frontmatter.items():
        if not key:
            continue
        values = value if isinstance(value, list) else [value]
        literals = dict.fromkeys(scalar_literal(item) for item in values)
        predicate = f"<{WMF}{encoded(key)}>"
        for literal in literals:
            if literal is not None:
                yield f"{me} {predicate} {literal} .\n"


def section_lines(slug: str, sections: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield what is said of a page's sections, given as in the catalog (``records.sections_from_cell``)."""
    me, start = page_iri(slug), f"<{thing('section', slug)}:"
    for ordinal, (level, path, _, own, _) in enumerate(sections):
        section = f"{start}{ordinal}>"
        first = whole_literal(own[2])
        yield (
            f"{section} {_A} {_SECTION} .\n{section} {_PART_OF} {me} .\n"
            f"{section} {_LEVEL} {whole_literal(level)} .\n{section} {_FIRST_LINE} {first} .\n"
        )
        if path:
            yield f"{section} {_HEADING} {text_literal(path[-1])} .\n"


def topic_lines(page: PageRecord, clusters: Iterable[str]) -> Iterator[str]:
    """Yield the tags and clusters of a page; tags that differ in case only are one."""
    me = page_iri(page.slug)
    for tag in dict.fromkeys(fold(tag) for tag in page.tags):
        yield f"{me} {_TAG} <{thing('tag', tag)}> .\n"
    for cluster in dict.fromkeys(clusters):
        yield f"{me} {_IN_CLUSTER} <{thing('cluster', cluster)}> .\n"


def link_lines(
    page: PageRecord, links: Sequence[Link], graph: LinkGraph, slug_of_id: Callable[[str], str | None]
) -> Iterator[str]:
    """Yield the pages a page links to and cites, its links that lead nowhere, and its citations."""
    me = page_iri(page.slug)
    for slug in graph.outgoing.get(page.slug, ()):
        yield f"{me} {_LINKS_TO} {page_iri(slug)} .\n"
    nowhere: dict[str, None] = {}
    cited: dict[str, None] = {}
    citations = 0
    for link in links:
        if link.in_comment:
            continue
        if link.kind in _PAGE_LINKS:
            found = graph.resolve(link, page)
            if not found.slug and not found.attachment and link.target:
                nowhere[link.target] = None
        elif link.kind is LinkKind.CITATION:
            match = _CITE.match(link.target)
            target = slug_of_id(unquote(match[1])) if match else None
            if target:
                cited[target] = None
            citation = f"<{thing('citation', page.slug)}:{citations}>"
            citations += 1
            yield f"{citation} {_A} <{WM}Citation> .\n{citation} {_PART_OF} {me} .\n"
            yield f"{citation} <{WM}uri> {text_literal(link.target[:_LONGEST_TEXT])} .\n"
            if link.span_text:
                yield f"{citation} <{WM}span> {text_literal(link.span_text[:_LONGEST_TEXT])} .\n"
            if target:
                yield f"{citation} <{WM}target> {page_iri(target)} .\n"
    for name in nowhere:
        yield f"{me} {_UNRESOLVED} {text_literal(name)} .\n"
    for slug in cited:
        yield f"{me} {_CITES} {page_iri(slug)} .\n"


def source_lines(slug: str, sources: Iterable[str]) -> Iterator[str]:
    """Yield the sources that a page rests on."""
    me = page_iri(slug)
    for source in dict.fromkeys(sources):
        yield f"{me} {_SOURCE} <{thing('source', source)}> .\n"


def name_lines(kind: str, names: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Yield the class and label of tags or sources, given as (name in the id, label)."""
    for name, label in names:
        me = f"<{thing(kind, name)}>"
        yield f"{me} {_A} <{WM}{kind.capitalize()}> .\n{me} {_LABEL} {text_literal(label)} .\n"


def node_lines(nodes: Iterable[KnowledgeNode]) -> Iterator[str]:
    """Yield the classes, kind and names of nodes that no page stands for.

    Tags and sources have theirs from ``name_lines``. An entity is of the class of its kind, too.
    """
    for node in nodes:
        sort = node.id.partition(":")[0]
        classes = NODE_CLASSES.get(f"entity {node.kind}" if sort == "entity" else sort)
        if sort == "entity":
            classes = classes or ("Entity",)
        if not classes:
            continue
        me = _node(node.id)
        for name in classes:
            yield f"{me} {_A} <{WM}{name}> .\n"
        yield f"{me} {_LABEL} {text_literal(node.name)} .\n"
        if sort == "entity":
            yield f"{me} <{WM}kind> {text_literal(node.kind)} .\n"
        for alias in dict.fromkeys(node.aliases):
            yield f"{me} <{SKOS}altLabel> {text_literal(alias)} .\n"


def cluster_lines(clusters: Mapping[str, Cluster]) -> Iterator[str]:
    """Yield what is said of the clusters: name, the one around it, hub page."""
    yield from name_lines("cluster", ((name, name) for name in clusters))
    for name, cluster in clusters.items():
        me = f"<{thing('cluster', name)}>"
        if cluster.parent:
            yield f"{me} <{SKOS}broader> <{thing('cluster', cluster.parent)}> .\n"
        if cluster.hub is not None:
            yield f"{me} <{WM}hub> {page_iri(cluster.hub.slug)} .\n"


def edge_line(edge: GraphEdge) -> str:
    """Return an edge of the knowledge graph as a triple ``wm:<relation>``.

    A relation whose name is a term with another meaning is ``wm:has_<relation>``: else ``type:: [[book]]``
    would be counted among the types of pages.
    """
    relation = edge.relation
    if relation in _OWN_TERMS and relation not in KNOWN_PREDICATES:
        relation = f"has_{relation}"
    return f"{_node(edge.source)} <{WM}{encoded(relation)}> {_node(edge.target)} .\n"


def _node(name: str) -> str:
    """Return the id of a node of the knowledge graph, which is ``kind:name``, in angle brackets."""
    kind, _, rest = name.partition(":")
    if kind == "tag":
        rest = fold(rest)
    return f"<{thing(kind, rest)}>" if rest else f"<{ID}node:{encoded(name)}>"
