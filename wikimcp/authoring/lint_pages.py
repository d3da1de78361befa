"""Rules about pages by themselves: their age, their titles and the fields of their frontmatter."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from wikimcp.authoring.lint_links import is_standing
from wikimcp.authoring.lint_places import Places
from wikimcp.authoring.lint_report import DUPLICATE_TITLE, MISSING_FIELDS, STALE, Finding
from wikimcp.graph.resolve import fold
from wikimcp.index.page_record import PageRecord
from wikimcp.index.view import Reading

_USUAL_FROM = 10  # pages; fewer have no custom yet
_USUAL_SHARE = 0.9
_MOST_NAMED = 5


def topic_pages(pages: Iterable[PageRecord]) -> list[PageRecord]:
    """Return the pages that the rules about fields, titles and age are for."""
    return [page for page in pages if not page.conflict_copy and not is_standing(page)]


def stale_finding(page: PageRecord, places: Places, *, now: datetime, days: int) -> Finding | None:
    """Return that a page was not updated for more than ``days``; None when it was, or 0 days are asked."""
    if not days:
        return None
    at = _time(page.updated_at)
    if at is None or now - at <= timedelta(days=days):
        return None
    line, column = places.of_update()
    age = (now - at).days
    return Finding(STALE, page.path, line, f"last updated {page.updated_at[:10]}, {age} days ago", column)


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def same_titles(pages: Sequence[PageRecord]) -> Mapping[str, Sequence[PageRecord]]:
    """Return for each page (by path) whose title an earlier one by path has already, all that have it."""
    groups: dict[str, list[PageRecord]] = {}
    for page in pages:
        groups.setdefault(" ".join(fold(page.title).split()), []).append(page)
    return {page.path: group for group in groups.values() for page in group[1:]}


def duplicate_finding(
    reading: Reading, page: PageRecord, places: Places, group: Sequence[PageRecord]
) -> Finding:
    """Return that a page repeats the title of others."""
    others = [other.path for other in group if other is not page]
    shown = ", ".join(others[:_MOST_NAMED])
    more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
    line, column = places.of_title(page, reading.view.sections(page))
    title = " ".join(page.title.split())[:120]
    return Finding(DUPLICATE_TITLE, page.path, line, f"{title!r} is the title of {shown}{more} too", column)


def usual_fields(heads: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the fields that at least nine in ten of ten or more pages fill in: the vault's own custom."""
    if len(heads) < _USUAL_FROM:
        return ()
    counts = Counter(key for head in heads for key, value in head.items() if _filled(value))
    return tuple(sorted(key for key, count in counts.items() if count >= _USUAL_SHARE * len(heads)))


def field_findings(
    pages: Sequence[PageRecord],
    heads: Mapping[int, Mapping[str, Any]],
    required: Sequence[str],
    *,
    by_custom: bool,
) -> Iterator[Finding]:
    """Yield the pages that lack fields: those asked for, and those the vault's pages have by custom."""
    usual = usual_fields([heads.get(page.rev, {}) for page in pages]) if by_custom else ()
    wanted = dict.fromkeys((*required, *usual))
    for page in pages:
        head = heads.get(page.rev, {})
        lacking = [key for key in wanted if not _filled(head.get(key))]
        if lacking:
            what = "the frontmatter lacks" if head else "there is no frontmatter, so it lacks"
            yield Finding(MISSING_FIELDS, page.path, 1, f"{what} {', '.join(lacking)}")


def _filled(value: object) -> bool:
    return value not in (None, "", [], {})
