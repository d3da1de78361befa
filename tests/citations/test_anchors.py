"""Source anchors: unchanged, moved, changed or missing, and never a file outside of the roots."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from wikimcp.citations.anchors import SourceAnchor, SourceRoots, anchored_hash, check_anchor, parse_anchor
from wikimcp.citations.verdict import Status, Verdict

CODE = "import os\n\n\ndef pump() -> int:\n    return 40\n\n\ndef valve() -> int:\n    return 41\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "src"
    root.mkdir()
    (root / "pump.py").write_text(CODE)
    return root


def roots(*folders: Path) -> SourceRoots:
    return SourceRoots(folders, hidden=lambda file: file.suffix == ".md")


def verdict(text: str | None, anchor: str = "file:pump.py#L4-L5", *, span: str = "") -> Verdict:
    read = parse_anchor(anchor)
    assert read is not None
    return check_anchor(text, read, span=span, pinned="" if span else anchored_hash(CODE, read))


def test_an_anchor_is_read_as_written() -> None:
    assert parse_anchor("file:a/b%20c.py#L10-L20") == SourceAnchor("a/b c.py", (10, 20))
    assert parse_anchor("file:./a.py#L3") == SourceAnchor("a.py", (3, 3))
    assert SourceAnchor("a.py", (3, 3)).text == "file:a.py#L3"


@pytest.mark.parametrize(
    "text",
    [
        *("file:///etc/passwd#L1", "file:/etc/passwd#L1", "file:../up.py#L1", "file:a/../../up.py#L1"),
        *("file:a.py", "file:a.py#L0", "file:a.py#L9-L3", "file:.git/config#L1", "file:a/.env#L1"),
        *("file:#L1", "file:C:\\x#L1", "file:a%00.py#L1", "file:%2e%2e/a.py#L1", "src/a.py#L1"),
    ],
)
def test_a_path_that_leaves_the_root_or_is_hidden_is_no_anchor(text: str) -> None:
    assert parse_anchor(text) is None


def test_lines_are_unchanged_moved_changed_or_gone() -> None:
    assert verdict(CODE).status is Status.CURRENT
    moved = verdict("# new\n# lines\n" + CODE)
    assert (moved.status, moved.reason) == (Status.MOVED, "moved to lines 6-7")
    assert verdict(CODE.replace("return 40", "return 50")).status is Status.STALE
    assert verdict(None).status is Status.TARGET_MISSING
    assert verdict("import os\n").reason.startswith("no such span")
    twice = "def pump() -> int:\n    return 40\n"
    assert verdict("#\n" * 9 + twice + "#\n" + twice).status is Status.AMBIGUOUS


def test_a_quoted_span_decides_without_a_pin() -> None:
    assert verdict(CODE, span="return 40").status is Status.CURRENT
    assert verdict("\n" + CODE.replace("40", "4"), span="return 41").reason == "moved to lines 10-10"
    assert verdict(CODE, span="def pump() -> float:").nearest is not None


def test_only_files_below_a_root_are_read(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("secret")
    (root / "out.py").symlink_to(tmp_path / "secret.py")
    (root / "page.md").write_text("withheld")
    (root / "link.py").symlink_to(root / "page.md")
    (root / ".env").write_text("KEY")
    (root / "env.py").symlink_to(root / ".env")
    os.mkfifo(root / "pipe.py")
    (root / "folder.py").mkdir()
    sources = roots(root)
    assert sources.read("pump.py") == CODE
    for path in ("out.py", "page.md", "link.py", "env.py", "pipe.py", "folder.py", "none.py", "../secret.py"):
        assert sources.read(path) is None, path


def test_the_first_root_that_has_the_file_is_taken(root: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "pump.py").write_text("other")
    (other / "more.py").write_text("more")
    sources = roots(root, other)
    assert sources.read("pump.py") == CODE and sources.read("more.py") == "more"
    assert not roots() and roots().read("pump.py") is None
