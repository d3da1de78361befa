"""The verbs of the compiled wiki from the command line, and its section of the README."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.verb_runs import Run, runs
from wikimcp.authoring_tools.registry import TOOLS
from wikimcp.cli.authoring_verbs import AUTHORING_VERBS, MISSING_VERBS

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SECTION = README.partition("\n## The compiled wiki\n")[2].partition("\n## ")[0]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in a project with one source; returns exit code, stdout and stderr."""
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "valve.py").write_text("def close(valve):\n    return valve.shut()\n")
    monkeypatch.chdir(project)
    for name, value in {"STATE_DIR": str(tmp_path / "state"), "EMBEDDER": "none"}.items():
        monkeypatch.setenv(f"WIKIMCP_{name}", value)

    return runs(capsys)


def asked(run: Run, *words: str, code: int = 0) -> dict[str, Any]:
    done, out, err = run(*words, "--json")
    assert (done, err) == (code, "")
    value: dict[str, Any] = json.loads(out)
    return value


def test_the_commands_of_the_readme_run_in_their_order(run: Run) -> None:
    (block,) = re.findall(r"```sh\n(.*?)```", SECTION, re.DOTALL)
    for line in block.strip().splitlines():
        program, verb, *words = shlex.split(re.sub(r"\s+# .*", "", line))
        assert program == "wikimcp"
        if verb == "serve" or verb in MISSING_VERBS:
            continue
        code, out, err = run(verb, *words)
        assert (code, err) == (0, ""), line
        assert out.strip()


def test_the_readme_names_every_tool_and_every_verb() -> None:
    rows = re.findall(r"^\| (`wiki_.*?`) \|", SECTION, re.MULTILINE)
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(TOOLS)
    line = README.partition("for the compiled wiki `")[2].partition("`")[0]
    assert set(line.split()) - {"|"} == {*AUTHORING_VERBS, *MISSING_VERBS}


def test_init_says_what_it_made_and_a_second_time_nothing(run: Run) -> None:
    made = asked(run, "init")
    assert (made["status"], made["profile"]) == ("initialized", "codebase")
    assert {"file": ".wiki/SCHEMA.md", "action": "create"}.items() <= made["changes"][0].items()
    assert asked(run, "init")["changes"] == []
    code, out, _ = run("init", "--dry-run", "--profile", "pkm")
    assert code == 0 and '+ "profile": "pkm"' in out


def test_an_insight_that_meets_another_text_prints_it_and_exits_1(run: Run) -> None:
    run("init", "--no-skills")
    first = asked(run, "insight", "Mill", "--text", "Turns left.")
    conflict = asked(run, "insight", "Mill", "--text", "Turns right.", code=1)
    assert conflict["status"] == "conflict" and "Turns left." in conflict["current"]
    code, out, _ = run("insight", "Mill", "--text", "Turns right.")
    assert code == 1 and "\nTurns left.\n" in out
    changed = asked(run, "insight", "Mill", "--text", "Turns right.", "--content-hash", first["contentHash"])
    assert changed["status"] == "updated"


def test_evidence_is_verified_on_the_command_line_too(run: Run) -> None:
    run("init", "--no-skills")
    run("insight", "Ground", "--text", "It stands.")
    assert (
        asked(run, "insight", "Mill", "--text", "It turns.", "--evidence", "concepts/ground @ 1")["status"]
        == "recorded"
    )
    code, out, err = run("insight", "Wheel", "--text", "It turns.", "--evidence", "concepts/none @ 1")
    assert (code, out) == (1, "") and "concepts/none @ 1: target_missing" in err


def test_text_comes_from_a_file_and_a_bad_one_is_named(run: Run, tmp_path: Path) -> None:
    run("init", "--no-skills")
    (tmp_path / "good.md").write_bytes(b"\xef\xbb\xbfIt turns.\r\n")
    assert asked(run, "insight", "Mill", "--file", str(tmp_path / "good.md"))["status"] == "recorded"
    (tmp_path / "bad.md").write_bytes(b"\xff")
    for name, why in (("bad.md", "not UTF-8"), ("none.md", "No such file")):
        code, _, err = run("insight", "Wheel", "--file", str(tmp_path / name))
        assert code == 2 and f"'{name}'" in err and why in err and str(tmp_path) not in err


def test_the_hot_page_is_shown_and_replaced(run: Run) -> None:
    run("init", "--no-skills")
    assert asked(run, "hot", "--text", "- 2031-05-04 one two")["words"] == 3
    assert run("hot")[1] == "- 2031-05-04 one two\n"
    code, _, err = run("hot", "--text", "- 2031-05-05 one")
    assert code == 1 and "sparser" in err
    assert run("hot", "--force")[0] == 2


def test_okf_check_exits_1_when_the_folder_does_not_conform(run: Run) -> None:
    run("init", "--no-skills")
    assert asked(run, "okf", "check")["conformant"] == {"0.1": True, "0.2": True, "0.3": True}
    Path(".wiki/concepts/bare.md").write_text("# No head\n")
    report = asked(run, "okf", "check", code=1)
    assert [(item["rule"], item["file"]) for item in report["findings"]] == [("no-head", "concepts/bare.md")]
    code, out, _ = run("okf", "check", "--version", "0.1")
    assert code == 1 and "concepts/bare.md:1" in out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["insight", "A", "--text", "b"], "wiki: there is no compiled wiki here. `wikimcp init` makes one."),
        (["hot"], "wiki: there is no compiled wiki here"),
        (["okf", "check"], "wiki: there is no compiled wiki here"),
        (["okf", "check", "nowhere"], "wiki: 'nowhere' is no folder"),
        (["init", "--raw-root", "../.."], "access_denied: the path '../..' holds '..'"),
        (["init", "--raw-root", "lib"], "wiki: the raw root 'lib' is no folder"),
        (["init", "--wiki-root", "../wiki"], "access_denied"),
        (["init", "--workspace", "nowhere"], "wiki: the workspace is not a folder"),
        (["insight", "A"], "usage: one of the arguments --text --file is required"),
        (["init", "--profil", "pkm"], "usage: there is no option --profil. Did you mean --profile"),
    ],
)
def test_what_goes_wrong_is_said_in_one_line(run: Run, words: list[str], expected: str) -> None:
    code, out, err = run(*words)
    assert code in (1, 2) and out == ""
    assert err.startswith("wikimcp: ") and expected in err and err.count("\n") == 1
    assert not Path(".wiki").exists()


def test_a_server_that_is_started_in_ones_home_makes_no_wiki_there(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(Path.cwd()))
    code, out, err = run("serve", "--profile", "authoring")
    assert (code, out) == (1, "") and "no project is named" in err
    assert not Path(".wiki").exists()


def test_another_workspace_and_wiki_root_can_be_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    made = asked(
        run, "init", "--workspace", str(tmp_path / "other"), "--wiki-root", "docs/wiki", "--no-skills"
    )
    assert made["wiki"] == "docs/wiki"
    kept = asked(
        run, "insight", "A", "--text", "b", "--workspace", str(tmp_path / "other"), "--wiki-root", "docs/wiki"
    )
    assert (tmp_path / "other" / "docs" / "wiki" / kept["page"]).is_file()
