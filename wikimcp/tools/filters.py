"""Which pages a call is about: the filter parameters that tools share, and the selection they make.

A filter value that no visible page has gives a note with the nearest ones, never an error.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import timedelta
from functools import lru_cache
from typing import Annotated, Self

from pydantic import Field

from wikimcp.errors import BadArgument, nearest
from wikimcp.index.names import fold
from wikimcp.index.view import PageRecord, Reading
from wikimcp.tools.contract import Params, ToolContext
from wikimcp.tools.rendering import clip, flatten
from wikimcp.tools.times import instant, seconds

ClusterFilter = Annotated[
    str, Field(description="Cluster name; sub-clusters included", examples=["platform"])
]
TagsFilter = Annotated[tuple[str, ...], Field(description="Pages with all of these tags", examples=[["ops"]])]
TypeFilter = Annotated[str, Field(description="Page type", examples=["runbook"])]
AuthorFilter = Annotated[str, Field(description="Author", examples=["Ana"])]
PathPrefixFilter = Annotated[str, Field(description="Start of the path, e.g. a folder", examples=["ops/"])]
UpdatedAfter = Annotated[str, Field(description="Updated since: date or ISO time", examples=["2026-01-31"])]
UpdatedBefore = Annotated[str, Field(description="Updated before: date or ISO time", examples=["2026-01-31"])]

_folded = lru_cache(maxsize=65_536)(fold)
_MANY = 2_000  # names; above it only those with most letters in common are compared closely

Test = Callable[[PageRecord], bool]


@dataclass(frozen=True, slots=True)
class PageFilter:
    """Criteria that a page must meet all of; an empty one is met by every page.

    Times are ISO texts of the caller; ``stale_days`` counts back from ``ToolContext.now``.
    """

    cluster: str = ""
    tags: tuple[str, ...] = ()
    type: str = ""
    status: str = ""
    author: str = ""
    path_prefix: str = ""
    modified_after: str = ""
    updated_since: str = ""
    modified_before: str = ""
    stale_days: int | None = None
    verified: bool | None = None

    @classmethod
    def of(cls, params: Params) -> Self:
        """Take the criteria that ``params`` has fields for."""
        names = (field.name for field in fields(cls))
        return cls(**{name: getattr(params, name) for name in names if hasattr(params, name)})


def select(reading: Reading, wanted: PageFilter, context: ToolContext) -> list[PageRecord]:
    """Return the visible pages that meet ``wanted``, by path; unknown values are noted in ``context``.

    Raises BadArgument for a time that cannot be read.
    """
    tests = [
        *_by_group(reading, wanted, context),
        *_by_field(reading, wanted, context),
        *_by_time(wanted, context),
    ]
    if not tests:
        return list(reading.pages)
    return [page for page in reading.pages if all(test(page) for test in tests)]


def unknown_value(name: str, value: str, known: Collection[str]) -> str:
    """Say that no visible page has ``value`` in ``name``, with the nearest values that some have."""
    near = ", ".join(f"'{clip(flatten(one), 80)}'" for one in _closest(value, known))
    shown = clip(flatten(value), 80)
    return f"no visible page has {name} '{shown}'" + (f"; nearest: {near}" if near else "")


def _by_group(reading: Reading, wanted: PageFilter, context: ToolContext) -> Iterable[Test]:
    """Clusters and tags, whose pages the reading already knows."""
    if cluster := wanted.cluster.strip().strip("/"):
        groups = {name: found.members for name, found in reading.clusters.items()}
        yield _member_test("cluster", cluster, groups, context)
    for tag in wanted.tags:
        yield _member_test("tag", tag.strip().lstrip("#"), reading.tags, context)


def _member_test(
    name: str, value: str, groups: Mapping[str, Sequence[PageRecord]], context: ToolContext
) -> Test:
    key = fold(value)
    below = f"{key}/"
    found = [pages for group, pages in groups.items() if f"{_folded(group)}/".startswith(below)]
    if not found:
        context.note(unknown_value(name, value, groups.keys()))
    revs = {page.rev for pages in found for page in pages}
    return lambda page: page.rev in revs


def _by_field(reading: Reading, wanted: PageFilter, context: ToolContext) -> Iterable[Test]:
    if wanted.type:
        yield _value_test("type", wanted.type, reading, context, lambda page: (page.type,))
    if wanted.status:
        yield _value_test("status", wanted.status, reading, context, lambda page: (page.status,))
    if wanted.author:
        yield _value_test("author", wanted.author, reading, context, _authors)
    if wanted.path_prefix.strip():
        yield _prefix_test(wanted.path_prefix, reading, context)
    if wanted.verified is not None:
        yield lambda page: bool(page.verified_at or page.verified_by) is wanted.verified


def _authors(page: PageRecord) -> tuple[str, ...]:
    if "," not in page.author:
        return (page.author,)
    return (page.author, *(author.strip() for author in page.author.split(",")))


def _value_test(
    name: str,
    value: str,
    reading: Reading,
    context: ToolContext,
    values_of: Callable[[PageRecord], tuple[str, ...]],
) -> Test:
    key = fold(value.strip())
    known = {found for page in reading.pages for found in values_of(page) if found}
    right = {found for found in known if _folded(found) == key}
    if not right:
        context.note(unknown_value(name, value, known))
    return lambda page: not right.isdisjoint(values_of(page))


def _prefix_test(prefix: str, reading: Reading, context: ToolContext) -> Test:
    start = prefix.strip().replace("\\", "/").removeprefix("./").lstrip("/")
    if any(page.path.startswith(start) for page in reading.pages):
        return lambda page: page.path.startswith(start)
    key = fold(start)
    revs = {page.rev for page in reading.pages if _folded(page.path).startswith(key)}
    if not revs:
        folders = {page.path[: page.path.rfind("/") + 1] for page in reading.pages} - {""}
        context.note(unknown_value("path_prefix", prefix, folders))
    return lambda page: page.rev in revs


def _by_time(wanted: PageFilter, context: ToolContext) -> Iterable[Test]:
    """Pages whose time cannot be read meet no time criterion."""
    since = [
        _instant_argument("modified_after", wanted.modified_after),
        _instant_argument("updated_since", wanted.updated_since),
    ]
    after = max((time for time in since if time is not None), default=None)
    before = _instant_argument("modified_before", wanted.modified_before)
    if after is not None and before is not None and after >= before:
        context.note("the time to start from is not before the time to end at, so no page can match")
    if wanted.stale_days is not None:
        limit = seconds(context.now - timedelta(days=min(wanted.stale_days, 365_000)))
        before = limit if before is None else min(before, limit)
    if after is not None:
        earliest = after
        yield lambda page: (updated := instant(page.updated_at)) is not None and updated >= earliest
    if before is not None:
        latest = before
        yield lambda page: (updated := instant(page.updated_at)) is not None and updated < latest


def _instant_argument(name: str, text: str) -> float | None:
    if not text.strip():
        return None
    found = instant(_whole_date(text.strip()))
    if found is None:
        raise BadArgument(
            f"{name} must be a date or an ISO 8601 time, got '{clip(flatten(text), 60)}'",
            hint=f'Example: {name}="2026-01-31" or "2026-01-31T09:00:00+02:00"',
        )
    return found


def _whole_date(text: str) -> str:
    """Take a year or a month for its first day."""
    parts = text.split("-")
    if all(part.isdecimal() for part in parts) and len(parts[0]) == 4 and len(text) <= 7:
        return "-".join([*parts[:2], *["01"] * (3 - len(parts))])
    return text


def _closest(value: str, known: Collection[str]) -> list[str]:
    """Return the nearest names; of very many only those with most letters in common are compared."""
    short = value.strip()[:80]
    if len(known) > _MANY:
        letters = set(short.casefold())
        likely = sorted(known, key=lambda name: (-len(letters & set(name.casefold())), len(name), name))
        known = likely[:_MANY]
    return nearest(short, sorted(known))
