"""wiki_read_page: one page of the compiled wiki, whole or from a line on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from wikimcp.authoring.freshness import page_facts
from wikimcp.authoring.manifest import load_manifest
from wikimcp.authoring.pages import DiskFiles, read_page
from wikimcp.authoring.workspace import lexical
from wikimcp.authoring_tools.contract import READS, AuthoringContext, AuthoringTool
from wikimcp.errors import AccessDenied
from wikimcp.markdown.links import PAGE_SUFFIXES
from wikimcp.markdown.tokens import count_tokens
from wikimcp.tools.contract import Params
from wikimcp.tools.rendering import boundary, bounded, render_facts

_SHARE = 0.6  # of an answer that the text may take: the facts need room, and JSON writes it longer


class ReadPageParams(Params):
    """The page to read."""

    page_path: Annotated[
        str,
        Field(
            min_length=1,
            description="Path in the wiki, as search and index give it",
            examples=["concepts/sessions.md"],
        ),
    ]
    from_line: Annotated[int, Field(ge=1, description="Go on here where a long page was cut")] = 1


def run(params: ReadPageParams, context: AuthoringContext) -> Mapping[str, Any]:
    """Read the page. Raises AccessDenied for a path that leaves the wiki, WikiError without a wiki."""
    workspace = context.workspace
    workspace.require_wiki()
    path = "/".join(lexical(params.page_path))
    workspace.in_wiki(path)
    if any(part.startswith(".") for part in path.split("/")):
        raise AccessDenied("hidden files of the wiki are no pages", hint="Name a page, as index.md does.")
    page = read_page(DiskFiles(workspace), path) if path.lower().endswith(PAGE_SUFFIXES) else None
    if page is None:
        return {"found": False, "page": path}
    text, last, cut = _part(page.text, params.from_line, most=int(context.cap_tokens * _SHARE))
    facts = page_facts(workspace, load_manifest(workspace), page, links=context.file_links)
    return {
        "found": True,
        **facts,
        "content_hash": page.content_hash,
        "lines": [params.from_line, last],
        "next_line": last + 1 if last < len(page.text.splitlines()) else None,
        "text": text,
        "notes": ["a line that is too long for one answer was cut"] if cut else [],
    }


def render(facts: Mapping[str, Any]) -> str:
    """Render the facts, and the text within bounds of its own."""
    if not facts["found"]:
        return f"There is no page {facts['page']} in the wiki."
    text = str(facts["text"])
    about = {key: value for key, value in facts.items() if key not in ("text", "found")}
    return f"{render_facts(about)}\n{bounded(text, boundary([text]))}"


def _part(text: str, first: int, *, most: int) -> tuple[str, int, bool]:
    """Return whole lines from ``first`` on, ``most`` tokens of them, the last one, and whether it was cut."""
    lines = text.splitlines(keepends=True)
    kept: list[str] = []
    left = most
    for line in lines[first - 1 :]:
        cost = count_tokens(line)
        if cost > left:
            if kept:
                break
            return line[: most * 2], first, True
        kept.append(line)
        left -= cost
    return "".join(kept), first + max(len(kept), 1) - 1, False


TOOL = AuthoringTool(
    name="wiki_read_page",
    title="Read a page of the compiled wiki",
    description=(
        "Returns one page of the compiled wiki as it is stored, with its content_hash (give it back when you "
        "change the page), its freshness and its anchors. A page that is not there is found=false."
    ),
    params=ReadPageParams,
    run=run,
    hints=READS,
    render=render,
)
