"""Source references: what the pages say they rest on, and which pages rest on it.

A tool by its form, so that its answers are bound, capped, stamped and paged like all others; the
REST routes offer it, the list of MCP tools does not.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from wikimcp.index.names import fold
from wikimcp.index.view import PageRecord, Reading
from wikimcp.tools.contract import ListResult, Params, Tool, ToolContext, Wire
from wikimcp.tools.page_rows import Cursor, IncludeDrafts, open_list, page_of
from wikimcp.tools.rendering import clip, flatten, plain, render_data

_LONGEST_REFERENCE = 500
_MOST_PAGES = 50


class SourceRefsParams(Params):
    """Which references are wanted."""

    page: Annotated[str, Field(description="Only those of this page: slug, path, id, title or alias")] = ""
    contains: Annotated[str, Field(description="Only references with this text in them")] = ""
    limit: Annotated[int, Field(ge=1, le=1_000, description="References per answer")] = 100
    cursor: Cursor = ""
    include_drafts: IncludeDrafts = False


class SourceRef(Wire):
    """One reference as written, with the pages that name it (``page_count`` counts all of them)."""

    ref: str
    page_count: int
    pages: list[str]


class SourceRefs(ListResult):
    """A part of the list of references; ``page_count`` is the number of pages that have any."""

    page_count: int
    sources: list[SourceRef]

    cuttable: ClassVar[tuple[str, ...]] = ("sources",)


def run(reading: Reading, params: SourceRefsParams, context: ToolContext) -> SourceRefs:
    """List references by their text. Raises NotFound or Ambiguous for a name that is not one page's."""
    at = open_list("source_refs", params, reading)
    only = reading.resolve(params.page) if params.page.strip() else None
    wanted = fold(params.contains.strip())
    by_ref: dict[str, list[PageRecord]] = {}
    having = 0
    for page in reading.pages if only is None else [only]:
        refs = [ref for ref in reading.source_refs(page) if wanted in fold(ref)]
        having += bool(refs)
        for ref in dict.fromkeys(map(flatten, refs)):
            by_ref.setdefault(ref, []).append(page)
    part, counts = page_of(sorted(by_ref.items()), at, params.limit)
    shown = [pages[:_MOST_PAGES] for _, pages in part]
    reading.touch(page for pages in shown for page in pages)
    if any(len(pages) > _MOST_PAGES for _, pages in part):
        context.note(f"of each reference at most {_MOST_PAGES} pages are named; pageCount counts all")
    rows = [
        SourceRef(
            ref=clip(ref, _LONGEST_REFERENCE),
            page_count=len(pages),
            pages=[plain(page.slug) for page in named],
        )
        for (ref, pages), named in zip(part, shown, strict=True)
    ]
    return SourceRefs(page_count=having, sources=rows, **counts)


TOOL = Tool(
    name="source_refs",
    title="Source references",
    description="The sources that pages name in their frontmatter, each with the pages that rest on it.",
    params=SourceRefsParams,
    result=SourceRefs,
    run=run,
    render=render_data,
)
