"""Places that stay what they are when the line ends of a file are changed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikimcp.citations.line_breaks import LineBreaks
from wikimcp.citations.page_text import PageText
from wikimcp.citations.verdict import Cited, Status, check
from wikimcp.markdown.body import parse_body
from wikimcp.markdown.tokens import span_sha256

LINES = st.lists(st.text("ab \r", max_size=4), min_size=1, max_size=6)


@given(LINES, st.data())
def test_a_place_means_the_same_characters_with_either_line_end(
    lines: list[str], data: st.DataObject
) -> None:
    lines = [line.rstrip("\r") for line in lines]
    one, two = "\n".join(lines), "\r\n".join(lines)
    start = data.draw(st.integers(0, len(one)))
    place = (start, data.draw(st.integers(start, len(one))))
    assert LineBreaks(one).fold(place) == LineBreaks(one).unfold(place) == place
    found = LineBreaks(two).unfold(place)
    assert two[slice(*found)].replace("\r\n", "\n") == one[slice(*place)]
    assert LineBreaks(two).fold(found) == place


@pytest.mark.parametrize("before", ["\n", "\r\n"])
@pytest.mark.parametrize("after", ["\n", "\r\n"])
def test_one_of_two_equal_sections_is_known_again_after_a_change_of_line_ends(
    before: str, after: str
) -> None:
    text = "# A\n\nvalve turns.\n\n# A\n\nvalve turns.\n\n# B\n\nAnother.\n"
    for number in (0, 1):
        was, now = (page_of(text.replace("\n", ends)) for ends in (before, after))
        section = was.sections[number]
        own = (section.own.start, section.own.end)
        digest = span_sha256(was.text[slice(*own)])
        verdict = check(now, Cited(("A",), hash_start=digest[:16], place=was.breaks.fold(own)))
        assert verdict.status is Status.CURRENT
        assert verdict.section is not None and verdict.section.ordinal == section.ordinal


def test_a_part_of_known_length_is_found_where_lines_were_put_above_and_line_ends_changed() -> None:
    part = "Paragraph one of two.\nIt goes on."
    was = page_of(f"# A\n\nLead.\n\n{part} And on.\n")
    start = was.text.index(part)
    place = was.breaks.fold((start, start + len(part)))
    now = page_of(f"# New\n\nx\n\n# A\n\nLead.\n\n{part} And on.\n".replace("\n", "\r\n"))
    verdict = check(now, Cited(("A",), hash_start=span_sha256(part)[:16], place=place))
    assert verdict.status is Status.CURRENT
    assert verdict.place is not None
    assert now.text[slice(*verdict.place)] == part.replace("\n", "\r\n")


def page_of(text: str) -> PageText:
    return PageText(text, parse_body(text, 0).sections)
