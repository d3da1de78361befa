"""wiki_lint: what is wrong with the compiled wiki, and repair of what is safe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from wikimcp.authoring.lint import STALE_DAYS, LintOptions, lint_wiki
from wikimcp.authoring.lint_fixes import fix_wiki
from wikimcp.authoring_tools.contract import WRITES, AuthoringContext, AuthoringTool, WriteParams


class LintParams(WriteParams):
    """What to look at, and whether to repair."""

    fix: Annotated[
        bool,
        Field(description="Repair what is safe first: moved anchors, drifted indexes, leftover wikilinks"),
    ] = False
    stale_days: Annotated[
        int, Field(ge=0, le=36_500, description="Days after which a page is old; 0: never")
    ] = STALE_DAYS
    max_findings: Annotated[int, Field(ge=1, le=500, description="Findings at most of each kind")] = 20


def run(params: LintParams, context: AuthoringContext) -> Mapping[str, Any]:
    """Repair if asked to, then check."""
    workspace = context.workspace_for(params)
    fixed = fix_wiki(workspace, context.examine) if params.fix else None
    options = LintOptions(stale_days=params.stale_days, now=workspace.clock())
    report = lint_wiki(workspace, context.examine, options).to_json(params.max_findings)
    return {**report, **({"fixed": fixed.to_json()} if fixed else {})}


TOOL = AuthoringTool(
    name="wiki_lint",
    title="Check the wiki",
    description=(
        "Returns what is wrong with the compiled wiki by rule, page and line, with a score of 0 to 100: use "
        "it after writing pages and after wiki_refresh. ok is false only for dead anchors and broken links; "
        "counts tell of all findings, the lists hold the first of each kind."
    ),
    params=LintParams,
    run=run,
    hints=WRITES,
)
