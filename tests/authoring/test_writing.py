"""Transactions: all or nothing, compare and swap, nothing outside, recovery after a death in the middle."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from wikimcp.authoring import intent
from wikimcp.authoring.intent import content_hash
from wikimcp.authoring.workspace import Area, Workspace
from wikimcp.authoring.writing import transaction
from wikimcp.errors import AccessDenied, Conflict, Refused, WikiError


def files_under(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".state" not in path.parts
    }


def written(workspace: Workspace, **files: str) -> None:
    with transaction(workspace, create=True) as change:
        for name, text in files.items():
            change.write(f"{name}.md", text)


def test_what_a_transaction_writes_is_there_and_a_second_time_nothing_is_written(
    workspace: Workspace,
) -> None:
    written(workspace, a="one\n", b="two\n")
    stamps = {path: path.stat().st_mtime_ns for path in workspace.wiki_root.glob("*.md")}
    with transaction(workspace) as change:
        assert change.write("a.md", "one\n") is False
        assert change.write("b.md", "2\n") is True
        assert change.write("b.md", "two\n", expect=content_hash(b"2\n")) is True
    assert change.changes == ()
    assert {path: path.stat().st_mtime_ns for path in workspace.wiki_root.glob("*.md")} == stamps


def test_a_block_that_raises_writes_nothing(workspace: Workspace) -> None:
    written(workspace, a="one\n")
    with pytest.raises(ZeroDivisionError), transaction(workspace) as change:
        change.write("a.md", "changed\n")
        raise ZeroDivisionError
    assert files_under(workspace.wiki_root) == {"a.md": b"one\n"}


def test_a_write_that_expects_another_text_is_a_conflict_with_the_present_one(workspace: Workspace) -> None:
    written(workspace, a="one\n")
    right = content_hash(b"one\n")
    with pytest.raises(Conflict) as caught, transaction(workspace) as change:
        change.write("a.md", "two\n", expect=content_hash(b"stale"))
    assert (caught.value.current, caught.value.content_hash) == ("one\n", right)
    with pytest.raises(Conflict), transaction(workspace) as change:
        change.write("a.md", "two\n", expect=None)
    with pytest.raises(Conflict), transaction(workspace) as change:
        change.write("a.md", "two\n", expect="")
    with pytest.raises(Conflict), transaction(workspace) as change:
        change.write("new.md", "two\n", expect=right)
    with transaction(workspace) as change:
        change.write("a.md", "two\n", expect=right[:16])
    assert files_under(workspace.wiki_root) == {"a.md": b"two\n"}


def test_an_edit_by_hand_between_read_and_commit_is_a_conflict(workspace: Workspace) -> None:
    written(workspace, a="one\n", b="one\n")
    with pytest.raises(Conflict, match="b.md"), transaction(workspace) as change:
        change.write("a.md", "ours\n")
        change.write("b.md", "ours\n")
        (workspace.wiki_root / "b.md").write_text("theirs\n")
    assert files_under(workspace.wiki_root) == {"a.md": b"one\n", "b.md": b"theirs\n"}


def test_a_dry_run_says_what_would_be_written_and_touches_nothing(workspace: Workspace) -> None:
    written(workspace, a="one\n", gone="x\n")
    before = {path: path.stat().st_mtime_ns for path in workspace.wiki_root.rglob("*")}
    with transaction(replace(workspace, dry_run=True)) as change:
        change.write("a.md", "two")
        change.write("new/b.md", "b\n")
        change.remove("gone.md")
        assert change.read_text("a.md") == "two"
    shown = {item.file: item for item in change.changes}
    assert set(shown) == {".wiki/a.md", ".wiki/new/b.md", ".wiki/gone.md"}
    assert shown[".wiki/a.md"].before == content_hash(b"one\n")
    assert (
        shown[".wiki/a.md"].diff
        == "--- a/.wiki/a.md\n+++ b/.wiki/a.md\n@@ -1 +1 @@\n-one\n+two\n\\ No newline at end of file\n"
    )
    assert shown[".wiki/gone.md"].after is None
    assert {path: path.stat().st_mtime_ns for path in workspace.wiki_root.rglob("*")} == before
    assert not (workspace.wiki_root / "new").exists()


def test_nothing_is_written_outside_or_among_the_state(workspace: Workspace, tmp_path: Path) -> None:
    written(workspace, a="one\n")
    (workspace.wiki_root / "out.md").symlink_to(tmp_path / "outside.md")
    for path in ("../x.md", ".state/intent.json", "./.state/lock", "out.md", "/tmp/x.md"):
        with pytest.raises(AccessDenied), transaction(workspace) as change:
            change.write(path, "x\n")
    assert not (tmp_path / "outside.md").exists()
    assert not (tmp_path / "x.md").exists()


def test_the_rights_of_a_replaced_file_stay_and_folders_are_made(workspace: Workspace) -> None:
    written(workspace, a="one\n")
    (workspace.wiki_root / "a.md").chmod(0o640)
    with transaction(workspace) as change:
        change.write("a.md", "two\n")
        change.write("x/y/z.md", "deep\n")
        change.write("2026-s/source.txt", b"\xff\xfe", area=Area.STAGING, scanned=False)
    assert (workspace.wiki_root / "a.md").stat().st_mode & 0o777 == 0o640
    assert (workspace.wiki_root / "x/y/z.md").read_text() == "deep\n"
    assert (workspace.workspace_root / "raw/ingest/2026-s/source.txt").read_bytes() == b"\xff\xfe"


def test_a_full_disk_leaves_everything_as_it_was(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(workspace, a="one\n")
    real = os.fsync
    calls: list[int] = []

    def full(descriptor: int) -> None:
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    with pytest.raises(WikiError, match="No space left"), transaction(workspace) as change:
        change.write("a.md", "two\n")
        change.write("new/b.md", "b\n")
        monkeypatch.setattr(os, "fsync", full)
    assert files_under(workspace.wiki_root) == {"a.md": b"one\n"}
    assert not (workspace.wiki_root / "new").exists()
    assert sorted(path.name for path in (workspace.wiki_root / ".state").iterdir()) == [".gitignore", "lock"]


_LITTLE_ROOM = """
import resource, signal, sys
from wikimcp.authoring.workspace import Workspace
from wikimcp.authoring.writing import transaction
from wikimcp.errors import WikiError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    with transaction(Workspace.open(sys.argv[1])) as change:
        change.write("a.md", "small\\n")
        change.write("deep/er/b.md", "large\\n" * 9_000)
except WikiError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of the system")
def test_a_file_that_the_system_lets_no_longer_grow_leaves_nothing_behind(workspace: Workspace) -> None:
    written(workspace, a="one\n")
    command = [sys.executable, "-c", _LITTLE_ROOM, str(workspace.workspace_root)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("wiki: the disk refused the change (File too large)")
    assert files_under(workspace.wiki_root) == {"a.md": b"one\n"}
    assert sorted(path.name for path in workspace.wiki_root.iterdir()) == [".state", "a.md"]


def test_a_rename_that_fails_in_the_middle_is_taken_back(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(workspace, a="one\n", b="one\n")
    real = os.replace

    def stubborn(source: Path, target: Path) -> None:
        if str(target).endswith("b.md"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        real(source, target)

    with pytest.raises(WikiError, match="Permission denied"), transaction(workspace) as change:
        change.write("new/c.md", "c\n")
        change.write("a.md", "two\n")
        change.write("b.md", "two\n")
        monkeypatch.setattr(os, "replace", stubborn)
    assert files_under(workspace.wiki_root) == {"a.md": b"one\n", "b.md": b"one\n"}
    monkeypatch.undo()
    with transaction(workspace) as change:
        assert change.notes == ()
    assert files_under(workspace.wiki_root) == {"a.md": b"one\n", "b.md": b"one\n"}


_DIE = """
import os, signal, sys
from wikimcp.authoring import intent
from wikimcp.authoring.workspace import Workspace
from wikimcp.authoring.writing import transaction

workspace, point = Workspace.open(sys.argv[1]), int(sys.argv[2])
steps, real = [0], {name: getattr(os, name) for name in ("replace", "fsync", "unlink")}

def dying(name):
    def step(*arguments, **named):
        steps[0] += 1
        if steps[0] == point:
            os.kill(os.getpid(), signal.SIGKILL)
        return real[name](*arguments, **named)
    return step

with transaction(workspace) as change:
    change.write("a.md", "two\\n")
    change.write("new/b.md", "two\\n")
    change.remove("gone.md")
    for name in real:
        setattr(os, name, dying(name))
print(steps[0])
"""


def test_a_kill_at_any_step_leaves_all_of_a_change_or_nothing_of_it(tmp_path: Path) -> None:
    old = {"a.md": b"one\n", "gone.md": b"one\n"}
    new = {"a.md": b"two\n", "new/b.md": b"two\n"}
    seen: set[bool] = set()
    for point in range(1, 60):
        workspace = Workspace.open(tmp_path)
        with transaction(workspace, create=True) as change:
            change.write("a.md", "one\n")
            change.write("gone.md", "one\n")
            change.remove("new/b.md")
        code = [sys.executable, "-c", _DIE, str(tmp_path), str(point)]
        died = subprocess.run(code, capture_output=True, text=True, check=False)
        with transaction(workspace) as change:
            assert change.notes == ()
        left = files_under(workspace.wiki_root)
        assert left in (old, new), (point, left)
        seen.add(left == new)
        if died.returncode == 0:
            break
        assert died.returncode == -9, died.stderr
    assert died.returncode == 0
    assert seen == {True, False}


def _interrupted(workspace: Workspace) -> None:
    """Leave a change behind whose intent stands and of which nothing has been put in place."""
    folder = intent.state_folder(workspace)
    (folder / "staged").mkdir()
    (folder / "staged" / "0").write_text("ours\n")
    item = {
        "area": "wiki",
        "path": "a.md",
        "before": content_hash(b"one\n"),
        "after": content_hash(b"ours\n"),
    }
    (folder / "intent.json").write_text(json.dumps({"schema": 1, "files": [{**item, "staged": "0"}]}))


def test_a_page_that_changed_after_an_interrupted_change_keeps_its_text_and_ours_is_kept_aside(
    workspace: Workspace,
) -> None:
    written(workspace, a="theirs\n")
    _interrupted(workspace)
    with transaction(workspace) as change:
        assert change.read_text("a.md") == "theirs\n"
        (note,) = change.notes
    kept = list((workspace.wiki_root / ".state" / "kept-aside").iterdir())
    assert [file.read_text() for file in kept] == ["ours\n"]
    assert kept[0].name in note
    with transaction(workspace) as change:
        assert change.notes == ()


def test_a_broken_record_of_an_interrupted_change_is_an_error_that_names_it(workspace: Workspace) -> None:
    written(workspace, a="one\n")
    _interrupted(workspace)
    (workspace.wiki_root / ".state" / "intent.json").write_text("{")
    with pytest.raises(WikiError, match="intent.json"), transaction(workspace):
        raise AssertionError("the block must not be entered")
    assert files_under(workspace.wiki_root) == {"a.md": b"one\n"}


def test_a_new_secret_is_refused_and_one_that_was_there_is_not_asked_for_again(workspace: Workspace) -> None:
    written(workspace, a="call me\n")
    leak = "write to anna.schmidt@wikicorp.dev\n"
    with pytest.raises(Refused, match="email on line 2") as caught, transaction(workspace) as change:
        change.write("a.md", f"call me\n{leak}")
    assert "anna" not in str(caught.value).replace("anna…", "")
    with transaction(replace(workspace, allow_secrets=True)) as change:
        change.write("a.md", f"call me\n{leak}")
    with transaction(workspace) as change:
        change.write("a.md", f"call me soon\n{leak}")
    with pytest.raises(Refused), transaction(workspace) as change:
        change.write("a.md", f"{leak}{leak}")


def test_without_a_wiki_a_verb_says_how_to_make_one(workspace: Workspace) -> None:
    with pytest.raises(WikiError, match="init"), transaction(workspace):
        raise AssertionError("the block must not be entered")
    assert list(workspace.workspace_root.iterdir()) == []
