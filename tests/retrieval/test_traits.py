"""What is stored of a section, and how it is read back."""

from __future__ import annotations

from array import array

import pytest

from wikimcp.retrieval.sizes import path_cost, text_cost
from wikimcp.retrieval.traits import Outline, outline, section_traits

BODY = "The intake valve closes at forty degrees, and the wheel must be turned to the left by hand."


def outline_of(*sections: tuple[str, int, tuple[str, ...]]) -> Outline:
    numbers = array("q")
    for text, level, path in sections:
        numbers.extend(section_traits(text, level, path))
    chunks = array("i", [n for at in range(len(sections)) for n in (at, 10 * at, 10 * at + 9)])
    return outline(numbers.tobytes(), chunks.tobytes())


def test_traits_come_back_as_they_were_stored() -> None:
    text = '## A "quoted" heading\n\n- [[one]]\n- [two](x)\nplain\n'
    found = outline_of((text, 2, ("Top", 'A "quoted" heading')), (BODY, 0, ()))
    assert len(found) == 2
    assert found.level.tolist() == [2, 0]
    assert found.text_cost.tolist() == [text_cost(text), text_cost(BODY)]
    assert found.path_cost.tolist() == [path_cost(("Top", 'A "quoted" heading')), 0]
    assert found.link_share.tolist() == pytest.approx([0.67, 0.0])
    assert found.characters.tolist() == [len("- [[one]]- [two](x)plain"), len(BODY)]
    assert found.chunk_section.tolist() == [0, 1]
    assert found.chunk_start.tolist() == [0, 10]
    assert found.chunk_end.tolist() == [9, 19]


def test_the_same_words_are_the_same_text_under_any_heading_and_with_any_blanks() -> None:
    found = outline_of(
        (f"# One\n\n{BODY}\n", 1, ("One",)),
        (f"### Two\r\n\r\n{BODY.replace(' ', '  ')}\r\n", 3, ("Two",)),
        (f"# One\n\n{BODY} Not.\n", 1, ("One",)),
    )
    same, also, other = found.text_keys.tolist()
    assert same == also != other


def test_sections_that_say_little_are_the_same_only_with_their_headings() -> None:
    long = "A heading that is long enough to be more than a few tokens by itself, all told"
    found = outline_of(
        (f"## {long} one\n", 2, (long,)),
        (f"## {long} two\n", 2, (long,)),
        ("## To do\n\nNothing yet.\n", 2, ("To do",)),
        ("## Done\n\nNothing yet.\n", 2, ("Done",)),
        ("## Done\n\nNothing yet.\n", 2, ("Done",)),
    )
    keys = found.text_keys.tolist()
    assert len(set(keys)) == 4
    assert keys[3] == keys[4]
