"""The link graph around a page, in few words: titles and first paragraphs, so that a reader can pick."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from wikimcp.index.view import PageRecord, Reading
from wikimcp.markdown.body import parse_body
from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.markdown.tokens import count_tokens

MOST_DEPTH = 2
MOST_NODES = 15
_LONGEST_PARAGRAPH = 240  # characters
_SHORTEST_PARAGRAPH = 60


@dataclass(frozen=True, slots=True)
class MapNode:
    """A page of the map: how many links it is away from the start, and where it links to on the map."""

    slug: str
    title: str
    depth: int
    paragraph: str
    links: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinkMap:
    """What lies around a page; ``left_out`` counts pages that were reached and not taken."""

    start: str
    nodes: tuple[MapNode, ...]
    left_out: int


def link_map(
    reading: Reading, start: PageRecord, *, depth: int = MOST_DEPTH, most: int = MOST_NODES, tokens: int = 0
) -> LinkMap:
    """Follow the links of a page breadth-first, ``depth`` links far, over at most ``most`` pages.

    Where ``tokens`` are given, paragraphs are cut and then the farthest pages left out until the text of
    the map (``map_text``) is within them. Raises Stale when a page moved on.
    """
    depth, most = min(max(depth, 1), MOST_DEPTH), min(max(most, 1), MOST_NODES)
    reached: dict[str, int] = {start.slug: 0}
    pages: dict[str, PageRecord] = {start.slug: start}
    queue = deque([start])
    while queue:
        page = queue.popleft()
        if reached[page.slug] == depth:
            continue
        for linked in reading.outlinks(page):
            if linked.slug not in reached and not linked.conflict_copy:
                reached[linked.slug] = reached[page.slug] + 1
                if len(pages) < most:
                    pages[linked.slug] = linked
                    queue.append(linked)
    taken = list(pages.values())
    longest = _LONGEST_PARAGRAPH
    while True:
        on_map = {page.slug for page in taken}
        nodes = tuple(_node(reading, page, reached[page.slug], on_map, longest) for page in taken)
        found = LinkMap(start.slug, nodes, len(reached) - len(taken))
        if not tokens or count_tokens(map_text(found)) <= tokens or len(taken) == 1:
            return found
        if longest > _SHORTEST_PARAGRAPH:
            longest = max(longest * 2 // 3, _SHORTEST_PARAGRAPH)
        else:
            taken.pop()


def map_text(found: LinkMap) -> str:
    """Return a map as markdown."""
    lines = [f"# Around {found.start}", ""]
    for node in found.nodes:
        said = f": {node.paragraph}" if node.paragraph else ""
        links = f" -> {', '.join(node.links)}" if node.links else ""
        lines.append(f"{'  ' * node.depth}- {node.title} (`{node.slug}`){said}{links}")
    if found.left_out:
        lines += ["", f"{found.left_out} more pages are within reach."]
    return "\n".join(lines) + "\n"


def _node(reading: Reading, page: PageRecord, depth: int, on_map: set[str], longest: int) -> MapNode:
    links = tuple(linked.slug for linked in reading.outlinks(page) if linked.slug in on_map)
    paragraph = _clip(_first_paragraph(reading, page), longest)
    return MapNode(page.slug, " ".join(page.title.split()), depth, paragraph, links)


def _first_paragraph(reading: Reading, page: PageRecord) -> str:
    text = reading.text(page)
    return parse_body(text, parse_frontmatter(text).body_start).first_paragraph or page.summary


def _clip(text: str, longest: int) -> str:
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    cut = line[:longest].rpartition(" ")[0] or line[:longest]
    return f"{cut.rstrip(' ,;:')}…"
