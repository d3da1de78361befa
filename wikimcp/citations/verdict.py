"""The verdict on one citation of a page that is there: current, moved, stale or ambiguous.

Exact: a span is there word for word or it is not. What is most like it is shown beside the verdict and
never changes it. Whether there is such a page is for the caller to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from wikimcp.citations.nearest import Nearest, nearest_passage
from wikimcp.citations.page_text import PageText, Range
from wikimcp.markdown.tokens import span_sha256
from wikimcp.models import Section


class Status(StrEnum):
    """What has become of a citation; the order is that of ``worst``."""

    CURRENT = "current"
    MOVED = "moved"
    AMBIGUOUS = "ambiguous"
    STALE = "stale"
    TARGET_MISSING = "target_missing"


@dataclass(frozen=True, slots=True)
class Cited:
    """What a citation says of a page. Empty parts are not said, and not checked.

    ``hash_start`` are 16 to 64 hex, ``place`` characters with CRLF counted as one, ``lines`` first
    and last.
    """

    heading_path: tuple[str, ...] = ()
    span: str = ""
    hash_start: str = ""
    place: Range | None = None
    lines: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A status with its ``reason`` (empty when current), where the span stands now, and what is near.

    ``section`` is the innermost that holds the span; ``place`` None where nothing but the page or a
    heading was named.
    """

    status: Status
    reason: str = ""
    place: Range | None = None
    section: Section | None = None
    nearest: Nearest | None = None


NO_SPAN = "no such span"
NO_HEADING = "no such heading"
NO_PAGE = "no such page"


def check(page: PageText, cited: Cited) -> Verdict:
    """Check what a citation says against a page."""
    if cited.lines is not None and not 1 <= cited.lines[0] <= cited.lines[1] <= page.line_count:
        return Verdict(Status.STALE, f"{NO_SPAN}: the file has {page.line_count} lines")
    named = page.resolve(cited.heading_path) if cited.heading_path else []
    if not cited.span and not cited.hash_start:
        return _heading_alone(cited, named)
    if cited.span:
        verdict = _judge(page, cited, named, page.places_of_text(cited.span), shown=cited.span)
        if not cited.hash_start or span_sha256(cited.span).startswith(cited.hash_start):
            return verdict
        if verdict.status is Status.STALE:
            return verdict
        other = _by_hash(page, cited, named)
        if other.status is Status.STALE:
            return Verdict(Status.STALE, f"{NO_SPAN}: the hash is that of other words", verdict.place)
        return verdict if _order(verdict) >= _order(other) else other
    return _by_hash(page, cited, named)


def _heading_alone(cited: Cited, named: list[Section]) -> Verdict:
    if not cited.heading_path:
        return Verdict(Status.CURRENT)
    if not named:
        return Verdict(Status.STALE, NO_HEADING)
    if len(named) > 1:
        return Verdict(Status.AMBIGUOUS, f"{len(named)} sections have this heading")
    tree = named[0].subtree
    return Verdict(Status.CURRENT, "", (tree.start, tree.end), named[0])


def _by_hash(page: PageText, cited: Cited, named: list[Section]) -> Verdict:
    within = [(section.subtree.start, section.subtree.end) for section in named]
    place = page.breaks.unfold(cited.place) if cited.place else None
    if (
        place is not None
        and page.is_at(place, cited.hash_start)
        and (not cited.heading_path or any(_holds(section, place) for section in named))
    ):
        return _at(page, Status.CURRENT, place)
    length = cited.place[1] - cited.place[0] if cited.place else 0
    places = page.places_of_hash(cited.hash_start, within=within, length=length)
    return _judge(page, cited, named, places)


def _judge(
    page: PageText, cited: Cited, named: list[Section], places: list[Range], *, shown: str = ""
) -> Verdict:
    """Judge by where the span was found; ``shown`` is its text, where that is known."""
    if not cited.heading_path:
        in_body = [place for place in places if place[0] >= page.body_start]
        return _one_of(page, in_body or places, Status.CURRENT) or _gone(page, NO_SPAN, named, shown)
    # A heading may name a section and one below it: a span in both stands in the inner one.
    holding: dict[int, Range] = {}
    for place in places:
        inner = max((s.ordinal for s in named if _holds(s, place)), default=None)
        if inner is not None:
            holding.setdefault(inner, place)
    if len(holding) > 1:
        return Verdict(Status.AMBIGUOUS, f"{len(holding)} sections of this heading hold it")
    if holding:
        return _at(page, Status.CURRENT, next(iter(holding.values())))
    reason = NO_SPAN if named else NO_HEADING
    return _one_of(page, places, Status.MOVED) or _gone(page, reason, named, shown)


def _one_of(page: PageText, places: list[Range], status: Status) -> Verdict | None:
    if len(places) > 1:
        return Verdict(Status.AMBIGUOUS, f"the span stands {len(places)} times on the page")
    return _at(page, status, places[0]) if places else None


def _at(page: PageText, status: Status, place: Range) -> Verdict:
    reason = "the span stands under another heading" if status is Status.MOVED else ""
    return Verdict(status, reason, place, page.section_at(place))


def _gone(page: PageText, reason: str, named: list[Section], shown: str) -> Verdict:
    """Say that a span is gone, with what is most like it or, without its text, where it once stood."""
    if reason == NO_HEADING:
        reason = f"{NO_HEADING}, and {NO_SPAN} elsewhere on the page"
    if shown:
        near = nearest_passage(page, shown)
        section = page.section_at(near.place) if near else None
        return Verdict(Status.STALE, reason, None, section, near)
    return Verdict(Status.STALE, reason, None, named[0] if named else None)


def _holds(section: Section, place: Range) -> bool:
    return section.subtree.start <= place[0] and place[1] <= section.subtree.end


def _order(verdict: Verdict) -> int:
    return list(Status).index(verdict.status)
