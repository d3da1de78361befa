"""Refreshing when things go wrong: sources that vanish, full disks, broken ledgers, links, other writers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.authoring.compiled_wiki import CHECKS, Project, files_below, page_of, small_project
from wikimcp.authoring.manifest import MANIFEST, load_manifest
from wikimcp.authoring.merkle import Tree
from wikimcp.authoring.pages import DiskFiles, list_pages
from wikimcp.authoring.refresh import refresh_wiki, refresh_within, scan_sources
from wikimcp.authoring.stamps import StampedFolder, load_stamps, save_stamps
from wikimcp.authoring.workspace import Workspace
from wikimcp.authoring.writing import MOST_BYTES, transaction
from wikimcp.errors import Conflict, WikiError

pytest.importorskip("tree_sitter", reason="the extra `symbols` is not installed")

ROOT = Path(__file__).parents[2]
REGION = "<!-- wikimcp:begin symbols -->\n<!-- wikimcp:end symbols -->\n"


@pytest.fixture
def project(workspace: Workspace) -> Project:
    return small_project(workspace)


def test_a_source_that_goes_between_the_scan_and_the_pages_is_gone_and_all_else_is_refreshed(
    project: Project,
) -> None:
    project.source("src/other.py", "def other(): ...\n")
    project.page("entities/checks.md", page_of("Checks", ["../../src/checks.py#L4-L6"]))
    project.page("entities/other.md", page_of("Other", ["../../src/other.py#L1"]))

    def remove(stage: str, done: int, total: int) -> None:
        if stage == "pages" and done == 0:
            (project.root / "src" / "checks.py").unlink()

    report = refresh_wiki(project.workspace, progress=remove)
    assert [(c.kind, c.about) for c in report.contradictions] == [("source_gone", "src/checks.py")]
    assert [page.page for page in report.affected] == ["entities/checks.md", "entities/other.md"]
    again = project.refresh()
    assert again.diff.deleted == ("src/checks.py",)
    assert [(c.kind, c.about) for c in again.contradictions] == [("source_gone", "src/checks.py")]
    assert project.refresh().changes == ()


def test_a_full_disk_leaves_the_wiki_as_it_was_and_the_next_refresh_does_it_all(project: Project) -> None:
    project.refresh()
    project.page("entities/checks.md", page_of("Checks", ["../../src/checks.py"], REGION))
    project.source("src/checks.py", "".join(f"def function_number_{i}(): ...\n" for i in range(300)))
    before = files_below(project.wiki)
    code = f"""
import resource, signal, sys
sys.path.insert(0, {str(ROOT)!r})
from wikimcp.authoring.refresh import refresh_wiki
from wikimcp.authoring.workspace import Workspace
from wikimcp.errors import WikiError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4_000, 4_000))
try:
    refresh_wiki(Workspace.open({str(project.root)!r}))
except WikiError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "the disk refused the change" in done.stdout
    assert str(project.root) not in done.stdout
    assert files_below(project.wiki) == before
    report = project.refresh()
    assert report.diff.modified == ("src/checks.py",)
    assert "function_number_299" in project.text("entities/checks.md")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"schema": 1, "sources": 7}',
        '{"schema": 1, "sources": [{"path": "a"}]}',
        '{"schema": 99}',
        '{"schema": "one"}',
        "\xff",
    ],
)
def test_a_broken_manifest_or_one_of_another_version_is_an_error_and_nothing_is_written(
    project: Project, text: str
) -> None:
    project.refresh()
    (project.wiki / MANIFEST).write_bytes(text.encode("latin-1"))
    project.source("src/checks.py", CHECKS + "# more\n")
    before = files_below(project.wiki)
    with pytest.raises(WikiError) as caught:
        project.refresh()
    assert MANIFEST in caught.value.message
    assert caught.value.hint
    assert {
        path: kept for path, kept in files_below(project.wiki).items() if not path.startswith(".state")
    } == {path: kept for path, kept in before.items() if not path.startswith(".state")}
    (project.wiki / MANIFEST).unlink()
    assert project.refresh().first, "without it all is compiled anew, as the hint says"


def test_links_lead_neither_out_of_the_sources_nor_out_of_the_wiki(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret.py").write_text("def secret(): ...\n")
    (outside / "page.md").write_text(page_of("Outside", ["../../src/checks.py"], REGION))
    (project.root / "src" / "secret.py").symlink_to(outside / "secret.py")
    (project.root / "src" / "out").symlink_to(outside)
    (project.wiki / "entities" / "outside.md").symlink_to(outside / "page.md")
    (project.wiki / "away").symlink_to(outside)
    listed = ["../../src/secret.py", "../../src/out/secret.py"]
    project.page("entities/checks.md", page_of("Checks", listed, f"`src/secret.py#L1`\n\n{REGION}"))
    before = files_below(outside)
    report = project.refresh()
    assert report.diff.added == ("src/checks.py",)
    assert [c.about for c in report.contradictions] == ["src/out/secret.py", "src/secret.py"]
    assert "def secret" not in project.text("entities/checks.md")
    assert "No symbols." in project.text("entities/checks.md")
    assert files_below(outside) == before


def test_a_page_that_somebody_edits_meanwhile_is_read_again_and_keeps_the_edit(project: Project) -> None:
    project.page("entities/checks.md", page_of("Checks", ["../../src/checks.py"], REGION))
    edits: list[int] = []

    def edit(stage: str, done: int, total: int) -> None:
        if stage == "pages" and done == total and not edits:
            edits.append(done)
            text = project.text("entities/checks.md").replace(REGION, f"A late word.\n\n{REGION}")
            project.page("entities/checks.md", text)

    refresh_wiki(project.workspace, progress=edit)
    text = project.text("entities/checks.md")
    assert "A late word." in text
    assert "`verify`" in text


def test_a_page_that_is_edited_time_after_time_is_a_conflict_and_no_word_of_it_is_lost(
    project: Project,
) -> None:
    project.page("entities/checks.md", page_of("Checks", ["../../src/checks.py"], REGION))
    edits: list[int] = []

    def edit(stage: str, done: int, total: int) -> None:
        if stage == "pages" and done == total:
            edits.append(done)
            project.page("entities/checks.md", project.text("entities/checks.md") + f"Edit {len(edits)}.\n")

    with pytest.raises(Conflict, match=r"entities/checks.md"):
        refresh_wiki(project.workspace, progress=edit)
    assert len(edits) == 3
    assert project.text("entities/checks.md").endswith("Edit 1.\nEdit 2.\nEdit 3.\n")
    assert "verify" not in project.text("entities/checks.md")
    assert load_manifest(project.workspace) is None, "nothing was written at all"
    assert "verify" in (project.refresh(), project.text("entities/checks.md"))[1]


def test_a_page_that_is_not_unicode_is_named_and_left_and_its_entry_is_kept(project: Project) -> None:
    project.refresh()
    known = load_manifest(project.workspace)
    place = project.wiki / "entities" / "checks.md"
    place.write_bytes(place.read_bytes() + b"caf\xe9\n")
    data = place.read_bytes()
    project.source("src/checks.py", CHECKS + "# more\n")
    report = project.refresh()
    assert [(note.where, note.code) for note in report.notes] == [("entities/checks.md", "page_unreadable")]
    assert place.read_bytes() == data
    after = load_manifest(project.workspace)
    assert known is not None
    assert after is not None
    assert after.pages == known.pages


def test_a_page_that_cannot_be_read_stops_nothing_and_keeps_its_entry(project: Project) -> None:
    project.page("entities/large.md", page_of("Large", ["../../src/checks.py#L4-L6"]))
    project.refresh()
    known = load_manifest(project.workspace)
    os.truncate(project.wiki / "entities" / "large.md", MOST_BYTES + 1)
    project.source("src/checks.py", CHECKS + "# more\n")
    report = project.refresh()
    assert [(note.where, note.code) for note in report.notes] == [("entities/large.md", "page_unreadable")]
    assert report.stale == ("entities/checks.md",)
    after = load_manifest(project.workspace)
    assert known is not None
    assert after is not None
    assert (after.pages, after.anchors) == (known.pages, known.anchors)


def test_a_process_that_dies_in_the_middle_is_completed_by_the_next(project: Project) -> None:
    project.refresh()
    project.page("entities/checks.md", page_of("Checks", ["../../src/checks.py"], REGION))
    project.source("src/checks.py", CHECKS + "\n\ndef more(): ...\n")
    code = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from wikimcp.authoring.refresh import refresh_wiki
from wikimcp.authoring.workspace import Workspace
replaced = os.replace
def replace_and_die(source, target, **more):
    replaced(source, target, **more)
    if str(target).endswith("checks.md"):
        os._exit(9)
os.replace = replace_and_die
refresh_wiki(Workspace.open({str(project.root)!r}))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 9, done.stderr
    assert "`more`" in project.text("entities/checks.md")
    report = project.refresh()
    assert (report.diff.modified, report.changes) == ((), ()), "it was all completed before this one looked"
    manifest = load_manifest(project.workspace)
    assert manifest is not None
    assert manifest.pages[0].sha256 == list_pages(DiskFiles(project.workspace))[0].content_hash


def test_broken_stamps_cost_time_and_nothing_else(project: Project) -> None:
    project.refresh()
    stamps = project.wiki / ".state" / "stamps.json"
    for text in (
        "",
        "{",
        '{"schema": 1}',
        '{"schema": 1, "files": {"src/checks.py": ["x"]}}',
        '{"schema": 0}',
        "[" * 9999,
    ):
        stamps.write_text(text)
        report = project.refresh()
        assert (report.changes, report.hashed) == ((), 1)


def test_stamps_that_another_machine_wrote_are_not_believed(project: Project) -> None:
    project.refresh()
    foreign = StampedFolder.of({"checks.py": ("0" * 64, (5, 1, 2, 3))})
    save_stamps(project.workspace, {**load_stamps(project.workspace), "src": foreign})
    assert project.refresh().diff.modified == ()


def test_a_head_that_cannot_be_read_safely_is_not_edited(project: Project) -> None:
    bombs = {
        "open": "---\ntype: Module\nsources:\n  - resource: ../../src/checks.py#L4-L6\n\n# No end\n",
        "bad": "---\ntype: [Module\nsources:\n  - resource: ../../src/checks.py#L4-L6\n---\n\nx\n",
        "folded": "---\ntype: M\nsources:\n  - resource: >-\n      ../../src/checks.py#L4-L6\n---\n\nx\n",
        "bomb": "---\na: &a [x, x]\nb: &b [*a, *a]\nsources: [*b, *b]\n---\n\nx\n",
        "deep": "---\nsources: " + "[" * 2_000 + "]" * 2_000 + "\n---\n\nx\n",
        "empty": "",
        "list": "---\n- sources\n---\n\nx\n",
    }
    for name, text in bombs.items():
        project.page(f"concepts/{name}.md", text)
    project.refresh()
    project.source("src/checks.py", "import os\n" + CHECKS)
    project.refresh()
    assert {name: project.text(f"concepts/{name}.md") for name in bombs} == bombs


def test_a_missing_root_is_an_error_before_anything_is_written(project: Project) -> None:
    project.refresh()
    before = files_below(project.wiki)
    gone = Workspace.open(project.root, raw_roots=("src",))
    shutil.move(project.root / "src", project.root / "lib")
    with pytest.raises(WikiError, match="'src' is missing"):
        refresh_wiki(gone)
    assert files_below(project.wiki) == before


def test_a_wiki_is_no_source_of_itself(project: Project) -> None:
    with pytest.raises(WikiError, match="lies in the wiki itself"):
        refresh_wiki(Workspace.open(project.root, raw_roots=(".wiki/entities",)))


def test_a_wiki_outside_of_the_workspace_and_several_roots_work(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root, wiki = tmp_path_factory.mktemp("project"), tmp_path_factory.mktemp("wiki")
    for name in ("src", "docs", "other"):
        (root / name).mkdir()
        (root / name / "a.py").write_text(CHECKS)
    workspace = Workspace.open(root, wiki_root=wiki, raw_roots=("code=src", "docs"))
    project = Project(workspace)
    relative = os.path.relpath(root / "src" / "a.py", wiki / "entities")
    project.page("entities/a.md", page_of("A", [f"{relative}#L4-L6"], "`src/a.py#L4-L6`\n"))
    report = project.refresh()
    assert report.diff.added == ("docs/a.py", "src/a.py")
    project.source("src/a.py", "import os\n" + CHECKS)
    project.refresh()
    assert f"resource: {relative}#L5-L7\n" in project.text("entities/a.md")
    assert project.refresh().changes == ()


def test_a_tree_from_an_earlier_moment_can_be_refreshed_against(project: Project) -> None:
    scanned = scan_sources(project.workspace)
    (project.root / "src" / "checks.py").unlink()
    with transaction(project.workspace) as change:
        report = refresh_within(change, scanned.tree)
    assert report.sources == 1
    with transaction(project.workspace) as change:
        assert refresh_within(change, Tree()).diff.deleted == ("src/checks.py",)


def test_a_secret_in_the_head_of_one_page_stops_no_refresh_and_is_repeated_nowhere(project: Project) -> None:
    key, mail = "AKIA" + "Q7RT2WXNP4LM8HVB", "anna.schmidt@wikicorp.dev"
    mine = page_of(f"Key {key}", [], head=f"description: Write to {mail}.\n").replace("sources:\n", "")
    project.page("entities/one.md", mine)
    project.page("entities/two.md", mine)
    project.page(f"entities/{key}.md", page_of("Three", [], head="tags: [a]\n").replace("sources:\n", ""))
    report = project.refresh()
    assert [c.about for c in report.contradictions] == [f"title: key {key}".lower()]
    index, queue = project.text("entities/index.md"), project.text("contradictions.md")
    assert "* [one](one.md)\n* [two](two.md)\n" in index and "[Checks](checks.md)" in index
    assert "[(left out: it looks like a secret)](entities/one.md), line 3" in queue
    for book in (index, queue, project.text("log.md"), project.text("index.md")):
        assert key not in book and mail not in book
    assert project.refresh().status == "clean"
