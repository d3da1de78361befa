"""Clusters and tags of a set of visible pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from wikimcp.index.names import fold
from wikimcp.index.page_record import PageRecord

_FOLDER_CLUSTER_FROM = 3  # pages; a smaller top-level folder is no topic of its own


@dataclass(frozen=True, slots=True)
class Cluster:
    """A topic domain: ``members`` are the pages that name it, ``page_count`` counts descendants too.

    ``hub`` is None when no page is its hub; ``parent`` is the enclosing cluster or empty.
    """

    name: str
    hub: PageRecord | None
    members: tuple[PageRecord, ...]
    page_count: int
    parent: str
    updated_at: str


def build_clusters(pages: Sequence[PageRecord]) -> Mapping[str, Cluster]:
    """Return the clusters by name, sorted by name.

    A cluster exists when pages name it in ``cluster``; ``a/b`` lies within ``a``. Where no page
    names any, the top-level folders with at least three pages are the clusters.
    """
    members: dict[str, list[PageRecord]] = {}
    for page in pages:
        for name in page.clusters:
            members.setdefault(name, []).append(page)
    by_folder = not members
    if by_folder:
        members = _folders(pages)
    within: dict[str, dict[str, PageRecord]] = {}
    for name, found in members.items():
        for ancestor in (name, *_ancestors(name)):
            within.setdefault(ancestor, {}).update((page.path, page) for page in found)
    clusters = {}
    for name in sorted(within):
        own = tuple(members.get(name, ()))
        clusters[name] = Cluster(
            name=name,
            hub=_folder_hub(name, own) if by_folder else _declared_hub(own),
            members=own,
            page_count=len(within[name]),
            parent=name.rsplit("/", 1)[0] if "/" in name else "",
            updated_at=max((page.updated_at for page in within[name].values()), default=""),
        )
    return clusters


def _ancestors(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rsplit("/", 1)[0]
        yield name


def _folders(pages: Sequence[PageRecord]) -> dict[str, list[PageRecord]]:
    folders: dict[str, list[PageRecord]] = {}
    for page in pages:
        if "/" in page.path:
            folders.setdefault(page.path.split("/", 1)[0], []).append(page)
    return {name: found for name, found in folders.items() if len(found) >= _FOLDER_CLUSTER_FROM}


def _declared_hub(members: Sequence[PageRecord]) -> PageRecord | None:
    hubs = [page for page in members if fold(page.type) == "hub" and not page.conflict_copy]
    return min(hubs, key=lambda page: (page.path.count("/"), page.path), default=None)


def _folder_hub(name: str, members: Sequence[PageRecord]) -> PageRecord | None:
    for stem in ("index", "readme", "overview", fold(name)):
        for page in members:
            if page.path.count("/") == 1 and fold(page.slug.rsplit("/", 1)[-1]) == stem:
                return page
    return None


def build_tags(pages: Sequence[PageRecord]) -> Mapping[str, tuple[PageRecord, ...]]:
    """Return the pages of each tag, sorted by tag; spelling as first written, equality by folding."""
    keys: dict[str, str] = {}  # by spelling: there are few for many pages
    spelling: dict[str, str] = {}
    found: dict[str, list[PageRecord]] = {}
    for page in pages:
        for tag in page.tags:
            if tag not in keys:
                keys[tag] = fold(tag)
                spelling.setdefault(keys[tag], tag)
        for key in dict.fromkeys(map(keys.__getitem__, page.tags)):
            found.setdefault(key, []).append(page)
    return {spelling[key]: tuple(found[key]) for key in sorted(found)}
