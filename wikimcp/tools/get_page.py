"""get_page: the metadata of one page, by any of its names."""

from __future__ import annotations

from wikimcp.errors import Ambiguous, NotFound
from wikimcp.index.view import PageRecord, Reading
from wikimcp.tools.contract import Params, Tool, ToolContext
from wikimcp.tools.headings import find_section
from wikimcp.tools.page_metadata import PageMetadata, metadata_of
from wikimcp.tools.page_rows import IncludeDrafts, Slug
from wikimcp.tools.rendering import clip, flatten, render_data


class GetPageParams(Params):
    """The page to describe."""

    slug: Slug
    include_drafts: IncludeDrafts = False


def run(reading: Reading, params: GetPageParams, context: ToolContext) -> PageMetadata:
    """Describe the page. Raises NotFound or Ambiguous for a name that is not one page's."""
    page, part = reading.resolve_part(params.slug)
    if part:
        context.note(_where(reading, page, part))
    return metadata_of(reading, page, context)


def _where(reading: Reading, page: PageRecord, part: str) -> str:
    """Say which section a name like ``page#part`` means."""
    body = reading.body(page)
    try:
        section = find_section(body.sections, part, page.slug, anchors=body.anchors)
    except (NotFound, Ambiguous) as error:
        return error.message
    named = clip(flatten(f"{page.slug}#{part}"), 120)
    path = clip(flatten(" > ".join(section.heading_path)), 200)
    lines = f"lines {section.subtree.first_line}-{section.subtree.last_line}"
    return f"{named} is the section {path!r}, {lines}" if path else f"{named} is the first section, {lines}"


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
