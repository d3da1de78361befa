"""The tools of the authoring profile, in plain sight, apart from the 21 of the knowledge profile."""

from __future__ import annotations

import importlib
from functools import cache

from wikimcp.authoring_tools.contract import AnyAuthoringTool

TOOLS: tuple[str, ...] = (
    "wiki_search",
    "wiki_read_page",
    "wiki_init",
    "wiki_refresh",
    "wiki_lint",
    "wiki_ingest",
    "wiki_record_insight",
    "wiki_update_hot",
    "wiki_retire_sources",
    "wiki_repoint_sources",
)


@cache
def load(name: str) -> AnyAuthoringTool | None:
    """Return the tool of that name; None when its module does not exist yet."""
    module_name = f"{__package__}.{name}"
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name != module_name:
            raise
        return None
    tool: AnyAuthoringTool = module.TOOL
    return tool


@cache
def built() -> tuple[AnyAuthoringTool, ...]:
    """Return the tools there are, in order."""
    return tuple(tool for name in TOOLS if (tool := load(name)) is not None)
