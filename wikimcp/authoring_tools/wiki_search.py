"""wiki_search: the sections of the compiled wiki that answer a question, with where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from wikimcp.authoring.freshness import page_facts
from wikimcp.authoring.manifest import load_manifest
from wikimcp.authoring.pages import DiskFiles, Page, read_page
from wikimcp.authoring_tools.contract import READS, AuthoringContext, AuthoringTool, Match
from wikimcp.markdown.body import parse_body
from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.tools.contract import Params
from wikimcp.tools.rendering import boundary, bounded, clip, flatten

_MODES = {"search": "lexical", "vsearch": "dense", "query": "hybrid"}
_LONGEST_SUMMARY = 1_200


class SearchParams(Params):
    """What to look for."""

    query: Annotated[str, Field(min_length=1, description="The question, or words of it")]
    mode: Annotated[
        Literal["search", "vsearch", "query"],
        Field(description="search: by words (BM25); vsearch: by meaning; query: both"),
    ] = "query"
    max_results: Annotated[int, Field(ge=1, le=20, description="Matches at most")] = 4


def run(params: SearchParams, context: AuthoringContext) -> Mapping[str, Any]:
    """Search, and say of each match how fresh it is and what it points at. Raises WikiError."""
    matches = context.search(params.query, _MODES[params.mode], params.max_results)
    files = DiskFiles(context.workspace)
    manifest = load_manifest(context.workspace)
    rows: list[dict[str, Any]] = []
    for match in matches:
        page = read_page(files, match.path)
        if page is None:
            continue
        facts = page_facts(context.workspace, manifest, page, links=context.file_links)
        rows.append(
            {
                "breadcrumbs": breadcrumbs(match, page),
                **facts,
                "summary": clip(match.text.strip(), _LONGEST_SUMMARY),
                "lines": list(match.lines),
                "handle": match.handle,
            }
        )
    return {"query": params.query, "mode": params.mode, "returned": len(rows), "matches": rows}


def breadcrumbs(match: Match, page: Page) -> str:
    """Return ``Title > Heading``; a first heading that only repeats the title is left out.

    Where all the text of a match stands under one heading below the one it is cited by, it is that one.
    """
    first, last = match.lines
    sections = parse_body(page.text, parse_frontmatter(page.text).body_start).sections
    inside = [s for s in sections if first <= s.own.first_line and s.own.last_line <= last]
    telling = [s for s in inside if s.own.last_line > s.own.first_line]
    headings = list(telling[0].heading_path if len(telling) == 1 else match.heading_path)
    if headings and flatten(headings[0]).casefold() == flatten(match.title).casefold():
        headings.pop(0)
    return " > ".join(flatten(part) for part in (match.title, *headings))


def render(facts: Mapping[str, Any]) -> str:
    """Render each match under a heading of its own, its text within bounds."""
    if not facts["matches"]:
        return "No page of the wiki matches. Say so, or look into the sources and record what you find."
    token = boundary([str(facts["matches"])])
    parts = [f"{facts['returned']} matches in the wiki ({facts['mode']})"]
    for number, match in enumerate(facts["matches"], start=1):
        lines = [f"### {number}. {match['breadcrumbs']}"]
        lines += [
            f"{name}: {flatten(str(match[name]))}"
            for name in ("page", "type", "category", "status", "description", "freshness")
            if match.get(name)
        ]
        lines += [f"{name}: {', '.join(match[name])}" for name in ("changed", "gone") if match.get(name)]
        lines += [f"cite as: {match['handle']}, lines {match['lines'][0]} to {match['lines'][1]}"]
        for anchor in match["anchors"]:
            symbol = f"{anchor['symbol']}: " if anchor.get("symbol") else ""
            link = f" ({anchor['link']})" if anchor.get("link") else ""
            lines.append(f"- {symbol}{anchor['anchor']}{link}")
        parts.append("\n".join((*lines, bounded(match["summary"], token))))
    return "\n\n".join(parts)


TOOL = AuthoringTool(
    name="wiki_search",
    title="Search the compiled wiki",
    description=(
        "Returns the sections of the project's compiled wiki that answer a question, each with its page, how "
        "fresh it is against its sources, and the lines of code it points at: use it before you search the "
        "code itself."
    ),
    params=SearchParams,
    run=run,
    hints=READS,
    render=render,
)
