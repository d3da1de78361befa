"""get_page_for_agent: one page condensed for an agent, within a token budget of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import Field

from wikimcp.errors import BadArgument, StateError, TooLarge
from wikimcp.index.view import PageBody, PageRecord, Reading
from wikimcp.markdown.tokens import count_tokens
from wikimcp.tools.answers import answer_tokens, compose, stamped
from wikimcp.tools.citation_checks import Checked, stale_citations_of
from wikimcp.tools.cluster_order import in_reading_order
from wikimcp.tools.contract import Params, Result, Tool, ToolContext, Wire
from wikimcp.tools.get_page_by_id import page_of_id
from wikimcp.tools.list_stale_citations import CitationVerdict
from wikimcp.tools.page_changes import Change, recent_changes
from wikimcp.tools.page_facts import KeyFact, key_facts
from wikimcp.tools.page_outline import OutlineRow, headings_within
from wikimcp.tools.page_parts import share
from wikimcp.tools.page_rows import IncludeDrafts, one_line, title_of
from wikimcp.tools.page_runbook import Runbook, RunbookLine, runbook_lines
from wikimcp.tools.rendering import clip, compact_json, flatten, plain, render_data

_LEAST_BUDGET, _MOST_BUDGET = 400, 8_000
_MOST_HEADINGS = 60
_MOST_CHANGES = 10
_MOST_PAGES = 8
_LONGEST_SUMMARY = 600
_SUMMARY_SHARE = 4  # one part in so many of the budget may go to the summary
_RUNBOOK_SHARE = 2  # one part in so many of the room is a runbook's before the rest is shared
_TRIES = 8


class PageForAgentParams(Params):
    """Which page: by one of its names, or by its id."""

    slug: Annotated[str, Field(description="Slug, path, title or alias", examples=["ops/backup"])] = ""
    canonical_id: Annotated[str, Field(description="Its id instead")] = ""
    token_budget: Annotated[
        int, Field(ge=_LEAST_BUDGET, le=_MOST_BUDGET, description="Most tokens of the answer")
    ] = 1_500
    include_drafts: IncludeDrafts = False


class PreferPage(Wire):
    """A page to read next, and why."""

    slug: str
    title: str
    why: str


class AgentHints(Wire):
    """What to call and to read next, the best first."""

    schema_in_full = False

    prefer_tools: list[str]
    prefer_pages: list[PreferPage]


class StaleCitation(Wire):
    """A citation on the page that does not hold; list_stale_citations tells what became of it."""

    schema_in_full = False

    status: str
    line: int | None = None
    cited: str
    reason: str | None = None

    @classmethod
    def of(cls, found: Checked) -> StaleCitation:
        """Make the row of a checked citation."""
        row = CitationVerdict.of(found)
        return cls(status=row.status, line=row.line, cited=row.cited, reason=row.reason)


class PageForAgent(Result):
    """A page condensed.

    ``degraded`` says which part could not be made and why; ``missing_fields`` also names what the page lacks.
    """

    slug: str
    title: str
    handle: str
    version: int
    canonical_id: str
    path: str
    type: str | None = None
    status: str | None = None
    cluster: str | None = None
    tags: list[str] | None = None
    author: str | None = None
    updated_at: str | None = None
    verified_at: str | None = None
    draft: bool | None = None
    tokens: int
    summary: str | None = None
    key_facts: list[KeyFact]
    runbook: Runbook | None = None
    headings_outline: list[OutlineRow]
    agent_hints: AgentHints
    recent_changes: list[Change]
    stale_citations: list[StaleCitation]
    degraded: list[str]
    missing_fields: list[str]


@dataclass(slots=True)
class _Parts:
    """The lists of an answer before they are cut to the budget, and which of them could not be made."""

    facts: Sequence[KeyFact] = ()
    runbook: Sequence[tuple[str, RunbookLine]] = ()
    outline: Sequence[OutlineRow] = ()
    pages: Sequence[PreferPage] = ()
    changes: Sequence[Change] = ()
    stale: Sequence[StaleCitation] = ()
    failed: dict[str, str] = field(default_factory=dict)

    def lists(self) -> dict[str, Sequence[Any]]:
        """Return the lists by the names they are known by, what is worth most first."""
        return {
            "keyFacts": self.facts,
            "runbook": self.runbook,
            "headingsOutline": self.outline,
            "agentHints.preferPages": self.pages,
            "staleCitations": self.stale,
            "recentChanges": self.changes,
        }


def run(reading: Reading, params: PageForAgentParams, context: ToolContext) -> PageForAgent:
    """Condense the page.

    Raises BadArgument when no page or two different ones are named, NotFound or Ambiguous for the
    name, TooLarge when not even the metadata are within the budget, Stale when the file has changed.
    """
    page = _page(reading, params, context)
    text, body = reading.text(page), reading.body(page)
    parts = _gathered(reading, page, text, body, context)
    budget = min(params.token_budget, context.cap_tokens)
    frame = _frame(reading, page, text, parts, context, budget=budget)
    left = budget - _size(frame, context)
    room = left
    for _ in range(_TRIES):
        answer = _filled(frame, parts, room)
        over = _size(answer, context) - budget
        if over <= 0:
            return answer
        room -= max(over, 8)
    answer = _filled(frame, parts, 0)
    if _size(answer, context) > budget:
        raise TooLarge(
            f"the metadata of {clip(flatten(page.slug), 120)} alone need more than {budget:,} tokens",
            hint="Raise token_budget, or call get_page.",
        )
    return answer


def _page(reading: Reading, params: PageForAgentParams, context: ToolContext) -> PageRecord:
    slug, canonical_id = params.slug.strip(), params.canonical_id.strip()
    if not slug and not canonical_id:
        raise BadArgument("get_page_for_agent needs slug or canonical_id", hint='Example: slug="ops/backup"')
    by_id = page_of_id(reading, canonical_id, context) if canonical_id else None
    by_name = reading.resolve(slug) if slug else None
    if by_id is not None and by_name is not None and by_id.slug != by_name.slug:
        raise BadArgument(
            f"slug and canonical_id name two pages: {by_name.slug} and {by_id.slug}", hint="Give one of them."
        )
    page = by_name or by_id
    assert page is not None, "one of them was given"
    return page


def _gathered(reading: Reading, page: PageRecord, text: str, body: PageBody, context: ToolContext) -> _Parts:
    """Make each part by itself: one that fails is named and costs no other."""
    parts = _Parts()

    def stale_citations() -> Sequence[StaleCitation]:
        return [StaleCitation.of(found) for found in stale_citations_of(reading, page, context)]

    def made(name: str, make: Callable[[], Any]) -> Any:  # noqa: ANN401 - the rows of one part
        try:
            return make()
        except StateError as error:
            parts.failed[name] = error.message
            return ()

    sections, told_text = body.sections, reading.without_comments(page, text)
    headed = headings_within(sections, 0, len(text))[:_MOST_HEADINGS]
    parts.outline = [OutlineRow.of(section, text) for section in headed]
    if page.type.strip().casefold() == "runbook":
        parts.runbook = runbook_lines(told_text, sections, body.frontmatter, title=page.title)
    told = [line.lines for _, line in parts.runbook if line.lines]  # no text twice in one answer
    parts.facts = key_facts(told_text, sections, body.frontmatter, without=told)
    parts.pages = _next_pages(reading, page)
    parts.changes = made("recentChanges", lambda: recent_changes(reading, page, limit=_MOST_CHANGES))
    parts.stale = made("staleCitations", stale_citations)
    return parts


def _next_pages(reading: Reading, page: PageRecord) -> list[PreferPage]:
    """Return the hub of the page's cluster, then members in reading order; without a cluster, its links."""
    cluster = reading.clusters.get(page.cluster)
    found: list[PreferPage] = []
    if cluster is not None:
        name = clip(flatten(cluster.name), 80)
        for other in in_reading_order(reading, cluster):
            if other.slug != page.slug:
                is_hub = cluster.hub is not None and other.slug == cluster.hub.slug
                found.append(_prefer(other, f"{'hub' if is_hub else 'member'} of cluster {name}"))
    else:
        found = [_prefer(other, "linked from this page") for other in reading.outlinks(page)]
    kept = found[:_MOST_PAGES]
    slugs = {one.slug for one in kept}
    reading.touch(other for other in reading.pages if plain(other.slug) in slugs)
    return kept


def _prefer(page: PageRecord, why: str) -> PreferPage:
    return PreferPage(slug=plain(page.slug), title=title_of(page), why=why)


def _prefer_tools(page: PageRecord, context: ToolContext) -> list[str]:
    """Return the tools that lead on from a page of this kind, of those that can be called."""
    kind = page.type.strip().casefold()
    if kind == "hub" or page.role in ("index", "overview"):
        wanted = ["get_briefing", "list_pages", "read_pages"]
    elif kind == "runbook":
        wanted = ["read_pages", "assemble_bundle"]
    else:
        wanted = ["read_pages", "assemble_bundle", "traverse"]
    return [name for name in wanted if name in context.tools or not context.tools]


def _frame(
    reading: Reading, page: PageRecord, text: str, parts: _Parts, context: ToolContext, *, budget: int
) -> PageForAgent:
    """Return the answer without the lists that are filled by the budget."""
    start = min((section.own.start for section in reading.sections(page)), default=0)
    longest = min(_LONGEST_SUMMARY, 4 * budget // _SUMMARY_SHARE)
    summary = one_line(page.summary, longest)
    missing = [*parts.failed, *(["summary"] if summary is None else [])]
    if page.partial:
        context.note("the file could not be read whole or cleanly: get_page names the reason")
    return PageForAgent(
        slug=plain(page.slug),
        title=title_of(page),
        handle=plain(f"{page.slug} @ {page.version}"),
        version=page.version,
        canonical_id=plain(page.canonical_id),
        path=plain(page.path),
        type=one_line(page.type),
        status=one_line(page.status),
        cluster=one_line(page.cluster),
        tags=[clip(flatten(tag), 60) for tag in page.tags[:12]] or None,
        author=one_line(page.author),
        updated_at=page.updated_at or None,
        verified_at=one_line(page.verified_at),
        draft=True if page.withheld else None,
        tokens=count_tokens(text[start:]),
        summary=summary,
        key_facts=[],
        headings_outline=[],
        agent_hints=AgentHints(prefer_tools=_prefer_tools(page, context), prefer_pages=[]),
        recent_changes=[],
        stale_citations=[],
        degraded=[f"{name}: {why}" for name, why in parts.failed.items()],
        missing_fields=missing,
    )


def _filled(frame: PageForAgent, parts: _Parts, room: int) -> PageForAgent:
    """Return the frame with as much of each list as its fair share of ``room`` tokens holds."""
    lists = parts.lists()
    costs = {name: [_cost(row) for row in rows] for name, rows in lists.items()}
    wants = {name: sum(of_list) for name, of_list in costs.items()}
    first = min(wants["runbook"], max(room, 0) // _RUNBOOK_SHARE)
    wants["runbook"] -= first
    grants = share(max(room, 0) - first, list(wants.values()))
    kept: dict[str, Sequence[Any]] = {}
    notes: list[str] = []
    for (name, rows), grant in zip(lists.items(), grants, strict=True):
        count = _most_within(costs[name], grant + (first if name == "runbook" else 0))
        kept[name] = rows[:count]
        if count < len(rows):
            notes.append(f"{name}: {len(rows) - count} of {len(rows)} left out to keep the answer short")
    return frame.model_copy(
        update={
            "key_facts": list(kept["keyFacts"]),
            "runbook": Runbook.of(kept["runbook"]) if kept["runbook"] else None,
            "headings_outline": list(kept["headingsOutline"]),
            "agent_hints": frame.agent_hints.model_copy(
                update={"prefer_pages": list(kept["agentHints.preferPages"])}
            ),
            "stale_citations": list(kept["staleCitations"]),
            "recent_changes": list(kept["recentChanges"]),
            "notes": [*frame.notes, *notes],
        }
    )


def _cost(row: Any) -> int:  # noqa: ANN401 - a row, or a row with the name of its part
    value = row[1] if isinstance(row, tuple) else row
    return count_tokens(f"{compact_json(value.wire())},")


def _most_within(costs: Sequence[int], room: int) -> int:
    for count, cost in enumerate(costs):
        room -= cost
        if room < 0:
            return count
    return len(costs)


def _size(result: PageForAgent, context: ToolContext) -> int:
    return answer_tokens(compose(TOOL, stamped(result, context)))


TOOL = Tool(
    name="get_page_for_agent",
    title="A page for an agent",
    description=(
        "One page condensed within a token budget: use it to learn what a page states, how it is laid out, "
        "what changed and what to read next, instead of reading it whole; of a runbook also the steps. For "
        "the exact text call read_pages."
    ),
    params=PageForAgentParams,
    result=PageForAgent,
    run=run,
    render=render_data,
)
