"""The stdio server as a process: clean output, an answer to every line, an end in time."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.edges.processes import (
    HERE,
    INITIALIZE,
    INITIALIZED,
    PATIENCE,
    StdioServer,
    answers,
    call,
    environment,
    line,
    stdio_server,
)


def text_of(answer: dict[str, object]) -> object:
    return answer["result"]["content"][0]["text"]  # type: ignore[index]


def test_nothing_but_messages_gets_to_stdout_whatever_prints() -> None:
    found = answers(call(1, "noise"), call(2, "say", text="after"))  # checks every line of stdout
    assert text_of(found[1]) == "child exit 0"
    assert text_of(found[2]) == "after"
    for source in ("import", "print Đường", "original stdout", "fd 1", "child", "warning"):
        assert f"noise: {source}" in found["stderr"]
    assert "\n0\n" in found["stderr"], "a child that reads its input finds it empty"


def test_a_log_record_is_one_line_with_its_traceback() -> None:
    stderr = answers(call(1, "noise"), call(2, "fail", how="runtime"))["stderr"]
    assert "wikimcp: ERROR: noise: log | in two lines\n" in stderr
    (failed,) = [record for record in stderr.splitlines() if "tool 'fail' failed, reference" in record]
    assert "RuntimeError: cannot open /srv/private/vault.md | line two" in failed
    (thread,) = [record for record in stderr.splitlines() if "thread noise failed" in record]
    assert thread.endswith("ZeroDivisionError: integer division or modulo by zero")


@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C", "PYTHONUTF8": "0"},
        {"PYTHONIOENCODING": "cp1252"},
        {"PYTHONIOENCODING": "ascii:strict", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ],
    ids=["C", "cp1252", "ascii"],
)
def test_text_is_utf_8_both_ways_whatever_the_locale(locale: dict[str, str]) -> None:
    found = answers(call(1, "echo", title="Đường — 配置"), call(2, "noise"), env=locale)
    assert text_of(found[1]) == "Đường — 配置"
    assert found[1]["result"]["structuredContent"]["title"] == "Đường — 配置"
    assert "result" in found[2]


@pytest.mark.parametrize(
    ("sent", "code", "identity"),
    [
        (b"not json", -32700, None),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping"', -32700, None),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "pi\x92ng"}', -32700, None),
        (b"\x00\x01\xff\xfe", -32700, None),
        (b'{"a":' * 100_000, -32700, None),
        (b"[" + b"9" * 5000 + b"]", -32700, None),
        (b"[]", -32600, None),
        (b'[{"jsonrpc": "2.0", "id": 7, "method": "ping"}]', -32600, None),
        (b"7", -32600, None),
        (b"{}", -32600, None),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": 7}', -32600, None),
        (b'{"id": 7, "method": "ping"}', -32600, 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": []}', -32600, 7),
        (b'{"jsonrpc": "2.0", "id": "seven", "method": 5}', -32600, "seven"),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "no/such"}', -32601, 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": 5}}', -32602, 7),
    ],
)
def test_a_line_that_is_no_request_gets_an_error_and_the_next_one_its_answer(
    sent: bytes, code: int, identity: object
) -> None:
    found = answers(sent, call(1, "say", text="still here"))
    error = found["errors"][0] if identity is None else found[identity]["error"]
    assert error["code"] == code
    assert text_of(found[1]) == "still here"


def test_blank_lines_carriage_returns_and_a_byte_order_mark_are_no_errors() -> None:
    ping = b'{"jsonrpc": "2.0", "id": 7, "method": "ping"}'
    found = answers(b"", b"  \r", b"\xef\xbb\xbf" + ping + b"\r", call(1, "say", text="x"))
    assert found["errors"] == []
    assert found[7]["result"] == {}


def test_a_lone_surrogate_in_a_request_is_replaced() -> None:
    found = answers(
        b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": '
        b'{"name": "say", "arguments": {"text": "a\\ud800b"}}}'
    )
    assert text_of(found[7]) == "a?b"


def test_a_line_of_ten_megabytes_is_answered_and_one_over_the_limit_refused() -> None:
    over = call(2, "say", text="y" * 17_000_000)
    found = answers(call(1, "say", text="x" * 10_000_000), over, call(3, "say"))
    assert text_of(found[1]) == "x" * 10_000_000
    assert found["errors"] == [{"code": -32600, "message": "The message is over 16 MiB."}]
    assert text_of(found[3]) == ""


def test_calls_under_way_are_answered_after_the_client_closed_its_end() -> None:
    found = answers(*(call(number, "say", text=str(number)) for number in range(100)))
    assert [text_of(found[number]) for number in range(100)] == [str(number) for number in range(100)]


def close_stdin(server: StdioServer) -> None:
    assert server.process.stdin is not None
    server.process.stdin.close()


def send_signal(number: int) -> Callable[[StdioServer], None]:
    return lambda server: server.process.send_signal(number)


ENDINGS = {
    "stdin closed": close_stdin,
    "SIGTERM": send_signal(signal.SIGTERM),
    "SIGINT": send_signal(signal.SIGINT),
    **({"SIGHUP": send_signal(signal.SIGHUP)} if hasattr(signal, "SIGHUP") else {}),
}


@pytest.mark.parametrize("ending", list(ENDINGS))
def test_an_idle_server_ends_cleanly(ending: str) -> None:
    with stdio_server() as server:
        ENDINGS[ending](server)
        assert server.wait() == 0
        assert server.stderr.count("service closed") == 1


@pytest.mark.parametrize("ending", list(ENDINGS))
def test_a_server_ends_cleanly_while_a_call_hangs(ending: str) -> None:
    with stdio_server() as server:
        server.send(call(1, "wait"), call(2, "arrived", count="1"))
        assert server.receive()["id"] == 2
        ENDINGS[ending](server)
        assert server.wait() == 0
        assert server.stderr.count("service closed") == 1


def test_a_second_signal_does_no_harm() -> None:
    with stdio_server() as server:
        server.send(call(1, "wait"), call(2, "arrived", count="1"))
        assert server.receive()["id"] == 2
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
            server.process.send_signal(number)
        assert server.wait() == 0


@pytest.mark.parametrize("leaving", ["closes its end", "stops reading"])
def test_a_client_that_takes_no_answers_does_not_keep_the_server(leaving: str) -> None:
    with subprocess.Popen(
        [sys.executable, str(HERE / "stdio_main.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line(INITIALIZE) + b"\n" + line(INITIALIZED) + b"\n")
        process.stdin.flush()
        assert b'"init"' in process.stdout.readline()
        if leaving == "closes its end":
            process.stdout.close()
        sent = [line(call(number, "say", text="x" * 100_000)) + b"\n" for number in range(20)]
        with contextlib.suppress(BrokenPipeError):  # it may be gone before all is sent
            process.stdin.write(b"".join(sent))
            process.stdin.flush()
        if leaving == "stops reading":
            process.terminate()
        assert process.wait(timeout=PATIENCE) == 0


def test_a_server_ends_when_its_parent_is_killed() -> None:
    parent = (
        "import subprocess, sys, time\n"
        "server = subprocess.Popen([sys.executable, sys.argv[1]], stdin=subprocess.PIPE)\n"
        "print('started', flush=True)\n"
        "server.wait()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", parent, str(HERE / "stdio_main.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        process.kill()
        _, stderr = process.communicate(timeout=PATIENCE)  # ends when the server has closed its stderr
    assert b"service closed" in stderr


def test_a_closed_standard_stream_is_an_error_that_says_what_to_do() -> None:
    script = (
        "import os\nos.close(0)\nfrom wikimcp.edges.stdio import claim_stdout\n"
        "from wikimcp.errors import Unavailable\n"
        "try:\n    claim_stdout()\nexcept Unavailable as error:\n    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), timeout=PATIENCE
    )
    assert done.stdout == (
        "unavailable: standard input or output is closed. "
        "Let an MCP client start this command, or serve over HTTP with --http.\n"
    )


def test_the_server_half_of_the_sdk_is_loaded_without_its_client_half() -> None:
    script = (
        "import sys\nfrom wikimcp.edges.sdk_import import load_mcp_server\n"
        "print(load_mcp_server().__name__, 'mcp.client.client' in sys.modules, 'mcp' in sys.modules)\n"
        "from mcp import Client\nfrom mcp.server import MCPServer\n"
        "print(Client.__name__, MCPServer.__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), timeout=PATIENCE
    )
    assert done.stdout.splitlines() == ["McpServer False False", "Client MCPServer"], done.stderr


def test_nothing_heavy_is_imported_before_stdout_is_claimed() -> None:
    script = (
        "import sys\nimport wikimcp.edges.stdio\n"
        "print(sorted({'mcp', 'anyio', 'pydantic', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), timeout=PATIENCE
    )
    assert done.stdout == "[]\n", done.stderr
