"""Fuzzed JSON-RPC against the real server: ``python -m benchmarks.protocol_fuzz [--messages N] [--seed S]``.

Both protocol eras over stdio and over HTTP: malformed, huge, cut, cancelled, of wrong types, all at once.
Each server must answer every request it understood once, say nothing that is no message, answer the next
good request, and end cleanly within two seconds of each kind of goodbye.
"""

from __future__ import annotations

import argparse
import http.client
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue

from benchmarks.figures import BenchError
from benchmarks.fuzzed_messages import Fuzz, Sent, check_line
from benchmarks.processes import ROOT, environment, serve
from benchmarks.stdio_client import ERAS, Era

GOODBYES = ("stdin closes", "SIGTERM", "SIGINT", "parent dies")
END_SECONDS = 2.0
PATIENCE = 60.0
_BATCH = 500
_PARENT = (
    "import subprocess, sys\n"
    "server = subprocess.Popen(sys.argv[1:])\n"
    "print(server.pid, file=sys.stderr, flush=True)\n"
    "sys.stdin.close()\n"
    "server.wait()\n"
)


def fuzz_stdio(
    vault: Path,
    folder: Path,
    *,
    era: Era,
    messages: int,
    seed: int,
    goodbye: str,
    within: float = END_SECONDS,
) -> float:
    """Send messages to one stdio server and say goodbye; return the seconds it took to end.

    Raises BenchError for anything that does not hold.
    """
    fuzz = Fuzz(seed, era)
    answered: Counter[str] = Counter()
    faults: list[str] = []
    lines: Queue[bytes | None] = Queue()
    with _started(vault, folder, parent=goodbye == "parent dies") as (process, pid):
        assert process.stdin is not None and process.stdout is not None
        threading.Thread(target=_collect, args=(process.stdout, lines), daemon=True).start()
        wanted = {sent.id for sent in _send(process, fuzz, messages) if sent.id}
        last = fuzz.good()
        process.stdin.write(last.data + b"\n")
        process.stdin.flush()
        awaited = wanted - fuzz.cancelled
        while last.id not in answered or awaited - answered.keys():
            _take(lines, answered, faults)
        began = time.monotonic()
        _say(goodbye, process, pid)
        _await_end(process, pid, goodbye)
        seconds = time.monotonic() - began
    while not lines.empty():
        if (line := lines.get()) is not None:
            _note(line, answered, faults)
    faults += [f"{own} was answered {count} times" for own, count in answered.items() if count > 1]
    faults += [
        f"{own} was never asked" for own in answered if own.startswith(era) and own not in wanted | {last.id}
    ]
    if seconds > within:
        faults.append(f"it took {seconds:.1f} s to end after: {goodbye}")
    if goodbye != "parent dies" and process.returncode != 0:
        faults.append(f"it ended with {process.returncode} after: {goodbye}")
    if faults:
        raise BenchError(f"{era}, seed {seed}: " + "; ".join(faults[:5]))
    return seconds


def _send(process: subprocess.Popen[bytes], fuzz: Fuzz, messages: int) -> list[Sent]:
    assert process.stdin is not None
    sent = []
    for message in (*fuzz.opening(), *fuzz.messages(messages)):
        sent.append(message)
        for piece in fuzz.pieces(message.data + b"\n"):
            process.stdin.write(piece)
            process.stdin.flush()
    return sent


def _take(lines: Queue[bytes | None], answered: Counter[str], faults: list[str]) -> None:
    try:
        line = lines.get(timeout=PATIENCE)
    except Empty:
        raise BenchError(f"no answer in {PATIENCE:.0f} s: it hangs") from None
    if line is None:
        raise BenchError("the server ended by itself")
    _note(line, answered, faults)


def _note(line: bytes, answered: Counter[str], faults: list[str]) -> None:
    try:
        message = check_line(line)
    except BenchError as error:
        faults.append(str(error))
        return
    if isinstance(message.get("id"), str):
        answered[message["id"]] += 1


def _collect(stream: Iterator[bytes], lines: Queue[bytes | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


@contextmanager
def _started(vault: Path, folder: Path, *, parent: bool) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a server, as the child of a process that can die where ``parent``; give it and its id."""
    command = serve(vault, state=folder / "state", embedder="none")
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            [sys.executable, "-c", _PARENT, *command] if parent else command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if parent else said,
            env={**environment(folder), "PYTHONPATH": str(ROOT)},
            cwd=folder,
        ) as process,
    ):
        pid = process.pid
        try:
            if parent:
                assert process.stderr is not None
                pid = int(process.stderr.readline())
            yield process, pid
        finally:
            process.kill()
            if parent and _alive(pid):
                os.kill(pid, signal.SIGKILL)


def _say(goodbye: str, process: subprocess.Popen[bytes], pid: int) -> None:
    assert process.stdin is not None
    if goodbye == "stdin closes":
        process.stdin.close()
    elif goodbye == "parent dies":
        process.kill()
        process.stdin.close()  # as the system does with what the client of a dead parent held
    else:
        os.kill(pid, getattr(signal, goodbye))


def _await_end(process: subprocess.Popen[bytes], pid: int, goodbye: str) -> None:
    deadline = time.monotonic() + PATIENCE
    if goodbye != "parent dies":
        try:
            process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise BenchError(f"it did not end after: {goodbye}") from None
        return
    while _alive(pid):
        if time.monotonic() > deadline:
            raise BenchError(f"it did not end after: {goodbye}")
        threading.Event().wait(0.01)


def _alive(pid: int) -> bool:
    """Tell whether a process still runs; one that ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def fuzz_http(
    vault: Path,
    folder: Path,
    *,
    era: Era,
    messages: int,
    seed: int,
    clients: int = 8,
    within: float = END_SECONDS,
) -> float:
    """Post messages from several clients to one HTTP server; return the seconds it took to end on SIGTERM.

    Raises BenchError for anything that does not hold.
    """
    with http_server(vault, folder) as (process, port):
        with ThreadPoolExecutor(clients) as pool:
            share = -(-messages // clients)
            jobs = [
                pool.submit(_post_all, port, Fuzz(seed * 1000 + n, era), share, era) for n in range(clients)
            ]
            faults = [fault for job in jobs for fault in job.result()]
        began = time.monotonic()
        process.terminate()
        try:
            status = process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise BenchError("it did not end after: SIGTERM") from None
        seconds = time.monotonic() - began
    if status != 0 or seconds > within:
        faults.append(f"it ended with {status} after {seconds:.1f} s")
    if faults:
        raise BenchError(f"{era} over HTTP, seed {seed}: " + "; ".join(faults[:5]))
    return seconds


@contextmanager
def http_server(
    vault: Path, folder: Path, *options: str, embedder: str = "none", more: dict[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Serve a vault over HTTP on a free port without limits of rate; give the process and the port."""
    command = serve(vault, state=folder / "state", embedder=embedder)
    command += ["--http", "127.0.0.1:0", "--set", "http.rate_per_minute=0", *options]
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        env={**environment(folder), "PYTHONPATH": str(ROOT), **(more or {})},
        cwd=folder,
    ) as process:
        try:
            assert process.stderr is not None
            line = next((line for line in process.stderr if "serving http://" in line), "")
            if not line:
                raise BenchError("the HTTP server did not start")
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield process, int(line.strip().removesuffix("/mcp").rpartition(":")[2])
        finally:
            process.kill()


def _post_all(port: int, fuzz: Fuzz, messages: int, era: Era) -> list[str]:
    """Post messages one after another; return what did not hold."""
    faults = []
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    version = "2026-07-28" if era == "modern" else "2025-06-18"
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    try:
        for number, message in enumerate((*fuzz.messages(messages), fuzz.good())):
            more = {} if number % 3 == 0 else {"MCP-Protocol-Version": version}
            if era == "modern" and number % 3:
                more["Mcp-Method"] = "tools/list"
            try:
                connection.request("POST", "/mcp", message.data, {**headers, **more})
                reply = connection.getresponse()
                body = reply.read()
            except (OSError, http.client.HTTPException) as error:
                faults.append(f"no answer to {message.data[:200]!r}: {error!r}")
                connection.close()
                continue
            if reply.status >= 500:
                faults.append(f"{reply.status} for {message.data[:300]!r}: {body[:200]!r}")
            if body and "json" in (reply.getheader("Content-Type") or ""):
                try:
                    if b'"jsonrpc"' in body:
                        check_line(body)
                except BenchError as error:
                    faults.append(str(error))
    finally:
        connection.close()
    return faults


def run(vault: Path, *, messages: int, seed: int, say: Callable[[str], None]) -> None:
    """Send so many messages in all, half of them over HTTP. Raises BenchError at the first fault."""
    with tempfile.TemporaryDirectory(prefix="wikimcp-fuzz-") as name:
        folder = Path(name)
        half, number = messages // 2, 0
        while number * _BATCH < half:
            era, goodbye = ERAS[number % 2], GOODBYES[number // 2 % len(GOODBYES)]
            size = min(_BATCH, half - number * _BATCH)
            seconds = fuzz_stdio(vault, folder, era=era, messages=size, seed=seed + number, goodbye=goodbye)
            say(f"stdio, {era}, {size} messages, {goodbye}: ended in {seconds:.2f} s")
            number += 1
        for era in ERAS:
            seconds = fuzz_http(vault, folder, era=era, messages=half // 2, seed=seed)
            say(f"HTTP, {era}, {half // 2} messages: ended in {seconds:.2f} s")


def main(argv: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--vault", type=Path, default=ROOT / "sample_vault")
    arguments = parser.parse_args(argv)
    began = time.monotonic()
    try:
        run(arguments.vault, messages=arguments.messages, seed=arguments.seed, say=print)
    except BenchError as error:
        print(f"FAULT: {error}")
        return 1
    print(f"{arguments.messages:,} messages in {time.monotonic() - began:.0f} s, no fault")
    return 0


if __name__ == "__main__":
    sys.exit(main())
