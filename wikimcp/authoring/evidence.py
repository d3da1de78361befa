"""Evidence of an insight: every citation is checked when it is written, none is taken on trust.

Citations of pages are checked by whoever knows their index; lines of a source are looked at here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from wikimcp.authoring.log import one_line
from wikimcp.authoring.okf import Source, relative_link
from wikimcp.authoring.pages import source_resource
from wikimcp.authoring.workspace import Workspace, contained
from wikimcp.errors import AccessDenied, BadArgument, Unavailable

MOST_EVIDENCE = 50
_ANCHOR = re.compile(r"(?:file:(?!//))?(?P<path>[^#]+)#L(?P<first>\d{1,8})(?:-L?(?P<last>\d{1,8}))?")
_HANDLE = re.compile(r"(?P<slug>.+?) @ v?(?P<version>\d+)")


def checked_evidence(
    workspace: Workspace,
    page: str,
    evidence: Sequence[str],
    *,
    verify: Callable[[tuple[str, ...]], Mapping[str, str]] | None,
) -> list[Source]:
    """Return what a page rests on as its sources, ids ``e1``, ``e2`` ...

    Raises BadArgument that names every piece that does not hold, Unavailable where citations of pages
    cannot be verified.
    """
    given = list(dict.fromkeys(item for text in evidence if (item := text.strip())))
    if len(given) > MOST_EVIDENCE:
        hint = "Give the best of them."
        raise BadArgument(f"{len(given)} pieces of evidence, over {MOST_EVIDENCE}", hint=hint)
    anchors = {item: found for item in given if (found := _ANCHOR.fullmatch(item))}
    statuses = _verified(tuple(item for item in given if item not in anchors), verify)
    reasons = {item: status for item, status in statuses.items() if status != "current"}
    reasons |= {item: why for item, found in anchors.items() if (why := _why_not(workspace, found))}
    if reasons:
        shown = "; ".join(f"{one_line(item)[:120]}: {why}" for item, why in list(reasons.items())[:5])
        hint = "Nothing was written. Give only handles that a tool returned, or lines that are there."
        raise BadArgument(f"evidence that does not hold: {shown}", hint=hint)
    return [
        Source(_resource(workspace, page, item, anchors.get(item)), f"e{number}", one_line(item))
        for number, item in enumerate(given, start=1)
    ]


def _verified(
    cited: tuple[str, ...], verify: Callable[[tuple[str, ...]], Mapping[str, str]] | None
) -> Mapping[str, str]:
    if not cited:
        return {}
    if verify is None:
        raise Unavailable("citations cannot be verified here", hint="Give source anchors, or use the tool.")
    statuses = verify(cited)
    return {item: statuses.get(item) or "cannot be checked" for item in cited}


def _why_not(workspace: Workspace, anchor: re.Match[str]) -> str:
    """Tell why an anchor does not hold; empty when its lines are there."""
    first, last = int(anchor["first"]), int(anchor["last"] or anchor["first"])
    try:
        file = contained(workspace.workspace_root, anchor["path"])
    except AccessDenied:
        return "not inside the workspace"
    if not file.is_file():
        return "no such file"
    with file.open("rb") as lines:
        count = sum(1 for _ in lines)
    if not 1 <= first <= last:
        return "lines count from 1, the first before the last"
    return "" if last <= count else f"the file has {count} lines"


def _resource(workspace: Workspace, page: str, item: str, anchor: re.Match[str] | None) -> str:
    """Return how the page names a piece of evidence in its head: a relative link, or a ``cite://`` uri."""
    if anchor is not None:
        return source_resource(workspace, page, anchor["path"].removeprefix("./"))
    handle = _HANDLE.fullmatch(item)
    if handle is None:
        return item.removeprefix("<").removesuffix(">")
    target = f"{handle['slug']}.md"
    return relative_link(page, target) if (workspace.wiki_root / target).is_file() else item
