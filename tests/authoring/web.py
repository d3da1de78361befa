"""A web server on this machine, and fetch rules under which it stands for hosts of the internet."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from wikimcp.authoring.fetching import FetchRules, is_public

PUBLIC = "203.0.113.7"  # told by the resolver; the connection goes to the server here


@dataclass
class Web:
    """The server: ``pages`` by path, each a status, headers and a body or what writes it; ``asked`` paths."""

    port: int
    scheme: str = "http"
    pages: dict[str, tuple[int, Mapping[str, str], bytes | Callable[[Any], None]]] = field(
        default_factory=dict
    )
    asked: list[tuple[str, str]] = field(default_factory=list)
    resolved: list[str] = field(default_factory=list)
    names: dict[str, list[list[str]]] = field(default_factory=dict)

    def put(
        self, path: str, body: bytes | Callable[[Any], None] = b"", status: int = 200, **headers: str
    ) -> None:
        """Serve a page; header names with underscores for dashes."""
        self.pages[path] = (status, {name.replace("_", "-"): value for name, value in headers.items()}, body)

    def url(self, path: str, host: str = "mill.example") -> str:
        """Return the address of a page."""
        return f"{self.scheme}://{host}:{self.port}{path}"

    def rules(self, **given: Any) -> FetchRules:
        """Return rules by which every name leads here, and only this server's address counts as public."""

        def resolves(host: str, port: int) -> list[str]:
            self.resolved.append(host)
            answers = self.names.get(host)
            if answers is None:
                return ["127.0.0.1"]
            return answers.pop(0) if len(answers) > 1 else answers[0]

        asked: dict[str, Any] = {"resolves": resolves, "permits": lambda a: a == "127.0.0.1" or is_public(a)}
        return FetchRules(**{**asked, **given})


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[Web]:
    """Run the server for a block; with ``tls`` over https."""
    web: Web

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.asked.append((self.headers.get("Host", ""), self.path))
            status, headers, body = web.pages.get(self.path, (404, {}, b""))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if isinstance(body, bytes) and "Content-Length" not in headers:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                if callable(body):
                    body(self)
                else:
                    self.wfile.write(body)
            except OSError:
                pass  # the other side has gone, as it should

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        address_family = socket.AF_INET
        daemon_threads = True

        def get_request(self) -> tuple[socket.socket, Any]:
            connection, address = super().get_request()
            if tls is None:
                return connection, address
            try:
                return tls.wrap_socket(connection, server_side=True), address
            except OSError:
                connection.close()
                raise

    with Server(("127.0.0.1", 0), Handler) as server:
        web = Web(server.server_address[1], "https" if tls else "http")
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield web
        finally:
            server.shutdown()
            thread.join()
