"""list_stale_citations: which citations no longer hold, and the verdict on any that an agent was given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field

from wikimcp.citations.verdict import Status
from wikimcp.index.view import PageRecord, Reading
from wikimcp.tools.citation_checks import Checked, Edge, checked, edges_of, given_edges
from wikimcp.tools.contract import ListResult, Params, Tool, ToolContext, Wire
from wikimcp.tools.page_rows import Cursor, IncludeDrafts, one_line, open_list, page_of
from wikimcp.tools.rendering import clip, flatten, plain, render_data

_MOST_VERIFIED = 50
_LONGEST_SPAN = 300
_LONGEST_CLAIM = 200
_LONGEST_HEADING = 200
_LONGEST_URI = 1_000


class StaleParams(Params):
    """Which citations to check."""

    page: Annotated[str, Field(description="Only citations of this page", examples=["ops/backup"])] = ""
    direction: Annotated[
        Literal["outbound", "inbound", "both"], Field(description="With page: those in it, or those of it")
    ] = "both"
    status: Annotated[
        Literal["all-but-current", "stale", "moved", "target_missing", "ambiguous"],
        Field(description="Only this verdict"),
    ] = "all-but-current"
    verify: Annotated[
        tuple[str, ...],
        Field(
            max_length=_MOST_VERIFIED,
            description="Citation uris or handles of earlier answers: each gets its verdict",
            examples=[["ops/backup @ 3"]],
        ),
    ] = ()
    limit: Annotated[int, Field(ge=1, le=200, description="Citations per answer")] = 50
    cursor: Cursor = ""
    include_drafts: IncludeDrafts = False


class NowAt(Wire):
    """Where a span stands now; ``slug`` is absent for a source file."""

    schema_in_full = False

    slug: str | None = None
    heading_path: list[str]
    lines: list[int] | None = None
    uri: str


class NearestPassage(Wire):
    """The passage most like a span that is gone; ``similarity`` from 0 to 1, where it can be told."""

    schema_in_full = False

    text: str
    heading_path: list[str]
    lines: list[int]
    similarity: float | None = None


class CitationVerdict(Wire):
    """One citation. ``source`` and ``line`` say where it stands; without them it was given in ``verify``."""

    status: Literal["current", "moved", "stale", "ambiguous", "target_missing"]
    reason: str | None = None
    source: str | None = None
    line: int | None = None
    target: str
    cited: str
    heading_path: list[str] | None = None
    span: str | None = None
    claim: str | None = None
    pinned_version: int | None = None
    current_version: int | None = None
    moved_to: NowAt | None = None
    nearest: NearestPassage | None = None

    @classmethod
    def of(cls, found: Checked) -> Self:
        """Make the row of a checked citation."""
        edge = found.edge
        cited = edge.target.cited
        return cls(
            status=found.status.value,
            reason=found.reason or None,
            source=plain(edge.source.slug) if edge.source else None,
            line=(edge.link.line or None) if edge.link else None,
            target=plain(edge.found.page.slug) if edge.found else _named(edge),
            cited=clip(flatten(edge.target.written), _LONGEST_URI),
            heading_path=_headings(cited.heading_path) or None,
            span=one_line(cited.span, _LONGEST_SPAN),
            claim=one_line(edge.target.claim, _LONGEST_CLAIM),
            pinned_version=found.pinned_version or None,
            current_version=found.current_version or None,
            moved_to=_now_at(found),
            nearest=_nearest(found),
        )


class StaleCitations(ListResult):
    """A part of the citations that no longer hold, and the verdicts asked for.

    ``checked`` counts all citations that were looked at, ``counts`` them by verdict.
    """

    verified: list[CitationVerdict]
    citations: list[CitationVerdict]
    checked: int
    counts: dict[str, int]

    cuttable: ClassVar[tuple[str, ...]] = ("citations", "verified")


def run(reading: Reading, params: StaleParams, context: ToolContext) -> StaleCitations:
    """Check the citations of the wiki, or of one page, and those that were given.

    With ``verify`` and no page only what was given is checked. Raises NotFound or Ambiguous for a page
    that is none, Stale when a page moved on while it was read.
    """
    at = open_list("list_stale_citations", params, reading)
    page = reading.resolve(params.page) if params.page.strip() else None
    given = [
        CitationVerdict.of(found) for found in checked(reading, given_edges(reading, params.verify), context)
    ]
    edges = [] if params.verify and page is None else _edges(reading, page, params.direction)
    found = list(checked(reading, edges, context))
    if outside := len(edges) - len(found):
        context.note(f"{outside} citations of what lies outside of the vault were not checked")
    counts = Counter(item.status.value for item in found)
    wanted = [item for item in found if _wanted(item, params.status)]
    if found and not wanted:
        only = f"none of {len(found)} citations is {params.status.replace('_', ' ')}"
        context.note("all citations are current" if params.status == "all-but-current" else only)
    elif not edges and not params.verify:
        context.note("nothing is cited here: citations are links to cite:// uris, footnotes, source anchors")
    part, totals = page_of(wanted, at, params.limit)
    return StaleCitations(
        verified=given,
        citations=[CitationVerdict.of(item) for item in part],
        checked=len(found),
        counts={status.value: counts[status.value] for status in Status if counts[status.value]},
        **totals,
    )


def _edges(reading: Reading, page: PageRecord | None, direction: str) -> list[Edge]:
    """Return the citations in a page, of a page, or of the whole wiki."""
    if page is not None and direction == "outbound":
        return edges_of(reading, [(page, reading.citations(page))])
    edges = edges_of(reading, reading.citing())
    if page is None:
        return edges
    inbound = [edge for edge in edges if edge.found is not None and edge.found.page.rev == page.rev]
    if direction == "inbound":
        return inbound
    outbound = [edge for edge in edges if edge.source is not None and edge.source.rev == page.rev]
    return outbound + [edge for edge in inbound if edge not in outbound]


def _wanted(found: Checked, status: str) -> bool:
    if status == "all-but-current":
        return found.status is not Status.CURRENT
    return found.status.value == status


def _named(edge: Edge) -> str:
    """Return the name of a target that was not found, as the citation gives it."""
    target = edge.target
    name = target.name or (target.anchor.path if target.anchor else target.written)
    return clip(flatten(name), _LONGEST_HEADING)


def _now_at(found: Checked) -> NowAt | None:
    place = found.place
    if place is None:
        return None
    return NowAt(
        slug=plain(place.page.slug) if place.page else None,
        heading_path=_headings(place.heading_path),
        lines=list(place.lines) if place.lines else None,
        uri=place.uri,
    )


def _nearest(found: Checked) -> NearestPassage | None:
    near = found.near
    if near is None:
        return None
    return NearestPassage(
        text=clip(flatten(near.text), _LONGEST_SPAN),
        heading_path=_headings(near.heading_path),
        lines=list(near.lines),
        similarity=near.similarity,
    )


def _headings(path: Sequence[str]) -> list[str]:
    return [clip(flatten(heading), _LONGEST_HEADING) for heading in path]


TOOL = Tool(
    name="list_stale_citations",
    title="Check citations",
    description=(
        "Citations that no longer hold, with their new place or nearest passage: use it before relying on "
        "old notes, or with verify to check citations you were given. Exact: word for word or not there."
    ),
    params=StaleParams,
    result=StaleCitations,
    run=run,
    render=render_data,
)
