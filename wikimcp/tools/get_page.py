"""get_page: the metadata of one page, by any of its names."""

from __future__ import annotations

from wikimcp.index.view import Reading
from wikimcp.tools.contract import Params, Tool, ToolContext
from wikimcp.tools.page_metadata import PageMetadata, metadata_of
from wikimcp.tools.page_rows import IncludeDrafts, Slug
from wikimcp.tools.rendering import render_data


class GetPageParams(Params):
    """The page to describe."""

    slug: Slug
    include_drafts: IncludeDrafts = False


def run(reading: Reading, params: GetPageParams, context: ToolContext) -> PageMetadata:
    """Describe the page. Raises NotFound or Ambiguous for a name that is not one page's."""
    return metadata_of(reading, reading.resolve(params.slug), context)


TOOL = Tool(
    name="get_page",
    title="Page metadata",
    description=(
        "One page's metadata without its text: use it to check type, status, version, freshness, link counts "
        "or file problems. For the text call read_pages."
    ),
    params=GetPageParams,
    result=PageMetadata,
    run=run,
    render=render_data,
)
