"""Run the MCP conformance scenarios that a server of tools can pass against `wikimcp serve --http`.

``run.py FOLDER``: the npm packages are installed below FOLDER. Exit code 1 when a scenario fails, or checks
nothing where it should; where npm or its registry is missing it says so and leaves with 0.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("@modelcontextprotocol/conformance@0.2.0-alpha.12", "node@22")
HANDSHAKE = "2025-11-25"
STATELESS = "2026-07-28"
SCENARIOS = (
    *((name, HANDSHAKE) for name in ("server-initialize", "server-session-lifecycle", "ping")),
    *(
        (name, version)
        for name in ("tools-list", "tools-call-error", "resources-list", "prompts-list")
        for version in (HANDSHAKE, STATELESS)
    ),
    ("server-sse-multiple-streams", HANDSHAKE),
    *(("dns-rebinding-protection", version) for version in (HANDSHAKE, STATELESS)),
    *((name, STATELESS) for name in ("caching", "http-header-validation", "sep-2164-resource-not-found")),
)
ASSERT_NOTHING = ("server-session-lifecycle", "server-sse-multiple-streams")
"""Scenarios about sessions: of a server that keeps none, which is what this one is, they check nothing."""
INSTALL_SECONDS = 300.0
SCENARIO_SECONDS = 120.0


def main(folder: Path) -> int:
    """Install, serve, run each scenario and print one line for it."""
    reason = install(folder)
    if reason:
        print(f"skipped: {reason}")
        return 0
    failed = 0
    with served() as url:
        for name, version in SCENARIOS:
            passed, told = run(folder, url, name, version)
            verdict = "ok" if passed else "FAIL"
            if passed and "Passed: 0/0" in told:  # it ended well, having checked nothing
                verdict = "none" if name in ASSERT_NOTHING else "FAIL"
            failed += verdict == "FAIL"
            print(f"{verdict:4} {name} ({version}): {told}", flush=True)
    return 1 if failed else 0


def install(folder: Path) -> str:
    """Install the packages; return why that cannot be done, empty when it was."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is not installed"
    folder.mkdir(parents=True, exist_ok=True)
    command = [
        npm,
        "install",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
        "--prefix",
        str(folder),
        *PACKAGES,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, cwd=folder)
    except subprocess.TimeoutExpired:
        return "npm did not end in time; is a registry reachable?"
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[0]
        return f"npm cannot install the packages ({last})"
    return ""


def node_of(folder: Path) -> str:
    """Return the node program to use: that of the package where it runs, else the machine's."""
    own = folder / "node_modules" / ".bin" / "node"
    works = own.exists() and subprocess.run([own, "--version"], capture_output=True).returncode == 0
    return str(own) if works else "node"


@contextmanager
def served() -> Iterator[str]:
    """Serve the sample vault; yields the URL of the endpoint."""
    with tempfile.TemporaryDirectory() as state:
        named = {"WIKIMCP_STATE_DIR": state, "WIKIMCP_HTTP_KEYS_FILE": str(Path(state) / "keys.json")}
        command = [sys.executable, "-m", "wikimcp", "serve", "sample_vault", "--http", "127.0.0.1:0"]
        with subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **named}, stderr=subprocess.PIPE, text=True
        ) as server:
            try:
                assert server.stderr is not None
                for line in server.stderr:
                    if "serving http://" in line:
                        break
                else:
                    raise SystemExit("the server did not start")
                yield line.split("serving ")[1].strip()
            finally:
                server.terminate()
                server.communicate()


def run(folder: Path, url: str, name: str, version: str) -> tuple[bool, str]:
    """Return whether a scenario passed, and what it says of itself."""
    program = folder / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    command = [node_of(folder), str(program), "server", "--url", url, "--scenario", name]
    try:
        done = subprocess.run(
            [*command, "--spec-version", version],
            capture_output=True,
            text=True,
            timeout=SCENARIO_SECONDS,
            cwd=folder,
        )
    except subprocess.TimeoutExpired:
        return False, "no end in time"
    output = re.sub(r"\x1b\[\d+m", "", done.stdout + done.stderr)
    result = re.search(r"Passed: .*", output)
    notes = re.findall(r"\] (?:FAILURE|WARNING|INFO) +(.*)", output)
    return done.returncode == 0, "; ".join([result[0] if result else output[-300:], *notes])


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
