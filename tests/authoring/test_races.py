"""The short form of benchmarks/authoring_races.py."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_two_writers_and_a_reader_lose_and_tear_nothing_though_they_are_killed() -> None:
    command = [sys.executable, "-m", "benchmarks.authoring_races", "--rounds", "8", "--seed", "5"]
    ran = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    counts = json.loads(ran.stdout)
    assert ran.returncode == 0, counts
    assert counts["rounds"] == 8 and counts["killed"] > 0 and counts["changes"] > 0
