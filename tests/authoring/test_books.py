"""The books of a wiki: indexes from heads, the log, the manifest."""

from __future__ import annotations

import json
import os
from datetime import date
from pathlib import Path

import pytest

from wikimcp.authoring.log import prepended
from wikimcp.authoring.manifest import (
    AnchorEntry,
    FolderEntry,
    Manifest,
    PageEntry,
    PageSource,
    RootEntry,
    load_manifest,
    save_manifest,
)
from wikimcp.authoring.pages import (
    DiskFiles,
    list_pages,
    regenerate_indexes,
    replace_region,
    source_path,
    source_resource,
)
from wikimcp.authoring.workspace import Workspace
from wikimcp.authoring.writing import transaction
from wikimcp.errors import WikiError


def page(title: str, about: str = "", **more: str) -> str:
    extra = "".join(f"{key}: {value}\n" for key, value in more.items())
    return f"---\ntype: Concept\ntitle: {title}\ndescription: {about}\n{extra}---\n\nText.\n"


def put(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def test_indexes_say_what_the_heads_say_and_a_second_time_nothing_changes(workspace: Workspace) -> None:
    wiki = workspace.wiki_root
    put(wiki, "concepts/b.md", page("Beta", "The second."))
    put(wiki, "concepts/a b.md", page('"[Alpha] \\\\ x"', '"The <!-- wikimcp:end index --> first."'))
    put(wiki, "concepts/deep/er/c.md", page("Gamma"))
    put(wiki, "concepts/secret.md", page("Hidden thing", "Not for all.", status="proposed"))
    put(wiki, "zoo/d.md", "No head at all.\n")
    put(wiki, "loose.md", page("Loose"))
    put(wiki, "hot.md", page("Hot"))
    put(wiki, ".hidden/x.md", page("Never"))
    with transaction(workspace) as change:
        assert regenerate_indexes(change) == ["index.md", "concepts/index.md", "zoo/index.md"]
    assert (wiki / "index.md").read_text() == (
        '---\nokf_version: "0.2"\n---\n\n<!-- wikimcp:begin index -->\n# Categories\n\n'
        "* [Concepts](concepts/index.md) - 3 pages. Ideas and patterns that several parts share.\n"
        "* [Zoo](zoo/index.md) - 1 page.\n\n# Pages\n\n* [Loose](loose.md)\n<!-- wikimcp:end index -->\n"
    )
    assert (wiki / "concepts/index.md").read_text() == (
        "<!-- wikimcp:begin index -->\n# Concepts\n\nIdeas and patterns that several parts share.\n\n"
        "* [\\[Alpha\\] \\\\ x](a%20b.md) - The &lt;!-- wikimcp:end index --> first.\n"
        "* [Beta](b.md) - The second.\n\n## Deep/er\n\n* [Gamma](deep/er/c.md)\n<!-- wikimcp:end index -->\n"
    )
    assert (wiki / "zoo/index.md").read_text().count("[d](d.md)") == 1
    with transaction(workspace) as change:
        assert regenerate_indexes(change) == []


def test_what_people_write_around_the_markers_stays_and_a_file_without_them_is_theirs(
    workspace: Workspace,
) -> None:
    wiki = workspace.wiki_root
    put(wiki, "concepts/a.md", page("Alpha"))
    put(
        wiki,
        "index.md",
        "# Ours\r\n\r\n<!-- wikimcp:begin index -->\r\nold\r\n<!-- wikimcp:end index -->\r\nafter\r\n",
    )
    put(wiki, "concepts/index.md", "# All by hand\n")
    with transaction(workspace) as change:
        assert regenerate_indexes(change) == ["index.md"]
    text = (wiki / "index.md").read_bytes().decode()
    assert text.startswith("# Ours\r\n\r\n<!-- wikimcp:begin index -->\r\n# Categories\r\n")
    assert text.endswith("<!-- wikimcp:end index -->\r\nafter\r\n")
    assert "\n" not in text.replace("\r\n", "")
    assert (wiki / "concepts/index.md").read_text() == "# All by hand\n"


def test_pages_are_listed_as_a_transaction_leaves_them(workspace: Workspace) -> None:
    put(workspace.wiki_root, "concepts/old.md", page("Old"))
    with transaction(workspace) as change:
        change.write("concepts/new.md", page("New"))
        change.remove("concepts/old.md")
        assert [found.title for found in list_pages(change)] == ["New"]
        assert [found.title for found in list_pages(DiskFiles(workspace))] == ["Old"]


def test_a_page_that_cannot_be_read_costs_itself_alone(workspace: Workspace) -> None:
    put(workspace.wiki_root, "concepts/good.md", page("Good"))
    os.mkfifo(workspace.wiki_root / "concepts" / "pipe.md")
    put(workspace.wiki_root, "concepts/huge.md", "x")
    os.truncate(workspace.wiki_root / "concepts" / "huge.md", 33 * 2**20)
    assert [found.title for found in list_pages(DiskFiles(workspace))] == ["Good"]


def test_a_region_is_replaced_only_where_it_is() -> None:
    text = "a\n<!-- wikimcp:begin x -->\nold\n<!-- wikimcp:end x -->\nb\n"
    assert replace_region(text, "x", "new\n") == text.replace("old", "new")
    assert replace_region(text, "y", "new\n") is None


def test_sources_are_named_relative_to_the_page_and_found_again(workspace: Workspace) -> None:
    resource = source_resource(workspace, "concepts/deep/a.md", "src/x y.py")
    assert resource == "../../../src/x%20y.py"
    assert source_path(workspace, "concepts/deep/a.md", resource) == "src/x y.py"
    assert source_path(workspace, "concepts/a.md", "https://example.org") is None
    assert source_path(workspace, "concepts/a.md", "../../../etc/passwd") is None


def test_the_log_grows_at_the_top_and_nothing_else_of_it_changes() -> None:
    first = prepended("", day=date(2026, 3, 1), verb="Init", message="Made\nit # so")
    assert first == "# Log\n\n## 2026-03-01\n\n* **Init**: Made it # so\n"
    second = prepended(first, day=date(2026, 3, 1), verb="Refresh", message="Two")
    assert second == "# Log\n\n## 2026-03-01\n\n* **Refresh**: Two\n* **Init**: Made it # so\n"
    third = prepended(second, day=date(2026, 3, 2), verb="Lint", message="Three")
    assert third == second.replace("# Log\n\n", "# Log\n\n## 2026-03-02\n\n* **Lint**: Three\n\n", 1)
    late = prepended(third, day=date(2026, 2, 1), verb="Late", message="Clock was wrong")
    assert late == third + "\n## 2026-02-01\n\n* **Late**: Clock was wrong\n"


def test_a_log_of_another_hand_keeps_its_form() -> None:
    text = "# History\r\n\r\nRead me.\r\n\r\n## 2026-02-01\r\n* **Old**: x\r\n"
    grown = prepended(text, day=date(2026, 2, 1), verb="New", message="y")
    assert grown == text.replace("* **Old**", "* **New**: y\r\n* **Old**")
    assert (
        prepended("# Log", day=date(2026, 2, 1), verb="V", message="m")
        == "# Log\n\n## 2026-02-01\n\n* **V**: m\n"
    )


FULL = Manifest(
    compiled_at="2026-03-14T12:00:00+00:00",
    roots=(RootEntry(".", "ab"),),
    folders=(FolderEntry(".", "ab"), FolderEntry("src", "cd", {"ä.py": "ef", 'odd "\\\n.py': "01"})),
    pages=(PageEntry("concepts/a.md", "id", "concepts", (PageSource("src/ä.py", "ef"),), "2026"),),
    anchors=(AnchorEntry("concepts/a.md", "src/ä.py", 1, 2, "ef", "f"), AnchorEntry("c.md", "s", 1, 1, "0")),
)


def test_a_manifest_reads_back_the_same_and_saving_it_again_writes_nothing(workspace: Workspace) -> None:
    with transaction(workspace, create=True) as change:
        assert save_manifest(change, FULL) is True
    loaded = load_manifest(workspace)
    assert loaded is not None
    assert (loaded.folders, loaded.pages, loaded.anchors) == (FULL.folders, FULL.pages, FULL.anchors)
    assert loaded.raw_roots == ("workspace=.",)
    with transaction(workspace) as change:
        assert save_manifest(change, loaded) is False


def test_each_source_stands_on_a_line_of_its_own_in_the_manifest(workspace: Workspace) -> None:
    with transaction(workspace, create=True) as change:
        save_manifest(change, FULL)
    text = (workspace.wiki_root / ".manifest.json").read_text()
    assert '   "ä.py": "ef"}}' in text.splitlines()
    assert json.loads(text)["folders"][1] == {
        "path": "src",
        "sha256": "cd",
        "files": {"ä.py": "ef", 'odd "\\\n.py': "01"},
    }


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "no JSON"),
        ("[]", "schema"),
        ('{"schema": 99}', "version 99"),
        ('{"schema": 1, "sources": []}', "version 1"),
        ('{"schema": 3, "folders": "another form"}', "version 3"),
        ('{"schema": 2, "folders": [{"path": "x"}]}', "folders.0"),
        ('{"schema": 2, "folders": [{"path": "x", "sha256": "", "files": {"a": 1}}]}', "folders.0.files.a"),
        (
            '{"schema": 2, "anchors": [{"page": "p", "path": "s", "start": "one", "end": 1, "sha256": ""}]}',
            "anchors.0.start",
        ),
        ('{"profile": "pkm", "schema": "one"}', "schema"),
    ],
)
def test_a_manifest_that_is_broken_or_of_another_version_is_named_and_kept(
    workspace: Workspace, text: str, named: str
) -> None:
    put(workspace.wiki_root, ".manifest.json", text)
    with pytest.raises(WikiError, match=named):
        load_manifest(workspace)
    assert (workspace.wiki_root / ".manifest.json").read_text() == text
