"""Where the hooks of these tests run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.hook_place import Asked, Place, make_place, serving


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Give a small wiki with an environment of its own."""
    return make_place(tmp_path)


@pytest.fixture
def server() -> Iterator[Asked]:
    """Run a server that gives briefings and notes what it was asked."""
    with serving() as asked:
        yield asked
