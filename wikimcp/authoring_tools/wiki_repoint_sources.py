"""wiki_repoint_sources: say where a source lies now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from wikimcp.authoring.sources import repoint_sources
from wikimcp.authoring_tools.contract import REPLACES, AuthoringContext, AuthoringTool, WriteParams


class RepointParams(WriteParams):
    """From where to where."""

    old: Annotated[str, Field(description="The source or folder as pages name it, relative to the project")]
    new: Annotated[str, Field(description="Where it is now, relative to the project")]


def run(params: RepointParams, context: AuthoringContext) -> Mapping[str, Any]:
    """Repoint, and refresh."""
    return repoint_sources(context.workspace_for(params), params.old, params.new).to_json()


TOOL = AuthoringTool(
    name="wiki_repoint_sources",
    title="Repoint sources",
    description=(
        "Renames a source, or a folder of them, in the heads of all pages that name it and says which "
        "those are: use it when a source moved and changed (a mere move is found by wiki_refresh). Lines"
        " are found again by hash."
    ),
    params=RepointParams,
    run=run,
    hints=REPLACES,
)
