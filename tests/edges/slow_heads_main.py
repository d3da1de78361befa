"""Serves TinyService with little patience for heads of requests."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.edges.processes import HttpServer, environment


@contextmanager
def start() -> Iterator[HttpServer]:
    """Start the server as a process; it is killed at the end."""
    command = [sys.executable, str(Path(__file__))]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment()) as process:
        try:
            assert process.stderr is not None
            yield HttpServer(process, process.stderr.readline().removeprefix("wikimcp: serving ").strip())
        finally:
            process.kill()


if __name__ == "__main__":
    from tests.edges.tiny_service import TinyService
    from wikimcp.edges.http import serve_http
    from wikimcp.edges.slow_heads import ImpatientProtocol

    ImpatientProtocol.head_seconds = 0.3
    sys.exit(serve_http(TinyService(), host="127.0.0.1", port=0))
