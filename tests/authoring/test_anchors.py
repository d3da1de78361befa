"""Anchors: where the lines that a page points at are now, by their hash and by their symbol."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from wikimcp.authoring.anchors import (
    Drift,
    SourceText,
    anchor_text,
    anchor_url,
    locate,
    read_fragment,
    symbol_of,
)
from wikimcp.authoring.manifest import AnchorEntry
from wikimcp.authoring.symbols import Symbol

TEXT = "import os\n\ndef one():\n    return 1\n\ndef two():\n    return 2\n"
SYMBOLS = (Symbol("one", "function", 3, 4, 3), Symbol("two", "function", 6, 7, 6))


def _source(text: str) -> SourceText:
    return SourceText.of(text.encode())


def _anchor(first: int, last: int, symbol: str | None = None, text: str = TEXT) -> AnchorEntry:
    return AnchorEntry("entities/a.md", "a.py", first, last, _source(text).sha256(first, last), symbol)


@pytest.mark.parametrize(
    ("fragment", "lines"),
    [
        ("L4", (4, 4)),
        ("L4-L9", (4, 9)),
        ("L4-9", (4, 9)),
        ("L9-L4", None),
        ("L0", None),
        ("L", None),
        ("l4", None),
        ("L4-L9x", None),
        ("L123456789", None),
        ("heading", None),
        ("", None),
    ],
)
def test_a_fragment_is_read_or_is_none(fragment: str, lines: tuple[int, int] | None) -> None:
    assert read_fragment(fragment) == lines


def test_an_anchor_is_written_relative_and_as_a_file_address_only_on_request(tmp_path: Path) -> None:
    assert anchor_text("src/a b.py", 4, 9) == "src/a b.py#L4-L9"
    assert anchor_text("src/a.py", 4, 4) == "src/a.py#L4"
    assert anchor_text("src/a.py", 0, 0) == "src/a.py"
    assert anchor_url(tmp_path, "src/a b.py", 4, 9) == f"{tmp_path.as_uri()}/src/a%20b.py#L4-L9"


def test_lines_that_are_where_they_were_are_unchanged() -> None:
    found = locate(_anchor(3, 4), _source(TEXT))
    assert (found.drift, found.first, found.last) == (Drift.UNCHANGED, 3, 4)


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
def test_line_ends_and_a_last_line_without_end_change_nothing(ends: str) -> None:
    for text in (TEXT.replace("\n", ends), TEXT.rstrip().replace("\n", ends)):
        assert locate(_anchor(6, 7), _source(text)).drift is Drift.UNCHANGED


def test_other_bytes_change_the_hash_even_where_they_are_no_text() -> None:
    one, other = SourceText.of(b"a\xff\n"), SourceText.of(b"a\xfe\n")
    assert one.text() == other.text()
    assert one.sha256(1, 1) != other.sha256(1, 1)


def test_lines_that_moved_are_found_again_up_and_down() -> None:
    found = locate(_anchor(6, 7), _source("# new\n# new\n" + TEXT))
    assert (found.drift, found.first, found.last) == (Drift.MOVED, 8, 9)
    found = locate(_anchor(6, 7), _source(TEXT.replace("import os\n\n", "")))
    assert (found.drift, found.first, found.last) == (Drift.MOVED, 4, 5)


def test_lines_that_stand_twice_elsewhere_belong_to_neither_place() -> None:
    block = "x = 1\ny = 2\n"
    anchor = _anchor(1, 2, text=block)
    found = locate(anchor, _source("# new\n" + block + block))
    assert (found.drift, found.first) == (Drift.AMBIGUOUS, 0)
    assert "2 times in the file, from 2, 4" in found.why
    assert locate(anchor, _source(block + block)).drift is Drift.UNCHANGED, "they are still where they were"


def test_of_two_places_the_one_that_the_symbol_names_is_it() -> None:
    text = "# a\ndef one():\n    pass\ndef one():\n    pass\n"
    twice = [Symbol("one", "function", 2, 3, 2), Symbol("one", "function", 4, 5, 4)]
    anchor = _anchor(2, 3, "one", text="#\ndef one():\n    pass\n")
    moved = _source("#\n" + text)
    shifted = [replace(s, first=s.first + 1, last=s.last + 1, line=s.line + 1) for s in twice]
    assert locate(anchor, moved, shifted).drift is Drift.AMBIGUOUS, "both are called one"
    found = locate(anchor, moved, [shifted[0], replace(shifted[1], name="two")])
    assert (found.drift, found.first, found.last) == (Drift.MOVED, 3, 4)


def test_a_symbol_whose_text_changed_is_found_by_its_name() -> None:
    text = "#\n" + TEXT.replace("return 2", "return 22")
    symbols = [replace(s, first=s.first + 1, last=s.last + 1, line=s.line + 1) for s in SYMBOLS]
    found = locate(_anchor(6, 7, "two"), _source(text), symbols)
    assert (found.drift, found.first, found.last, found.symbol_gone) == (Drift.CHANGED, 7, 8, False)


def test_a_symbol_that_only_grew_has_changed_where_it_stands() -> None:
    grown = TEXT + "    # and more\n"
    symbols = (SYMBOLS[0], replace(SYMBOLS[1], last=8))
    found = locate(_anchor(6, 7, "two"), _source(grown), symbols)
    assert (found.drift, found.first, found.last) == (Drift.CHANGED, 6, 8)
    assert locate(_anchor(6, 7), _source(grown), symbols).drift is Drift.UNCHANGED, "mere lines are there"


def test_a_symbol_that_is_not_declared_any_more_is_said_to_be_gone() -> None:
    source = _source(TEXT.replace("two", "three"))
    left = (SYMBOLS[0], replace(SYMBOLS[1], name="three"))
    found = locate(_anchor(6, 7, "two"), source, left)
    assert (found.drift, found.first, found.symbol_gone) == (Drift.CHANGED, 0, True)
    assert locate(_anchor(6, 7, "two"), source, ()).symbol_gone
    assert not locate(_anchor(6, 7, "two"), source, None).symbol_gone, "without a parser nobody can say so"


def test_lines_that_changed_keep_their_place_and_a_shorter_file_is_said() -> None:
    found = locate(_anchor(3, 4), _source(TEXT.replace("return 1", "return 11")))
    assert (found.drift, found.first, found.last) == (Drift.CHANGED, 3, 4)
    found = locate(_anchor(6, 7), _source("import os\n"))
    assert (found.drift, found.first, found.why) == (Drift.CHANGED, 0, "the file has 1 lines now")
    assert locate(_anchor(6, 7), None).drift is Drift.GONE


def test_what_is_too_long_to_look_through_is_said_to_be_changed_not_looked_for_forever() -> None:
    long = "".join(f"line {i} of a file that goes on and on\n" for i in range(60_000))
    anchor = _anchor(1, 30_000, text=long)
    found = locate(anchor, _source("new\n" + long))
    assert found.drift is Drift.CHANGED
    assert "long file" in found.why
    near = locate(_anchor(5, 6, text=long), _source("new\n" + long))
    assert (near.drift, near.first) == (Drift.MOVED, 6)


def test_lines_are_a_symbol_only_when_they_are_its_whole_declaration() -> None:
    decorated = Symbol("f", "function", 2, 9, 5)
    assert [symbol_of([decorated], first, 9) for first in (1, 2, 4, 5, 6)] == [None, "f", "f", "f", None]
    assert symbol_of([decorated], 2, 8) is None
    assert symbol_of([decorated, Symbol("f", "function", 20, 21, 20)], 2, 9) is None
