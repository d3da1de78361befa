"""list_pages: browsing the wiki, filtered and sorted, part by part."""

from __future__ import annotations

from wikimcp.index.view import Reading
from wikimcp.tools.contract import Params, Tool, ToolContext
from wikimcp.tools.filters import (
    AuthorFilter,
    ClusterFilter,
    PageFilter,
    TagsFilter,
    TypeFilter,
    UpdatedAfter,
    UpdatedBefore,
    select,
)
from wikimcp.tools.page_rows import (
    Cursor,
    IncludeDrafts,
    PageLimit,
    PageList,
    Sort,
    list_pages_of,
    open_list,
    sort_pages,
)
from wikimcp.tools.rendering import render_data


class ListPagesParams(Params):
    """What to list and how."""

    cluster: ClusterFilter = ""
    tags: TagsFilter = ()
    type: TypeFilter = ""
    author: AuthorFilter = ""
    modified_after: UpdatedAfter = ""
    modified_before: UpdatedBefore = ""
    sort: Sort = "path"
    limit: PageLimit = 50
    cursor: Cursor = ""
    include_drafts: IncludeDrafts = False


def run(reading: Reading, params: ListPagesParams, context: ToolContext) -> PageList:
    """List the pages that meet the filters."""
    at = open_list("list_pages", params, reading)
    pages = select(reading, PageFilter.of(params), context)
    if not pages:
        context.note("no page matches; list_clusters, list_tags and list_metadata_values show what there is")
    return list_pages_of(sort_pages(pages, params.sort), at=at, limit=params.limit, reading=reading)


TOOL = Tool(
    name="list_pages",
    title="List pages",
    description=(
        "Pages with title, summary and key metadata, filtered and sorted: use it to browse. To answer "
        "a question call assemble_bundle instead."
    ),
    params=ListPagesParams,
    result=PageList,
    run=run,
    render=render_data,
)
