"""The verdict on a citation of a page: exact, whatever the page has become."""

from __future__ import annotations

import pytest

from wikimcp.citations.page_text import PageText, named_alone
from wikimcp.citations.verdict import Cited, Status, Verdict, check
from wikimcp.markdown.body import parse_body
from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.markdown.tokens import span_sha256

PAGE = """---
title: Pump
summary: The pump runs at night.
---
Before any heading.

# Pump

The pump runs at night. It is **loud**.

## Valves

The valve closes
at 40 degrees.

## Notes

One note.

# Old pump

## Notes

Another note. The valve closes at noon.
"""


def page(text: str = PAGE) -> PageText:
    body = parse_body(text, parse_frontmatter(text).body_start)
    return PageText(text, body.sections, [(chunk.start, chunk.end) for chunk in body.chunks])


def verdict(text: str = PAGE, *path: str, span: str = "", hash_of: str = "") -> Verdict:
    return check(page(text), Cited(path, span, span_sha256(hash_of)[:16] if hash_of else ""))


def lines(found: Verdict) -> tuple[int, int]:
    assert found.place is not None
    return page().lines(found.place)


def test_a_span_under_its_heading_is_current() -> None:
    found = verdict(PAGE, "Pump", "Valves", span="valve  closes at\n40 degrees")
    assert (found.status, lines(found)) == (Status.CURRENT, (13, 14))
    assert verdict(PAGE, "Pump", span="The valve closes at 40").status is Status.CURRENT  # in its subtree
    assert verdict(PAGE, "Valves", span="closes at 40").status is Status.CURRENT
    assert verdict(PAGE, "pump", "VALVES", span="closes at 40").status is Status.CURRENT
    assert verdict(PAGE, span="It is **loud**.").status is Status.CURRENT


def test_a_span_under_another_heading_has_moved_there() -> None:
    found = verdict(PAGE, "Pump", "Valves", span="It is **loud**.")
    assert found.status is Status.MOVED and found.section is not None
    assert found.section.heading_path == ("Pump",)
    found = verdict(PAGE, "Gone", span="closes at noon")
    assert found.status is Status.MOVED and found.section is not None
    assert found.section.heading_path == ("Old pump", "Notes")


@pytest.mark.parametrize(
    ("path", "span", "reason"),
    [
        (("Pump", "Valves"), "The valve closes at 41 degrees.", "no such span"),
        (("Gone",), "The valve closes at 41 degrees.", "no such heading"),
        ((), "The valve opens at 40 degrees.", "no such span"),
    ],
)
def test_a_changed_span_is_stale_and_the_nearest_is_shown(
    path: tuple[str, ...], span: str, reason: str
) -> None:
    found = verdict(PAGE, *path, span=span)
    assert found.status is Status.STALE and found.reason.startswith(reason)
    assert found.place is None and found.nearest is not None
    assert "40 degrees" in found.nearest.text and 0.8 < found.nearest.similarity < 1.0


def test_what_is_like_nothing_has_no_nearest_passage() -> None:
    assert verdict(PAGE, span="xylophones yodel zestfully").nearest is None


def test_a_span_that_stands_twice_is_ambiguous_unless_its_heading_decides() -> None:
    assert verdict(PAGE, span="The valve closes at").status is Status.AMBIGUOUS
    assert verdict(PAGE, "Gone", span="The valve closes at").status is Status.AMBIGUOUS
    assert verdict(PAGE, "Pump", "Valves", span="The valve closes at").status is Status.CURRENT


def test_equal_headings_are_told_apart_by_span_or_number() -> None:
    text = "# A\n\nfirst\n\n# A\n\nsecond\n\n# A\n\nfirst\n"
    assert verdict(text, "A", span="second").status is Status.CURRENT
    assert verdict(text, "A", span="first").status is Status.AMBIGUOUS
    assert verdict(text, "A").status is Status.AMBIGUOUS
    assert verdict(text, "A (2)", span="second").status is Status.CURRENT
    assert verdict(text, "A (2)", span="first").status is Status.AMBIGUOUS
    assert verdict(text, "A", hash_of="# A\n\nsecond").status is Status.CURRENT
    assert verdict(text, "A", hash_of="# A\n\nfirst").status is Status.AMBIGUOUS


def test_a_heading_below_its_like_decides_for_the_inner_one() -> None:
    text = "# A\n\n## C\n\nouter\n\n### C\n\ninner\n"
    assert verdict(text, "C", span="inner").status is Status.CURRENT
    assert verdict(text, "C", hash_of="### C\n\ninner").status is Status.CURRENT


def test_a_heading_alone_is_there_or_not() -> None:
    assert verdict(PAGE, "Pump", "Valves").status is Status.CURRENT
    assert verdict(PAGE, "Old pump", "Valves").status is Status.STALE
    assert verdict(PAGE).status is Status.CURRENT


def test_frontmatter_counts_only_for_what_the_body_does_not_hold() -> None:
    assert verdict(PAGE, span="The pump runs at night.").status is Status.CURRENT
    assert verdict(PAGE, span="summary: The pump").status is Status.CURRENT


@pytest.mark.parametrize(
    "span",
    [
        "Before any heading.",
        "## Valves\n\nThe valve closes\nat 40 degrees.",
        "## Valves\n\nThe valve closes\nat 40 degrees.\n\n## Notes\n\nOne note.",
        "The valve closes\nat 40 degrees.",
        "at 40 degrees.",
        PAGE,
    ],
)
def test_a_hash_is_found_among_sections_runs_of_them_and_lines(span: str) -> None:
    found = verdict(PAGE, hash_of=span)
    assert found.status is Status.CURRENT and found.place is not None
    assert " ".join(PAGE[slice(*found.place)].split()) == " ".join(span.split())


def test_an_invented_hash_or_range_is_no_such_span() -> None:
    found = check(page(), Cited(("Pump", "Valves"), "", "0123456789abcdef"))
    assert (found.status, found.reason, found.place) == (Status.STALE, "no such span", None)
    found = check(page(), Cited(lines=(20, 400)))
    assert (found.status, found.place) == (Status.STALE, None) and found.reason.startswith("no such span")
    assert check(page(), Cited(lines=(9, 3))).status is Status.STALE
    assert check(page(), Cited(lines=(3, 9))).status is Status.CURRENT


def test_a_hash_that_is_not_that_of_the_quoted_words_must_be_there_itself() -> None:
    section = span_sha256("## Valves\n\nThe valve closes\nat 40 degrees.")[:16]
    quoted = "at 40 degrees"
    assert check(page(), Cited(("Pump", "Valves"), quoted, section)).status is Status.CURRENT
    assert check(page(), Cited(("Pump", "Valves"), quoted, "0123456789abcdef")).status is Status.STALE
    assert check(page(), Cited((), quoted, span_sha256(quoted)[:16])).status is Status.CURRENT


def test_a_part_of_a_line_is_found_by_its_place_and_by_its_length_when_it_moved() -> None:
    text = "# A\n\n" + " ".join(f"word{n}" for n in range(400)) + "\n"
    start, end = text.index("word50"), text.index("word90")
    cited = Cited(("A",), "", span_sha256(text[start:end])[:16], (start, end))
    assert not named_alone(text, page(text).sections, ("A",), (start, end))
    assert check(page(text), cited).status is Status.CURRENT
    moved = text.replace("# A\n", "# A\n\nNew words.\n")
    found = check(page(moved), cited)
    assert found.status is Status.CURRENT and found.place is not None
    assert moved[slice(*found.place)].strip() == text[start:end].strip()
    assert check(page(text.replace("word70 ", "")), cited).status is Status.STALE


def test_line_ends_blanks_and_composed_letters_change_nothing() -> None:
    text = "# Café\n\nThe café\tis open.\n"
    decomposed = "# Cafe\u0301\r\n\r\nThe cafe\u0301 is   open.\r\n"
    assert verdict(decomposed, "Café", span="The café is open.").status is Status.CURRENT
    assert verdict(decomposed, "Café", hash_of=text).status is Status.CURRENT
