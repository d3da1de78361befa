"""wiki_update_hot: replace the page that a session reads first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from wikimcp.authoring.hot import update_hot
from wikimcp.authoring_tools.contract import (
    LONGEST_CONTENT,
    REPLACES,
    AuthoringContext,
    AuthoringTool,
    WriteParams,
)


class HotParams(WriteParams):
    """The new hot page."""

    content: Annotated[
        str,
        Field(
            min_length=1,
            max_length=LONGEST_CONTENT,
            description="Markdown, at most 500 words, entries that carry a date newest first",
        ),
    ]
    force: Annotated[bool, Field(description="Let it hold fewer words than the page that is there")] = False
    content_hash: Annotated[str | None, Field(description="content_hash of hot.md as you read it")] = None
    author: Annotated[str, Field(description="Who writes: name/version, or human:name")] = ""


def run(params: HotParams, context: AuthoringContext) -> Mapping[str, Any]:
    """Replace it; a conflict comes back with the present text."""
    return update_hot(
        context.workspace_for(params),
        params.content,
        force=params.force,
        content_hash=params.content_hash,
        by=params.author,
    ).to_json()


TOOL = AuthoringTool(
    name="wiki_update_hot",
    title="Replace the hot page",
    description=(
        "Replaces hot.md, which every session reads first, and returns its words before and after: use it "
        "after an ingest, after an answer worth keeping, and at the end of a session with more than 3 "
        "commits or 5 edits. Read hot.md first and carry over what still matters."
    ),
    params=HotParams,
    run=run,
    hints=REPLACES,
)
