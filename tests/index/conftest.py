"""Vaults that are edited while they are served, with the watcher and without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.index.live_wiki import LiveWiki


@pytest.fixture(params=[True, False], ids=["watched", "walked"])
def wiki(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveWiki]:
    live = LiveWiki(tmp_path, watch=request.param)
    yield live
    live.stop()


@pytest.fixture
def quiet_wiki(tmp_path: Path) -> Iterator[LiveWiki]:
    live = LiveWiki(tmp_path, watch=False)
    yield live
    live.stop()
