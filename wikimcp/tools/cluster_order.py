"""Which pages of a cluster to read first: the hub, then those that the cluster itself links to."""

from __future__ import annotations

from wikimcp.index.view import Cluster, PageRecord, Reading
from wikimcp.tools.times import instant


def pages_within(reading: Reading, cluster: Cluster) -> list[PageRecord]:
    """Return the pages of a cluster and of the clusters inside it, by path, without sync leftovers."""
    below = f"{cluster.name}/"
    found: dict[str, PageRecord] = {}
    for name, other in reading.clusters.items():
        if name == cluster.name or name.startswith(below):
            found.update((page.path, page) for page in other.members if not page.conflict_copy)
    return [found[path] for path in sorted(found)]


def in_reading_order(reading: Reading, cluster: Cluster) -> list[PageRecord]:
    """Return all pages of a cluster: hub first, then by links from within it, then the newest first.

    A link counts when it comes from another page of the cluster, its hub included.
    """
    pages = pages_within(reading, cluster)
    inside = {page.slug for page in pages}
    keys = {page.slug: _key(reading, page, inside) for page in pages}
    hub = cluster.hub
    return sorted(pages, key=lambda page: (hub is None or page.slug != hub.slug, keys[page.slug]))


def _key(reading: Reading, page: PageRecord, inside: set[str]) -> tuple[int, float, str]:
    linked = sum(source.slug in inside for source in reading.backlinks(page))
    return -linked, -(instant(page.updated_at) or 0.0), page.path
