"""Scanning source roots: what is in, what is left out, and what need not be read again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from wikimcp.authoring.merkle import Tree, compare
from wikimcp.authoring.scanning import ScanRules, scan
from wikimcp.authoring.stamps import UNKNOWN, Stamped
from wikimcp.errors import TooLarge, WikiError

LATER = 3_600_000_000_000


def _write(root: Path, **files: str) -> None:
    for name, text in files.items():
        place = root / name.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")


def _files(tree: Tree) -> dict[str, str]:
    return dict(tree.files())


def test_files_are_known_by_the_hash_of_their_bytes(tmp_path: Path) -> None:
    _write(tmp_path, a__x="hello", y="")
    scanned = scan(tmp_path)
    assert _files(scanned.tree) == {
        "a/x": sha256(b"hello").hexdigest(),
        "y": sha256(b"").hexdigest(),
    }
    assert (scanned.hashed, scanned.notes) == (2, ())


def test_the_ignore_rules_are_those_of_git(tmp_path: Path) -> None:
    git = shutil.which("git")
    if git is None:
        pytest.skip("git is not installed")
    files = [
        "keep.py",
        "build/out.o",
        "build/keep.txt",
        "src/a.pyc",
        "src/a.py",
        "src/deep/a.log",
        "src/deep/keep.log",
        "docs/draft.md",
        "docs/sub/draft.md",
        "tmp/x",
        "other/tmp/x",
        "a[b].txt",
        "logs/1/x.txt",
        "logs/1/y.md",
        "sub/only/here.c",
        "sub/only/there.c",
        "space\\name.txt",
        "excluded.txt",
        "weird/!bang",
        "trail/x",
        "name/#hash",
    ]
    for name in files:
        _write(tmp_path, **{name: name})
    (tmp_path / ".gitignore").write_text(
        "*.pyc\nbuild/*\n!build/keep.txt\n/tmp\n*.log\n!keep.log\ndocs/**/draft.md\nlogs/*/*.txt\n"
        "a\\[b\\].txt\n# a comment\n\n\\!bang\n\\#hash\ntrail/   \n"
    )
    (tmp_path / "sub" / ".gitignore").write_text("only/*\n!/only/there.c\n")
    (tmp_path / "src" / "deep" / ".gitignore").write_text("*\n!.gitignore\n!keep.log\n")
    run = {"cwd": tmp_path, "check": True, "capture_output": True, "text": True}
    subprocess.run([git, "init", "-q"], **run)  # type: ignore[call-overload]
    (tmp_path / ".git" / "info" / "exclude").write_text("excluded.txt\n")
    listed = subprocess.run(
        [git, "-c", "core.excludesFile=/dev/null", "ls-files", "-z", "-co", "--exclude-standard"],
        **run,  # type: ignore[call-overload]
    )
    assert _files(scan(tmp_path).tree).keys() == {name for name in listed.stdout.split("\0") if name}


def test_folders_of_tools_and_what_is_named_are_left_out_at_any_depth(tmp_path: Path) -> None:
    _write(tmp_path, a__node_modules__x="1", a__b="2", wiki__page="3", a__wiki="4")
    _write(tmp_path, **{".venv__x": "5", ".git__config": "6", ".github__ci.yml": "7"})
    scanned = scan(tmp_path, rules=ScanRules(left_out=frozenset(("wiki",))))
    assert _files(scanned.tree).keys() == {"a/b", "a/wiki", ".github/ci.yml"}


def test_roots_are_scanned_once_and_one_that_is_named_even_if_it_is_ignored(tmp_path: Path) -> None:
    _write(tmp_path, src__a="1", src__in__b="2", raw__c="3", other__d="4", **{".gitignore": "raw/\n*.o\n"})
    _write(tmp_path, **{"src/x.o": "5"})
    scanned = scan(tmp_path, ["src", "src/in", "raw"])
    assert _files(scanned.tree).keys() == {"src/a", "src/in/b", "raw/c"}
    assert scanned.hashed == 3


def test_a_root_that_is_not_there_is_an_error_that_names_it_as_it_was_named(tmp_path: Path) -> None:
    with pytest.raises(WikiError, match="source root 'nowhere'") as caught:
        scan(tmp_path, ["nowhere"])
    assert str(tmp_path) not in str(caught.value)


def test_links_are_not_followed_and_what_is_no_file_is_not_opened(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    _write(root, real__x="1")
    _write(outside, secret="s")
    (root / "out").symlink_to(outside)
    (root / "file").symlink_to(outside / "secret")
    (root / "in").symlink_to(root / "real")
    (root / "loop").symlink_to(root)
    (root / "broken").symlink_to(root / "nowhere")
    os.mkfifo(root / "pipe")
    assert _files(scan(root).tree).keys() == {"real/x"}


def test_a_file_over_the_cap_is_named_and_no_source(tmp_path: Path) -> None:
    _write(tmp_path, small="1", large="12345")
    scanned = scan(tmp_path, rules=ScanRules(most_bytes=4))
    assert _files(scanned.tree).keys() == {"small"}
    assert [(path, note.code) for path, note in scanned.notes] == [("large", "source_too_large")]


def test_too_many_files_are_an_error_with_a_way_out(tmp_path: Path) -> None:
    _write(tmp_path, a="1", b="2", c="3")
    with pytest.raises(TooLarge, match="more than 2 files"):
        scan(tmp_path, rules=ScanRules(most_files=2))


def test_a_file_at_rest_is_not_read_again_and_one_with_another_stamp_is(tmp_path: Path) -> None:
    _write(tmp_path, a="1", b="2", c__d="3")
    first = scan(tmp_path, now_ns=time.time_ns() + LATER)
    assert (first.hashed, first.fresh_stamps) == (3, True)
    again = scan(tmp_path, known=first.stamped, now_ns=time.time_ns() + LATER)
    assert (again.hashed, again.fresh_stamps) == (0, False)
    assert again.tree.sha256 == first.tree.sha256
    os.utime(tmp_path / "a", ns=(5, 5))
    touched = scan(tmp_path, known=first.stamped, now_ns=time.time_ns() + LATER)
    assert (touched.hashed, touched.fresh_stamps) == (1, True)
    assert touched.tree.sha256 == first.tree.sha256


def test_a_change_that_keeps_size_and_time_is_seen(tmp_path: Path) -> None:
    _write(tmp_path, a="one")
    before = os.stat(tmp_path / "a")
    first = scan(tmp_path, now_ns=time.time_ns() + LATER)
    (tmp_path / "a").write_text("two")
    os.utime(tmp_path / "a", ns=(before.st_atime_ns, before.st_mtime_ns))
    after = os.stat(tmp_path / "a")
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    if after.st_ctime_ns == before.st_ctime_ns:
        pytest.skip("both writes fell into one tick of the file system's clock")
    second = scan(tmp_path, known=first.stamped)
    assert compare(first.tree, second.tree).modified == ("a",)


def test_a_file_that_was_just_written_is_read_again_next_time(tmp_path: Path) -> None:
    known: Stamped = {}
    for text in ("one", "two", "six"):  # as long as each other, and within one tick if the machine is quick
        _write(tmp_path, a=text)
        scanned = scan(tmp_path, known=known)
        known = scanned.stamped
        assert known[""].files()["a"] == (sha256(text.encode()).hexdigest(), UNKNOWN)
        assert scanned.fresh_stamps == (text == "one"), "nothing is written because of it"


def test_what_goes_while_the_scan_runs_was_never_there(tmp_path: Path) -> None:
    _write(tmp_path, a="1", b="2", c__d="3", e="4")
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.write_text("secret")

    def remove(stage: str, done: int, total: int) -> None:
        if done == 0:
            (tmp_path / "b").unlink()
            shutil.rmtree(tmp_path / "c")
            (tmp_path / "e").unlink()
            (tmp_path / "e").symlink_to(outside)

    scanned = scan(tmp_path, progress=remove)
    assert _files(scanned.tree).keys() == {"a"}
    assert scanned.notes == ()


def test_a_name_that_is_no_unicode_is_a_file_like_any_other(tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/n\xff.py")).write_text("x")
    except OSError:
        pytest.skip("this file system takes no such name")
    assert _files(scan(tmp_path).tree).keys() == {"n\\xff.py"}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Yield a folder that any user may walk into."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def test_what_cannot_be_read_keeps_what_was_known_of_it(open_folder: Path) -> None:
    _write(open_folder, a="1", shut="2", closed__x="3")
    (open_folder / "shut").chmod(0)
    (open_folder / "closed").chmod(0)
    code = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from wikimcp.authoring.scanning import scan
from wikimcp.authoring.stamps import UNKNOWN, StampedFolder
if os.getuid() == 0:
    os.setuid(65534)
known = {{
    "": StampedFolder.of({{"shut": ("s" * 64, UNKNOWN)}}),
    "closed": StampedFolder.of({{"x": ("x" * 64, UNKNOWN)}}),
}}
for files in (known, {{}}):
    found = scan(Path({str(open_folder)!r}), known=files)
    print(sorted((path, digest[0]) for path, digest in found.tree.files() if path != "a"))
    print([(path, note.code) for path, note in found.notes])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    notes = "[('closed', 'source_unreadable'), ('shut', 'source_unreadable')]"
    assert done.stdout.splitlines() == ["[('closed/x', 'x'), ('shut', 's')]", notes, "[]", notes]
