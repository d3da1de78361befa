"""Pages as rows of a list: the row, the order, the paging, and the parameters of a listing."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar

from pydantic import Field

from wikimcp.index.names import fold
from wikimcp.index.view import PageRecord, Reading
from wikimcp.tools.contract import ListResult, Params, Wire
from wikimcp.tools.cursors import Continuation, continue_from, scope_of
from wikimcp.tools.rendering import clip, flatten, plain
from wikimcp.tools.times import instant

T = TypeVar("T")

Slug = Annotated[
    str, Field(min_length=1, description="Slug, path, id, title or alias", examples=["ops/backup"])
]
Cursor = Annotated[str, Field(description="nextCursor of the previous answer")]
IncludeDrafts = Annotated[bool, Field(description="Also drafts, if the operator allows it")]
Sort = Annotated[Literal["path", "updated", "title"], Field(description="updated: newest first")]
PageLimit = Annotated[int, Field(ge=1, le=200, description="Pages per answer")]

_LONGEST_TITLE = 200
_LONGEST_SUMMARY = 160
_LONGEST_WORD = 120
_MOST_TAGS = 20


class PageRow(Wire):
    """One page in a list; absent facts are left out. ``draft`` marks a withheld page."""

    slug: str
    title: str
    summary: str | None = None
    type: str | None = None
    status: str | None = None
    cluster: str | None = None
    tags: list[str] | None = None
    author: str | None = None
    updated_at: str | None = None
    verified_at: str | None = None
    version: int
    draft: bool | None = None

    @classmethod
    def of(cls, page: PageRecord) -> Self:
        """Make the row of a page."""
        return cls.model_construct(
            slug=plain(page.slug),
            title=title_of(page),
            summary=one_line(page.summary, _LONGEST_SUMMARY),
            type=one_line(page.type),
            status=one_line(page.status),
            cluster=one_line(page.clusters[0]) if page.clusters else None,
            tags=[clip(flatten(tag), _LONGEST_WORD) for tag in page.tags[:_MOST_TAGS]] or None,
            author=one_line(page.author),
            updated_at=page.updated_at or None,
            verified_at=one_line(page.verified_at),
            version=page.version,
            draft=True if page.withheld else None,
        )


class PageList(ListResult):
    """A part of a list of pages."""

    pages: list[PageRow]

    cuttable: ClassVar[tuple[str, ...]] = ("pages",)


def title_of(page: PageRecord) -> str:
    """Return the page's title on one line, at most 200 characters."""
    return clip(flatten(page.title), _LONGEST_TITLE)


def one_line(text: str, longest: int = _LONGEST_WORD) -> str | None:
    """Return vault text on one line, cut to ``longest`` characters; None when there is none."""
    return clip(flatten(text), longest) or None


def sort_pages(pages: Sequence[PageRecord], order: str) -> list[PageRecord]:
    """Return pages by path, by title, or newest first; ties by path. ``pages`` come by path."""
    if order == "title":
        return sorted(pages, key=lambda page: fold(page.title))
    if order == "updated":
        return sorted(pages, key=_newest_first)
    return list(pages)


def _newest_first(page: PageRecord) -> float:
    updated = instant(page.updated_at)
    return inf if updated is None else -updated


def open_list(tool: str, params: Params, reading: Reading) -> Continuation:
    """Return where the call's ``cursor`` continues. ``limit`` may change from one part to the next."""
    asked = params.model_dump(mode="json", exclude={"cursor", "limit"})
    return continue_from(
        getattr(params, "cursor", ""),
        generation=reading.generation,
        scope=scope_of([tool, asked], reading.audience),
    )


def page_of(items: Sequence[T], at: Continuation, limit: int) -> tuple[Sequence[T], dict[str, Any]]:
    """Return the items of this answer, and the counts and cursor of its ListResult."""
    part = items[at.offset : at.offset + limit]
    end = at.offset + len(part)
    counts: dict[str, Any] = {"total": len(items), "returned": len(part), "more": at}
    if part and end < len(items):
        counts["next_cursor"] = at.at(end)
    return part, counts


def list_pages_of(pages: Sequence[PageRecord], *, at: Continuation, limit: int, reading: Reading) -> PageList:
    """Return the part of ``pages`` that a listing call asks for."""
    part, counts = page_of(pages, at, limit)
    reading.touch(part)
    notes = []
    if any(len(page.tags) > _MOST_TAGS for page in part):
        notes.append(f"rows show at most {_MOST_TAGS} tags; get_page lists all")
    return PageList(pages=[PageRow.of(page) for page in part], notes=notes, **counts)
