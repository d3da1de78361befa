"""What the ledger counts outlives the index: pages that move while there is none go on counting."""

from __future__ import annotations

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
