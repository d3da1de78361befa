"""`serve --profile authoring`: which workspace, which vault beside it, and how its wiki is read."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from wikimcp.cli.parsing import settings_flags
from wikimcp.cli.workspace_options import workspace_of
from wikimcp.errors import WikiError
from wikimcp.settings import Settings, load_settings

if TYPE_CHECKING:
    from wikimcp.app import AuthoringSetup


def authoring_setup(arguments: argparse.Namespace) -> tuple[Settings, AuthoringSetup]:
    """Return the settings of the vault that is served, and what the authoring profile works on.

    Where no vault is named it is the compiled wiki itself. A wiki that is still to be made gets its empty
    folder here, so that it can be watched.
    """
    from wikimcp.app import AuthoringSetup

    workspace = workspace_of(argparse.Namespace(**{**vars(arguments), "profile": None}))
    try:
        workspace.wiki_root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise WikiError(f"the wiki root cannot be made ({reason})", hint="Check its rights.") from error
    flags = settings_flags(arguments)
    if path := getattr(arguments, "path", None):
        flags["vault"] = path
    settings = load_settings(flags, unnamed=workspace.wiki_root)
    wiki = wiki_settings(flags, wiki_root=str(workspace.wiki_root))
    return settings, AuthoringSetup(workspace, wiki)


def wiki_settings(flags: dict[str, object], *, wiki_root: str) -> Settings:
    """Return the settings by which a compiled wiki is read: proposed pages too, as its keepers need them."""
    return load_settings({**flags, "vault": wiki_root, "adapter": "llmwiki", "drafts.allow": True})
