"""wiki_record_insight: keep an answer, a decision or an open question as a proposed page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from wikimcp.authoring.insight import record_insight
from wikimcp.authoring_tools.contract import (
    LONGEST_CONTENT,
    WRITES,
    AuthoringContext,
    AuthoringTool,
    WriteParams,
)


class InsightParams(WriteParams):
    """What to keep."""

    title: Annotated[
        str,
        Field(
            min_length=1,
            max_length=LONGEST_CONTENT,
            description="What somebody would search for; 200 characters",
        ),
    ]
    content: Annotated[
        str, Field(min_length=1, max_length=LONGEST_CONTENT, description="Markdown, at most 65,536 bytes")
    ]
    category: Annotated[
        Literal["decision", "concept", "entity", "question"],
        Field(description="What kind of page it becomes"),
    ] = "concept"
    description: Annotated[str, Field(description="One sentence for indexes")] = ""
    tags: Annotated[tuple[str, ...], Field(description="Tags")] = ()
    evidence: Annotated[
        tuple[str, ...],
        Field(
            max_length=50,
            description="Handles (`slug @ version`) or cite:// uris that a tool returned, or lines of a "
            "source (path#L10-L20); each is verified",
            examples=[["concepts/sessions @ 3", "src/auth/jwt.py#L45-L89"]],
        ),
    ] = ()
    content_hash: Annotated[
        str | None, Field(description="To change a page that is there: its content_hash as you read it")
    ] = None
    author: Annotated[str, Field(description="Who writes: name/version, or human:name")] = ""


def run(params: InsightParams, context: AuthoringContext) -> Mapping[str, Any]:
    """Record it; a conflict comes back with the present text of the page."""
    return record_insight(
        context.workspace_for(params),
        title=params.title,
        content=params.content,
        category=params.category,
        description=params.description,
        tags=params.tags,
        evidence=params.evidence,
        content_hash=params.content_hash,
        verify=context.verify,
        by=params.author,
    ).to_json()


TOOL = AuthoringTool(
    name="wiki_record_insight",
    title="Keep an insight",
    description=(
        "Writes one page into the compiled wiki and returns its path and content_hash: use it for an answer, "
        "a decision or an open question that is worth keeping. The page is proposed until a person accepts "
        "it. A page that is there is changed only with its content_hash; otherwise you get status=conflict "
        "and its text."
    ),
    params=InsightParams,
    run=run,
    hints=WRITES,
)
