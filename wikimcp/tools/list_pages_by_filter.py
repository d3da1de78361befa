"""list_pages_by_filter: pages by status, staleness and verification, for reviewing the wiki."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from wikimcp.index.view import Reading
from wikimcp.tools.contract import Params, Tool, ToolContext
from wikimcp.tools.filters import ClusterFilter, PageFilter, TagsFilter, TypeFilter, UpdatedAfter, select
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


class ListPagesByFilterParams(Params):
    """The conditions that a page must meet, and how to list."""

    type: TypeFilter = ""
    cluster: ClusterFilter = ""
    tag: TagsFilter = ()
    status: Annotated[str, Field(description="Page status", examples=["active"])] = ""
    updated_since: UpdatedAfter = ""
    stale_days: Annotated[
        int | None, Field(ge=1, le=36_500, description="Not updated for this many days", examples=[180])
    ] = None
    verified: Annotated[bool | None, Field(description="true: verified pages only; false: the others")] = None
    sort: Sort = "path"
    limit: PageLimit = 50
    cursor: Cursor = ""
    include_drafts: IncludeDrafts = False


def run(reading: Reading, params: ListPagesByFilterParams, context: ToolContext) -> PageList:
    """List the pages that meet all conditions."""
    at = open_list("list_pages_by_filter", params, reading)
    wanted = PageFilter(
        type=params.type,
        cluster=params.cluster,
        tags=params.tag,
        status=params.status,
        updated_since=params.updated_since,
        stale_days=params.stale_days,
        verified=params.verified,
    )
    pages = select(reading, wanted, context)
    if not pages:
        context.note("no page meets all conditions; list_metadata_values shows the values of a field")
    return list_pages_of(sort_pages(pages, params.sort), at=at, limit=params.limit, reading=reading)


TOOL = Tool(
    name="list_pages_by_filter",
    title="Pages by filter",
    description=(
        "Pages that meet structural conditions (type, cluster, tags, status, freshness, verification): "
        "use it to find stale or unverified pages, or all runbooks of a cluster."
    ),
    params=ListPagesByFilterParams,
    result=PageList,
    run=run,
    render=render_data,
)
