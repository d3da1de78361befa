"""Workspaces for the tests of the authoring profile: a folder, and a clock that stands still."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from wikimcp.authoring.workspace import Workspace

NOON = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Return a project without a wiki."""
    return Workspace.open(tmp_path, clock=lambda: NOON)
