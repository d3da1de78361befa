"""Containment: which names a workspace takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from wikimcp.authoring.workspace import Area, Workspace
from wikimcp.errors import AccessDenied, BadArgument, WikiError


@pytest.mark.parametrize(
    "path",
    [
        "../secret.md",
        "a/../../secret.md",
        "concepts/..",
        "/etc/passwd",
        "~/notes.md",
        "C:/x.md",
        "a\\b.md",
        "a\nb.md",
        "a\0b.md",
        "a\u2028b.md",
        "a\ud800.md",
        "",
        "   ",
        "x" * 1001,
    ],
)
def test_a_path_that_could_leave_by_its_words_is_refused(workspace: Workspace, path: str) -> None:
    with pytest.raises(AccessDenied) as caught:
        workspace.in_wiki(path)
    assert str(workspace.workspace_root) not in str(caught.value)
    with pytest.raises(AccessDenied):
        workspace.place(Area.STAGING, path)


def test_a_sibling_with_the_same_beginning_is_outside(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / ".wiki").mkdir()
    (tmp_path / ".wiki-other").mkdir()
    (tmp_path / ".wiki" / "door").symlink_to(tmp_path / ".wiki-other")
    with pytest.raises(AccessDenied):
        workspace.in_wiki("door/page.md")


def test_links_that_leave_are_refused_in_any_component_and_links_that_stay_are_followed(
    workspace: Workspace, tmp_path: Path
) -> None:
    wiki = tmp_path / ".wiki"
    (wiki / "concepts" / "deep").mkdir(parents=True)
    (wiki / "out").symlink_to(tmp_path)
    (wiki / "dangling.md").symlink_to(tmp_path / "nowhere.md")
    (wiki / "loop").symlink_to(wiki / "loop")
    (wiki / "in").symlink_to(wiki / "concepts")
    for path in ("out/x.md", "concepts/../out/x.md", "dangling.md"):
        with pytest.raises(AccessDenied):
            workspace.in_wiki(path)
    assert workspace.in_wiki("in/deep/x.md") == wiki / "concepts" / "deep" / "x.md"
    assert workspace.in_wiki("loop/x.md").is_relative_to(wiki)


def test_an_area_that_is_a_link_to_elsewhere_is_refused(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "ingest").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(AccessDenied):
        workspace.place(Area.STAGING, "a/source.md")


def test_roots_are_checked_and_named(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "docs").mkdir()
    opened = Workspace.open(tmp_path, raw_roots=["src", "notes=docs"], profile="codebase")
    assert [(root.name, root.folder) for root in opened.raw_roots] == [("src", "src"), ("notes", "docs")]
    for wrong in (["missing"], ["a=src", "a=docs"], []):
        with pytest.raises((WikiError, BadArgument)):
            Workspace.open(tmp_path, raw_roots=wrong)
    with pytest.raises(AccessDenied):
        Workspace.open(tmp_path, raw_roots=[".."])
    with pytest.raises(BadArgument, match="codebase"):
        Workspace.open(tmp_path, profile="codebas")
    for root in (".", str(tmp_path.parent)):
        with pytest.raises(WikiError):
            Workspace.open(tmp_path, wiki_root=root)
    with pytest.raises(AccessDenied):
        Workspace.open(tmp_path, wiki_root="../wiki")
