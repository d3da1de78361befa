"""Starting a wiki: its folders, its protocol, its empty ledger and its skills.

Run as often as one likes: what is there stays, whoever wrote it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from wikimcp.authoring.log import add_entry
from wikimcp.authoring.manifest import Manifest, manifest_of, save_manifest
from wikimcp.authoring.okf import render_page
from wikimcp.authoring.pages import (
    CATEGORIES,
    HOT,
    INDEX,
    SCHEMA_PAGE,
    category_index,
    framed,
    regenerate_indexes,
)
from wikimcp.authoring.schema_text import HOT_FIELDS, HOT_TEXT, SCHEMA_FIELDS, SCHEMA_TEXT
from wikimcp.authoring.skills import DeployedSkill, deploy_skills
from wikimcp.authoring.workspace import Profile, Workspace
from wikimcp.authoring.writing import FileChange, Transaction, transaction

_CODE_SUFFIXES = "py pyi ts tsx js jsx mjs go rs java kt c h cc cpp hpp cs rb php swift scala sql sh"
_NOTE_SUFFIXES = "md markdown org txt rst tex pdf docx"
_NOT_LOOKED_INTO = "node_modules __pycache__ dist build target venv site-packages vendor raw"
_CODE, _NOTES = frozenset(_CODE_SUFFIXES.split(" ")), frozenset(_NOTE_SUFFIXES.split(" "))
_UNREAD = frozenset(_NOT_LOOKED_INTO.split(" "))
_MOST_FILES = 5_000
_FEW = 0.2


@dataclass(frozen=True, slots=True)
class InitReport:
    """What initialising did: ``status`` initialized or unchanged, the profile, and every file it wrote."""

    status: str
    profile: str
    wiki: str
    changes: tuple[FileChange, ...]
    skills: tuple[DeployedSkill, ...]
    notes: tuple[str, ...]
    dry_run: bool

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "status": self.status,
            "profile": self.profile,
            "wiki": self.wiki,
            "dry_run": self.dry_run,
            "changes": [change.to_json() for change in self.changes],
            "skills": [asdict(skill) for skill in self.skills],
            "notes": list(self.notes),
        }


def init_wiki(workspace: Workspace, *, deploy: bool = True) -> InitReport:
    """Scaffold the wiki, and with ``deploy`` its skills; never overwrites what is there. Raises WikiError."""
    with transaction(workspace, create=True) as change:
        manifest = manifest_of(change)
        change.workspace = replace(workspace, profile=_profile(workspace, manifest))
        _scaffold(change)
        skills = deploy_skills(change) if deploy else []
        if manifest is None or manifest.profile != change.workspace.profile:
            save_manifest(change, manifest or Manifest())
        if change.read("log.md") is None:
            add_entry(change, "Initialization", f"Made the wiki with the profile {change.workspace.profile}.")
    kept = [f"{skill.file} was changed here and is kept" for skill in skills if skill.state == "kept"]
    return InitReport(
        status="initialized" if change.changes else "unchanged",
        profile=change.workspace.profile,
        wiki=workspace.shown(workspace.wiki_root),
        changes=change.changes,
        skills=tuple(skills),
        notes=(*change.notes, *kept),
        dry_run=workspace.dry_run,
    )


def detect_profile(workspace: Workspace) -> Profile:
    """Tell by the files of the raw roots what kind of project this is: code, notes, or both."""
    code = notes = 0
    for name in _file_names(workspace):
        suffix = name.rpartition(".")[2].lower()
        code += suffix in _CODE
        notes += suffix in _NOTES
    if not code + notes:
        return "hybrid"
    share = code / (code + notes)
    return "pkm" if share < _FEW else "codebase" if share > 1 - _FEW else "hybrid"


def _profile(workspace: Workspace, manifest: Manifest | None) -> Profile:
    if workspace.profile != "auto":
        return workspace.profile
    known = manifest.profile if manifest is not None else "auto"
    if known in ("codebase", "pkm", "hybrid"):
        return known  # type: ignore[return-value]
    return detect_profile(workspace)


def _scaffold(change: Transaction) -> None:
    if change.read(SCHEMA_PAGE) is None:
        change.write(SCHEMA_PAGE, render_page(SCHEMA_FIELDS, SCHEMA_TEXT))
    if change.read(HOT) is None:
        generated = {"by": "process:wikimcp-init", "at": change.workspace.now()}
        change.write(HOT, render_page({**HOT_FIELDS, "generated": generated}, HOT_TEXT))
    for name in CATEGORIES:
        if change.read(f"{name}/{INDEX}") is None:
            change.write(f"{name}/{INDEX}", framed("index", category_index(name, ())))
    regenerate_indexes(change)


def _file_names(workspace: Workspace) -> Iterator[str]:
    left = _MOST_FILES
    for root in workspace.raw_roots:
        for _folder, folders, files in os.walk(workspace.inside(root.folder)):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _UNREAD)
            yield from files
            left -= len(files)
            if left < 0:
                return
