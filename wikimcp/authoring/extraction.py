"""Reads foreign formats in a process that can be killed: bounded in time, memory and output.

Whatever a file does to its reader (endless loops, floods of memory, crashes of a C library) ends with
that process, and becomes one named error here.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from wikimcp.authoring.source_kinds import MOST_EXTRACT, Kind, cut, plain_extract
from wikimcp.errors import BadArgument, TimedOut, TooLarge, Unavailable, Unreadable, WikimcpError
from wikimcp.settings import child_environment

_CODE = "from wikimcp.authoring.extraction import work; work()"


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one source may cost: seconds of the clock, bytes of memory."""

    seconds: float = 60.0
    memory_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Extract:
    """The text of a source within its cap; ``cut`` tells that there was more. ``title`` may be empty."""

    text: str
    cut: bool
    title: str = ""


def read_source(
    kind: Kind, data: bytes, *, charset: str = "", base: str = "", limits: Limits | None = None
) -> Extract:
    """Return the text of a source. Raises Unreadable, TooLarge, TimedOut, Unavailable or BadArgument."""
    if not kind.apart:
        return Extract(*cut(plain_extract(kind, data)))
    limits = limits or Limits()
    told = json.dumps(
        {
            "kind": kind.name,
            "charset": charset,
            "base": base,
            "seconds": limits.seconds,
            "memory_bytes": limits.memory_bytes,
        }
    )
    answer = _answer(f"{told}\n".encode() + data, limits, kind)
    if (code := answer.get("error")) is not None:
        raise _error(code, str(answer["message"]), str(answer["hint"]))
    text, shortened = cut(str(answer["text"]))
    return Extract(text, shortened or bool(answer["cut"]), str(answer["title"]))


def _answer(request: bytes, limits: Limits, kind: Kind) -> dict[str, Any]:
    """Run the reader and return what it answers."""
    command = [sys.executable, "-P", "-B", "-c", _CODE]
    with subprocess.Popen(  # nosec B603 # our own words, no shell
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=child_environment(),
        start_new_session=True,
    ) as process:
        try:
            out, _ = process.communicate(request, timeout=limits.seconds)
        except subprocess.TimeoutExpired as error:
            raise TimedOut(
                f"reading this {kind.name} took longer than {limits.seconds:g} seconds and was stopped",
                hint="Split it, or ingest its text.",
            ) from error
        finally:
            _end(process)
    try:
        answer = json.loads(out)
    except ValueError as error:
        raise _died(process.returncode, kind) from error
    return answer if isinstance(answer, dict) else {}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the reader with all that it may have started."""
    if process.poll() is None:
        with contextlib.suppress(OSError):
            if os.name == "nt":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)


def _died(code: int, kind: Kind) -> WikimcpError:
    if code == -getattr(signal, "SIGXCPU", 24):
        return TimedOut(f"reading this {kind.name} took too long and was stopped", hint="Split it.")
    return Unreadable(
        f"the reader of this {kind.name} broke down on it", hint="Save it anew, or ingest its text."
    )


def _error(code: str, message: str, hint: str) -> WikimcpError:
    kinds = (BadArgument, TooLarge, Unavailable)
    kind = next((kind for kind in kinds if kind.code == code), Unreadable)
    return kind(message, hint=hint)


# In the process of its own


def work() -> None:
    """Read one request from stdin, answer it on stdout."""
    told, _, data = sys.stdin.buffer.read().partition(b"\n")
    request = json.loads(told)
    _bound(int(request["memory_bytes"]), float(request["seconds"]))
    sys.stdout.buffer.write(json.dumps(_worked(request, data)).encode())
    sys.stdout.buffer.flush()


def _worked(request: dict[str, Any], data: bytes) -> dict[str, Any]:
    from wikimcp.authoring.document_text import extract

    limit = int(request["memory_bytes"]) >> 20
    try:
        text, title = extract(request["kind"], data, charset=request["charset"], base=request["base"])
        shown, shortened = cut(text)
        return {"text": shown, "cut": shortened, "title": " ".join(title.split())[:MOST_EXTRACT]}
    except MemoryError:
        error: WikimcpError = TooLarge(
            f"reading this {request['kind']} needs more than {limit:,} MiB of memory",
            hint="Split it, or ingest its text.",
        )
    except WikimcpError as raised:
        error = raised
    return {"error": error.code, "message": error.message, "hint": error.hint}


def _bound(memory: int, seconds: float) -> None:
    """Take from this process what it does not need; on systems without limits the clock alone is one."""
    try:
        import resource
    except ImportError:
        return
    wanted = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: int(seconds) + 1,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
    }
    for limit, value in wanted.items():
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (value, value))
