"""Records of pages as the catalog gives them back: at once, in part, and whatever their texts hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tools.small_wiki import page_record
from wikimcp.index.catalog import Catalog
from wikimcp.index.page_record import (
    PAGE_COLUMNS,
    PageRecord,
    page_from_row,
    page_row,
    pages_from_columns,
    under_own_ids,
)
from wikimcp.index.stale import IndexDamaged
from wikimcp.markdown.identity import derived_id

FIELDS = tuple(PageRecord.__dataclass_fields__)


def values(page: PageRecord) -> dict[str, object]:
    return {name: getattr(page, name) for name in FIELDS}


def stored(folder: Path, pages: list[PageRecord]) -> Catalog:
    catalog = Catalog.create(folder / "catalog.sqlite", {})
    with catalog.transaction():
        catalog.add(map(page_row, pages), [])
    return catalog


def some_page(rev: int, path: str, **fields: object) -> PageRecord:
    made = page_record(rev, path, f"Title {rev}", f"Summary {rev}", tags=("a", "ü b"), aliases=(), **fields)
    assert made.tags == ("a", "ü b")
    return made


def test_pages_come_back_from_the_catalog_as_they_were_in_order_of_their_paths(tmp_path: Path) -> None:
    pages = [
        some_page(7, "z.md", withheld="draft", copy_of="y.md"),
        some_page(8, "a/é.md", labels=frozenset(("team", "ops")), version_fixed=True, conflict_copy=True),
        some_page(20_000, "m.md", partial=True, id_derived=False),
    ]
    catalog = stored(tmp_path, pages)
    _, found, revs = catalog.pages()
    assert [page.path for page in found] == ["a/é.md", "m.md", "z.md"]
    assert sorted(revs) == [7, 8, 20_000]
    by_rev = {page.rev: page for page in found}
    assert [values(by_rev[page.rev]) for page in pages] == [values(page) for page in pages]
    _, newer, revs = catalog.pages(since=8)
    assert [page.rev for page in newer] == [8, 20_000] and sorted(revs) == [7, 8, 20_000]
    catalog.close()


@pytest.mark.parametrize("path", ["a\x1eb.md", "a\x1fb.md", "a\nb.md", " .md"])
def test_a_text_that_holds_the_mark_between_texts_comes_back_too(tmp_path: Path, path: str) -> None:
    pages = [some_page(1, path), some_page(2, "b.md")]
    catalog = stored(tmp_path, pages)
    _, found, _ = catalog.pages()
    assert {page.path: values(page) for page in found} == {page.path: values(page) for page in pages}
    catalog.close()


def test_columns_that_do_not_fit_together_are_told_from_those_that_do() -> None:
    rows = [page_row(some_page(1, "a.md")), page_row(some_page(2, "b\x1ec.md"))]
    columns = ["\x1e".join(str(row[at]) for row in rows) for at in range(len(PAGE_COLUMNS))]
    assert pages_from_columns((2, *columns)) is None
    assert pages_from_columns((0, *[None] * len(PAGE_COLUMNS))) == []


def test_a_record_that_is_changed_keeps_what_nobody_has_asked_for_yet() -> None:
    whole = some_page(3, "a.md", canonical_id="01DECLARED", id_derived=False)
    for asked in (False, True):
        page = page_from_row(page_row(whole))
        if asked:
            assert page.title == "Title 3"
        assert values(page.at_version(9)) == values(whole) | {"version": 9}
        assert values(page.as_copy()) == values(whole) | {"conflict_copy": True}
        assert values(page.under("b")) == values(whole) | {"slug": "b", "id_derived": True}
        own = page.under("b").under_own_id()
        assert own.canonical_id == derived_id("b") and own.title == "Title 3" and own.id_derived
        assert values(own.at_version(9)) == values(own) | {"version": 9}
        assert [values(made) for made in under_own_ids([page, page])] == [values(page.under_own_id())] * 2
        assert page.canonical_id == "01DECLARED"


def test_a_page_that_declares_the_id_that_its_name_gives_gets_another_where_it_may_not_have_it() -> None:
    page = some_page(3, "a.md", canonical_id=derived_id("a"), id_derived=False).under("a")
    assert page.under_own_id().canonical_id == derived_id("a\0a.md")


@pytest.mark.parametrize("cell", ["[", "[1,2]", '{"a":1}', "[null]"])
def test_a_cell_that_was_never_written_is_a_damaged_index(cell: str) -> None:
    page = page_from_row((*page_row(some_page(1, "a.md"))[:-1], cell))
    assert page.path == "a.md"
    with pytest.raises(IndexDamaged):
        _ = page.title
    with pytest.raises(AttributeError):
        _ = page.no_such_field
