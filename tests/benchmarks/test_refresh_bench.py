"""The refresh benchmark counts what it says it counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.refresh import measure


def test_each_kind_of_refresh_is_measured_in_parts_that_make_up_the_whole(tmp_path: Path) -> None:
    first, unchanged, edited, full = measure(tmp_path, files=60, changed=2, runs=1)
    assert (first["hashed"], full["hashed"]) == (61, 61), "with the ignore list"
    assert edited["hashed"] >= 2, "more where files were written just before they were first hashed"
    assert (unchanged["written"], full["written"]) == (0, 0)
    assert edited["written"] >= 2
    for row in (first, unchanged, edited, full):
        assert sum(row["seconds"].values()) == pytest.approx(row["all"])
        assert 0 < row["scan_share"] < 1
        assert row["sources"] == 61
