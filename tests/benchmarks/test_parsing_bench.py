"""The bench of parsing counts what it parsed and gives both times."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.parsing import main


def test_both_parsers_are_measured_on_the_same_pages(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.md").write_text("---\ntitle: x\n---\n# A\n\n[b](b.md)\n\n## C\n", encoding="utf-8")
    (tmp_path / "b.md").write_text("[[a]] words\n", encoding="utf-8")
    assert main(["--corpus", str(tmp_path), "--runs", "1", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [facts[name] for name in ("pages", "sections", "links", "chunks")] == [2, 3, 2, 3]
    assert facts["seconds"] > 0 and facts["reference"] > 0
