"""Shared by all tests: the event loop they run on, and a run without any network but this machine's own."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

GUARD = Path(__file__).parent / "no_network"
_LOG = "NO_NETWORK_LOG"

# No test fails for want of time: a busy machine makes any example late.
settings.register_profile(
    "patient",
    settings.get_profile(settings.get_current_profile_name()),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("patient")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


def pytest_configure() -> None:
    """Put the guard against connections into this process and into every Python process it starts."""
    handle, log = tempfile.mkstemp(prefix="no-network-", suffix=".log")
    os.close(handle)
    os.environ[_LOG] = log
    spec = importlib.util.spec_from_file_location("no_network", GUARD / "sitecustomize.py")
    assert spec is not None and spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))
    start: Any = subprocess.Popen.__init__

    def guarded(self: Any, *args: Any, env: Mapping[Any, Any] | None = None, **more: Any) -> None:
        start(self, *args, env=guarded_environment(os.environ if env is None else env), **more)

    setattr(subprocess.Popen, "__init__", guarded)  # noqa: B010 - plain assignment is no method


def pytest_unconfigure() -> None:
    Path(os.environ.pop(_LOG)).unlink(missing_ok=True)


def guarded_environment(env: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return variables of a child process with which its interpreter loads the guard before all else."""
    paths = [str(GUARD), *filter(None, [os.fspath(env.get("PYTHONPATH") or "")])]
    return {**env, "PYTHONPATH": os.pathsep.join(paths), _LOG: os.environ[_LOG]}


@pytest.fixture(autouse=True)
def no_connection_leaves_this_machine() -> Iterator[Path]:
    """Fail a test during which any process tried to reach another machine; gives the file that tells."""
    log = Path(os.environ[_LOG])
    log.touch()  # whoever tidies the folder of temporary files may take it away
    before = log.stat().st_size
    yield log
    said = log.read_bytes()[before:].decode()
    assert not said, f"tried to reach another machine:\n{said}"


@pytest.fixture
def expected_attempts(no_connection_leaves_this_machine: Path) -> Iterator[Path]:
    """For a test that means to try: gives the file that tells of it, and takes that out again."""
    log = no_connection_leaves_this_machine
    size = log.stat().st_size
    yield log
    os.truncate(log, size)
