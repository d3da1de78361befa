"""wiki_retire_sources: give up sources that are gone for good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from wikimcp.authoring.sources import MOST_PATHS, retire_sources
from wikimcp.authoring_tools.contract import REPLACES, AuthoringContext, AuthoringTool, WriteParams


class RetireParams(WriteParams):
    """Which sources."""

    paths: Annotated[
        tuple[str, ...],
        Field(
            description="Sources or folders of them, relative to the project",
            min_length=1,
            max_length=MOST_PATHS,
        ),
    ]


def run(params: RetireParams, context: AuthoringContext) -> Mapping[str, Any]:
    """Retire, and refresh."""
    return retire_sources(context.workspace_for(params), params.paths).to_json()


TOOL = AuthoringTool(
    name="wiki_retire_sources",
    title="Retire sources",
    description=(
        "Marks sources as retired in every page that names them and says which pages those are: use it "
        "when a source is gone for good, then write these pages anew from what is left. They are watched"
        " no more."
    ),
    params=RetireParams,
    run=run,
    hints=REPLACES,
)
