"""`wikimcp refresh`, `retire` and `repoint`: what they print, as text and as JSON, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from wikimcp.cli import main

pytest.importorskip("tree_sitter", reason="the extra `symbols` is not installed")

PAGE = """\
---
type: Module
title: Tokens
sources:
  - id: code
    resource: ../../src/tokens.py#L1-L2
---

# Tokens
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "tokens.py").write_text("def make():\n    return 1\n")
    assert main(["init", "--profile", "codebase", "--no-skills", "--json"]) == 0
    (tmp_path / ".wiki" / "entities" / "tokens.md").write_text(PAGE)
    return tmp_path


def _json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return value


def test_refresh_prints_what_changed_and_what_is_left_to_do(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _json(capsys, "refresh")["status"] == "compiled"
    code = project / "src" / "tokens.py"
    code.write_text("import os\n\n\ndef make():\n    return 2\n")
    (project / "lib").mkdir()
    (project / "lib" / "a.py").write_text("")
    told = _json(capsys, "refresh", "--dry-run")
    assert (told["dryRun"], told["modified"], told["added"]) == (True, ["src/tokens.py"], ["lib/a.py"])
    assert "+    resource: ../../src/tokens.py#L4-L5\n" in told["changes"][0]["diff"]
    assert main(["refresh"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("refreshed: 2 sources, 1 page in ")
    for fact in ("src/tokens.py#L4-L5", "stale pages", "folders without a page", "lib", "log.md"):
        assert fact in out
    assert main(["refresh", "--full"]) == 0
    assert capsys.readouterr().out.startswith("clean: ")


def test_a_long_list_is_cut_for_people_and_whole_in_json(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(30):
        (project / "src" / f"m{number}.py").write_text("")
    assert main(["refresh", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "11 more changed sources are not shown; --json lists all" in out
    assert len(_json(capsys, "refresh")["added"]) == 31


def test_retire_and_repoint_print_the_pages(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _json(capsys, "refresh")
    (project / "src" / "keys.py").write_text("def make():\n    return 1\n")
    assert main(["repoint", "src/tokens.py", "src/keys.py"]) == 0
    out = capsys.readouterr().out
    assert "repointed: src/tokens.py to src/keys.py\n  entities/tokens.md: src/tokens.py\n" in out
    told = _json(capsys, "retire", "src/keys.py")
    assert told["retired"] == ["src/keys.py"]
    assert told["refresh"]["contradictions"] == []
    assert "retired: 20" in (project / ".wiki" / "entities" / "tokens.md").read_text()


def test_what_is_wrong_is_one_line_with_a_hint(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _json(capsys, "refresh")
    assert main(["retire", "src/token.py"]) == 1
    assert "Did you mean src/tokens.py?" in capsys.readouterr().err
    assert main(["retire", "../x"]) == 1
    assert "access_denied" in capsys.readouterr().err
    assert main(["repoint", "src/tokens.py"]) == 2
    assert "NEW" in capsys.readouterr().err
    (project / ".wiki" / ".manifest.json").write_text("{")
    assert main(["refresh"]) == 1
    err = capsys.readouterr().err
    assert ".manifest.json is broken" in err
    assert str(project) not in err


def test_without_a_wiki_refresh_says_how_to_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["refresh"]) == 1
    assert "`wikimcp init` makes one" in capsys.readouterr().err
