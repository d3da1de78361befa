"""JSON-RPC framing of stdio: one message a line, and a reply to every line that is none.

Knows nothing of MCP: what a method means is the server's matter.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any

import anyio

from wikimcp.edges.answers import clean_json, clean_text

MAX_LINE = 16 * 1024 * 1024
"""Longest message in bytes."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INTERNAL_ERROR = -32603

_UNANSWERED = frozenset({"subscriptions/listen"})  # answered only when the stream ends


class Refused(Exception):  # noqa: N818 - it is an answer, no failure
    """A line that is no message; ``reply`` is the line to send for it."""

    def __init__(self, code: int, message: str, *, request_id: object = None) -> None:
        super().__init__(message)
        self.reply = error_line(code, message, request_id=request_id)


def is_request_id(value: object) -> bool:
    """Tell whether an answer can carry this id: an integer, or a string that UTF-8 can hold."""
    if isinstance(value, str):
        return clean_text(value) == value
    return isinstance(value, int) and not isinstance(value, bool)


def error_line(code: int, message: str, *, request_id: object = None) -> bytes:
    """Return an error response as a line; what is no request id becomes null."""
    body = {
        "jsonrpc": "2.0",
        "id": request_id if is_request_id(request_id) else None,
        "error": {"code": code, "message": message},
    }
    return json.dumps(body, separators=(",", ":")).encode() + b"\n"


class LineSplitter:
    """Cuts a byte stream into lines. A line over ``limit`` bytes comes out as None and is not kept."""

    def __init__(self, limit: int = MAX_LINE) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Iterator[bytes | None]:
        """Yield the lines that ``chunk`` completes, without their newline."""
        *complete, rest = chunk.split(b"\n")
        for end in complete:
            self._add(end)
            yield self._take()
        self._add(rest)

    def finish(self) -> Iterator[bytes | None]:
        """Yield what stands after the last newline, if anything."""
        if self._size:
            yield self._take()

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit:
            self._parts.clear()
        elif part:
            self._parts.append(part)

    def _take(self) -> bytes | None:
        line = None if self._size > self._limit else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        return line


def decode(line: bytes | None) -> dict[str, Any]:
    """Return the request, notification or response in a line (None: one over the limit).

    Lone surrogates in it are replaced, as no answer could repeat them. Raises Refused.
    """
    if line is None:
        raise Refused(INVALID_REQUEST, f"The message is over {MAX_LINE >> 20} MiB.")
    try:
        message = json.loads(line.removeprefix(codecs.BOM_UTF8).decode())
    except UnicodeDecodeError as error:
        raise Refused(PARSE_ERROR, f"The message is not UTF-8 (byte {error.start}).") from None
    except (ValueError, RecursionError) as error:
        where = f" (character {error.pos})" if isinstance(error, json.JSONDecodeError) else ""
        raise Refused(PARSE_ERROR, f"The message is not JSON{where}.") from None
    if not isinstance(message, dict):
        raise Refused(INVALID_REQUEST, "A message is one JSON object; batches are not supported.")
    problem = _problem(message)
    if problem:
        request_id = message.get("id") if "method" in message else None
        raise Refused(INVALID_REQUEST, problem, request_id=request_id)
    return clean_json(message)


def _problem(message: dict[str, Any]) -> str:
    """Say what is wrong with the envelope; empty when nothing is."""
    if message.get("jsonrpc") != "2.0":
        return 'The member "jsonrpc" must be "2.0".'
    if "id" in message and not is_request_id(message["id"]):
        # an error response may lack an id: it answers a message of ours that could not be read
        unread = message["id"] is None and "error" in message
        return "" if unread else 'The member "id" must be a string or an integer.'
    if "method" in message:
        if not isinstance(message["method"], str):
            return 'The member "method" must be a string.'
        if not isinstance(message.get("params", {}), dict):
            return 'The member "params" must be an object.'
        return ""
    if isinstance(message.get("result"), dict) or isinstance(message.get("error"), dict):
        return ""
    return 'The message has no "method".'


class Pending:
    """The requests of a client that still wait for their answer."""

    def __init__(self) -> None:
        self._ids: set[object] = set()
        self._none = anyio.Event()
        self._none.set()

    def received(self, message: dict[str, Any]) -> None:
        """Note a message of the client: a request, or the cancellation of one."""
        method = message.get("method")
        if method == "notifications/cancelled":
            self.answered((message.get("params") or {}).get("requestId"))
        elif method is not None and "id" in message and method not in _UNANSWERED:
            if not self._ids:
                self._none = anyio.Event()
            self._ids.add(message["id"])

    def answered(self, request_id: object) -> None:
        """Note that a request got its answer, or will get none."""
        if isinstance(request_id, str | int):
            self._ids.discard(request_id)
        if not self._ids:
            self._none.set()

    async def none(self) -> None:
        """Wait until no request waits."""
        await self._none.wait()
