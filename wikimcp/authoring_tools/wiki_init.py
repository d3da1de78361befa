"""wiki_init: scaffold the compiled wiki of the project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from wikimcp.authoring.init import init_wiki
from wikimcp.authoring_tools.contract import WRITES, AuthoringContext, AuthoringTool, WriteParams


class InitParams(WriteParams):
    """How to start."""

    profile: Annotated[
        Literal["codebase", "pkm", "hybrid", "auto"],
        Field(description="What the project is made of; auto: told by its files"),
    ] = "auto"
    deploy_skills: Annotated[
        bool, Field(description="Put the skills into .agents/skills, .claude/skills")
    ] = True


def run(params: InitParams, context: AuthoringContext) -> Mapping[str, Any]:
    """Scaffold; what is there stays."""
    workspace = context.workspace_for(params)
    if params.profile != "auto":
        workspace = replace(workspace, profile=params.profile)
    return init_wiki(workspace, deploy=params.deploy_skills).to_json()


TOOL = AuthoringTool(
    name="wiki_init",
    title="Start the wiki",
    description=(
        "Scaffolds the project's compiled wiki and says which files it made: use it once, before anything is "
        "written. Running it again changes nothing that is there."
    ),
    params=InitParams,
    run=run,
    hints=WRITES,
)
