"""Which nodes the names in a sidecar mean, for one audience: rows about pages it may not see are no rows.

A name is looked up among all pages. Where its meaning may be a page that the audience does not see, the
row is dropped whole, since its words may be that page's words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from types import MappingProxyType
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
_NO_NAMES: Mapping[str, str] = MappingProxyType({})


class EndNames:
    """Pages by the names that an end may use, step by step; ``hidden`` pages are looked up like others.

    ``second_names`` are the paths that links of the file system give to pages and folders, with what they
    lead to.
    """

    def __init__(
        self,
        shown: Iterable[GraphPage],
        hidden: Iterable[GraphPage],
        folder: str,
        second_names: Mapping[str, str] = _NO_NAMES,
    ) -> None:
        self._exact: dict[str, set[str]] = {}
        self._titles: dict[str, set[str]] = {}
        self._aliases: dict[str, set[str]] = {}
        for pages, is_hidden in ((shown, False), (hidden, True)):
            for page in pages:
                node = _HIDDEN if is_hidden else page_id(page.slug)
                paths = [page.path, *_other_paths(page.path, second_names)]
                bare = [path.rpartition(".")[0] for path in paths]
                names = {page.slug, page_id(page.slug), page.canonical_id, *paths, *bare}
                if folder:
                    names |= {f"{folder}/{path}" for path in (*paths, *bare)}
                for name in names:
                    self._exact.setdefault(fold(name), set()).add(node)
                if not page.conflict_copy:
                    self._titles.setdefault(fold(page.title), set()).add(node)
                    for alias in (*page.aliases, *(path.rpartition("/")[2] for path in bare)):
                        self._aliases.setdefault(fold(alias), set()).add(node)

    def find(self, name: str) -> str:
        """Return a page's node id, ``_HIDDEN``, or an empty text. Of several equal ones the first by id."""
        found = self.all(name)
        return _HIDDEN if _HIDDEN in found else min(found, default="")

    def all(self, name: str) -> Set[str]:
        """Return the node ids of all pages that a name means equally well, in its first reading that fits."""
        for key in map(fold, _readings(name)):
            for table in (self._exact, self._titles, self._aliases):
                if found := table.get(key):
                    return found
        return frozenset()

    def may_be_hidden(self, name: str) -> bool:
        """Say whether a name that no page has ends in the file name of a hidden one: its path was another."""
        return any(
            _HIDDEN in self._aliases.get(fold(reading.removesuffix(suffix).rpartition("/")[2]), ())
            for reading in _readings(name)
            for suffix in ("", *_SUFFIXES)
        )


class SidecarRows:
    """The nodes and edges of a sidecar as one audience may see them."""

    def __init__(
        self,
        sidecar: Sidecar,
        shown: Iterable[GraphPage],
        hidden: Iterable[GraphPage],
        *,
        folder: str = "",
        second_names: Mapping[str, str] = _NO_NAMES,
    ) -> None:
        self.nodes: dict[str, GraphNode] = {}
        self.page_metadata: dict[str, dict[str, Any]] = {}
        self.edges: list[GraphEdge] = []
        self._names = EndNames(shown, hidden, folder, second_names)
        self._declared: dict[str, str] = {}
        for node in sidecar.nodes:
            self._add_node(node)
        for edge in sidecar.edges:
            if self._speaks_of_hidden(edge.metadata):
                continue
            source, target = self._end(edge.source), self._end(edge.target)
            if source is None or target is None:
                continue  # the other end is no node either: its name may be the withheld page's word
            metadata = {"provenance": INFERRED, **edge.metadata}
            self.edges.append(GraphEdge(self._put(source), self._put(target), edge.relation, metadata))

    def _add_node(self, node: SidecarNode) -> None:
        names = [node.path, node.id, node.label, *node.aliases]
        found = next((page for name in names if name and (page := self._names.find(name))), "")
        readings = (reading for name in names if name for reading in (name, _without_prefix(name)))
        hidden = _HIDDEN in (found, *map(self._names.find, readings))
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

    def _end(self, name: str) -> str | GraphNode | None:
        """Return the id of a known node or a node of its own; None when the row is not for this audience."""
        declared = self._declared.get(fold(name))
        found = self._names.find(name)
        if _HIDDEN in (declared, found):
            return None
        if declared or found:
            return declared or found
        bare = _without_prefix(name)
        prefix = name[: len(name) - len(bare)]
        if prefix not in ("tag:", "external:"):
            page = bare.partition("#")[0] if prefix == "heading:" else bare
            if self._names.find(page) == _HIDDEN or self._names.may_be_hidden(page):
                return None
        if prefix == "heading:":
            return GraphNode(name, bare.partition("#")[2] or name, "heading")
        if prefix in ("tag:", "source:", "external:", "entity:"):
            return GraphNode(name, bare, prefix.rstrip(":"))
        return unknown(bare)

    def _put(self, end: str | GraphNode) -> str:
        if isinstance(end, str):
            return end
        self.nodes.setdefault(end.id, end)
        return end.id

    def _speaks_of_hidden(self, metadata: Mapping[str, Any]) -> bool:
        """Say whether a value names a page that the audience does not see: a source page, say."""
        return any(
            self._names.find(reading) == _HIDDEN
            for text in _texts(metadata)
            for reading in (text, _without_prefix(text))
        )


def _without_prefix(name: str) -> str:
    """Return the name in a node's id."""
    return name.removeprefix(next((prefix for prefix in _PREFIXES if name.startswith(prefix)), ""))


def _other_paths(path: str, second_names: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths under which links give a page once more, by itself or within a folder."""
    for link, real in second_names.items():
        if real == ".":
            yield f"{link}/{path}"
        elif path == real or path.startswith(f"{real}/"):
            yield link + path[len(real) :]


def _readings(name: str) -> Iterator[str]:
    """Yield a name as it stands, then without what links and paths put around one: the strictest first."""
    plain = name.strip().removeprefix("./").strip("[]")
    yield plain
    loose = plain.partition("|")[0].replace("\\", "/")
    while loose.startswith(("/", "./", "../")):
        loose = loose.partition("/")[2]
    for reading in (loose, loose.partition("#")[0]):
        if (reading := reading.strip()) and reading != plain:
            yield reading


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
