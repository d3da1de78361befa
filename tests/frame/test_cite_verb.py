"""`wikimcp cite verify`: what CI sees of citations, in the vault and in files outside of it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.index.test_git_history import ENV
from wikimcp.cli.run import main
from wikimcp.markdown.identity import derived_id

PUMP = "---\nid: 01PUMP\n---\n# Pump\n\nThe valve closes at 40 C.\n"
GOOD = '[when](cite://01PUMP/Pump "closes at 40 C")'
BAD = '[when](cite://01PUMP/Pump "closes at 41 C")'


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    vault = tmp_path / "docs"
    vault.mkdir()
    (vault / "pump.md").write_text(PUMP)
    (vault / "note.md").write_text(f"# Note\n\n{GOOD}\n")
    monkeypatch.setenv("WIKIMCP_VAULT", str(vault))
    monkeypatch.setenv("WIKIMCP_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return vault


def test_all_current_is_exit_code_0(vault: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cite", "verify"]) == 0
    assert "1 citations checked, 0 not current" in capsys.readouterr().out


def test_one_that_does_not_hold_is_exit_code_1_and_a_row(
    vault: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (vault / "bad.md").write_text(f"# Bad\n\n{BAD}\n\n[gone](cite://NONE)\n")
    assert main(["cite", "verify"]) == 1
    out = capsys.readouterr().out
    assert "bad:3" in out and "bad:5" in out and "3 citations checked, 2 not current" in out
    assert "nearest" in out and "closes at 40 C" in out
    assert main(["cite", "verify", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["counts"] == {"current": 1, "stale": 1, "target_missing": 1}
    assert [row["status"] for row in told["citations"]] == ["stale", "target_missing"]
    assert main(["cite", "verify", "note"]) == main(["cite", "verify", "docs/note.md"]) == 0


def test_files_outside_of_the_vault_are_read_where_they_are(
    vault: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"# Read me\n\n{GOOD} and {GOOD}\n\n`{BAD}`\n\n{BAD}\n")
    assert main(["cite", "verify", "README.md", "note", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["checked"], told["counts"]) == (4, {"current": 3, "stale": 1})
    assert [(row["source"], row["line"]) for row in told["citations"]] == [("README.md", 7)]


def test_many_citations_come_in_parts(
    vault: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = "".join(f'\n[x](cite://01PUMP/Pump "words {n}")\n' for n in range(250))
    (vault / "many.md").write_text(f"# Many\n{many}")
    (tmp_path / "many.md").write_text(f"# Many\n{many}")
    assert main(["cite", "verify", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["checked"], len(told["citations"])) == (251, 250)
    assert main(["cite", "verify", "many.md", "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["citations"]) == 250


def test_a_page_that_is_none_is_an_error(vault: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cite", "verify", "nopage"]) == 1
    assert "not_found" in capsys.readouterr().err
    assert main(["cite", "look"]) == 2


def test_a_fresh_clone_tells_a_renamed_page_from_a_missing_one(
    vault: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")

    def git(*words: str) -> None:
        subprocess.run(["git", *words], cwd=tmp_path, env=dict(ENV), check=True, capture_output=True)

    old = derived_id("engine")
    (vault / "engine.md").write_text("# Engine\n\nIt runs at 90 C and no more than that.\n")
    (vault / "bad.md").write_text(f'# Bad\n\n[hot](cite://{old}/Engine "runs at 90 C")\n')
    git("init", "-q")
    git("add", "docs")
    git("commit", "-q", "-m", "First")
    git("mv", "docs/engine.md", "docs/motor.md")
    git("commit", "-q", "-m", "Renamed")
    assert main(["cite", "verify", "--json"]) == 1
    [row] = json.loads(capsys.readouterr().out)["citations"]
    assert (row["status"], row["movedTo"]["slug"], row["currentVersion"]) == ("moved", "motor", 2)
    for verb in (["page", "motor"], ["search", "runs at 90 C"], ["bundle", "runs at 90 C"]):
        assert main([*verb, "--json"]) == 0
        assert '"version": 2' in capsys.readouterr().out.replace("motor @ 2", '"version": 2')
