"""Rules about what pages point at: links, headings and source anchors, and who is linked by nobody.

All is told as the audience sees it: a link to a withheld page is one that leads nowhere.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from wikimcp.authoring.lint_places import Places
from wikimcp.authoring.lint_report import (
    BROKEN_LINK,
    DEAD_ANCHOR,
    GAP,
    ISOLATED,
    MISSING_HEADING,
    ORPHAN,
    Finding,
)
from wikimcp.authoring.pages import SUPPORT
from wikimcp.citations.anchors import SourceRoots, check_anchor, parse_anchor
from wikimcp.citations.uri import parse_cite_uri
from wikimcp.citations.verdict import Status
from wikimcp.graph.resolve import fold, joined_path, slug_form
from wikimcp.index.link_diagnostics import odd_links
from wikimcp.index.page_record import PageRecord
from wikimcp.index.pins import Pin, pin_key
from wikimcp.index.view import Reading
from wikimcp.markdown.links import PAGE_SUFFIXES
from wikimcp.models import Link, LinkKind

_WANTED_BY = 2  # pages that ask for a name before its lack is a gap
_MOST_NAMED = 5
_JOURNAL = re.compile(r"\d{4}[-_.]?\d{2}[-_.]?\d{2}")
_STANDING = frozenset({"index", "_index", "readme", "home", "log", "schema", "changelog"})
_PAGES = (LinkKind.WIKILINK, LinkKind.MARKDOWN, LinkKind.EMBED)


LeadsBeyond = Callable[[PageRecord, Link], bool]
"""Says of a link that leads to nothing in the vault whether it leads to what the vault may point at."""


@dataclass(slots=True)
class LinkTally:
    """What was counted on the way: links, links to headings, source anchors, and the names nobody has.

    ``wanted`` holds for every such name (folded) where it is written, by page.
    """

    links: int = 0
    fragments: int = 0
    anchors: int = 0
    unchecked: int = 0
    wanted: dict[str, dict[str, tuple[str, int, int]]] = field(default_factory=dict)


def is_standing(page: PageRecord) -> bool:
    """Whether a page is there by its place, not for its topic: a hub, an index, a log, a day's journal.

    Nobody has to link to it, and it needs no title or fields of its own.
    """
    stem = fold(page.path.rpartition("/")[2].rpartition(".")[0])
    return page.role != "topic" or stem in _STANDING or page.path in SUPPORT or bool(_JOURNAL.fullmatch(stem))


def link_findings(
    reading: Reading,
    page: PageRecord,
    places: Places,
    tally: LinkTally,
    *,
    sources: SourceRoots | None,
    leads_beyond: LeadsBeyond | None = None,
) -> Iterator[Finding]:
    """Yield what is wrong with the links of one page. Raises Stale when the page moved on."""
    links = [link for link in reading.view.body(page).links if not link.in_comment]
    inside = [link for link in links if link.kind not in (LinkKind.EXTERNAL, LinkKind.CITATION)]
    tally.links += len(inside)
    tally.fragments += sum(bool(link.fragment) for link in inside)
    for odd in odd_links(reading.view, page):
        if odd.code == "ambiguous_link":
            continue
        rule = BROKEN_LINK if odd.code == "unresolved_link" else MISSING_HEADING
        if rule is BROKEN_LINK and leads_beyond is not None and leads_beyond(page, odd.link):
            continue
        line, column = places.of_link(odd.link)
        yield Finding(rule, page.path, line, odd.message, column)
        if rule is BROKEN_LINK and odd.link.kind in _PAGES and odd.link.target:
            asked = tally.wanted.setdefault(_wanted_name(odd.link.target), {})
            asked.setdefault(page.path, (odd.target, line, column))
    cited = [link for link in links if link.kind is LinkKind.CITATION]
    if cited:
        yield from _citation_findings(reading, page, places, tally, cited=cited, sources=sources)


def beside_the_pages(reading: Reading) -> LeadsBeyond:
    """Return what knows the files of a vault beside the folder of its pages, as the raw sources of a wiki.

    They are linked to from the page or from the vault's root.
    """
    adapter = reading.view.adapter
    folder = adapter.source_root.relative_to(adapter.root).as_posix()

    def leads_there(page: PageRecord, link: Link) -> bool:
        if folder == "." or not link.target:
            return False
        from_page = joined_path(posixpath.dirname(f"{folder}/{page.path}"), link.target)
        places = {from_page, joined_path("", link.target)}
        return any(
            place and not f"{place}/".startswith(f"{folder}/") and adapter.holds(place) for place in places
        )

    return leads_there


def _wanted_name(target: str) -> str:
    """Return a target as a name: without the suffix of a page, dashes and blanks alike."""
    name = target.strip().removeprefix("./")
    suffix = next((end for end in PAGE_SUFFIXES if name.lower().endswith(end)), "")
    return slug_form(name[: len(name) - len(suffix)])


def _citation_findings(
    reading: Reading,
    page: PageRecord,
    places: Places,
    tally: LinkTally,
    *,
    cited: Sequence[Link],
    sources: SourceRoots | None,
) -> Iterator[Finding]:
    """Check source anchors in full, and of ``cite://`` links that their page is there."""
    pins = reading.pins([page])
    for link in cited:
        if link.target[:5].lower() == "cite:":
            tally.links += 1
            uri = parse_cite_uri(link.target)
            if uri is None or not _is_there(reading, uri.canonical_id):
                why = "is no citation uri" if uri is None else "cites a page that is not there"
                line, column = places.of_link(link)
                yield Finding(BROKEN_LINK, page.path, line, f"{_short(link.target)!r} {why}", column)
        elif link.target[:5].lower() == "file:":
            tally.anchors += 1
            if sources is None:
                tally.unchecked += 1
                continue
            if why := _dead(link, sources, pins.get((page.path, pin_key(link)))):
                line, column = places.of_link(link)
                yield Finding(DEAD_ANCHOR, page.path, line, f"{_short(link.target)!r}: {why}", column)


def _is_there(reading: Reading, name: str) -> bool:
    names = reading.view.names
    return name in names.ids or name in names.slugs or reading.moved_id(name) is not None


def _dead(link: Link, sources: SourceRoots, pin: Pin | None) -> str:
    """Return why a source anchor is dead; empty when its lines are there as they were."""
    anchor = parse_anchor(link.target)
    if anchor is None:
        return "this is no path below a source root with lines"
    pinned = pin.content if pin else ""
    verdict = check_anchor(sources.read(anchor.path), anchor, span=link.span_text, pinned=pinned)
    return "" if verdict.status is Status.CURRENT else verdict.reason or verdict.status.value


def gap_findings(tally: LinkTally) -> Iterator[Finding]:
    """Yield a finding for each name that several pages link to and no page has, where it is met first."""
    for askers in tally.wanted.values():
        if len(askers) < _WANTED_BY:
            continue
        paths = sorted(askers)
        written, line, column = askers[paths[0]]
        shown = ", ".join(paths[:_MOST_NAMED]) + (" and others" if len(paths) > _MOST_NAMED else "")
        message = f"{len(paths)} pages link to {written!r}, which no page is called: {shown}"
        yield Finding(GAP, paths[0], line, message, column)


def lone_findings(reading: Reading, page: PageRecord) -> Iterator[Finding]:
    """Yield that no page links to a page, and that it links to none."""
    if is_standing(page) or page.conflict_copy:
        return
    links = reading.view.links
    if not links.incoming.get(page.slug):
        yield Finding(ORPHAN, page.path, 1, "no other page links here")
    if not links.outgoing.get(page.slug):
        yield Finding(ISOLATED, page.path, 1, "it links to no other page")


def _short(target: str) -> str:
    line = " ".join(target.split())
    return line if len(line) <= 120 else f"{line[:119]}…"
