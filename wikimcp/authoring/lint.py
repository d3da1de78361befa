"""Lint: what is wrong with a wiki, page by page and line by line, with a score one can act on.

Every vault of every dialect is checked by the same rules, over what the audience may see; a compiled
wiki is checked by those of `lint_compiled` as well. Nothing is written here: that is `lint_fixes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from wikimcp.authoring.lint_compiled import Books, read_books, wikilink_findings
from wikimcp.authoring.lint_links import (
    LinkTally,
    beside_the_pages,
    gap_findings,
    link_findings,
    lone_findings,
)
from wikimcp.authoring.lint_pages import (
    duplicate_finding,
    field_findings,
    same_titles,
    stale_finding,
    topic_pages,
)
from wikimcp.authoring.lint_places import Places
from wikimcp.authoring.lint_report import SECRET, Finding, LintReport, Measured, in_order
from wikimcp.authoring.lint_score import score
from wikimcp.authoring.secrets import PERSONAL, scan
from wikimcp.authoring.workspace import Workspace
from wikimcp.citations.anchors import SourceRoots
from wikimcp.index.view import PageRecord, Reading

STALE_DAYS = 180


@dataclass(frozen=True, slots=True)
class LintOptions:
    """What may be set: ``stale_days`` (0: age does not matter), and fields that every page must have.

    ``sources`` are the folders of source anchors; without them anchors are counted, not checked. With
    ``books`` the rules of a compiled wiki hold.
    """

    stale_days: int = STALE_DAYS
    required: tuple[str, ...] = ()
    sources: SourceRoots | None = None
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    books: Books | None = None


def lint_pages(reading: Reading, options: LintOptions) -> LintReport:
    """Check the pages that the audience of ``reading`` sees. Raises Stale when one moved on meanwhile."""
    tally = LinkTally()
    found = list(_findings(reading, options, tally))
    books = options.books
    if books is not None:
        tally.anchors += books.anchors
        found += books.findings
    notes = []
    if skipped := reading.view.skipped_count:
        notes.append(f"{skipped} files are not served, so they were not checked; `wikimcp status` names them")
    return make_report(in_order(found), len(reading.pages), tally, books, notes=notes)


Examine = Callable[[Callable[[Reading], LintReport]], LintReport]
"""Runs a function over the pages of the compiled wiki, as `WikiService.examine` does."""


def lint_wiki(workspace: Workspace, examine: Examine, options: LintOptions | None = None) -> LintReport:
    """Check a compiled wiki whose index answers by ``examine``: by the rules of any vault, and by its own.

    Raises WikiError when there is no wiki or its manifest is broken.
    """
    workspace.require_wiki()
    asked = replace(options or LintOptions(now=workspace.clock()), books=read_books(workspace))
    return examine(lambda reading: lint_pages(reading, asked))


def make_report(
    found: Sequence[Finding],
    pages: int,
    tally: LinkTally,
    books: Books | None = None,
    *,
    notes: Sequence[str] = (),
) -> LintReport:
    """Put findings, in order, under the keys of the report, with the score they give."""
    indexes = books.indexes if books else 0
    measured = Measured(pages, tally.links, tally.fragments, tally.anchors, indexes)
    by_key: dict[str, list[Finding]] = {}
    for finding in found:
        by_key.setdefault(finding.rule.key, []).append(finding)
    points, parts = score(by_key, measured)
    told = list(notes)
    if tally.unchecked:
        told.append(
            f"{tally.unchecked} source anchors were not checked: set citations.source_roots to the folders "
            "that they are relative to"
        )
    return LintReport(tuple(found), measured, points, parts, tuple(told), compiled=books is not None)


def _findings(reading: Reading, options: LintOptions, tally: LinkTally) -> Iterator[Finding]:
    books = options.books
    topics = topic_pages(reading.pages)
    of_topic = {page.path for page in topics}
    repeated = same_titles(topics)
    beyond = beside_the_pages(reading)
    yield from field_findings(topics, reading.frontmatters(), options.required, by_custom=books is None)
    for page in reading.pages:
        text = reading.passing_text(page)
        places = Places(text)
        yield from link_findings(
            reading,
            page,
            places,
            tally,
            sources=options.sources,
            leads_beyond=books.leads_beyond if books else beyond,
        )
        yield from lone_findings(reading, page)
        yield from secret_findings(page, text, personal=books is not None)
        if books is not None:
            yield from wikilink_findings(reading, page, places)
        if page.path in repeated:
            yield duplicate_finding(reading, page, places, repeated[page.path])
        if page.path in of_topic:
            old = stale_finding(page, places, now=options.now, days=options.stale_days)
            yield from (old,) if old else ()
    yield from gap_findings(tally)


def secret_findings(page: PageRecord, text: str, *, personal: bool = False) -> Iterator[Finding]:
    """Yield what looks like a secret in a page, masked; with ``personal`` addresses and numbers as well."""
    for found in scan(text):
        if personal or found.rule not in PERSONAL:
            yield Finding(SECRET, page.path, found.line, f"{found.rule}: {found.excerpt}")
