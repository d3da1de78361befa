"""What an answer says of a page's sources: where they lie now, as last refreshed."""

from __future__ import annotations

import pytest

from tests.authoring.compiled_wiki import Project, page_of, small_project
from wikimcp.authoring.freshness import source_lines
from wikimcp.authoring.manifest import load_manifest
from wikimcp.authoring.pages import DiskFiles, read_page
from wikimcp.authoring.workspace import Workspace


@pytest.fixture
def project(workspace: Workspace) -> Project:
    return small_project(workspace)


def test_lines_that_prose_names_by_an_older_path_are_linked_where_their_source_lies_now(
    project: Project,
) -> None:
    project.page(
        "entities/checks.md", page_of("Checks", ["../../src/checks.py"], "See src/checks.py#L4-L6.\n")
    )
    project.refresh()
    (project.root / "src" / "checks.py").rename(project.root / "src" / "tokens.py")
    project.refresh()
    page = read_page(DiskFiles(project.workspace), "entities/checks.md")
    assert page is not None
    assert "See src/checks.py#L4-L6.\n" in page.text
    (found,) = source_lines(project.workspace, load_manifest(project.workspace), page)
    assert (found.path, found.first, found.last) == ("src/tokens.py", 4, 6)
    assert found.to_json(project.workspace, links=True)["link"].endswith("/src/tokens.py#L4-L6")
