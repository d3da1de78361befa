"""read_pages: the text or the outline of up to twenty pages, shared fairly within the size cap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from wikimcp.errors import Ambiguous, NotFound
from wikimcp.index.view import PageRecord, Reading
from wikimcp.models import Section
from wikimcp.tools.answers import answer_tokens, compose, stamped
from wikimcp.tools.citing import CitationRow
from wikimcp.tools.contract import Params, Result, Tool, ToolContext, Wire
from wikimcp.tools.cursors import Continuation, continue_from, foreign_cursor, read_cursor, scope_of
from wikimcp.tools.headings import find_section
from wikimcp.tools.page_outline import OutlineRow, headings_within, render_outline, rows_up_to
from wikimcp.tools.page_parts import cut_at, share, tokens_up_to, wire_tokens
from wikimcp.tools.page_rows import IncludeDrafts, title_of
from wikimcp.tools.rendering import boundary, bounded, clip, flatten, pairs, plain

_MOST_PAGES = 20
_SPARE_TOKENS = 12  # for each page: digits of line numbers that are not known before the cut
_LEAST_TOKENS = 16  # of content, so that no part is a single letter


class ReadPagesParams(Params):
    """Which pages, which part of them, in which form."""

    slugs: Annotated[
        tuple[str, ...],
        Field(
            min_length=1,
            max_length=_MOST_PAGES,
            description="Pages by slug, path, id, title or alias, also as page#heading",
            examples=[["ops/backup"]],
        ),
    ]
    heading: Annotated[
        str,
        Field(
            description="One section with its subsections: heading, or Parent > Kid", examples=["Rollback"]
        ),
    ] = ""
    format: Annotated[
        Literal["markdown", "outline"], Field(description="outline: headings with lines and tokens")
    ] = "markdown"
    cursor: Annotated[str, Field(description="nextCursor of a truncated page, to go on with it")] = ""
    include_drafts: IncludeDrafts = False


class PageText(Wire):
    """One page: its ``content`` or ``outline`` from the cursor on, or the ``error`` why there is none.

    ``total_chars`` is the length of the whole (page or section) where it is truncated.
    """

    slug: str
    title: str | None = None
    version: int | None = None
    content_hash: str | None = None
    canonical_id: str | None = None
    draft: bool | None = None
    truncated: bool | None = None
    total_chars: int | None = None
    next_cursor: str | None = None
    error: str | None = None
    citation: CitationRow | None = None
    content: str | None = None
    outline: list[OutlineRow] | None = None


class PageTexts(Result):
    """Pages in the order asked for, duplicates removed."""

    pages: list[PageText]

    cuttable: ClassVar[tuple[str, ...]] = ("pages",)

    def cut(self, name: str, keep: int) -> Self:
        """Drop the last pages and name them."""
        left = ", ".join(clip(page.slug, 100) for page in self.pages[keep:])
        note = f"left out by the size cap: {left}; call again with these slugs"
        return self.model_copy(update={"pages": self.pages[:keep], "notes": [*self.notes, note]})


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A page, and the heading or anchor of the part that is asked for; empty for the whole."""

    page: PageRecord
    heading: str


@dataclass(frozen=True, slots=True)
class _Source:
    """What is read of one page: characters ``[start, end)`` of ``text``, from ``at.offset`` on.

    ``at`` counts characters from ``start`` for markdown, headings for an outline.
    """

    page: PageRecord
    text: str
    sections: Sequence[Section]
    borders: Sequence[int]
    heading_path: tuple[str, ...]
    start: int
    end: int
    at: Continuation


def run(reading: Reading, params: ReadPagesParams, context: ToolContext) -> PageTexts:
    """Read the pages; a name that is no page gives an error in its place.

    Raises BadArgument for a cursor that is of none of them, Stale when a file has changed.
    """
    slots = [
        slot if isinstance(slot, PageText) else _open(reading, slot, params, context)
        for slot in _named(reading, params, context)
    ]
    as_outline = params.format == "outline"
    sources = [slot for slot in slots if isinstance(slot, _Source)]
    bare = [_part(reading, slot, 0, as_outline) if isinstance(slot, _Source) else slot for slot in slots]
    frame = answer_tokens(compose(TOOL, stamped(PageTexts(pages=bare), context)))
    budget = context.cap_tokens - frame - _SPARE_TOKENS * (len(sources) + 1)
    grants = iter(share(budget, [_wanted(source, context.cap_tokens, as_outline) for source in sources]))
    pages: list[PageText] = []
    spare = 0  # what a part leaves unused by ending at a border goes to the next that is cut
    for slot in slots:
        if isinstance(slot, _Source):
            grant = next(grants) + spare
            page = _part(reading, slot, max(grant, _LEAST_TOKENS), as_outline)
            spare = max(0, grant - _used(page)) if page.truncated else spare
            pages.append(page)
        else:
            pages.append(slot)
    return PageTexts(pages=pages)


def _named(reading: Reading, params: ReadPagesParams, context: ToolContext) -> list[_Wanted | PageText]:
    """Resolve the names, each page (or part) once; with a cursor only the one that it belongs to."""
    found: dict[object, _Wanted | PageText] = {}
    for name in params.slugs:
        try:
            page, part = reading.resolve_part(name)
            wanted = _Wanted(page, params.heading.strip() or part)
            found.setdefault((page.slug, wanted.heading), wanted)
        except (NotFound, Ambiguous) as error:
            found.setdefault(name, _failed(name, error))
    if not params.cursor:
        return list(found.values())
    scope = read_cursor(params.cursor).scope
    for slot in found.values():
        if isinstance(slot, _Wanted) and _scope(reading, slot, params) == scope:
            if len(found) > 1:
                context.note(f"the cursor goes on with {slot.page.slug}; the other pages were left out")
            return [slot]
    raise foreign_cursor()


def _failed(name: str, error: NotFound | Ambiguous) -> PageText:
    return PageText(slug=clip(flatten(name), 200), error=str(error))


def _scope(reading: Reading, wanted: _Wanted, params: ReadPagesParams) -> str:
    return scope_of(["read_pages", wanted.page.slug, wanted.heading, params.format], reading.audience)


def _open(
    reading: Reading, wanted: _Wanted, params: ReadPagesParams, context: ToolContext
) -> _Source | PageText:
    page = wanted.page
    scope = _scope(reading, wanted, params)
    at = continue_from(params.cursor, generation=reading.generation, scope=scope)
    text, body = reading.text(page), reading.body(page)
    start, end, path = 0, len(text), tuple[str, ...]()
    if wanted.heading:
        try:
            section = find_section(body.sections, wanted.heading, page.slug, anchors=body.anchors)
        except (NotFound, Ambiguous) as error:
            return _failed(page.slug, error)
        start, end, path = section.subtree.start, section.subtree.end, section.heading_path
    if page.partial:
        context.note(f"{page.slug} could not be read whole or cleanly: get_page names the reason")
    borders = sorted(
        {section.own.start for section in body.sections} | {chunk.start for chunk in body.chunks}
    )
    return _Source(page, text, body.sections, borders, path, start, end, at)


def _wanted(source: _Source, most: int, as_outline: bool) -> int:
    """Return the tokens that the rest of a source needs, or just more than ``most``."""
    if as_outline:
        headings = headings_within(source.sections, source.start, source.end)[source.at.offset :]
        rows, size = rows_up_to(headings, source.text, most)
        return size if len(rows) == len(headings) else most + 1
    return tokens_up_to(source.text, source.start + source.at.offset, source.end, most)


def _used(page: PageText) -> int:
    if page.outline is not None:
        return sum(row.wire_tokens() for row in page.outline)
    return wire_tokens(page.content or "")


def _part(reading: Reading, source: _Source, tokens: int, as_outline: bool) -> PageText:
    """Return the part of a source that is within ``tokens``; 0 gives all but the content, to be measured."""
    if as_outline:
        return _outline_part(reading, source, tokens)
    start = min(source.start + source.at.offset, source.end)
    known = [section.own.start for section in source.sections if section.own.start <= start]
    end = start
    if tokens:
        end = cut_at(
            source.text,
            start,
            source.end,
            tokens=tokens,
            borders=source.borders,
            outside=known[-1] if known else 0,
        )
    more = source.at.at(end - source.start) if end < source.end else None
    return _page_text(reading, source, (start, end), more, content=plain(source.text[start:end]))


def _outline_part(reading: Reading, source: _Source, tokens: int) -> PageText:
    headings = headings_within(source.sections, source.start, source.end)
    rest = headings[source.at.offset :]
    rows, _ = rows_up_to(rest, source.text, tokens)
    if tokens and rest and not rows:  # one heading over the budget must not stop the paging
        rows = [OutlineRow.of(rest[0], source.text)]
    position = source.at.offset + len(rows)
    more = source.at.at(position) if position < len(headings) else None
    span = (source.start, source.end if tokens else source.start)
    return _page_text(reading, source, span, more, outline=rows)


def _page_text(
    reading: Reading,
    source: _Source,
    span: tuple[int, int],
    next_cursor: str | None,
    **shown: Any,  # noqa: ANN401 - content or outline
) -> PageText:
    page = source.page
    return PageText(
        slug=plain(page.slug),
        title=title_of(page),
        version=page.version,
        content_hash=page.content_hash,
        canonical_id=plain(page.canonical_id),
        draft=True if page.withheld else None,
        truncated=next_cursor is not None,
        total_chars=source.end - source.start if next_cursor else None,
        next_cursor=next_cursor,
        citation=CitationRow.of(reading.cite(page, source.text, *span, source.heading_path)),
        **shown,
    )


def render(result: PageTexts) -> str:
    """Render each page as a line of facts, a line of citation, and its text within bounds."""
    bodies = [page.content or render_outline(page.outline or []) for page in result.pages]
    token = boundary(bodies)
    lines: list[str] = []
    for page, body in zip(result.pages, bodies, strict=True):
        facts = page.wire()
        citation = facts.pop("citation", None)
        shown = facts.pop("content", None) is not None or facts.pop("outline", None) is not None
        lines.append(f"page: {pairs(facts)}")
        if citation:
            lines.append(f"citation: {pairs(citation)}")
        if shown:
            lines.append(bounded(body, token))
    return "\n".join(lines)


TOOL = Tool(
    name="read_pages",
    title="Read pages",
    description=(
        "The exact markdown (or outline) of up to 20 pages with citations: use it when assemble_bundle was "
        "not enough and you know the pages. Long pages are truncated; go on with their nextCursor."
    ),
    params=ReadPagesParams,
    result=PageTexts,
    run=run,
    render=render,
)
