"""What is odd about links: that they lead nowhere, to one of several pages, or to no heading of their page.

A link to a page that the audience may not see is one that leads nowhere, as everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from wikimcp.index.audience_view import View
from wikimcp.index.page_record import PageRecord
from wikimcp.index.stale import Stale
from wikimcp.markdown.anchors import anchor, may_name_heading, numbered_anchors
from wikimcp.markdown.links import is_issue_key
from wikimcp.models import Diagnostic, Link, LinkKind

MOST_OF_A_PAGE = 20
MOST_EXAMPLES = 10
_LONGEST_TARGET = 120


@dataclass(frozen=True, slots=True)
class OddLink:
    """One link; ``code`` is unresolved_link, ambiguous_link, missing_heading or missing_block.

    ``target`` is it as written, cut where it is long.
    """

    code: str
    target: str
    link: Link
    message: str

    @property
    def line(self) -> int:
        """The line the link stands on."""
        return self.link.line


def odd_links(view: View, page: PageRecord) -> Iterator[OddLink]:
    """Yield the odd links of a page in order. Raises Stale when the page moved on."""
    headings: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
    for link in view.body(page).links:
        if link.in_comment or link.kind in (LinkKind.EXTERNAL, LinkKind.CITATION):
            continue
        found = view.links.resolve(link, page)
        shown = _shown(link)
        if found.ambiguous:
            others = ", ".join(found.candidates[:6])
            message = f"{shown!r} may be any of {others}; {found.slug} is taken"
            yield OddLink("ambiguous_link", shown, link, message)
        if not found.slug and not found.attachment:
            if not _is_placeholder(link, view.adapter.name):
                likely = _likely(view, page, link)
                message = f"{shown!r} leads to no page{f'; perhaps {likely} is meant' if likely else ''}"
                yield OddLink("unresolved_link", shown, link, message)
        elif found.slug and link.fragment and may_name_heading(link.fragment):
            names, blocks = _known(view, found.slug, headings)
            if link.fragment.startswith("^"):
                if link.fragment[1:].strip().casefold() not in blocks:
                    yield OddLink("missing_block", shown, link, f"{shown!r}: {found.slug} has no such block")
            elif anchor(link.fragment.rpartition("#")[2]) not in names:
                yield OddLink("missing_heading", shown, link, f"{shown!r}: {found.slug} has no such heading")


def _likely(view: View, page: PageRecord, link: Link) -> str:
    """Return the page that a path which leads nowhere may mean, as the file may have moved: of its name."""
    _, slash, name = link.target.rstrip("/").rpartition("/")
    if not slash or link.kind in (LinkKind.BLOCK, LinkKind.ATTACHMENT) or not name.strip(". "):
        return ""
    return view.links.resolve(Link(LinkKind.WIKILINK, name), page).slug


def link_diagnostics(view: View, page: PageRecord) -> tuple[Diagnostic, ...]:
    """Return the odd links of one page as diagnostics: the first ones, and how many more there are."""
    found = list(odd_links(view, page))
    notes = [Diagnostic(odd.code, odd.message, odd.line) for odd in found[:MOST_OF_A_PAGE]]
    if len(found) > MOST_OF_A_PAGE:
        notes.append(Diagnostic("more_odd_links", f"{len(found) - MOST_OF_A_PAGE} more links are odd"))
    return tuple(notes)


def link_report(view: View) -> dict[str, dict[str, Any]]:
    """Return for each class of odd links their number, the number of pages, and the first examples."""
    report: dict[str, dict[str, Any]] = {}
    for page in view.pages:
        seen: set[str] = set()
        try:
            found = list(odd_links(view, page))
        except Stale:  # it is read anew before the next answer
            continue
        for odd in found:
            row = report.setdefault(odd.code, {"count": 0, "pages": 0, "examples": []})
            row["count"] += 1
            row["pages"] += odd.code not in seen
            seen.add(odd.code)
            if len(row["examples"]) < MOST_EXAMPLES:
                row["examples"].append({"path": page.path, "line": odd.line, "target": odd.target})
    return dict(sorted(report.items()))


def _shown(link: Link) -> str:
    written = f"{link.target}#{link.fragment}" if link.fragment else link.target
    line = " ".join(written.split())
    return line if len(line) <= _LONGEST_TARGET else line[: _LONGEST_TARGET - 1] + "…"


def _is_placeholder(link: Link, dialect: str) -> bool:
    """Say whether a link that leads nowhere is meant to: Logseq's stubs, Dendron's tags, keys of issues."""
    stub = dialect == "logseq" and link.kind in (LinkKind.WIKILINK, LinkKind.EMBED)
    mention = dialect == "dendron" and link.label[:1] in ("#", "@") and link.target.endswith(link.label[1:])
    return stub or mention or is_issue_key(_shown(link))


def _known(
    view: View, slug: str, known: dict[str, tuple[frozenset[str], frozenset[str]]]
) -> tuple[frozenset[str], frozenset[str]]:
    if slug not in known:
        known[slug] = _anchors(view, slug)
    return known[slug]


def _anchors(view: View, slug: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the folded headings and anchors of a page, and its block ids."""
    target = view.names.slugs.get(slug)
    if target is None:
        return frozenset(), frozenset()
    body = view.body(target)
    headings = numbered_anchors(section.heading for section in body.sections)
    written = (anchor(mark.name) for mark in body.anchors)
    names = frozenset((*chain.from_iterable(headings), *written))
    return names, frozenset(block.casefold() for block in body.block_ids)
