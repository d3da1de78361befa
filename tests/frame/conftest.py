"""Shared by tests of the frame."""

from __future__ import annotations

from pathlib import Path

import pytest

from wikimcp.cli import main

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus" / "wikantik-pages"


@pytest.fixture(scope="session")
def corpus_picture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the picture of the corpus beside the clone, once; gives the file."""
    if not CORPUS.is_dir():
        pytest.skip("the corpus beside the clone is absent")
    place = tmp_path_factory.mktemp("corpus")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "WIKIMCP_STATE_DIR"):
            patch.setenv(name, str(place / name.lower()))
        patch.setenv("WIKIMCP_EMBEDDER", "none")
        assert main(["graph", "--html", str(place / "corpus.html"), "--vault", str(CORPUS)]) == 0
    return place / "corpus.html"
