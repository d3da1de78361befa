"""The measure of `traverse`: it walks from real pages and tells both passes."""

from __future__ import annotations

import json

import pytest

from benchmarks.processes import ROOT
from benchmarks.traverse import main


def test_both_passes_over_the_pages_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--corpus", str(ROOT / "sample_vault"), "--copies", "1", "--every", "5"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert 8 <= told["starts"] <= told["pages"] // 5 + 1
    assert told["edges_p50"] > 3
    for name in ("first_pass_ms", "second_pass_ms"):
        assert 0 < told[name]["p50"] <= told[name]["p95"] <= told[name]["p99"]
