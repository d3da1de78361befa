"""Checking citations: those of pages and those an agent gives back, each with its verdict and new place.

Everything is looked up in what the caller may see, so a withheld page is a missing one here too. Each
cited page is read once for all citations of it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from wikimcp.citations.anchors import check_anchor
from wikimcp.citations.page_text import PageText, Range
from wikimcp.citations.uri import make_cite_uri
from wikimcp.citations.verdict import NO_PAGE, Cited, Status, Verdict, check
from wikimcp.index.pins import Pin, named_target, pin_key
from wikimcp.index.view import PageRecord, Reading
from wikimcp.markdown.tokens import span_sha256
from wikimcp.models import Link
from wikimcp.tools.citation_targets import FoundPage, Target, find_page, given_target, target_of
from wikimcp.tools.contract import ToolContext

_MOST_KEPT = 50_000  # verdicts, about 0.5 kB each


@dataclass(frozen=True, slots=True)
class Edge:
    """One citation: its page and link (None: given by the caller), what it names, and the page found."""

    source: PageRecord | None
    link: Link | None
    target: Target
    found: FoundPage | None
    pin: Pin | None = None

    @property
    def order(self) -> tuple[str, int]:
        """Where it stands among others: by path, then place on the page."""
        return (self.source.path if self.source else "", self.link.start if self.link else 0)


@dataclass(frozen=True, slots=True)
class NewPlace:
    """Where a span stands: the page (None: a source file), heading path, lines, and its uri or anchor."""

    page: PageRecord | None
    heading_path: tuple[str, ...]
    lines: tuple[int, int] | None
    uri: str


@dataclass(frozen=True, slots=True)
class Near:
    """The passage most like a span that is gone."""

    text: str
    heading_path: tuple[str, ...]
    lines: tuple[int, int]
    similarity: float | None


@dataclass(frozen=True, slots=True)
class Checked:
    """A citation with its verdict; ``pinned_version`` 0 where it was never known."""

    edge: Edge
    status: Status
    reason: str
    pinned_version: int
    current_version: int
    place: NewPlace | None = None
    near: Near | None = None


def edges_of(reading: Reading, pages: Iterable[tuple[PageRecord, Sequence[Link]]]) -> list[Edge]:
    """Return the citations of pages, by path and place."""
    listed = list(pages)
    pins = reading.pins(page for page, _ in listed)
    found: list[Edge] = []
    for page, links in listed:
        notes = any(link.target.startswith("footnote:") for link in links)
        frontmatter: Mapping[str, object] = reading.body(page).frontmatter if notes else {}
        for link in links:
            target = target_of(named_target(link, frontmatter), span=link.span_text, claim=link.label)
            at = None if target.outside or target.anchor or target.malformed else find_page(reading, target)
            found.append(Edge(page, link, target, at, pins.get((page.path, pin_key(link)))))
    return found


def given_edges(reading: Reading, texts: Sequence[str]) -> list[Edge]:
    """Return what a caller gives to be verified, in order."""
    found = []
    for text in texts:
        target = given_target(text)
        at = find_page(reading, target) if target.name else None
        found.append(Edge(None, None, target, at))
    return found


def checked(reading: Reading, edges: Sequence[Edge], context: ToolContext) -> Iterator[Checked]:
    """Yield the verdict on each citation, in the order of ``edges``; those of outside targets are left out.

    Raises Stale when a page moved on while it was read.
    """
    done: dict[int, Checked] = {}
    by_page: dict[str, list[int]] = {}
    for number, edge in enumerate(edges):
        if edge.source is not None:
            reading.touch([edge.source])
        if edge.found is not None:
            by_page.setdefault(edge.found.page.path, []).append(number)
        elif edge.target.anchor is not None:
            done[number] = _anchored(edge, context)
        elif not edge.target.outside:
            reason = edge.target.malformed or NO_PAGE
            done[number] = Checked(edge, Status.TARGET_MISSING, reason, edge.target.version, 0)
    for numbers in by_page.values():
        cited = {edges[number].target.cited: number for number in numbers}
        found = edges[numbers[0]].found
        assert found is not None
        outcomes = _outcomes(reading, found.page, list(cited))
        for number in numbers:
            done[number] = _on_page(reading, edges[number], outcomes[edges[number].target.cited])
    yield from (done[number] for number in sorted(done))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What the text of a page says of a citation: the verdict, and where its span stands by now.

    ``place`` is as in a uri.
    """

    status: Status
    reason: str
    heading_path: tuple[str, ...] = ()
    place: Range | None = None
    lines: tuple[int, int] | None = None
    span_sha256: str = ""
    near: Near | None = None


def _outcomes(reading: Reading, page: PageRecord, cited: Sequence[Cited]) -> Mapping[Cited, _Outcome]:
    """Check citations of one page; its text is read only for what was not checked before."""
    reading.touch([page])
    kept: dict[tuple[int, Hashable], _Outcome] = reading.view.checks
    found = {one: kept[page.rev, one] for one in cited if (page.rev, one) in kept}
    lacking = [one for one in cited if one not in found]
    if lacking:
        text = reading.page_text(page)
        if len(kept) > _MOST_KEPT:
            kept.clear()
        for one in lacking:
            found[one] = kept[page.rev, one] = _outcome(text, check(text, one))
    return found


def _outcome(text: PageText, verdict: Verdict) -> _Outcome:
    path = verdict.section.heading_path if verdict.section else ()
    near = _near(text, verdict) if verdict.status is Status.STALE else None
    if verdict.place is None:
        return _Outcome(verdict.status, verdict.reason, path, near=near)
    start, end = verdict.place
    digest = span_sha256(text.text[start:end])
    place, lines = text.breaks.fold(verdict.place), text.lines(verdict.place)
    return _Outcome(verdict.status, verdict.reason, path, place, lines, digest, near)


def _on_page(reading: Reading, edge: Edge, outcome: _Outcome) -> Checked:
    found, target = edge.found, edge.target
    assert found is not None
    page, status, reason = found.page, outcome.status, outcome.reason
    if target.bare and target.version > page.version and target.version > reading.newest_version(page):
        status, reason = Status.STALE, f"no such version: the newest known here is {page.version}"
    if found.moved and status in (Status.CURRENT, Status.MOVED):
        status, reason = Status.MOVED, "the page has moved"
    place = _new_place(page, outcome) if status is Status.MOVED else None
    return Checked(edge, status, reason, _pinned_version(edge, page), page.version, place, outcome.near)


def _pinned_version(edge: Edge, page: PageRecord) -> int:
    """Return the version that a citation names, else the one it was pinned at.

    A pin of the very content that is there now is of the version that this content has now: the
    number may have been counted in another way then.
    """
    if edge.target.version:
        return edge.target.version
    pin = edge.pin
    if pin is None:
        return 0
    return page.version if pin.content == page.content_hash else pin.version


def _new_place(page: PageRecord, outcome: _Outcome) -> NewPlace:
    if outcome.place is None:
        return NewPlace(page, outcome.heading_path, None, make_page_uri(page))
    uri = make_cite_uri(
        page.canonical_id,
        outcome.heading_path,
        version=page.version,
        span_sha256=outcome.span_sha256,
        place=outcome.place,
    )
    return NewPlace(page, outcome.heading_path, outcome.lines, uri)


def make_page_uri(page: PageRecord) -> str:
    """Return the uri of a page as a whole, without a span."""
    return make_cite_uri(page.canonical_id, (), version=page.version, span_sha256="").removesuffix("&h=")


def _near(text: PageText, verdict: Verdict) -> Near | None:
    path = verdict.section.heading_path if verdict.section else ()
    if verdict.nearest is not None:
        near = verdict.nearest
        return Near(near.text, path, text.lines(near.place), round(near.similarity, 2))
    if verdict.section is None or verdict.section.subtree.end > verdict.section.own.end:
        return None  # of a page or chapter as a whole no single passage is what was cited
    own = verdict.section.own
    place = (own.start, own.end)
    return Near(text.text[own.start : own.end], path, text.lines(place), None)


def _anchored(edge: Edge, context: ToolContext) -> Checked:
    """Check a source anchor against the file below the source roots."""
    anchor, sources = edge.target.anchor, context.sources
    assert anchor is not None
    text = sources.read(anchor.path) if sources else None
    pinned = edge.pin.content if edge.pin else ""
    verdict = check_anchor(text, anchor, span=edge.target.cited.span, pinned=pinned)
    if text is None:
        reason = verdict.reason if sources else "file missing: no source roots are set"
        return Checked(edge, verdict.status, reason, 0, 0)
    page, place, near = PageText(text, ()), None, None
    if verdict.status is Status.MOVED and verdict.place is not None:
        lines = page.lines(verdict.place)
        place = NewPlace(None, (), lines, replace(anchor, lines=lines).text)
    if verdict.nearest is not None:
        nearest = verdict.nearest
        near = Near(nearest.text, (), page.lines(nearest.place), round(nearest.similarity, 2))
    return Checked(edge, verdict.status, verdict.reason, 0, 0, place, near)


def stale_citations_of(reading: Reading, page: PageRecord, context: ToolContext) -> list[Checked]:
    """Return the citations of a page that are not current, in order."""
    edges = edges_of(reading, [(page, reading.citations(page))])
    return [found for found in checked(reading, edges, context) if found.status is not Status.CURRENT]
