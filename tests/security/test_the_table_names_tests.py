"""SECURITY.md: every test that its table names exists, every threat has one, and no test here is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TESTS = HERE.parent
TEXT = (TESTS.parent / "SECURITY.md").read_text("utf-8")
ROWS = re.findall(r"^\| ([^|]+) \| ([^|]+) \| (`[^|]+`) \|$", TEXT, re.M)
NAMED = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def test_every_threat_has_a_defence_and_a_test() -> None:
    assert len(ROWS) > 20
    table = TEXT.split("## Threats and tests")[1].split("\n## ")[0]
    assert len(ROWS) == sum(line.startswith("| ") for line in table.splitlines()) - 1, "a row has no test"
    for threat, defence, tests in ROWS:
        assert defence.strip(), threat
        assert re.sub(NAMED, "", tests).strip() == "", f"{threat}: no name of a test: {tests}"


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMED.findall(TEXT))))
def test_every_test_that_the_table_names_exists(file: str, name: str) -> None:
    assert re.search(rf"^(async )?def {name}\(", (TESTS / file).read_text("utf-8"), re.M)


def test_every_file_of_tests_here_has_its_place_in_the_table() -> None:
    files = {f"security/{file.name}" for file in HERE.glob("test_*.py")} - {f"security/{Path(__file__).name}"}
    assert files <= {file for file, _ in NAMED.findall(TEXT)}
