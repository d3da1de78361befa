"""Verbs of the command line run in a test's own process, over a vault and folders of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wikimcp.cli import main

Run = Callable[..., tuple[int, str, str]]
"""Takes the words of a command line; gives exit code, stdout and stderr."""


def runs(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs verbs with what is around."""

    def call(*words: str) -> tuple[int, str, str]:
        code = main(words)
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


def verb_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, vault: str = "vault"
) -> Run:
    """Return what runs verbs over a vault below ``folder`` with nothing of the user's around."""
    for name, value in {
        "HOME": folder / "home",
        "XDG_DATA_HOME": folder,
        "XDG_CONFIG_HOME": folder,
        "WIKIMCP_VAULT": folder / vault,
        "WIKIMCP_STATE_DIR": folder / "state",
        "WIKIMCP_EMBEDDER": "none",
    }.items():
        monkeypatch.setenv(name, str(value))
    return runs(capsys)
