"""get_page_by_id: the metadata of one page, by its permanent id."""

from __future__ import annotations

from bisect import bisect_left
from os.path import commonprefix
from typing import Annotated

from pydantic import Field

from wikimcp.errors import NotFound, WikimcpError
from wikimcp.index.view import PageRecord, Reading
from wikimcp.tools.contract import Params, Tool, ToolContext
from wikimcp.tools.page_metadata import PageMetadata, metadata_of
from wikimcp.tools.page_rows import IncludeDrafts
from wikimcp.tools.rendering import clip, flatten, render_data

_ALIKE = 6  # leading characters that make an id worth suggesting


class GetPageByIdParams(Params):
    """The id to look up."""

    id: Annotated[
        str,
        Field(
            min_length=1,
            description="Canonical id, as citations show it",
            examples=["01KQEKGD70WYYGF8EQ3HJBAVDC"],
        ),
    ]
    include_drafts: IncludeDrafts = False


def run(reading: Reading, params: GetPageByIdParams, context: ToolContext) -> PageMetadata:
    """Describe the page of that id. Raises NotFound when no visible page has or had it."""
    return metadata_of(reading, page_of_id(reading, params.id, context), context)


def page_of_id(reading: Reading, canonical_id: str, context: ToolContext) -> PageRecord:
    """Return the page that has the id, or had it before it moved, which is noted. Raises NotFound."""
    wanted = canonical_id.strip()
    page = reading.by_id(wanted) or _folded(reading, wanted)
    if page is None and (page := reading.moved_id(wanted)) is not None:
        shown = clip(flatten(wanted), 80)
        context.note(f"id {shown} moved: the page is now {page.slug} with id {page.canonical_id}")
    if page is None:
        raise NotFound(f"no page has the id '{clip(flatten(wanted), 80)}'", hint=_hint(reading, wanted))
    return page


def _folded(reading: Reading, wanted: str) -> PageRecord | None:
    key = wanted.casefold()
    found = [page for page in reading.pages if page.canonical_id.casefold() == key]
    return found[0] if len(found) == 1 else None


def _hint(reading: Reading, wanted: str) -> str:
    try:
        page = reading.resolve(wanted)
    except WikimcpError:
        page = None
    if page is not None:
        return f"That is a name of page {page.slug}, whose id is {page.canonical_id}."
    ids = sorted(page.canonical_id for page in reading.pages)
    at = bisect_left(ids, wanted)
    near = [found for found in ids[max(0, at - 2) : at + 2] if len(commonprefix([found, wanted])) >= _ALIKE]
    return f"Nearest: {', '.join(near)}." if near else "list_pages and get_page show names and ids."


TOOL = Tool(
    name="get_page_by_id",
    title="Page by id",
    description=(
        "One page's metadata by canonical id: use it to follow an id from a citation or an old note, "
        "also after the page was renamed or moved."
    ),
    params=GetPageByIdParams,
    result=PageMetadata,
    run=run,
    render=render_data,
)
