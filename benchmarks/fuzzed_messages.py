"""JSON-RPC messages no client should send, and what must hold of every line a server answers with."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.figures import BenchError
from benchmarks.stdio_client import Era

_INFO = {"name": "fuzz", "version": "1"}
_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": _INFO,
    "io.modelcontextprotocol/clientCapabilities": {},
}
_METHODS = (
    *("tools/list", "tools/call", "resources/list", "resources/read", "resources/templates/list"),
    *("prompts/list", "prompts/get", "completion/complete", "ping", "server/discover", "initialize"),
    *("logging/setLevel", "resources/subscribe", "tasks/list", "sampling/createMessage", "roots/list"),
)
_TOOLS = (
    *("assemble_bundle", "get_page", "read_pages", "list_pages", "list_tags", "query_nodes", "traverse"),
    *("search_knowledge", "list_clusters", "get_briefing", "retrieve_context", "no_such_tool", ""),
)
_NAMES = (
    *("query", "slug", "slugs", "limit", "cursor", "node", "start_node", "prompt", "uri", "name", "ref"),
    *("argument", "arguments", "nothing", "", "__proto__"),
)
_TEXTS = (
    *("", "a", "failover disk", "\0", "\u202e\u2028\u2029", "\U0001f4a5" * 20, "%s%n", "../../etc/passwd"),
    *("\ud800", "\udfff\ud800", "NaN", "null", "[]", "{}", "1e999", "wiki://page/x", "x" * 5_000, "\\u0000"),
)
_NUMBERS = (0, 1, -1, 2**31, 2**53 + 1, -(2**63), 10**30, 0.5, -0.0, 1e308, float("inf"), float("nan"))


@dataclass(frozen=True, slots=True)
class Sent:
    """One message: its bytes without a newline, and its id where a good server must answer it by that."""

    data: bytes
    id: str | None = None


class Fuzz:
    """Makes messages from a seed: the same seed makes the same ones."""

    def __init__(self, seed: int, era: Era) -> None:
        self._random = random.Random(seed)  # noqa: S311 - no secret is made of it
        self._era = era
        self._count = 0
        self._asked: list[str] = []
        self.cancelled: set[str] = set()

    def opening(self) -> list[Sent]:
        """Return what a client of this era does first."""
        if self._era == "modern":
            return []
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _INFO}
        return [
            self._request("initialize", params),
            Sent(_dump({"jsonrpc": "2.0", "method": "notifications/initialized"})),
        ]

    def good(self) -> Sent:
        """Return a request that must be answered with a result, whatever came before."""
        return self._request("tools/list", {})

    def messages(self, count: int) -> Iterator[Sent]:
        """Yield messages of all sorts."""
        makers = (
            *(self._call, self._call, self._wrong_types, self._wrong_types, self._envelope, self._broken),
            *(self._cancelled, self._noise, self._response),
        )
        for number in range(count):
            if number % 997 == 996:
                yield self._huge()
            else:
                yield self._random.choice(makers)()

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield data in parts, as a slow or busy pipe brings it."""
        while data and self._random.random() < 0.3:
            size = self._random.randint(1, len(data))
            yield data[:size]
            data = data[size:]
        yield data

    def _request(self, method: str, params: Any) -> Sent:  # noqa: ANN401 - any JSON value
        self._count += 1
        own = f"{self._era}-{self._count}"
        if self._era == "modern" and isinstance(params, dict):
            params = {**params, "_meta": _META}
        message = {"jsonrpc": "2.0", "id": own, "method": method, "params": params}
        self._asked.append(own)
        return Sent(_dump(message), own)

    def _call(self) -> Sent:
        arguments = {self._pick(_NAMES): self._value(2) for _ in range(self._random.randint(0, 3))}
        return self._request("tools/call", {"name": self._pick(_TOOLS), "arguments": arguments})

    def _wrong_types(self) -> Sent:
        params: Any = {self._pick(_NAMES): self._value(3) for _ in range(self._random.randint(0, 4))}
        return self._request(self._pick(_METHODS), params)

    def _envelope(self) -> Sent:
        """Return an object that is almost a request."""
        message = {
            "jsonrpc": "2.0",
            "id": self._value(1),
            "method": self._pick(_METHODS),
            "params": self._value(2),
        }
        for key in list(message):
            if self._random.random() < 0.3:
                del message[key]
            elif self._random.random() < 0.2:
                message[key] = self._value(2)
        if not isinstance(message.get("id"), str | int):
            return Sent(_dump(message))
        message["id"] = f"envelope-{self._random.random()}"
        return Sent(_dump(message))

    def _broken(self) -> Sent:
        """Return bytes that were a request."""
        own = f"broken-{self._random.random()}"  # it may still be one after all
        message = {
            "jsonrpc": "2.0",
            "id": own,
            "method": self._pick(_METHODS),
            "params": {"x": self._value(2)},
        }
        data = bytearray(_dump(message))
        for _ in range(self._random.randint(1, 4)):
            at = self._random.randrange(len(data))
            match self._random.randrange(4):
                case 0:
                    data[at] = self._random.randrange(256)
                case 1:
                    del data[at:]
                case 2:
                    data[at:at] = self._random.randbytes(self._random.randint(1, 8))
                case _:
                    del data[at : at + self._random.randint(1, 8)]
            if not data:
                data = bytearray(b"{")
        return Sent(bytes(data).replace(b"\n", b" "))

    def _cancelled(self) -> Sent:
        known = self._asked[-20:] or ["none"]
        own = self._pick([*known, 7, None, {}, "none"])
        if isinstance(own, str):
            self.cancelled.add(own)
        params = {"requestId": own, "reason": self._pick(_TEXTS)}
        return Sent(_dump({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))

    def _noise(self) -> Sent:
        method = self._pick(("notifications/initialized", "notifications/progress", "notifications/nope", ""))
        return Sent(_dump({"jsonrpc": "2.0", "method": method, "params": self._value(2)}))

    def _response(self) -> Sent:
        kind = self._pick(("result", "error"))
        return Sent(_dump({"jsonrpc": "2.0", "id": self._value(0), kind: self._value(2)}))

    def _huge(self) -> Sent:
        match self._random.randrange(4):
            case 0:
                return self._request("tools/call", {"name": "get_page", "arguments": {"slug": "x" * 900_000}})
            case 1:
                return Sent(b"[" * 200_000)
            case 2:
                return Sent(b'{"jsonrpc":"2.0","id":"d","method":"ping","params":' + b'{"a":' * 50_000)
            case _:
                return Sent(b"9" * 500_000)

    def _value(self, depth: int) -> Any:  # noqa: ANN401 - any JSON value
        match self._random.randrange(8 if depth else 5):
            case 0:
                return self._pick((None, True, False))
            case 1 | 2:
                return self._pick(_TEXTS)
            case 3 | 4:
                return self._pick(_NUMBERS)
            case 5:
                return [self._value(depth - 1) for _ in range(self._random.randint(0, 4))]
            case _:
                return {self._pick(_NAMES): self._value(depth - 1) for _ in range(self._random.randint(0, 4))}

    def _pick(self, items: Any) -> Any:  # noqa: ANN401 - one of the items
        return self._random.choice(items)


def check_line(line: bytes) -> dict[str, Any]:
    """Return the message in a line of the server's. Raises BenchError for one that is no JSON-RPC message."""
    try:
        message = json.loads(line.decode(), parse_constant=_refuse)
    except ValueError as error:
        raise BenchError(f"a line that is no JSON: {line[:300]!r} ({error})") from None
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise BenchError(f"a line that is no message: {line[:300]!r}")
    if "method" in message:
        if "id" in message or not isinstance(message["method"], str):
            raise BenchError(f"a request of the server's: {line[:300]!r}")
        return message
    if ("result" in message) == ("error" in message):
        raise BenchError(f"neither a result nor an error: {line[:300]!r}")
    if "error" in message:
        told = message["error"]
        if not isinstance(told.get("code"), int) or not isinstance(told.get("message"), str):
            raise BenchError(f"an error without code and message: {line[:300]!r}")
    elif not isinstance(message.get("id"), str | int):
        raise BenchError(f"a result for nobody: {line[:300]!r}")
    return message


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _dump(value: Any) -> bytes:  # noqa: ANN401 - any JSON value
    return json.dumps(value).encode()
