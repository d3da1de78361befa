"""Several processes find what one finds, and none waits long for the last."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from wikimcp.index.page_record import page_row
from wikimcp.index.parse_pool import _AHEAD, _BATCH, _SMALLEST_BATCH, _batches, prepare_all
from wikimcp.index.prepare import Prepared, Skipped, prepare
from wikimcp.lexical.tantivy import analysis
from wikimcp.vaults.detect import detect


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_every_file_is_prepared_once_and_alike_by_any_number_of_processes(
    tmp_path: Path, workers: int
) -> None:
    for number in range(150):
        text = f"# Page {number}\n\nThe valve x{number} of getName — see [[Page {number + 1}]].\n"
        (tmp_path / f"Page {number}.md").write_text(text, encoding="utf-8")
    (tmp_path / "picture.md").write_bytes(b"\x89PNG\r\n\0\0")
    adapter = detect(tmp_path)
    paths = [stamp.path for stamp in adapter.scan().files] + ["gone.md"]
    alone = [prepare(adapter, path, analyze=analysis) for path in paths]
    found = list(prepare_all(adapter, paths, analyze=analysis, workers=workers))
    assert sorted(map(_facts, found)) == sorted(map(_facts, alone))
    assert [item.path for item in found if isinstance(item, Skipped) and item.gone] == ["gone.md"]


def _facts(item: Prepared | Skipped) -> str:
    """Return all that was found; words of a set come in no fixed order."""
    if isinstance(item, Skipped):
        return repr(item)
    words = sorted(re.findall(r"\w+", repr(item.lexical)))
    return f"{page_row(item.record)} {item.body} {item.declared_id} {words}"


@pytest.mark.parametrize("files", [0, 1, 7, 8, 9, 1_201, 10_010])
def test_batches_hold_every_file_in_order_and_the_last_ones_are_small(files: int) -> None:
    paths = [str(number) for number in range(files)]
    batches = list(_batches(paths, 2))
    assert [path for batch in batches for path in batch] == paths
    assert all(len(batch) <= _BATCH for batch in batches)
    assert all(len(batch) <= _SMALLEST_BATCH for batch in batches[-_AHEAD:])
