"""The hook as a client runs it: a process, its exact input on stdin, its output, what it leaves behind."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.clients.hook_place import PROMPT, RUNNING, Asked, Place
from wikimcp.cli import hook_verb
from wikimcp.clients.briefing_hook import BriefingRequest, Hook, fitted
from wikimcp.clients.session_gate import SessionGate


def _context(reply: Mapping[str, Any]) -> str:
    text = reply["hookSpecificOutput"]["additionalContext"]
    assert isinstance(text, str)
    return text


def test_the_first_prompt_of_a_session_is_briefed_and_no_other(place: Place) -> None:
    reply, err = place.run("claude-code", PROMPT)
    assert set(reply) == {"hookSpecificOutput"}
    assert reply["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert "The lamp is trimmed at dusk." in _context(reply) and "lamp @ 1" in _context(reply)
    assert err == ""
    assert place.states() == [".done"]
    assert place.run("claude-code", PROMPT) == ({}, "wikimcp hook: this session has been briefed\n")
    other, _ = place.run("claude-code", {**PROMPT, "session_id": "abc-2"})
    assert "dusk" in _context(other)
    assert place.states() == [".done", ".done"]


def test_the_state_is_named_by_a_digest(place: Place) -> None:
    place.run("claude-code", {**PROMPT, "session_id": "../../etc/x"})
    folder = place.folder / "cache" / "wikimcp-briefing"
    digest = hashlib.sha256(b"claude-code:../../etc/x").hexdigest()[:32]
    assert {file.name for file in folder.iterdir()} == {f"{digest}.done", f"{digest}.lock"}


def test_ten_first_prompts_at_once_brief_one(place: Place) -> None:
    place.run("claude-code", {**PROMPT, "session_id": "warm"})
    processes = [place.start("claude-code") for _ in range(10)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write(json.dumps(PROMPT).encode())
        process.stdin.close()
        process.stdin = None
    outs = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * 10
    replies = [json.loads(out) for out in outs]
    assert sorted(map(len, replies)) == [0] * 9 + [1]


def test_antigravity_gets_both_of_its_forms_and_once(place: Place) -> None:
    reply, err = place.run("antigravity", RUNNING)
    assert set(reply) == {"injectSteps", "additionalContext"} and err == ""
    assert reply["injectSteps"] == [{"ephemeralMessage": reply["additionalContext"]}]
    assert "dusk" in reply["additionalContext"]
    assert place.run("antigravity", {**RUNNING, "invocationNum": 2})[0] == {}


@pytest.mark.parametrize("key", ["transcriptPath", "transcript_path"])
def test_antigravity_tells_sessions_by_transcript_and_reads_the_prompt_there(
    place: Place, server: Asked, key: str
) -> None:
    transcript = place.folder / "transcript.jsonl"
    rows: list[Any] = [
        {"type": "SYSTEM", "content": "hello"},
        {
            "type": "USER_INPUT",
            "content": "<USER_REQUEST>\nwhen is the lamp trimmed?\n</USER_REQUEST>\n<X>y</X>",
        },
        {"type": "USER_INPUT", "content": "something else"},
    ]
    transcript.write_text("not json\n" + "\n".join(map(json.dumps, rows)), "utf-8")
    place.more = {"WIKIMCP_BASE_URL": server.url}
    assert place.run("antigravity", {key: str(transcript), "conversationId": "c-9"})[0] != {}
    assert server.seen[0][3]["prompt"] == "when is the lamp trimmed?"
    assert place.run("antigravity", {key: str(transcript), "conversationId": "c-10"})[0] == {}


def test_antigravity_without_anything_to_ask_waits_for_something(place: Place) -> None:
    assert place.run("antigravity", {"conversationId": "c-1"}) == ({}, "")
    assert place.states() == []
    assert place.run("antigravity", RUNNING)[0] != {}


@pytest.mark.parametrize("source", ["compact", "clear"])
def test_a_compacted_session_is_briefed_again(place: Place, server: Asked, source: str) -> None:
    place.more = {"WIKIMCP_BASE_URL": server.url, "WIKIMCP_BRIEFING_PINS": "lamp, keeper"}
    start = {"session_id": "abc-1", "hook_event_name": "SessionStart", "source": source}
    assert place.run("claude-code", PROMPT)[0] != {}
    reply, _ = place.run("claude-code", start)
    assert reply["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert "lamp @ 3" in _context(reply)
    assert server.seen[1][3]["pins"] == ["lamp", "keeper"] and "prompt" not in server.seen[1][3]
    assert place.run("claude-code", PROMPT)[0] == {}


def test_a_compacted_session_without_pins_is_briefed_at_its_next_prompt(place: Place) -> None:
    assert place.run("claude-code", PROMPT)[0] != {}
    start = {"session_id": "abc-1", "hook_event_name": "SessionStart", "source": "compact"}
    assert place.run("claude-code", start) == ({}, "")
    assert place.run("claude-code", PROMPT)[0] != {}


@pytest.mark.parametrize(
    "event", [{"hook_event_name": "SessionStart", "source": "startup"}, {"hook_event_name": "Stop"}]
)
def test_other_events_are_left_alone(place: Place, event: dict[str, str]) -> None:
    assert place.run("claude-code", {"session_id": "abc-1", **event}) == ({}, "")
    assert place.states() == []


BAD = {
    "nothing": (b"", "the input is not JSON"),
    "no JSON": (b"{session", "the input is not JSON"),
    "no UTF-8": (b'{"session_id": "\xff"}', "the input is not JSON"),
    "no object": (b"[1]", "the input is JSON but no object"),
    "deep": (b"[" * 100_000, "the input is not JSON"),
    "no session": (b'{"prompt": "x"}', "the input has no session_id"),
    "a session of another kind": (b'{"session_id": 5, "prompt": "x"}', "the input has no session_id"),
}


@pytest.mark.parametrize(("data", "reason"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_an_empty_output_with_a_reason(place: Place, data: bytes, reason: str) -> None:
    reply, err = place.run("claude-code", data)
    assert reply == {} and reason in err
    assert place.states() == []


def test_antigravity_without_a_session_is_told(place: Place) -> None:
    reply, err = place.run("antigravity", {"prompt": "x"})
    assert reply == {} and "neither transcriptPath nor conversationId" in err


def test_a_prompt_of_40_megabytes_is_cut_and_answered(place: Place) -> None:
    huge = "when is the lamp trimmed? " * (40 * 2**20 // 26)
    reply, _ = place.run("claude-code", {**PROMPT, "prompt": huge})
    assert "dusk" in _context(reply)
    assert len(_context(reply)) < 10_000


@pytest.mark.parametrize(
    ("more", "words", "reason"),
    [
        ({"WIKIMCP_VAULT": "/gone"}, (), "the vault 'gone' does not exist"),
        ({"WIKIMCP_VALT": "x"}, (), "'WIKIMCP_VALT' is no setting"),
        ({"WIKIMCP_BASE_URL": "http://127.0.0.1:9"}, (), "the server cannot be asked"),
        ({"WIKIMCP_BASE_URL": "file:///etc/passwd"}, (), "does not begin with http"),
        ({"XDG_CACHE_HOME": "/dev/null/x"}, (), "it cannot be noted which sessions were briefed"),
        ({}, ("--budgit", "3"), "there is no option --budgit"),
        ({}, ("--set", "embedder=wordlama"), "cannot be 'wordlama'"),
    ],
)
def test_whatever_fails_the_client_goes_on(
    place: Place, more: dict[str, str], words: tuple[str, ...], reason: str
) -> None:
    place.more = more
    reply, err = place.run("claude-code", PROMPT, *words)
    assert reply == {} and reason in err and err.count("\n") == 1


def test_an_unknown_client_is_told(place: Place) -> None:
    reply, err = place.run("emacs", PROMPT)
    assert reply == {} and "'emacs' is no client with a hook" in err


def test_a_state_folder_that_cannot_be_written_shuts_the_gate(place: Place) -> None:
    (place.folder / "cache").mkdir()
    (place.folder / "cache" / "wikimcp-briefing").write_text("a file in its place", "utf-8")
    reply, err = place.run("claude-code", PROMPT)
    assert reply == {} and "it cannot be noted which sessions were briefed" in err


def test_where_no_index_can_be_kept_one_is_made_and_leaves_nothing_behind(place: Place) -> None:
    (place.folder / "tmp").mkdir()
    place.more = {"WIKIMCP_STATE_DIR": "/dev/null/x", "TMPDIR": str(place.folder / "tmp")}
    reply, _ = place.run("claude-code", PROMPT)
    assert "dusk" in _context(reply) and "cannot be written" in _context(reply)
    assert list((place.folder / "tmp").iterdir()) == []


def test_after_three_failures_a_session_is_left_alone(place: Place, server: Asked) -> None:
    place.more = {"WIKIMCP_BASE_URL": server.url}
    server.status = 503
    for _ in range(3):
        reply, err = place.run("claude-code", PROMPT)
        assert reply == {} and "the server answered 503" in err
        assert place.states() == [".tries"]
    server.status = 200
    assert place.run("claude-code", PROMPT) == ({}, "wikimcp hook: briefing this session failed 3 times\n")
    assert len(server.seen) == 3


def test_a_success_after_a_failure_counts(place: Place, server: Asked) -> None:
    place.more = {"WIKIMCP_BASE_URL": server.url}
    server.status = 500
    assert place.run("claude-code", PROMPT)[0] == {}
    server.status = 200
    assert "lamp @ 3" in _context(place.run("claude-code", PROMPT)[0])
    assert place.states() == [".done"]


def test_the_server_is_asked_by_post_with_all_settings(place: Place, server: Asked) -> None:
    place.more = {
        "WIKIMCP_BASE_URL": f"{server.url}/",
        "WIKIMCP_API_KEY": "key-1",
        "WIKIMCP_BRIEFING_PINS": "lamp,keeper",
        "WIKIMCP_BRIEFING_CLUSTERS": '["light house"]',
        "WIKIMCP_BRIEFING_BUDGET": "900",
        "WIKIMCP_BRIEFING_SCOPE_MODE": "strict",
    }
    assert _context(place.run("claude-code", PROMPT)[0]) == "# Briefing\n\nThe lamp: lamp @ 3.\n"
    ((method, path, headers, body),) = server.seen
    assert (method, path) == ("POST", "/api/briefing")
    assert headers["authorization"] == "Bearer key-1"
    assert headers["content-type"] == "application/json"
    assert body == {
        "pins": ["lamp", "keeper"],
        "clusters": ["light house"],
        "prompt": "when is the lamp trimmed?",
        "budget": 900,
        "scope_mode": "strict",
    }


def test_the_older_names_of_the_variables_are_taken_where_ours_are_not_set(
    place: Place, server: Asked
) -> None:
    place.more = {
        "WIKANTIK_BASE_URL": server.url,
        "WIKANTIK_BASIC_AUTH": "ana:secret",
        "WIKANTIK_BRIEFING_PINS": "lamp",
        "WIKIMCP_BRIEFING_BUDGET": "500",
        "WIKANTIK_BRIEFING_BUDGET": "800",
    }
    assert place.run("antigravity", RUNNING)[0] != {}
    ((_, _, headers, body),) = server.seen
    assert headers["authorization"] == f"Basic {base64.b64encode(b'ana:secret').decode()}"
    assert body["pins"] == ["lamp"] and body["budget"] == 500


def test_the_older_name_of_the_vault_is_taken(place: Place) -> None:
    place.more = {"WIKIMCP_VAULT": "", "WIKANTIK_VAULT": str(place.folder / "wiki")}
    assert "dusk" in _context(place.run("claude-code", PROMPT)[0])


def test_a_budget_that_is_none_is_told_and_the_usual_one_taken(place: Place, server: Asked) -> None:
    place.more = {"WIKIMCP_BASE_URL": server.url, "WIKIMCP_BRIEFING_BUDGET": "lots"}
    reply, err = place.run("antigravity", RUNNING)
    assert reply != {} and "takes a whole number, not 'lots'" in err
    assert server.seen[0][3]["budget"] == 6000


def test_claude_code_gets_less_than_its_10000_characters_and_is_told(place: Place, server: Asked) -> None:
    place.more = {"WIKIMCP_BASE_URL": server.url}
    server.body = ("A line of a briefing that does not keep its budget. 🔥\n" * 400).encode()
    text = _context(place.run("claude-code", PROMPT)[0])
    assert len(text.encode("utf-16-le")) // 2 < 10_000
    assert text.startswith("(Briefing budget: 2,350 tokens instead of 6,000")
    assert text.endswith("(The briefing was cut here: the client takes no more.)\n")
    assert server.seen[0][3]["budget"] == 2350


def test_neither_a_redirect_nor_an_endless_answer_is_followed(place: Place, server: Asked) -> None:
    place.more = {"WIKIMCP_BASE_URL": server.url, "WIKIMCP_API_KEY": "key-1"}
    server.status = 302
    reply, err = place.run("claude-code", PROMPT)
    assert reply == {} and "the server answered 302" in err and len(server.seen) == 1
    server.status, server.body = 200, b"x" * (2**20 + 1)
    reply, err = place.run("claude-code", PROMPT)
    assert reply == {} and "over 1 MiB" in err
    assert "key-1" not in err


def test_an_empty_wiki_has_nothing_to_say(place: Place) -> None:
    (place.folder / "wiki" / "lamp.md").unlink()
    reply, err = place.run("claude-code", PROMPT)
    assert reply == {} and err.startswith("wikimcp hook: ")
    assert ".done" not in place.states()


def test_pins_and_clusters_of_the_command_line_go_before_the_variables(place: Place, server: Asked) -> None:
    place.more = {"WIKIMCP_BASE_URL": server.url, "WIKIMCP_BRIEFING_PINS": "lamp"}
    place.run("claude-code", PROMPT, "--pin", "oil", "--cluster", "house", "--installed", "f1")
    assert server.seen[0][3]["pins"] == ["oil"] and server.seen[0][3]["clusters"] == ["house"]


def test_states_of_old_sessions_are_swept_and_nothing_else(place: Place) -> None:
    folder = place.folder / "cache" / "wikimcp-briefing"
    folder.mkdir(parents=True)
    old = time.time() - 8 * 24 * 3600
    for name in ("0" * 32 + ".done", "1" * 32 + ".tries", "2" * 32 + ".lock", "notes.txt"):
        (folder / name).touch()
        os.utime(folder / name, (old, old))
    (folder / ("3" * 32 + ".done")).touch()
    place.run("claude-code", PROMPT)
    left = {file.name for file in folder.iterdir()}
    assert not any(name.startswith(("000", "111", "222")) for name in left)
    assert left >= {"notes.txt", "3" * 32 + ".done"}


def test_the_hook_imports_no_protocol_library(place: Place) -> None:
    script = (
        "import json, sys\nfrom wikimcp.cli import main\nmain(sys.argv[1:])\n"
        "print(json.dumps([name for name in sys.modules if name.split('.')[0] in "
        "('mcp', 'starlette', 'uvicorn', 'rdflib', 'networkx', 'anyio', 'rich')"
        " or name in ('wikimcp.tools.traverse', 'wikimcp.tools.sparql_query')]),"
        " file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "hook", "claude-code"],
        input=json.dumps(PROMPT).encode(),
        capture_output=True,
        env=place.env,
        cwd=place.folder,
        check=True,
    )
    assert b"dusk" in done.stdout
    assert json.loads(done.stderr.splitlines()[-1]) == []


def test_asking_a_server_imports_nothing_of_the_index(place: Place, server: Asked) -> None:
    place.more = {"WIKIMCP_BASE_URL": server.url}
    script = (
        "import json, sys\nfrom wikimcp.cli import main\nmain(sys.argv[1:])\n"
        "print(json.dumps([n for n in sys.modules if n.split('.')[0] in ('mcp', 'numpy', 'tantivy', 'pydantic')]),"
        " file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, "hook", "claude-code"],
        input=json.dumps(PROMPT).encode(),
        capture_output=True,
        env=place.env,
        cwd=place.folder,
        check=True,
    )
    assert b"lamp @ 3" in done.stdout and json.loads(done.stderr.splitlines()[-1]) == []


def test_a_hook_that_takes_too_long_says_nothing_and_leaves(place: Place) -> None:
    script = (
        "import sys\nfrom wikimcp.cli import hook_verb, main\nhook_verb.SECONDS = 0.2\n"
        "sys.exit(main(['hook', 'claude-code']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,  # never closed: the input does not end
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=place.env,
        cwd=place.folder,
    )
    assert process.stdin is not None
    assert process.wait(timeout=60) == 0
    with process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.read() == b"{}\n"
        assert b"no briefing within" in process.stderr.read()


def test_an_index_that_takes_too_long_is_left_in_good_order(place: Place) -> None:
    script = (
        "import sys\nfrom wikimcp.cli import hook_verb, main\nhook_verb.INDEX_SECONDS = 0\n"
        "sys.exit(main(['hook', 'claude-code']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(PROMPT).encode(),
        capture_output=True,
        env=place.env,
        cwd=place.folder,
    )
    assert (done.returncode, done.stdout) == (0, b"{}\n")
    assert done.stderr.count(b"wikimcp hook: ") == 1 and place.states() == [".tries"]
    assert "dusk" in _context(place.run("claude-code", PROMPT)[0])


def test_half_a_pair_of_surrogates_in_a_prompt_is_no_trouble(place: Place) -> None:
    data = b'{"session_id": "s\\ud83d", "prompt": "when is the lamp trimmed? \\ud83d"}'
    reply, err = place.run("claude-code", data)
    assert "dusk" in _context(reply) and err == ""


def test_a_briefing_that_comes_too_late_does_not_count(tmp_path: Path) -> None:
    told: list[str] = []
    from wikimcp.clients import claude_code

    hook = Hook(claude_code, tmp_path, BriefingRequest(), lambda _: "late", lambda _: False, told.append)
    hook.run(json.dumps(PROMPT).encode())
    assert not list(tmp_path.glob("*.done"))
    assert [file.read_text() for file in tmp_path.glob("*.tries")] == ["1"]


def test_a_gate_that_is_held_is_shut_for_others(tmp_path: Path) -> None:
    with (
        SessionGate(tmp_path, "c", "s").entered() as mine,
        SessionGate(tmp_path, "c", "s").entered() as other,
    ):
        assert mine == "" and other == "another hook is briefing this session"


@pytest.mark.parametrize("text", ["", "a\nb", "🔥" * 6000, "line\n" * 4000, "x" * 9_901])
def test_a_text_is_cut_to_what_fits(text: str) -> None:
    cut = fitted(text, 9_900)
    assert len(cut.encode("utf-16-le")) // 2 <= 9_900
    assert cut == text or cut.endswith("(The briefing was cut here: the client takes no more.)\n")
    assert fitted(text, None) == text


def test_the_time_limit_is_ten_seconds() -> None:
    assert hook_verb.SECONDS == 10.0
