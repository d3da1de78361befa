"""From settings to a workspace: which project, and what its wiki remembers of how it was made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from wikimcp.authoring.manifest import load_manifest
from wikimcp.authoring.workspace import Workspace
from wikimcp.setting_groups import Authoring


def open_workspace(
    settings: Authoring,
    *,
    cwd: Path | None = None,
    upwards: bool = True,
    dry_run: bool = False,
    allow_secrets: bool = False,
) -> Workspace:
    """Return the workspace that is set, else the nearest one from ``cwd`` upwards, else ``cwd`` itself.

    Without ``upwards`` only ``cwd`` is looked at. Raises WikiError, AccessDenied or BadArgument.
    """
    here = Path.cwd() if cwd is None else cwd
    root = settings.workspace or next(
        (folder for folder in (here, *here.parents) if (folder / settings.wiki_root).is_dir()), None
    )
    opened = Workspace.open(
        root if root is not None and (upwards or settings.workspace) else here,
        wiki_root=settings.wiki_root,
        raw_roots=settings.raw_roots or (".",),
        profile=settings.profile,
        dry_run=dry_run,
        allow_secrets=allow_secrets,
    )
    return opened if settings.raw_roots else remembered(opened)


def remembered(workspace: Workspace) -> Workspace:
    """Return a workspace with the raw roots, and in place of ``auto`` the profile, of its manifest."""
    if not workspace.initialised:
        return workspace
    manifest = load_manifest(workspace)
    if manifest is None:
        return workspace
    roots = manifest.raw_roots or (".",)
    known = Workspace.open(
        workspace.workspace_root,
        wiki_root=workspace.wiki_root,
        raw_roots=roots,
        profile=manifest.profile if workspace.profile == "auto" else workspace.profile,
    )
    return replace(workspace, raw_roots=known.raw_roots, profile=known.profile)
