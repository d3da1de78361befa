"""`serve --profile authoring`: which workspace, which vault beside it, and how its wiki is read."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from wikimcp.cli.parsing import settings_flags
from wikimcp.cli.workspace_options import workspace_of
from wikimcp.errors import WikiError
from wikimcp.setting_groups import Places
from wikimcp.settings import Settings, load_authoring, load_settings

if TYPE_CHECKING:
    from wikimcp.app import AuthoringSetup
    from wikimcp.authoring.workspace import Workspace


def authoring_setup(arguments: argparse.Namespace) -> tuple[Settings, AuthoringSetup]:
    """Return the settings of the vault that is served, and what the authoring profile works on.

    Where no vault is named it is the compiled wiki itself. A wiki that is still to be made gets its empty
    folder here, so that it can be watched.
    """
    from wikimcp.app import AuthoringSetup

    workspace = workspace_of(argparse.Namespace(**{**vars(arguments), "profile": None}))
    flags = settings_flags(arguments)
    if load_authoring({**flags, "vault": None}).workspace is None:
        _refuse_by_accident(workspace)
    try:
        workspace.wiki_root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise WikiError(f"the wiki root cannot be made ({reason})", hint="Check its rights.") from error
    if path := getattr(arguments, "path", None):
        flags["vault"] = path
    settings = load_settings(flags, unnamed=workspace.wiki_root)
    wiki = wiki_settings(flags, wiki_root=str(workspace.wiki_root))
    return settings, AuthoringSetup(workspace, wiki)


def _refuse_by_accident(workspace: Workspace) -> None:
    """Raise WikiError where a wiki would come to be at the root of the disk or in one's home unasked.

    Some clients start their servers there.
    """
    root = workspace.workspace_root
    if not workspace.initialised and root in (Places.of_user().home.resolve(), Path(root.anchor)):
        hint = "Name it: --workspace path/to/project, or the setting authoring.workspace."
        raise WikiError("no project is named, and the current folder is none", hint=hint)


def wiki_settings(flags: dict[str, object], *, wiki_root: str) -> Settings:
    """Return the settings by which a compiled wiki is read: proposed pages too, as its keepers need them."""
    return load_settings({**flags, "vault": wiki_root, "adapter": "llmwiki", "drafts.allow": True})
