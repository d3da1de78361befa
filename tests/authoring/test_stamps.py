"""Stamps: what spares a file from being read again, and what their file may look like."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from wikimcp.authoring.scanning import ScanRules, scan
from wikimcp.authoring.stamps import (
    UNKNOWN,
    Known,
    StampedFolder,
    at_rest,
    load_stamps,
    save_stamps,
)
from wikimcp.authoring.workspace import Workspace

FILES: dict[str, Known] = {
    "a.py": (sha256(b"a").hexdigest(), (1, 2, 3, 2**64 - 1)),
    "b ä.py": (sha256(b"b").hexdigest(), UNKNOWN),
}


def test_a_file_is_at_rest_when_its_next_change_must_show_on_the_clock() -> None:
    second = 1_000_000_000
    fine = (1, 100 * second + 7, 100 * second + 7, 1)
    assert not at_rest(fine, 100 * second + 10_000_000)
    assert at_rest(fine, 100 * second + 100_000_000)
    coarse = (1, 100 * second, 100 * second, 1)
    assert not at_rest(coarse, 101 * second)
    assert at_rest(coarse, 103 * second)
    restored = (1, 5 * second, 100 * second + 7, 1)
    assert not at_rest(restored, 100 * second + 10_000_000), "its content came later than its time says"


def test_stamps_read_back_as_they_were_kept(tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path)
    stamped = {"": StampedFolder.of(FILES), "deep/er": StampedFolder.of({"a.py": FILES["a.py"]})}
    save_stamps(workspace, stamped)
    assert load_stamps(workspace) == stamped
    assert load_stamps(workspace)[""].files() == FILES
    assert load_stamps(workspace)[""].by_name() == {name: digest for name, (digest, _) in FILES.items()}


def test_a_folder_is_met_only_with_the_same_names_and_stamps() -> None:
    folder = StampedFolder.of({"a.py": FILES["a.py"]})
    assert folder.met([("a.py", (1, 2, 3, 2**64 - 1))])
    others = [("a.py", (1, 2, 4, 2**64 - 1)), ("b.py", (1, 2, 3, 2**64 - 1))]
    assert not any(folder.met([other]) for other in others)
    assert not folder.met([])
    assert not StampedFolder.of({"b": FILES["b ä.py"]}).met([("b", (0, 0, 0, 0))])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"schema": 1, "folders": {}}',
        '{"schema": 2, "folders": []}',
        '{"schema": 2, "folders": {"a": "x"}}',
        '{"schema": 2, "folders": {"a": ["x", "y", "z"]}}',
        '{"schema": 2, "folders": {"a": [1, 2, 3]}}',
        '{"schema": 2, "folders": {"a": ["x/y", "", ""]}}',
        f'{{"schema": 2, "folders": {{"a": ["x", {[0] * 64}, "{"A" * 43}="]}}}}',
        "[" * 100_000,
    ],
)
def test_a_file_of_stamps_that_is_damaged_costs_time_and_is_no_error(tmp_path: Path, text: str) -> None:
    workspace = Workspace.open(tmp_path)
    save_stamps(workspace, {"": StampedFolder.of(FILES)})
    (workspace.wiki_root / ".state" / "stamps.json").write_text(text)
    assert load_stamps(workspace) == {}


def test_a_name_that_stands_twice_in_a_damaged_file_breaks_no_scan(tmp_path: Path) -> None:
    workspace = Workspace.open(tmp_path)
    (tmp_path / "a").write_text("barley")
    twice = StampedFolder("a/a", "0" * 128, b"\0" * 64)
    assert twice.whole
    save_stamps(workspace, {"": twice})
    found = scan(tmp_path, known=load_stamps(workspace), rules=ScanRules(frozenset((".wiki",))))
    assert dict(found.tree.files()) == {"a": sha256(b"barley").hexdigest()}
