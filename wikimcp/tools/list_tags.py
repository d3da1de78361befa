"""list_tags: the tags of the wiki, most used first."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest
from typing import Annotated, ClassVar

from pydantic import Field

from wikimcp.index.view import PageRecord, Reading
from wikimcp.tools.contract import ListResult, Params, Tool, ToolContext, Wire
from wikimcp.tools.page_rows import Cursor, IncludeDrafts, one_line, open_list, page_of
from wikimcp.tools.rendering import plain, render_data

_TOP_PAGES = 3


class ListTagsParams(Params):
    """Which tags to list."""

    min_pages: Annotated[int, Field(ge=1, le=1_000_000, description="Only tags on so many pages")] = 1
    limit: Annotated[int, Field(ge=1, le=1_000, description="Tags per answer")] = 100
    cursor: Cursor = ""
    include_drafts: IncludeDrafts = False


class TagRow(Wire):
    """One tag: ``count`` pages, and the slugs of those that most pages link to."""

    tag: str
    count: int
    top_pages: list[str]


class TagList(ListResult):
    """A part of the list of tags."""

    tags: list[TagRow]

    cuttable: ClassVar[tuple[str, ...]] = ("tags",)


def run(reading: Reading, params: ListTagsParams, context: ToolContext) -> TagList:
    """List tags by count, then name."""
    at = open_list("list_tags", params, reading)
    tags = [(tag, pages) for tag, pages in reading.tags.items() if len(pages) >= params.min_pages]
    tags.sort(key=lambda found: (-len(found[1]), found[0]))
    part, counts = page_of(tags, at, params.limit)
    if not tags:
        none = f"no tag is on {params.min_pages} pages or more"
        context.note(none if reading.tags else "this wiki has no tags")
    return TagList(tags=[_row(reading, tag, pages) for tag, pages in part], **counts)


def _row(reading: Reading, tag: str, pages: Sequence[PageRecord]) -> TagRow:
    top = nsmallest(_TOP_PAGES, pages, key=lambda page: (-reading.in_degree(page), page.path))
    reading.touch(top)
    slugs = [plain(page.slug) for page in top]
    return TagRow(tag=one_line(tag, 500) or "", count=len(pages), top_pages=slugs)


TOOL = Tool(
    name="list_tags",
    title="List tags",
    description=(
        "Tags with page counts and their most linked pages, most used first: use it to learn the "
        "vocabulary of the tag filters."
    ),
    params=ListTagsParams,
    result=TagList,
    run=run,
    render=render_data,
)
