"""The table of faults beside this file: every id has its row, and every test that a row names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LIST = ROOT.parent / "shared" / "cases" / "faults.md"
ROWS = re.findall(
    r"^\| (B-\d+) \| (.*?) \| (.*?) \| (.*?) \|$", (HERE / "README.md").read_text("utf-8"), re.M
)


def test_every_fault_has_one_row_that_names_tests_or_says_why_there_are_none() -> None:
    ids = [number for number, *_ in ROWS]
    assert len(ids) == len(set(ids)) == 77
    for number, _, tests, missing in ROWS:
        assert "::test_" in tests or missing, number


def test_the_rows_are_those_of_the_list() -> None:
    if not LIST.exists():
        pytest.skip("the list of fault cases is not beside the clone")
    listed = re.findall(r"^### (B-\d+) (.*)$", LIST.read_text("utf-8"), re.M)
    assert [(number, title) for number, title, *_ in ROWS] == listed


@pytest.mark.parametrize("number", [row[0] for row in ROWS])
def test_every_test_that_a_row_names_exists(number: str) -> None:
    (tests,) = [tests for found, _, tests, _ in ROWS if found == number]
    for file, name in re.findall(r"`([^`:]+)::([^`]+)`", tests):
        path = ROOT / file if "/" in file else HERE / file
        assert re.search(rf"^def {name}\(", path.read_text("utf-8"), re.M), f"{file}::{name}"


def test_no_test_of_a_fault_is_missing_from_its_row() -> None:
    rows = {number: tests for number, _, tests, _ in ROWS}
    for file in HERE.glob("test_*.py"):
        for name in re.findall(r"^def (test_b\d+_\w+)", file.read_text("utf-8"), re.M):
            for number in re.findall(r"(?<![a-z])b(\d+)_", name):
                assert f"::{name}`" in rows[f"B-{number}"], name
