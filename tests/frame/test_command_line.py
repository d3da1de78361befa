"""The command line as a person uses it wrongly: one line, a hint, the right exit code."""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wikimcp import __version__
from wikimcp.cli import main
from wikimcp.cli.arguments import VERBS, build_parser
from wikimcp.cli.authoring_verbs import MISSING_VERBS
from wikimcp.cli.parsing import UsageError, settings_flags
from wikimcp.cli.run import _VERBS
from wikimcp.cli.show import brief, print_facts, print_table, print_text
from wikimcp.cli.verbs import http_address
from wikimcp.settings import Settings

ROOT = Path(__file__).parents[2]


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in an empty folder, with a home of its own and no settings of the person who runs the tests."""
    for name in [name for name in os.environ if name.startswith(("WIKIMCP_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_every_verb_has_help_that_says_what_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in VERBS:
        assert main([verb, "--help"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert "common options:" in out
        assert any(word in out for word in ("Prints", "Speaks", "Shows", "pulled only"))


def test_the_parser_the_list_and_the_functions_name_the_same_verbs() -> None:
    parser = build_parser()
    choices = next(a.choices for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    assert set(choices or ()) == set(VERBS) == set(_VERBS)


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"wikimcp {__version__}\n"


def test_the_help_lists_no_verb_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    first_words = {line.split()[0] for line in capsys.readouterr().out.splitlines() if line.strip()}
    assert {"bundle", "install", "hook", "init"} <= first_words
    assert first_words.isdisjoint(MISSING_VERBS)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["bundel", "x"], "usage: 'bundel' is no verb. Did you mean bundle"),
        (["install", "cursr"], "usage: 'cursr' is no client that can be installed into. Did you mean cursor"),
        (["bundle"], "usage: the following arguments are required: QUESTION"),
        (["bundle", "x", "--limt", "3"], "usage: there is no option --limt. Did you mean --limit"),
        (["bundle", "-x", "flag"], "Put -- before a question that starts with a dash"),
        (["--valt", "x", "tools"], "usage: there is no option --valt. Did you mean --vault"),
        (["--json"], "usage: no verb"),
        (["serve", "--profile", "authorin"], "usage: there is no profile 'authorin'"),
        (["serve", ".", "--http", "a:b"], "usage: --http takes HOST:PORT, not 'a:b'"),
        (["serve", ".", "--log-level", "loud"], "settings: the command line: log_level cannot be 'loud'"),
        (["call", "list_tags", "{'a': 1}"], "usage: the arguments are not JSON"),
        (["call", "list_tags", "[1]"], "usage: the arguments are JSON but no object"),
        (["tools", "--set", "x"], "usage: --set takes KEY=VALUE, not 'x'"),
        (["tools", "--set", "answer_token=900"], "'answer_token' is no setting. Did you mean answer_tokens"),
        (["tools", "--embedder", "wordlama"], "embedder cannot be 'wordlama'. Did you mean wordllama"),
        (["tools", "--state-dir", "."], "settings: state_dir lies inside the vault"),
        (["status", "--vault", "gone"], "vault: the vault 'gone' does not exist"),
        (["models", "frob"], "usage: argument list|pull|test: invalid choice: 'frob'"),
        (["eval", ".", "no.csv", "--mode", "hybird"], "--mode cannot be 'hybird'. Did you mean hybrid"),
        (["eval", ".", "no.csv", "--budgets", "9"], "usage: --budgets are 500 to 24,000 tokens"),
        (["eval", ".", "no.csv", "--budgets", "x"], "usage: --budgets takes whole numbers"),
        (["eval", ".", "no.csv"], "usage: no.csv cannot be read (No such file or directory)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_use_is_one_line_on_stderr_and_exit_code_2(
    nowhere: Path, capsys: pytest.CaptureFixture[str], words: list[str], expected: str
) -> None:
    (nowhere / "wikimcp.toml").touch()
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert ("error" in out) if "--json" in words else out == ""
    assert err.startswith("wikimcp: ")
    assert err.count("\n") == 1
    assert expected in err
    assert "Traceback" not in err


def test_no_vault_anywhere_is_told_with_what_to_do(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status"]) == 2
    err = capsys.readouterr().err
    assert "no vault is named" in err
    assert "wikimcp serve path/to/notes" in err


def test_nothing_at_all_prints_the_help_and_is_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Start here:" in capsys.readouterr().out


def test_debug_shows_the_traceback(
    nowhere: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WIKIMCP_DEBUG", "1")
    assert main(["status"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_arguments_are_read_from_stdin(
    nowhere: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("no json"))
    assert main(["call", "list_tags", "-"]) == 2
    assert "the arguments are not JSON" in capsys.readouterr().err


def test_flags_become_settings_by_dotted_key() -> None:
    words = ["--vault", "v", "serve", "--allow-drafts", "--no-watch", "--allow-anonymous"]
    words += ["--set", "http.port=9000", "--set", "models.name=a=b"]
    assert settings_flags(build_parser().parse_args(words)) == {
        "vault": "v",
        "drafts.allow": True,
        "http.allow_anonymous": True,
        "watch": False,
        "http.port": "9000",
        "models.name": "a=b",
    }


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("", ("127.0.0.1", 8808)),
        ("9000", ("127.0.0.1", 9000)),
        (":9000", ("127.0.0.1", 9000)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
        ("wiki.test", ("wiki.test", 8808)),
        ("[::1]:9000", ("::1", 9000)),
        ("[::1]", ("::1", 8808)),
    ],
)
def test_addresses_are_read_in_all_usual_forms(tmp_path: Path, text: str, address: tuple[str, int]) -> None:
    assert http_address(text, Settings(vault=tmp_path, state_dir=tmp_path)) == address


@pytest.mark.parametrize("text", ["a:b", "127.0.0.1:70000", "127.0.0.1:-1"])
def test_a_wrong_port_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        http_address(text, Settings(vault=tmp_path, state_dir=tmp_path))


def test_a_closed_pipe_is_quiet() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "wikimcp", "--help"],
        cwd=ROOT,
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


def test_text_that_the_terminal_cannot_show_does_not_stop_the_answer() -> None:
    script = "from wikimcp.cli import run; run._run(['--version'])"
    show = "from wikimcp.cli.show import print_text; print_text('Đường — 配置')"
    done = subprocess.run(
        [sys.executable, "-c", f"try:\n    {script}\nexcept SystemExit:\n    pass\n{show}"],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "cp1252"},
        capture_output=True,
        check=True,
    )
    assert b"\\u0110\\u01b0" in done.stdout


@pytest.mark.parametrize("screen", [True, False])
def test_tables_take_vault_text_literally(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, screen: bool
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: screen)
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(["name", "n#"], [["[red]x[/red] :smile: \x1b[31m", "1"]], title="a [b] c")
    out = capsys.readouterr().out
    assert "[red]x[/red] :smile: [31m" in out
    assert "a [b] c" in out
    assert "\x1b[31m" not in out
    assert screen is ("─" in out)


def test_facts_show_nested_values_and_lists_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    print_facts({"index": {"pages": 3, "dense": None}, "skipped": [{"path": "a.md", "line": 2}], "on": True})
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["index.pages", "3"] in lines
    assert ["on", "yes"] in lines
    assert ["skipped", "1"] in lines
    assert ["a.md", "2"] in lines


def test_cells_are_said_briefly() -> None:
    assert brief([1, 2.5, False]) == "1, 2.5, no"
    assert brief({"a": 1, "b": [2]}) == "a 1, b 2"
    assert brief(None) == ""
    assert brief(1.0) == "1"


def test_text_is_printed_as_it_is_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    print_text("a\x1b[31mb")
    assert capsys.readouterr().out == "a\x1b[31mb\n"


@pytest.mark.parametrize(
    ("words", "code", "status"),
    [
        (["bundel", "--json"], "usage", 2),
        (["bundle", "--json", "x", "--limt", "3"], "usage", 2),
        (["--json"], "usage", 2),
        (["status", "--json", "--vault", "gone"], "vault", 2),
        (["tools", "--json", "--set", "answer_token=900"], "settings", 2),
        (["page", "nothing", "--json", "--embedder", "none"], "not_found", 1),
    ],
)
def test_a_program_is_told_errors_as_json_and_a_person_as_before(
    nowhere: Path, capsys: pytest.CaptureFixture[str], words: list[str], code: str, status: int
) -> None:
    (nowhere / "wikimcp.toml").touch()
    (nowhere / "a.md").write_text("words", encoding="utf-8")
    assert main([*words, "--state-dir", str(nowhere.parent / "state")] if status == 1 else words) == status
    out, err = capsys.readouterr()
    error = json.loads(out)["error"]
    assert set(error) == {"code", "message", "hint"}
    assert error["code"] == code
    assert error["message"] in err
    assert err.startswith(f"wikimcp: {code}: ")
    assert err.count("\n") == 1


def test_a_question_about_json_and_the_protocol_on_stdout_are_left_alone(
    nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bundle", "--vault", "gone", "--", "--json"]) == 2
    assert main(["serve", "gone", "--json"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("module", ["wikimcp.settings", "wikimcp.cli.verbs", "wikimcp.cli.doctor"])
def test_stopping_while_it_loads_is_quiet(module: str) -> None:
    script = f"""
import os, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever began the run may have it ignored

class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Stop())
from wikimcp.cli import main
sys.exit(main(["--version"]))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.parametrize("path", ["a", "a" * 200])
def test_every_table_in_a_file_is_lines_parted_by_tabs(capsys: pytest.CaptureFixture[str], path: str) -> None:
    print_facts({"files": [{"path": path, "n": 1}, {"path": "b\x07", "n": "2\n3"}]})
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["what\tvalue", "files\t2", "", "files", "path\tn", f"{path}\t1", "b\t2 3"]
