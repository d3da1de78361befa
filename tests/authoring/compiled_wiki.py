"""A small project with a compiled wiki, for the tests of refreshing: sources, pages, and what is on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wikimcp.authoring.refresh import refresh_wiki
from wikimcp.authoring.refresh_report import RefreshReport
from wikimcp.authoring.workspace import Workspace

CHECKS = '''\
"""Checks tokens."""


def verify(token):
    """Say whether a token is good."""
    return token == "good"


class Store:
    def revoke(self, token):
        self.gone.add(token)
'''


@dataclass(frozen=True)
class Project:
    """A workspace with a short hand on its files."""

    workspace: Workspace

    @property
    def root(self) -> Path:
        return self.workspace.workspace_root

    @property
    def wiki(self) -> Path:
        return self.workspace.wiki_root

    def source(self, path: str, text: str) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", newline="")

    def page(self, path: str, text: str) -> None:
        place = self.wiki / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", newline="")

    def text(self, path: str) -> str:
        return (self.wiki / path).read_bytes().decode("utf-8")

    def refresh(self, *, full: bool = False) -> RefreshReport:
        return refresh_wiki(self.workspace, full=full)


def small_project(workspace: Workspace) -> Project:
    """Return a project with one source and one page that speaks of it."""
    project = Project(workspace)
    project.source("src/checks.py", CHECKS)
    project.page("entities/checks.md", page_of("Checks", ["../../src/checks.py"]))
    return project


def page_of(title: str, sources: list[str], body: str = "What it does.\n", *, head: str = "") -> str:
    """Return a page with sources in its head."""
    listed = "".join(f"  - id: s{number}\n    resource: {path}\n" for number, path in enumerate(sources))
    return f"---\ntype: Module\ntitle: {title}\nsources:\n{listed}{head}---\n\n# {title}\n\n{body}"


def files_below(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Return all files with their bytes and times."""
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
