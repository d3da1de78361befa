"""What is lost with an index or a killed writer: versions go on counting, and the next writer writes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.index.index_facts import index_of


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    root.mkdir()
    for number in range(3):
        (root / f"page-{number}.md").write_text(f"# Page {number}\n\nquern {number}\n", encoding="utf-8")
    return root


@pytest.mark.parametrize("there", [False, True])
def test_a_page_that_moved_while_there_was_no_index_goes_on_counting(
    tmp_path: Path, vault: Path, there: bool
) -> None:
    store = index_of(vault, tmp_path / "state")
    store.refresh()
    (vault / "page-1.md").write_text("# Page 1\n\nosprey\n", encoding="utf-8")
    store.refresh(["page-1.md"])
    store.close()
    for folder in (tmp_path / "state").glob("index-*"):
        shutil.rmtree(folder)
    if there:
        shutil.copy(vault / "page-1.md", vault / "moved.md")
    else:
        (vault / "page-1.md").rename(vault / "moved.md")
    store = index_of(vault, tmp_path / "state")
    store.refresh()
    assert store.snapshot is not None
    assert store.snapshot.records["moved.md"].version == (1 if there else 2)
    store.close()


def test_deletions_that_a_killed_writer_left_are_not_in_the_way_of_the_next(
    tmp_path: Path, vault: Path
) -> None:
    store = index_of(vault, tmp_path / "state")
    store.refresh()
    folder = store.state.current(store.key)
    assert folder is not None
    for part in ("pages", "chunks"):
        meta = json.loads((folder / "lexical" / part / "meta.json").read_text(encoding="utf-8"))
        for segment in meta["segments"]:
            for stamp in range(meta["opstamp"] + 1, meta["opstamp"] + 40):
                name = f"{segment['segment_id'].replace('-', '')}.{stamp}.del"
                (folder / "lexical" / part / name).write_bytes(b"left behind")
    (vault / "page-1.md").write_text("# Page 1\n\nosprey\n", encoding="utf-8")
    assert store.refresh(["page-1.md"]) and store.degraded == ""
    assert store.snapshot is not None
    assert len(store.snapshot.searcher.search("osprey", limit=3).page_revs) == 1
    assert store.state.current(store.key) == folder
    store.close()
