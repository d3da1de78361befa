"""wiki_refresh: bring the compiled wiki in line with its sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from wikimcp.authoring.refresh import refresh_wiki
from wikimcp.authoring_tools.contract import WRITES, AuthoringContext, AuthoringTool, WriteParams


class RefreshParams(WriteParams):
    """How thoroughly to refresh."""

    full: Annotated[
        bool, Field(description="Read every source and compile every page again, whatever is known of them")
    ] = False


def run(params: RefreshParams, context: AuthoringContext) -> Mapping[str, Any]:
    """Refresh, and say what is left to think about."""
    return refresh_wiki(context.workspace_for(params), full=params.full).to_json()


TOOL = AuthoringTool(
    name="wiki_refresh",
    title="Refresh the wiki",
    description=(
        "Returns which sources changed, which pages that affects, stale pages, drifted line anchors, "
        "contradictions and folders without a page: use it after sources or pages changed. It follows "
        "moved lines in heads of pages and rewrites generated parts, indexes and log, never prose. "
        "Without a change it writes nothing."
    ),
    params=RefreshParams,
    run=run,
    hints=WRITES,
)
