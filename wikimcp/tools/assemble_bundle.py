"""assemble_bundle: the cited sections that answer a question, within a token budget."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Annotated

from pydantic import Field

from wikimcp.index.view import Reading
from wikimcp.markdown.tokens import count_tokens
from wikimcp.retrieval.sizes import QUARTERS, json_quarters
from wikimcp.tools.answers import compose, stamped
from wikimcp.tools.bundle_choice import Choice, choose
from wikimcp.tools.bundle_result import Bundle, Omitted, render_bundle
from wikimcp.tools.bundle_rows import (
    SectionRows,
    clip_tokens,
    comment_notes,
    coverage_row,
    omitted_rows,
    twin_notes,
)
from wikimcp.tools.contract import Answer, Params, Tool, ToolContext
from wikimcp.tools.evidence import Found, Mode, Question, gather
from wikimcp.tools.excluding import read_exclusions
from wikimcp.tools.filters import (
    ClusterFilter,
    PageFilter,
    PathPrefixFilter,
    TagsFilter,
    TypeFilter,
    select,
)
from wikimcp.tools.page_rows import IncludeDrafts
from wikimcp.tools.rendering import clip, flatten

_LONGEST_ECHO = 300  # characters
_WORDS_SHARE = 16  # of the budget may go to the query shown, and to each list of words in the coverage
_TAIL = 60  # tokens kept for what is known only after the choice: next, lifted_by, omitted, twins
_TAIL_SHARE = 10  # of a small budget
_MOST_OMITTED = 5


class BundleParams(Params):
    """What is asked, and what may answer."""

    query: Question
    mode: Annotated[Mode, Field(description="hybrid: by words and by meaning")] = "hybrid"
    limit: Annotated[int, Field(ge=1, le=30, description="Most sections")] = 12
    token_budget: Annotated[int, Field(ge=500, le=24_000, description="Most tokens of the answer")] = 6_000
    cluster: ClusterFilter = ""
    tags: TagsFilter = ()
    type: TypeFilter = ""
    path_prefix: PathPrefixFilter = ""
    exclude: Annotated[
        tuple[str, ...],
        Field(
            description="Citation uris or span hashes you already have", examples=[["cite://01J/Setup?h=0f"]]
        ),
    ] = ()
    include_drafts: IncludeDrafts = False


def run(reading: Reading, params: BundleParams, context: ToolContext) -> Bundle:
    """Assemble the bundle. Raises Stale when a page moved on while it was read."""
    allowed = None
    if params.cluster or params.tags or params.type or params.path_prefix:
        allowed = frozenset(page.rev for page in select(reading, PageFilter.of(params), context))
    exclusions = read_exclusions(params.exclude, context)
    found = gather(
        reading, params.query, context, mode=params.mode, allowed=allowed, more_pages=len(exclusions)
    )
    words = params.token_budget // _WORDS_SHARE
    _shorten_notes(context, 2 * words)
    frame = Bundle(
        query=clip_tokens(clip(flatten(params.query), _LONGEST_ECHO), words),
        mode=found.mode,
        sections=[],
        coverage=coverage_row(reading, found, (), context.coverage, tokens=words),
        omitted=[],
    )
    tail = min(_TAIL, params.token_budget // _TAIL_SHARE)
    rows = SectionRows(reading, found)
    choice = choose(
        reading,
        found,
        exclusions,
        room=QUARTERS * (params.token_budget - tail) - _size(frame, context),
        limit=params.limit,
        size_of=rows.size_of,
    )
    while True:
        told = frame.model_copy(
            update={
                "coverage": coverage_row(reading, found, choice.spans, context.coverage, tokens=words),
                "notes": [
                    *twin_notes(reading, found, choice),
                    *comment_notes(choice),
                    *_why_nothing(found, choice),
                ],
            }
        )
        left = QUARTERS * params.token_budget - _size(told, context) - sum(map(rows.size_of, choice.spans))
        bundle = told.model_copy(
            update={
                "sections": [rows.of(span) for span in choice.spans],
                "omitted": _that_fit(omitted_rows(reading, found, choice), left),
            }
        )
        fits = left >= 0 and count_tokens(_composed(bundle, context).text) <= params.token_budget
        if fits or not choice.spans:
            return bundle
        choice = replace(choice, spans=choice.spans[:-1])


def _why_nothing(found: Found, choice: Choice) -> Iterator[str]:
    """Say why there is no section: an empty answer must not look like a failure."""
    if choice.spans:
        return
    if not len(found.scored):
        yield "no page matches"
    elif choice.skipped:
        yield "no section fits the budget: raise token_budget"
    else:
        yield "all that matches is excluded"


def _size(bundle: Bundle, context: ToolContext) -> int:
    """Return the quarters of the JSON of a bundle."""
    return json_quarters(stamped(bundle, context).wire())


def _composed(bundle: Bundle, context: ToolContext) -> Answer:
    """Return a bundle as it is sent; kept, for the one that fits is sent."""
    answer = compose(TOOL, stamped(bundle, context))
    context.composed = bundle, answer
    return answer


def _that_fit(rows: Iterator[Omitted], left: int) -> list[Omitted]:
    kept: list[Omitted] = []
    for row in islice(rows, _MOST_OMITTED):
        left -= json_quarters(row.wire()) + 1
        if left >= 0:
            kept.append(row)
    return kept


def _shorten_notes(context: ToolContext, tokens: int) -> None:
    """Keep the first notes of the call that take at most ``tokens`` tokens, and say how many went."""
    kept: list[str] = []
    for at, note in enumerate(context.notes):
        tokens -= count_tokens(f"note: {note},")
        if tokens < 0:
            kept.append(f"{len(context.notes) - at} more notes were left out")
            break
        kept.append(note)
    context.notes[:] = kept


TOOL = Tool(
    name="assemble_bundle",
    title="Assemble a cited bundle",
    description=(
        "Cited sections of the wiki that answer a question, within a token budget: call it first for any "
        "question about this project, team or domain. Read coverage.confidence: strong: cite the handles and "
        "go on; partial, weak or unknown: do what coverage.next says, do not guess."
    ),
    params=BundleParams,
    result=Bundle,
    run=run,
    render=render_bundle,
    own_budget=True,
)
