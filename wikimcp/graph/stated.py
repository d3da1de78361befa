"""What each page and the sidecar state for the knowledge graph, kept apart, with who names which node.

The tables go on from view to view, so that an edit costs the pages it changed. What comes of the statements
(which nodes there are, how edges of several join) is the matter of `knowledge`.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wikimcp.graph.page_rows import GraphPage, PageRows, folded_id, page_id
from wikimcp.graph.sidecar_ends import SidecarRows
from wikimcp.models import GraphEdge, GraphNode

PLAIN_LINKS = frozenset(("links_to", "embeds"))
"""Relations that make nothing a node."""

_FOLDED = ("placeholder:", "tag:")  # names that mean the same in any case
_LAST = "\U0010ffff"  # where a path would be: the sidecar comes behind all pages
_MOST_CHANGED = 0.2  # share of pages; where more changed the tables are made anew


@dataclass(frozen=True, slots=True)
class Stated:
    """A page with the rows that it adds and its properties."""

    page: GraphPage
    rows: PageRows
    properties: Mapping[str, Any]


class Part:
    """What one page, or the sidecar, states: nodes without a page by key, and edges.

    ``ends`` are the keys of all ends, ``typed`` those of edges that are more than links. ``joins``: its
    nodes add to those that others named before.
    """

    __slots__ = ("edges", "ends", "joins", "nodes", "rows", "typed")

    def __init__(
        self, rows: object, nodes: Iterable[GraphNode], edges: Iterable[GraphEdge], *, own: str = ""
    ) -> None:
        self.rows = rows
        self.joins = not own
        self.edges = [edge for edge in edges if not _is_outline(edge)]
        self.nodes: dict[str, tuple[GraphNode, ...]] = {}
        for node in nodes:
            if not own or node.kind != "tag":  # the tags of pages are no knowledge
                key = end_key(node.id)
                self.nodes[key] = (*self.nodes.get(key, ()), node)
        typed: set[str] = set()
        ends = {*self.nodes, own} if own else set(self.nodes)
        for edge in self.edges:
            both = (end_key(edge.source), end_key(edge.target))
            ends.update(both)
            if edge.relation not in PLAIN_LINKS:
                typed.update(both)
        self.ends = frozenset(ends)
        self.typed = frozenset(typed)


def end_key(node_id: str) -> str:
    """Return what tells a node from others: its id, folded where names that differ in case are one."""
    return folded_id(node_id) if node_id.startswith(_FOLDED) else node_id


def _is_outline(edge: GraphEdge) -> bool:
    """Whether an edge leads to a tag or heading of a page; what contains an entity or page is knowledge."""
    return edge.relation == "tagged" or (edge.relation == "contains" and edge.target.startswith("heading:"))


class StatedParts:
    """The parts by path, and by key the paths of those that have it as an end. Never changes.

    ``changed`` are the paths of the parts that another table had not or had otherwise, ``touched`` the keys
    of all their ends, then and now; where ``anew`` is true that is everything.
    """

    def __init__(self, by_path: Mapping[str, Part], sidecar: SidecarRows | None) -> None:
        self.by_path = by_path
        self.sidecar = sidecar
        self.pages: Mapping[str, Stated] = {}
        self.users: dict[str, tuple[str, ...]] = {}
        self.changed: set[str] = set()
        self.touched: set[str] = set()
        self.anew = True

    @classmethod
    def of(
        cls, stated: Sequence[Stated], sidecar: SidecarRows | None, *, before: StatedParts | None
    ) -> StatedParts:
        """Make the tables for pages sorted by path, going on from earlier ones."""
        known = before.by_path if before is not None else {}
        parts: dict[str, Part] = {}
        for item in stated:
            old = known.get(item.page.path)
            if old is None or old.rows is not item.rows:
                own = page_id(item.page.slug)
                old = Part(item.rows, item.rows.nodes, item.rows.edges, own=own)
            parts[item.page.path] = old
        if sidecar is not None:
            old = known.get(_LAST)
            if old is None or old.rows is not sidecar:
                old = Part(sidecar, sidecar.nodes.values(), sidecar.edges)
            parts[_LAST] = old
        made = cls(parts, sidecar)
        made.pages = {item.page.path: item for item in stated}
        made.changed = {path for path, part in parts.items() if known.get(path) is not part}
        made.changed.update(known.keys() - parts.keys())
        if before is None or len(made.changed) > _MOST_CHANGED * len(parts):
            made._find_users()
        else:
            made._carry_users(before)
        return made

    def _find_users(self) -> None:
        users: dict[str, list[str]] = {}
        for path, part in self.by_path.items():
            for key in part.ends:
                users.setdefault(key, []).append(path)
        self.users = {key: tuple(paths) for key, paths in users.items()}
        self.touched = set(users)

    def _carry_users(self, before: StatedParts) -> None:
        self.anew = False
        self.users = dict(before.users)
        for path in self.changed:
            old, new = before.by_path.get(path), self.by_path.get(path)
            was = old.ends if old is not None else frozenset()
            now = new.ends if new is not None else frozenset()
            self.touched |= was | now
            for key in was - now:
                left = tuple(user for user in self.users[key] if user != path)
                if left:
                    self.users[key] = left
                else:
                    del self.users[key]
            for key in now - was:
                users = list(self.users.get(key, ()))
                insort(users, path)
                self.users[key] = tuple(users)

    def paths(self) -> Iterator[str]:
        """Yield the paths in their order."""
        return iter(self.by_path)

    def versions(self, path: str, before: StatedParts) -> Iterator[Part]:
        """Yield the part of a path as it was and as it is."""
        yield from (part for part in (before.by_path.get(path), self.by_path.get(path)) if part is not None)

    def same_pages(self, before: StatedParts) -> set[str]:
        """Return the paths of the pages whose nodes show the same as before."""
        was = before.pages
        return {
            path
            for path, item in self.pages.items()
            if (old := was.get(path)) is not None
            and old.page is item.page
            and old.properties is item.properties
        }
