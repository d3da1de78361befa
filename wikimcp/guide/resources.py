"""Resources for progressive loading, cheapest first: hot, index, clusters, pages.

Where the vault has no hub page of a level, the level is built from the catalog.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from urllib.parse import quote, unquote

from wikimcp.errors import BadArgument, NotFound, nearest
from wikimcp.guide.link_map import link_map, map_text
from wikimcp.index.view import Cluster, PageRecord, Reading
from wikimcp.markdown.tokens import count_tokens

PAGE_OF_LIST = 100
_FARTHEST = 10**9  # position in the list
_RECENT = 15
_MOST_LISTED = 200
_LONGEST_TITLE = 200
TEMPLATES = (
    ("wiki://cluster/{name}", "cluster", "L2: the pages of one topic cluster, hub first"),
    ("wiki://page/{slug}", "page", "L3: one page as markdown"),
    ("wiki://graph/{slug}", "graph", "The pages within two links of one, with their first paragraphs"),
)


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as listed; ``tokens`` is its size, an estimate from the file size for pages."""

    uri: str
    name: str
    title: str
    description: str
    tokens: int


def list_resources(reading: Reading, cursor: str | None) -> tuple[list[Resource], str | None]:
    """Return one page of the list and the cursor of the next. Raises BadArgument for a foreign cursor."""
    start = _position(cursor, reading.generation)
    found = list(islice(_all(reading), start, start + PAGE_OF_LIST + 1))
    more = len(found) > PAGE_OF_LIST
    return found[:PAGE_OF_LIST], _cursor(start + PAGE_OF_LIST, reading.generation) if more else None


def _all(reading: Reading) -> Iterator[Resource]:
    yield _described(
        "wiki://hot", "hot", "What is recent", "L0: recent work and open ends", hot_text(reading)
    )
    yield _described("wiki://index", "index", "Index", "L1: what this wiki holds", index_text(reading))
    for cluster in reading.clusters.values():
        uri = f"wiki://cluster/{quote(cluster.name, safe='')}"
        text = cluster_text(cluster)
        yield _described(
            uri, f"cluster {cluster.name}", f"Cluster {cluster.name}", "L2: pages of a cluster", text
        )
    for page in reading.pages:
        if not page.conflict_copy:
            yield Resource(
                f"wiki://page/{quote(page.slug, safe='')}",
                page.slug,
                _flat(page.title)[:_LONGEST_TITLE],
                "L3: a page",
                -(-page.size // 4),
            )


def _described(uri: str, name: str, title: str, description: str, text: str) -> Resource:
    return Resource(uri, name, title, description, count_tokens(text))


def read_resource(reading: Reading, uri: str) -> str:
    """Return the markdown behind a URI. Raises NotFound, or BadArgument for a URI of another form."""
    if not uri.startswith("wiki://"):
        raise BadArgument(
            "resources have URIs like wiki://hot, wiki://index, wiki://cluster/NAME, wiki://page/SLUG, "
            "wiki://graph/SLUG"
        )
    level, _, name = uri.removeprefix("wiki://").partition("/")
    if level == "hot" and not name:
        return hot_text(reading)
    if level == "index" and not name:
        return index_text(reading)
    wanted = unquote(name)
    if level == "cluster" and wanted:
        cluster = reading.clusters.get(wanted)
        if cluster is None:
            close = nearest(wanted[:80], list(reading.clusters))
            raise NotFound(
                f"no cluster named {wanted[:80]!r}", hint=f"Nearest: {', '.join(close)}." if close else ""
            )
        return cluster_text(cluster)
    if level == "page" and wanted:
        return reading.text(reading.resolve(wanted))
    if level == "graph" and wanted:
        return map_text(link_map(reading, reading.resolve(wanted)))
    raise NotFound(f"no resource {uri[:120]!r}", hint="See the list of resources.")


def hot_text(reading: Reading) -> str:
    """Return the vault's own hot page, else the pages edited last."""
    page = hub_page(reading, "hot")
    if page is not None:
        return reading.text(page)
    recent = sorted(reading.pages, key=lambda p: (p.updated_at, p.path), reverse=True)[:_RECENT]
    return "\n".join(["# Edited last", "", *(f"- {p.updated_at[:10]} {_line(p)}" for p in recent)]) + "\n"


def index_text(reading: Reading) -> str:
    """Return the vault's own index or overview page, else its clusters and top pages."""
    page = hub_page(reading, "index") or hub_page(reading, "overview")
    if page is not None:
        return reading.text(page)
    lines = ["# Index", "", f"{len(reading.pages)} pages.", ""]
    for cluster in reading.clusters.values():
        hub = f", hub `{cluster.hub.slug}`" if cluster.hub else ""
        lines.append(f"- {_flat(cluster.name)} ({cluster.page_count} pages{hub})")
    if not reading.clusters:
        lines += [f"- {_line(page)}" for page in reading.pages[:_MOST_LISTED]]
    return "\n".join(lines) + "\n"


def cluster_text(cluster: Cluster) -> str:
    """Return the pages of a cluster, hub first, as one line each."""
    hub = [cluster.hub] if cluster.hub else []
    pages = [*hub, *(page for page in cluster.members if page is not cluster.hub)]
    lines = [f"# {_flat(cluster.name)}", "", f"{cluster.page_count} pages.", ""]
    lines += [f"- {_line(page)}" for page in pages[:_MOST_LISTED]]
    if len(pages) > _MOST_LISTED:
        lines.append(f"- and {len(pages) - _MOST_LISTED} more: list_pages with this cluster")
    return "\n".join(lines) + "\n"


def hub_page(reading: Reading, role: str) -> PageRecord | None:
    """Return the vault's own page of a role, where it has one."""
    return next((page for page in reading.pages if page.role == role), None)


def _line(page: PageRecord) -> str:
    summary = f": {_flat(page.summary)}" if page.summary else ""
    return f"{_flat(page.title)} (`{page.slug}`){summary}"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _cursor(position: int, generation: int) -> str:
    return base64.urlsafe_b64encode(f"{generation}:{position}".encode()).decode()


def _position(cursor: str | None, generation: int) -> int:
    if not cursor:
        return 0
    try:
        made, _, position = base64.urlsafe_b64decode(cursor.encode()).decode().partition(":")
        if int(made) == generation and 0 <= int(position) <= _FARTHEST:
            return int(position)
    except (ValueError, binascii.Error, UnicodeError):
        pass
    raise BadArgument("cursor expired", hint="Start again without a cursor.")
