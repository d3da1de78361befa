"""Versions count changes of content: through renames, restarts, two writers and the loss of the ledger."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from wikimcp.index.former import path_of_former_id
from wikimcp.index.ledger import Entry, Ledger, LedgerDamaged, Sighting
from wikimcp.index.state import StateDir

AT = "2031-02-03T00:00:00+00:00"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(file: Path) -> Iterator[Ledger]:
    made = Ledger(file)
    yield made
    made.close()


def seen(path: str, content: str, *, declared: str = "") -> Sighting:
    return Sighting(path, declared or f"id of {path}", declared, content, AT)


def versions(ledger: Ledger, *pages: Sighting) -> list[int]:
    found = ledger.record(pages)
    return [found[page.path] for page in pages]


def test_a_change_of_content_counts_and_nothing_else_does(ledger: Ledger) -> None:
    assert versions(ledger, seen("a.md", "one"), seen("b.md", "one")) == [1, 1]
    assert versions(ledger, seen("a.md", "one")) == [1]
    assert versions(ledger, seen("a.md", "two")) == [2]
    assert versions(ledger, seen("a.md", "one")) == [3]


def test_a_restart_and_another_writer_go_on_counting(ledger: Ledger, file: Path) -> None:
    versions(ledger, seen("a.md", "one"))
    other = Ledger(file)
    assert versions(other, seen("a.md", "two")) == [2]
    assert versions(ledger, seen("a.md", "two"), seen("b.md", "new")) == [2, 1]
    assert versions(other, seen("a.md", "three")) == [3]
    other.close()


@pytest.mark.parametrize("declared", ["01A", ""])
def test_a_renamed_page_goes_on_from_where_it_was(ledger: Ledger, file: Path, declared: str) -> None:
    versions(ledger, seen("a.md", "one", declared=declared))
    versions(ledger, seen("a.md", "two", declared=declared))
    ledger.retire(["a.md"])
    assert versions(ledger, seen("shelf/a.md", "two", declared=declared)) == [2]
    former = declared or "id of a.md"
    assert path_of_former_id(file, former) == "shelf/a.md"


def test_a_page_renamed_and_edited_is_known_by_its_declared_id(ledger: Ledger) -> None:
    versions(ledger, seen("a.md", "one", declared="01A"), seen("b.md", "one"))
    ledger.retire(["a.md", "b.md"])
    moved = seen("c.md", "two", declared="01A"), seen("d.md", "two")
    assert versions(ledger, *moved) == [2, 1]


def test_a_page_is_found_again_once_only(ledger: Ledger, file: Path) -> None:
    versions(ledger, seen("a.md", "one"))
    versions(ledger, seen("a.md", "two"))
    ledger.retire(["a.md"])
    assert versions(ledger, seen("b.md", "two"), seen("copy.md", "two")) == [2, 1]
    again = Ledger(file)
    assert versions(again, seen("copy-2.md", "two")) == [1]
    assert path_of_former_id(file, "id of a.md") == "b.md"
    again.close()


def test_pages_of_equal_content_that_move_together_all_go_on(ledger: Ledger) -> None:
    for content in ("one", "two"):
        versions(ledger, seen("a.md", content), seen("b.md", content))
    ledger.retire(["a.md", "b.md"])
    moved = (seen(f"shelf/{name}.md", "two") for name in ("a", "b", "c"))
    assert versions(ledger, *moved) == [2, 2, 1]


def test_a_page_that_comes_back_never_counts_backwards(ledger: Ledger, file: Path) -> None:
    versions(ledger, seen("a.md", "one"))
    ledger.retire(["a.md"])
    assert versions(ledger, seen("b.md", "one")) == [1]
    assert versions(ledger, seen("b.md", "two")) == [2]
    assert versions(ledger, seen("b.md", "three")) == [3]
    ledger.retire(["b.md"])
    assert versions(ledger, seen("a.md", "three")) == [3]
    assert path_of_former_id(file, "id of b.md") == "a.md"
    assert path_of_former_id(file, "id of a.md") == "a.md"


def test_a_deleted_page_that_is_written_again_goes_on_counting(ledger: Ledger) -> None:
    versions(ledger, seen("a.md", "one"))
    ledger.retire(["a.md"])
    assert versions(ledger, seen("a.md", "other")) == [2]


def test_an_id_that_nobody_had_leads_nowhere(ledger: Ledger, file: Path) -> None:
    versions(ledger, seen("a.md", "one"))
    assert path_of_former_id(file, "nobody") == ""
    assert path_of_former_id(file.with_name("none.sqlite"), "nobody") == ""


def test_a_new_ledger_begins_with_what_the_index_knows_and_an_old_one_does_not(ledger: Ledger) -> None:
    ledger.seed([Entry("a.md", "", "one", 7, False)])
    assert versions(ledger, seen("a.md", "one"), seen("b.md", "x")) == [7, 1]
    ledger.seed([Entry("b.md", "", "x", 50, False)])
    assert versions(ledger, seen("a.md", "two"), seen("b.md", "x")) == [8, 1]


def _garbage(file: Path) -> None:
    file.write_bytes(os.urandom(8_192))


def _flipped(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[4_096:] = os.urandom(len(data) - 4_096)
    file.write_bytes(bytes(data))


def _other_tables(file: Path) -> None:
    file.unlink()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE pages (something TEXT)")
    connection.close()


def _undecodable(file: Path) -> None:
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE pages SET content_hash = CAST(x'C3C3' AS TEXT)")
    connection.close()


@pytest.mark.parametrize("harm", [_undecodable, _garbage, _flipped, _other_tables])
def test_a_ledger_that_cannot_be_read_is_told_from_a_busy_one(file: Path, harm: object) -> None:
    made = Ledger(file)
    versions(made, *(seen(f"{n}.md", "one") for n in range(200)))
    made.close()
    assert callable(harm)
    harm(file)
    with pytest.raises(LedgerDamaged):
        versions(Ledger(file), *(seen(f"{n}.md", "two") for n in range(200)))


def test_a_damaged_ledger_is_kept_aside_under_a_name_of_its_own(tmp_path: Path) -> None:
    state = StateDir.open(tmp_path)
    assert state.remarks == []
    for number in (1, 2):
        state.ledger.write_bytes(b"garbage")
        Path(f"{state.ledger}-wal").write_bytes(b"its log")
        aside = state.set_ledger_aside()
        assert aside.name == f"ledger.sqlite.bad-{number}"
        assert aside.read_bytes() == b"garbage" and not state.ledger.exists()
        assert Path(f"{aside}-wal").read_bytes() == b"its log"
    assert "ledger.sqlite.bad-1, ledger.sqlite.bad-2" in state.remarks[0]
    assert str(tmp_path) not in state.remarks[0]
