"""Retiring and repointing sources: manifest, pages, indexes, queue and log go along."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.authoring.compiled_wiki import CHECKS, Project, files_below, page_of, small_project
from wikimcp.authoring.freshness import freshness
from wikimcp.authoring.manifest import load_manifest
from wikimcp.authoring.pages import DiskFiles, read_page
from wikimcp.authoring.sources import repoint_sources, retire_sources
from wikimcp.authoring.workspace import Workspace
from wikimcp.errors import AccessDenied, BadArgument, NotFound, WikiError


@pytest.fixture
def project(workspace: Workspace) -> Project:
    made = small_project(workspace)
    made.source("src/deep/b.py", "def b(): ...\n")
    head = (
        "---\ntype: Module\ntitle: Forms\nsources: # all of them\n"
        "  - id: one  # first\n    resource: ../../src/checks.py  # checks\n    author: me\n"
        "  - { id: two, resource: '../../src/checks.py#L4-L6', title: Two }\n"
        "  - ../../src/deep/b.py\n"
        "  - resource: ../../src/deep/b.py#L1\n"
        "anchors: [src/checks.py#L9-L11]\n---\n\nProse `src/checks.py#L4-L6`.[^one]\n\n[^one]: Checks\n"
    )
    made.page("entities/forms.md", head)
    made.refresh()
    return made


def test_a_retired_source_is_marked_in_every_form_and_every_other_byte_stays(project: Project) -> None:
    before = project.text("entities/forms.md")
    (project.root / "src" / "checks.py").unlink()
    assert [c.about for c in project.refresh().contradictions] == ["src/checks.py"]
    report = retire_sources(project.workspace, ["src/checks.py"])
    expected = before.replace("  # checks\n", "  # checks\n    retired: 2026-03-14\n")
    expected = expected.replace("L4-L6', title", "L4-L6', retired: 2026-03-14, title")
    expected = expected.replace(
        "[src/checks.py#L9-L11]", '[{ resource: "src/checks.py#L9-L11", retired: 2026-03-14 }]'
    )
    assert project.text("entities/forms.md") == expected
    assert [(page.page, page.sources) for page in report.pages] == [
        ("entities/checks.md", ("src/checks.py",)),
        ("entities/forms.md", ("src/checks.py",)),
    ]
    assert report.refresh.contradictions == ()
    assert report.refresh.anchors == (), "what a claim rested on is not watched any more, in prose neither"
    assert "Nothing is open." in project.text("contradictions.md")
    assert "* **Retired**: src/checks.py, a source of 2 pages.\n" in project.text("log.md")
    manifest = load_manifest(project.workspace)
    assert manifest is not None
    assert [[source.path for source in page.sources] for page in manifest.pages] == [[], ["src/deep/b.py"]]
    assert {anchor.path for anchor in manifest.anchors} == {"src/deep/b.py"}
    page = read_page(DiskFiles(project.workspace), "entities/forms.md")
    assert page is not None
    assert freshness(project.workspace, manifest, page).state == "current"
    kept = files_below(project.wiki)
    assert project.refresh().changes == ()
    assert files_below(project.wiki) == kept


def test_retiring_does_not_make_a_page_fresh_for_its_other_sources(project: Project) -> None:
    project.source("src/deep/b.py", "def b(): return 1\n")
    assert project.refresh().stale == ("entities/forms.md",)
    report = retire_sources(project.workspace, ["src/checks.py"])
    assert report.refresh.stale == ("entities/forms.md",)


def test_a_folder_stands_for_all_in_it(project: Project) -> None:
    report = retire_sources(project.workspace, ["src"])
    assert [(page.page, page.sources) for page in report.pages] == [
        ("entities/checks.md", ("src/checks.py",)),
        ("entities/forms.md", ("src/checks.py", "src/deep/b.py")),
    ]
    assert project.text("entities/forms.md").count("retired: 2026-03-14") == 5
    with pytest.raises(NotFound, match="'src' is retired") as caught:
        retire_sources(project.workspace, ["src"])
    assert "Take `retired` out" in caught.value.hint
    with pytest.raises(NotFound, match="'src/deep/b.py' is retired"):
        repoint_sources(project.workspace, "src/deep/b.py", "src/checks.py")


def test_what_no_page_names_is_an_error_and_nothing_is_written(project: Project) -> None:
    before = files_below(project.wiki)
    with pytest.raises(NotFound, match="no page names 'src/check.py'") as caught:
        retire_sources(project.workspace, ["src/checks.py", "src/check.py"])
    assert "src/checks.py" in caught.value.hint
    with pytest.raises(BadArgument):
        retire_sources(project.workspace, [])
    for path in ("../outside.py", "/etc/passwd", "a\nb"):
        with pytest.raises(AccessDenied):
            retire_sources(project.workspace, [path])
        with pytest.raises(AccessDenied):
            repoint_sources(project.workspace, "src/checks.py", path)
    assert files_below(project.wiki) == before


def test_a_form_that_cannot_be_edited_is_said_and_nothing_is_written(project: Project) -> None:
    folded = "---\ntype: M\nsources:\n  - resource: >-\n      ../../src/deep/b.py\n---\n\nx\n"
    project.page("concepts/folded.md", folded)
    project.refresh()
    before = files_below(project.wiki)
    with pytest.raises(WikiError, match=r"concepts/folded.md names 'src/deep/b.py' in a form"):
        retire_sources(project.workspace, ["src/deep/b.py"])
    assert files_below(project.wiki) == before


def test_a_dry_run_of_either_writes_nothing(project: Project) -> None:
    project.source("lib/checks.py", CHECKS)
    before = files_below(project.root)
    dry = replace(project.workspace, dry_run=True)
    told = retire_sources(dry, ["src/checks.py"])
    assert any("retired: 2026-03-14" in change.diff for change in told.refresh.changes)
    told = repoint_sources(dry, "src/checks.py", "lib/checks.py")
    assert any("lib/checks.py" in change.diff for change in told.refresh.changes)
    assert files_below(project.root) == before


def test_a_source_that_moved_and_changed_is_repointed_and_its_lines_are_found_again(project: Project) -> None:
    before = project.text("entities/forms.md")
    (project.root / "src" / "checks.py").unlink()
    project.source("lib/checks.py", "import os\n\n" + CHECKS)
    assert [c.about for c in project.refresh().contradictions] == ["src/checks.py"]
    report = repoint_sources(project.workspace, "src/checks.py", "lib/checks.py")
    expected = before.replace("resource: ../../src/checks.py  #", "resource: ../../lib/checks.py  #")
    expected = expected.replace("'../../src/checks.py#L4-L6'", "'../../lib/checks.py#L6-L8'")
    expected = expected.replace("[src/checks.py#L9-L11]", "[lib/checks.py#L11-L13]")
    assert project.text("entities/forms.md") == expected
    assert [page.page for page in report.pages] == ["entities/checks.md", "entities/forms.md"]
    assert report.refresh.contradictions == ()
    assert set(report.refresh.stale) == {"entities/checks.md", "entities/forms.md"}, "its text did change"
    prose = report.refresh.anchors[-1]
    assert (prose.rewritten, prose.now) == (False, "lib/checks.py#L6-L8")
    log = "* **Repointed**: src/checks.py to lib/checks.py, a source of 2 pages.\n"
    assert log in project.text("log.md")
    kept = files_below(project.wiki)
    assert project.refresh().changes == ()
    assert files_below(project.wiki) == kept


def test_a_folder_is_repointed_with_all_in_it_even_while_it_is_still_there(project: Project) -> None:
    project.source("lib/checks.py", CHECKS)
    project.source("lib/deep/b.py", "def b(): ...\n")
    repoint_sources(project.workspace, "src", "lib")
    assert "src/" not in project.text("entities/forms.md").partition("Prose")[0]
    assert "resource: ../../lib/checks.py\n" in project.text("entities/checks.md")


def test_repointing_needs_a_source_that_is_named_and_one_that_is_there(project: Project) -> None:
    before = files_below(project.wiki)
    with pytest.raises(NotFound, match="no source at 'src/checkers.py'") as caught:
        repoint_sources(project.workspace, "src/checks.py", "src/checkers.py")
    assert "src/checks.py" in caught.value.hint
    with pytest.raises(NotFound, match="no page names 'src/other.py'"):
        repoint_sources(project.workspace, "src/other.py", "src/checks.py")
    with pytest.raises(BadArgument, match="are one"):
        repoint_sources(project.workspace, "src/checks.py", "./src/checks.py")
    assert files_below(project.wiki) == before


def test_a_path_with_brackets_is_no_link_in_the_log(project: Project) -> None:
    project.source("app/[[...slug]]/page.py", "x = 1\n")
    project.page(
        "entities/routes.md", page_of("Routes", ["../../app/%5B%5B...slug%5D%5D/page.py"], head="tags: [a]\n")
    )
    project.refresh()
    retire_sources(project.workspace, ["app/[[...slug]]/page.py"])
    assert r"**Retired**: app/\[\[...slug\]\]/page.py, a source of 1 page." in project.text("log.md")


def test_retiring_leaves_nothing_for_the_next_refresh_to_write(project: Project) -> None:
    project.source("src/deep/b.py", "def c(): ...\n")
    (project.root / "src" / "checks.py").unlink()
    assert project.refresh().stale == ("entities/checks.md", "entities/forms.md")
    retire_sources(project.workspace, ["src/checks.py"])
    before = files_below(project.wiki)
    report = project.refresh()
    assert report.status == "clean" and files_below(project.wiki) == before
    assert report.stale == ("entities/forms.md",), "the mark of a retired source is no new filing"


def test_repointing_leaves_nothing_for_the_next_refresh_to_write(project: Project) -> None:
    project.source("src/other.py", CHECKS + "\n\ndef more(): ...\n")
    project.refresh()
    repoint_sources(project.workspace, "src/checks.py", "src/other.py")
    before = files_below(project.wiki)
    assert project.refresh().status == "clean" and files_below(project.wiki) == before
