"""What a walk over the vault means for the index, and what it must not be taken for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.tools.small_wiki import page_record
from wikimcp.index.changes import compare, compare_some, others_there
from wikimcp.index.page_record import PageRecord
from wikimcp.models import FileStamp, Scan
from wikimcp.vaults.detect import detect


def known(*paths: str) -> dict[str, PageRecord]:
    records = [page_record(rev, path, path, "") for rev, path in enumerate(paths, start=1)]
    return {record.path: record for record in records}


def walk(*paths: str, unread: tuple[str, ...] = ()) -> Scan:
    stamps = [record.stamp for record in known(*paths).values()]
    return Scan(tuple(stamps), frozenset(), unread)


def test_new_and_changed_files_are_read_and_missing_ones_are_gone() -> None:
    records = known("a.md", "b.md", "c.md")
    records["b.md"] = replace(records["b.md"], size=99)
    changes = compare(walk("a.md", "b.md", "d.md"), records)
    # The inode of d.md is that of c.md, as when a file was renamed: the path is what counts.
    assert changes.read == ("b.md", "d.md")
    assert [record.path for record in changes.removed] == ["c.md"]
    assert changes and not changes.degraded
    assert not compare(walk("a.md", "b.md"), known("a.md", "b.md"))


def test_an_empty_walk_after_many_pages_prunes_nothing_and_one_after_a_single_page_does() -> None:
    changes = compare(walk(), known("a.md", "b.md"))
    assert not changes and "looks empty" in changes.degraded
    assert [record.path for record in compare(walk(), known("a.md")).removed] == ["a.md"]


def test_nothing_below_a_folder_that_could_not_be_listed_is_pruned() -> None:
    records = known("a.md", "deep/b.md", "deep/er/c.md", "deeper/d.md")
    changes = compare(walk("a.md", unread=("deep",)), records)
    assert [record.path for record in changes.removed] == ["deeper/d.md"]
    assert "cannot be listed" in changes.degraded


def test_a_file_that_could_not_be_served_is_read_again_only_when_it_changes() -> None:
    scan = walk("a.md", "bad.md")
    stamp = scan.files[1]
    assert compare(scan, known("a.md"), {"bad.md": stamp}).read == ()
    assert compare(scan, known("a.md"), {"bad.md": replace(stamp, size=7)}).read == ("bad.md",)


def test_single_files_are_compared_with_what_is_known_of_them() -> None:
    records = known("a.md", "b.md", "c.md")
    stamps: dict[str, FileStamp | None] = {
        "a.md": records["a.md"].stamp,
        "b.md": replace(records["b.md"].stamp, mtime_ns=5),
        "c.md": None,
        "never.md": None,
        "new.md": records["a.md"].stamp,
    }
    changes = compare_some(stamps, records)
    assert changes.read == ("b.md", "new.md")
    assert [record.path for record in changes.removed] == ["c.md"]
    assert changes.absent == ("never.md",)
    assert compare_some({"a.md": records["a.md"].stamp}, records, reread=True).read == ("a.md",)


def test_a_page_is_gone_by_itself_only_where_others_are_still_there(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / "deep").mkdir(parents=True)
    (vault / "a.md").write_text("a")
    (vault / "deep" / "b.md").write_text("b")
    adapter = detect(vault)
    names = ["gone.md", "a.md", "deep/b.md"]
    assert others_there(adapter, {"gone.md"}, names)
    assert not others_there(adapter, set(names), names)
    (vault / "a.md").unlink()
    assert others_there(adapter, {"a.md"}, names)
    (vault / "deep" / "b.md").unlink()
    assert not others_there(adapter, {"a.md"}, names)


def test_a_page_that_cannot_be_looked_for_is_not_taken_to_be_deleted(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "a.md").write_text("a")
    (vault / "loop").symlink_to("loop")
    assert not others_there(detect(vault), {"loop/b.md"}, ["a.md", "loop/b.md"])
