"""What is read off the segments of a tantivy index: when a commit merges, and what stays deleted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.index.live_wiki import until
from tests.lexical.few_pages import FromPages, page, pages_found
from wikimcp.lexical.segments import Segments
from wikimcp.lexical.tantivy import TantivyIndex


@pytest.mark.parametrize(
    ("documents", "due"),
    [
        ((), False),
        ((5,) * 7, False),
        ((5,) * 8, True),
        ((9_000,) * 8, True),
        ((100_000, *(5,) * 7), False),
        ((100_000, *(5,) * 8), True),
        ((100_000,) * 7 + (5,) * 7, False),
        ((100_000,) * 8, True),
        ((100_000, 90_000, 80_000, 70_000, 65_000, 62_000, 61_000, 60_000), True),
    ],
)
def test_eight_segments_of_about_one_size_are_merged(documents: tuple[int, ...], due: bool) -> None:
    assert Segments(documents, (0,) * len(documents)).merge_due() is due


def test_what_is_deleted_in_large_segments_is_waste() -> None:
    assert Segments((20_000, 10), (5_000, 9)).waste == pytest.approx(5_000 / 20_010)
    assert Segments((900,), (800,)).waste == 0
    assert Segments((), ()).waste == 0
    assert Segments((20_000, 10), (5_000, 9)).total == 20_010


def test_the_library_merges_when_we_say_it_does_and_its_merges_are_kept(tmp_path: Path) -> None:
    index = FromPages(TantivyIndex(tmp_path / "lexical"))
    index.write(generation=1, removed=(), added=[page(1, "valve")], fresh=True)
    for generation in range(2, 30):
        index.write(generation=generation, removed=(), added=[page(generation, "valve")])
        for part in ("pages", "chunks"):
            until(
                lambda folder=tmp_path / "lexical" / part: not Segments.read(folder).merge_due(),
                "a merge that is due is done",
            )
    assert len(Segments.read(tmp_path / "lexical" / "chunks").documents) < 8
    assert len(pages_found(index.searcher(), "valve")) == 29
    index.close()


def test_another_writer_need_not_wait_for_a_merge(tmp_path: Path) -> None:
    first, second = (
        FromPages(TantivyIndex(tmp_path / "lexical")),
        FromPages(TantivyIndex(tmp_path / "lexical")),
    )
    first.write(generation=1, removed=(), added=[page(1, "valve")], fresh=True)
    for generation in range(2, 10):
        first.write(generation=generation, removed=(), added=[page(generation, "valve " * 2_000)])
    second.write(generation=10, removed=[1], added=[page(50, "kestrel")])
    assert pages_found(second.searcher(), "kestrel") == [50]
    first.close()
    second.close()
