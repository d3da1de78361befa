"""The guard that all tests run under: nothing but this machine can be reached, here and in child processes."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.edges.processes import PATIENCE, environment

FAR = ("192.0.2.1", 80)  # an address that documentation may use and nobody has


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_a_connection_to_another_machine_fails_and_is_told(
    expected_attempts: Path, kind: socket.SocketKind
) -> None:
    with socket.socket(socket.AF_INET, kind) as far, pytest.raises(OSError, match="no network in tests"):
        far.connect(FAR)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as far,
        pytest.raises(OSError, match="no network in tests"),
    ):
        far.sendto(b"x", FAR)
    assert expected_attempts.read_text().count("192.0.2.1") == 2


@pytest.mark.parametrize("name", ["wiki.example", "127.0.0.1.wiki.example", "localhost.wiki.example"])
def test_no_name_is_looked_up(expected_attempts: Path, name: str) -> None:
    with pytest.raises(OSError, match="no network in tests"):
        socket.getaddrinfo(name, 80)
    assert name in expected_attempts.read_text()


def test_this_machine_can_be_reached_by_address_by_name_and_by_file(tmp_path: Path) -> None:
    for host in ("127.0.0.1", "localhost"):
        with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as near:
            near.connect((host, server.getsockname()[1]))
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as near:
        server.bind(str(tmp_path / "s"))
        server.listen()
        near.connect(str(tmp_path / "s"))


@pytest.mark.parametrize("env", [None, environment(), {"PATH": os.environ["PATH"]}])
def test_a_child_of_a_child_process_reaches_nothing_either(
    expected_attempts: Path, env: dict[str, str] | None
) -> None:
    inner = f"import socket; socket.create_connection({FAR!r}, timeout=1)"
    script = f"import subprocess, sys; sys.exit(subprocess.run([sys.executable, '-c', {inner!r}]).returncode)"
    done = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 1
    assert "no network in tests: socket.connect '192.0.2.1'" in done.stderr
    assert "socket.connect '192.0.2.1' by process" in expected_attempts.read_text()
