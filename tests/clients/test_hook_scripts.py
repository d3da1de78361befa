"""The hook scripts: handing over to `wikimcp`, and on their own with nothing but sh, awk and curl."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.clients.hook_place import PROMPT, RUNNING, Asked, Place

ROOT = Path(__file__).parents[2]
SCRIPTS = {client: ROOT / "hooks" / f"{client}-briefing.sh" for client in ("claude-code", "antigravity")}
TOOLS = (
    *("sh", "awk", "curl", "cat", "cut", "dirname", "find", "grep", "head", "mkdir", "mktemp", "rm", "rmdir"),
    *("sed", "sha256sum", "wc"),
)
pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in TOOLS), reason="a tool that the hook scripts use is missing"
)


@pytest.fixture
def bare(place: Place) -> Place:
    """Give a place whose PATH has what the scripts need and no `wikimcp`."""
    tools = place.folder / "tools"
    tools.mkdir()
    for tool in TOOLS:
        (tools / tool).symlink_to(str(shutil.which(tool)))
    place.more["PATH"] = str(tools)
    return place


def _run(place: Place, client: str, given: Mapping[str, Any] | bytes) -> tuple[dict[str, Any], str]:
    done = subprocess.run(
        [str(SCRIPTS[client])],
        input=given if isinstance(given, bytes) else json.dumps(given).encode(),
        capture_output=True,
        env=place.env,
        cwd=place.folder,
        timeout=60,
    )
    assert done.returncode == 0
    assert done.stdout.count(b"\n") == 1, done.stdout
    reply = json.loads(done.stdout)
    assert isinstance(reply, dict)
    return reply, done.stderr.decode()


def _text(reply: Mapping[str, Any]) -> str:
    inner = reply.get("hookSpecificOutput", reply)
    assert isinstance(inner["additionalContext"], str)
    return inner["additionalContext"]


def test_a_script_hands_over_to_the_command(place: Place) -> None:
    bin_folder = place.folder / "bin"
    bin_folder.mkdir()
    command = bin_folder / "wikimcp"
    command.write_text(
        f'#!/bin/sh\nprintf \'{{"handed": "%s"}}\\n\' "$*"\ncat >"{place.folder}/got"\n', "utf-8"
    )
    command.chmod(0o755)
    place.more["PATH"] = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    assert _run(place, "claude-code", PROMPT) == ({"handed": "hook claude-code"}, "")
    assert json.loads((place.folder / "got").read_text("utf-8")) == PROMPT
    command.write_text("#!/bin/sh\nexit 3\n", "utf-8")
    assert _run(place, "antigravity", RUNNING) == ({}, "")


@pytest.mark.parametrize("client", SCRIPTS)
def test_by_curl_a_session_gets_what_the_command_would_give(bare: Place, server: Asked, client: str) -> None:
    tricky = 'a "quoted" \\ back\\slash\n\ttab \x07 bell, Grüße 🔥 and \\u0041'
    given = {**(PROMPT if client == "claude-code" else RUNNING), "prompt": tricky}
    server.body = f"# Briefing\n\n{tricky}\n\nlamp @ 3\n".encode()
    bare.more |= {
        "WIKIMCP_BASE_URL": f"{server.url}/",
        "WIKIMCP_API_KEY": 'key "1"',
        "WIKIMCP_BRIEFING_PINS": 'lamp, the "keeper", ',
        "WIKANTIK_BRIEFING_CLUSTERS": '["light house"]',
    }
    reply, err = _run(bare, client, given)
    assert err == ""
    assert _run(bare, client, given) == ({}, "wikimcp hook: this session has been briefed\n")
    bare.more["XDG_CACHE_HOME"] = str(bare.folder / "another")
    bare.more["PATH"] = os.environ["PATH"]
    assert reply == bare.run(client, given)[0]
    by_curl, by_command = server.seen
    assert by_curl[3] == by_command[3] and by_curl[3]["prompt"] == tricky
    assert by_curl[3]["pins"] == ["lamp", 'the "keeper"']
    for name in ("authorization", "content-type"):
        assert by_curl[2][name] == by_command[2][name]


def test_by_curl_the_gate_is_the_one_of_the_command(bare: Place, server: Asked) -> None:
    bare.more["WIKIMCP_BASE_URL"] = server.url
    assert _run(bare, "claude-code", PROMPT)[0] != {}
    bare.more["PATH"] = os.environ["PATH"]
    assert bare.run("claude-code", PROMPT)[0] == {}
    assert bare.states() == [".done"]


def test_by_curl_ten_first_prompts_at_once_brief_one(bare: Place, server: Asked) -> None:
    bare.more["WIKIMCP_BASE_URL"] = server.url
    (bare.folder / "input").write_text(json.dumps(PROMPT), "utf-8")
    processes = []
    for _ in range(10):
        with (bare.folder / "input").open("rb") as given:
            processes.append(
                subprocess.Popen(
                    [str(SCRIPTS["claude-code"])],
                    stdin=given,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=bare.env,
                )
            )
    replies = [json.loads(process.communicate(timeout=60)[0]) for process in processes]
    assert sorted(map(len, replies)) == [0] * 9 + [1]
    assert len(server.seen) == 1


def test_by_curl_basic_auth_and_a_compacted_session(bare: Place, server: Asked) -> None:
    bare.more |= {
        "WIKIMCP_BASE_URL": server.url,
        "WIKIMCP_BASIC_AUTH": 'ana:s e"c',
        "WIKIMCP_BRIEFING_PINS": "lamp",
    }
    start = {"session_id": "abc-1", "hook_event_name": "SessionStart", "source": "compact"}
    assert _run(bare, "claude-code", PROMPT)[0] != {}
    reply, _ = _run(bare, "claude-code", start)
    assert reply["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert server.seen[0][2]["authorization"] == "Basic YW5hOnMgZSJj"
    assert "prompt" not in server.seen[1][3]
    assert _run(bare, "claude-code", {**start, "source": "startup"}) == ({}, "")


def test_by_curl_a_long_prompt_and_a_long_answer_are_cut(bare: Place, server: Asked) -> None:
    bare.more["WIKIMCP_BASE_URL"] = server.url
    server.body = ("A line of a briefing that goes on. 🔥\n" * 800).encode()
    for number, filler in enumerate(("ü", 'x"', "\\", "🔥", "a\n", "漢")):
        for shift in range(4):
            given = {**PROMPT, "session_id": f"{number}-{shift}", "prompt": "y" * shift + filler * 15_000}
            raw = json.dumps(given, ensure_ascii=bool(shift % 2)).encode()
            text = _text(_run(bare, "claude-code", raw)[0])
            assert len(text.encode("utf-16-le")) // 2 < 10_000
            assert text.endswith("(The briefing was cut here: the client takes no more.)\n")
            sent = server.seen[-1][3]["prompt"]
            assert len(sent) > 1_000 and given["prompt"].startswith(sent.rstrip("\ud83d"))


def test_by_curl_an_answer_is_measured_as_the_client_does(bare: Place, server: Asked) -> None:
    bare.more["WIKIMCP_BASE_URL"] = server.url
    whole = "Каждое утро мы сравниваем счета.\n" * 280  # 9,240 characters, and twice as many bytes
    server.body = whole.encode()
    assert _text(_run(bare, "claude-code", PROMPT)[0]).endswith(whole)
    server.body = ("🔥" * 40 + "\n").encode() * 200
    cut = _text(_run(bare, "claude-code", {**PROMPT, "session_id": "another"})[0])
    assert cut.endswith("(The briefing was cut here: the client takes no more.)\n")
    assert 9_500 < len(cut.encode("utf-16-le")) // 2 < 9_900


@pytest.mark.parametrize(
    ("given", "more", "reason"),
    [
        (b"", {}, "the input names no session"),
        (b"{session", {}, "the input names no session"),
        (b'{"prompt": "\\"session_id\\": \\"x\\""}', {}, "the input names no session"),
        (b'{"session_id": "a", "prompt": "' + b"x" * 2**21 + b'"}', {}, "the input is over 1 MiB"),
        (
            json.dumps(PROMPT).encode(),
            {"WIKIMCP_BASE_URL": ""},
            "neither the command wikimcp nor WIKIMCP_BASE_URL",
        ),
        (json.dumps(PROMPT).encode(), {"WIKIMCP_BASE_URL": "file:///etc/passwd"}, "does not begin with http"),
        (json.dumps(PROMPT).encode(), {"WIKIMCP_BASE_URL": "http://127.0.0.1:9"}, "the server answered"),
        (json.dumps(PROMPT).encode(), {"XDG_CACHE_HOME": "/dev/null"}, "no state can be kept"),
    ],
)
def test_by_curl_whatever_fails_the_client_goes_on(
    bare: Place, server: Asked, given: bytes, more: dict[str, str], reason: str
) -> None:
    bare.more |= {"WIKIMCP_BASE_URL": server.url} | more
    reply, err = _run(bare, "claude-code", given)
    assert reply == {} and reason in err
    assert server.seen == []


def test_by_curl_after_three_failures_a_session_is_left_alone(bare: Place, server: Asked) -> None:
    bare.more["WIKIMCP_BASE_URL"] = server.url
    server.status = 503
    for _ in range(3):
        assert _run(bare, "claude-code", PROMPT) == ({}, "wikimcp hook: the server answered 503\n")
    server.status = 200
    assert "failed 3 times" in _run(bare, "claude-code", PROMPT)[1]
    assert len(server.seen) == 3


def test_a_script_without_its_other_half_is_in_nobodys_way(place: Place) -> None:
    alone = place.folder / "claude-code-briefing.sh"
    shutil.copy(SCRIPTS["claude-code"], alone)
    done = subprocess.run([str(alone)], input=b"{}", capture_output=True, env=place.env)
    assert (done.returncode, done.stdout) == (0, b"{}\n") and b"missing" in done.stderr


def test_the_scripts_can_be_run_and_are_without_findings() -> None:
    for script in SCRIPTS.values():
        assert script.stat().st_mode & stat.S_IXUSR
    checker = shutil.which("shellcheck")
    if checker is None:
        pytest.skip("shellcheck is not installed")
    done = subprocess.run([checker, *map(str, (ROOT / "hooks").glob("*.sh"))], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
