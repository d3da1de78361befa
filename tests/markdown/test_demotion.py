"""Headings set deeper: every heading, nothing but headings, never the sixth level passed."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wikimcp.markdown.body import parse_body
from wikimcp.markdown.demotion import demoted

LINES = [
    *("# One", "## Two", "###### Six", "#no heading", "Under", "=====", "-----", "", "", "text", "- item"),
    *("```", "~~~", "# in code?", "    # indented", "> # quoted", "- # in a list", "#", "| a | b |", "***"),
]


def deeper(text: str, below: int = 3) -> str:
    return demoted(text, 0, len(text), sections=parse_body(text).sections, below=below)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# A\n\n## B\n", "#### A\n\n##### B\n"),
        ("#### A\n##### B\n###### C\n", "###### A\n###### B\n###### C\n"),
        ("A\n===\n\nB\nstill *b*\n---\ntext\n", "#### A\n\n##### B still *b*\ntext\n"),
        ("A\r\n===\r\n\r\n# C\r\n", "#### A\r\n\r\n#### C\r\n"),
        ("```\n# code\n```\n# A\n", "```\n# code\n```\n#### A\n"),
        ("~~~~\n# code\n```\n# code\n~~~~\n", "~~~~\n# code\n```\n# code\n~~~~\n"),
        ("    # code\n\ntext\n\n---\n\n# A #\n", "    # code\n\ntext\n\n---\n\n#### A #\n"),
        ("#hashtag\n#\n", "#hashtag\n####\n"),
        ("", ""),
    ],
)
def test_headings_go_three_levels_deeper_and_code_stays(text: str, shown: str) -> None:
    assert deeper(text) == shown


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=14).map("\n".join))
def test_only_headings_change_and_none_is_left_above(text: str) -> None:
    before, after = parse_body(text), parse_body(deeper(text))
    assert [s.heading for s in after.sections if s.level] == [s.heading for s in before.sections if s.level]
    assert all(section.level >= 4 for section in after.sections if section.level)
    for one, other in zip(before.sections, after.sections, strict=True):
        mine = text[one.own.start : one.own.end].rstrip().split("\n")
        shown = deeper(text)[other.own.start : other.own.end].rstrip().split("\n")
        assert mine[len(mine) - len(shown) + 1 :] == shown[1:] or not one.level
