"""Which nodes the names in a sidecar mean, for one audience: rows about pages it may not see are no rows.

A name is looked up among all pages. Where its meaning may be a page that the audience does not see, the
row is dropped whole, since its words may be that page's words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from wikimcp.graph.page_rows import INFERRED, GraphPage, page_id, unknown
from wikimcp.graph.predicates import kind_name
from wikimcp.graph.resolve import fold
from wikimcp.graph.sidecar import Sidecar, SidecarNode
from wikimcp.models import GraphEdge, GraphNode

_PREFIXES = ("page:", "heading:", "source:", "tag:", "placeholder:", "external:", "entity:")
_SUFFIXES = (".md", ".markdown", ".org")
_HIDDEN = "\0hidden"
_DEEPEST = 8


class EndNames:
    """Pages by the names that an end may use, step by step; ``hidden`` pages are looked up like others."""

    def __init__(self, shown: Iterable[GraphPage], hidden: Iterable[GraphPage], folder: str) -> None:
        self._exact: dict[str, set[str]] = {}
        self._titles: dict[str, set[str]] = {}
        self._aliases: dict[str, set[str]] = {}
        for pages, is_hidden in ((shown, False), (hidden, True)):
            for page in pages:
                node = _HIDDEN if is_hidden else page_id(page.slug)
                bare = page.path.rpartition(".")[0]
                names = {page.slug, page_id(page.slug), page.canonical_id, page.path, bare}
                if folder:
                    names |= {f"{folder}/{page.path}", f"{folder}/{bare}"}
                for name in names:
                    self._exact.setdefault(fold(name), set()).add(node)
                if not page.conflict_copy:
                    self._titles.setdefault(fold(page.title), set()).add(node)
                    for alias in (*page.aliases, bare.rpartition("/")[2]):
                        self._aliases.setdefault(fold(alias), set()).add(node)

    def find(self, name: str) -> str:
        """Return a page's node id, ``_HIDDEN``, or an empty text. Of several equal ones the first by id."""
        found = self.all(name)
        return _HIDDEN if _HIDDEN in found else min(found, default="")

    def all(self, name: str) -> Set[str]:
        """Return the node ids of all pages that a name means equally well."""
        key = fold(name.strip().removeprefix("./").strip("[]"))
        for table in (self._exact, self._titles, self._aliases):
            if found := table.get(key):
                return found
        return frozenset()


class SidecarRows:
    """The nodes and edges of a sidecar as one audience may see them."""

    def __init__(
        self, sidecar: Sidecar, shown: Iterable[GraphPage], hidden: Iterable[GraphPage], *, folder: str = ""
    ) -> None:
        self.nodes: dict[str, GraphNode] = {}
        self.page_metadata: dict[str, dict[str, Any]] = {}
        self.edges: list[GraphEdge] = []
        self._names = EndNames(shown, hidden, folder)
        self._declared: dict[str, str] = {}
        for node in sidecar.nodes:
            self._add_node(node)
        for edge in sidecar.edges:
            if self._speaks_of_hidden(edge.metadata):
                continue
            source, target = self._end(edge.source), self._end(edge.target)
            if source and target:
                metadata = {"provenance": INFERRED, **edge.metadata}
                self.edges.append(GraphEdge(source, target, edge.relation, metadata))

    def _add_node(self, node: SidecarNode) -> None:
        names = [node.path, node.id, node.label, *node.aliases]
        found = next((page for name in names if name and (page := self._names.find(name))), "")
        hidden = _HIDDEN in (found, *(self._names.find(name) for name in names if name))
        if hidden or self._speaks_of_hidden(node.metadata):
            for name in names:
                self._declared.setdefault(fold(name), _HIDDEN)
            return
        metadata = {"provenance": INFERRED, **node.metadata}
        if node.aliases:
            metadata["aliases"] = list(node.aliases)
        if found:
            facts = {**metadata, **({"sidecar_kind": kind_name(node.kind)} if node.kind else {})}
            known = self.page_metadata.setdefault(found, {})
            self.page_metadata[found] = {**facts, **known}
        else:
            found = node.id if node.id.startswith(_PREFIXES[1:]) else f"entity:{node.id}"
            self.nodes.setdefault(found, GraphNode(found, node.label, kind_name(node.kind), "", metadata))
        for name in (node.id, node.label, *node.aliases):
            self._declared.setdefault(fold(name), found)

    def _end(self, name: str) -> str:
        """Return the node id of an end; empty when the row is not for this audience."""
        declared = self._declared.get(fold(name))
        found = self._names.find(name)
        if _HIDDEN in (declared, found):
            return ""
        if declared or found:
            return declared or found
        prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), "")
        if prefix in ("tag:", "source:", "external:", "entity:"):
            kind = prefix.rstrip(":")
            node = GraphNode(name, name.removeprefix(prefix), kind)
        elif prefix == "heading:":
            slug = name.removeprefix(prefix).partition("#")[0]
            page = self._names.find(slug)
            if page == _HIDDEN:
                return ""
            node = GraphNode(name, name.partition("#")[2] or name, "heading")
        else:
            node = unknown(name.removeprefix(prefix))
        self.nodes.setdefault(node.id, node)
        return node.id

    def _speaks_of_hidden(self, metadata: Mapping[str, Any]) -> bool:
        """Say whether a value names a page that the audience does not see: a source page, say."""
        return any(self._names.find(text) == _HIDDEN for text in _texts(metadata))


def _texts(value: Any, depth: int = 0) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        if len(value) <= 500:
            yield value.partition("#")[0].partition(" @ ")[0]
    elif depth < _DEEPEST and isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item, depth + 1)
    elif depth < _DEEPEST and isinstance(value, list):
        for item in value:
            yield from _texts(item, depth + 1)
