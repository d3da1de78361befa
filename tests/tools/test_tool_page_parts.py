"""Sharing a budget and cutting a text: parts join to the whole and end where a reader would end them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wikimcp.tools.page_parts import cut_at, share, tokens_up_to, wire_tokens


def parts_of(text: str, tokens: int, borders: list[int] | None = None) -> list[str]:
    parts, at = [], 0
    while at < len(text):
        end = cut_at(text, at, len(text), tokens=tokens, borders=borders or [], outside=0)
        assert at < end <= len(text)
        parts.append(text[at:end])
        at = end
    return parts


@given(st.integers(0, 10_000), st.lists(st.integers(0, 5_000), max_size=20))
def test_a_share_is_never_more_than_wanted_nor_the_sum_more_than_there_is(
    budget: int, wants: list[int]
) -> None:
    granted = share(budget, wants)
    assert all(grant <= want for grant, want in zip(granted, wants, strict=True))
    assert sum(granted) == min(budget, sum(wants)) or budget - sum(granted) < len(wants)


def test_small_wants_are_met_whole_and_the_rest_is_shared_equally() -> None:
    assert share(1_000, [50, 5_000, 100, 9_000]) == [50, 425, 100, 425]
    assert share(0, [5, 5]) == [0, 0]
    assert share(-10, [5]) == [0]


pieces = st.sampled_from(
    [
        "word ",
        "日本語",
        "\n",
        "\r\n",
        "\r",
        "\n\n",
        "```\n",
        "~~~~\n",
        "a\u0301\u0302",
        "👩‍👩‍👧",
        '"',
        "\\",
        "\t",
        "# Head\n",
        "x" * 40,
    ]
)


@settings(max_examples=300)
@given(st.lists(pieces, max_size=120).map("".join), st.integers(1, 60))
def test_parts_join_to_the_text_and_never_split_a_character(text: str, tokens: int) -> None:
    parts = parts_of(text, tokens)
    assert "".join(parts) == text
    for part, following in zip(parts, parts[1:], strict=False):
        assert wire_tokens(part) <= tokens or len(part) <= 8
        assert not (part[-1] == "\r" and following[0] == "\n")
        assert not unicodedata.combining(following[0])
        assert following[0] != "\u200d"
        assert part[-1] != "\u200d"


def test_a_text_within_the_budget_is_whole() -> None:
    assert cut_at("abc\n", 0, 4, tokens=50, borders=[], outside=0) == 4
    assert cut_at("abc", 3, 3, tokens=0, borders=[], outside=0) == 3


def test_a_cut_prefers_the_last_block_border_in_reach() -> None:
    text = "".join(f"{number} {'word ' * 30}\n" for number in range(20))
    borders = [text.index(f"{number} ") for number in range(0, 20, 3)]
    first = parts_of(text, 300, borders)[0]
    assert len(first) in borders
    assert wire_tokens(first) <= 300 < wire_tokens(text[: borders[borders.index(len(first)) + 1]])


def test_without_a_block_border_near_it_cuts_between_lines() -> None:
    text = "".join(f"line {number} {'word ' * 10}\n" for number in range(200))
    parts = parts_of(text, 200, [0])
    assert all(part.endswith("\n") for part in parts)
    assert min(wire_tokens(part) for part in parts[:-1]) > 150


@pytest.mark.parametrize("fence", ["```", "~~~", "  ````", "> ```", "- ```"])
def test_a_fence_that_fits_into_a_part_is_never_split(fence: str) -> None:
    mark = fence.strip("> -")
    block = f"{fence} python\n" + "".join(f"x = {number}\n" for number in range(60)) + f"{mark}\n"
    text = "".join(f"Paragraph {number} {'word ' * 25}\n\n{block}\n" for number in range(12))
    for tokens in range(200, 500, 10):
        parts = parts_of(text, tokens)
        assert len(parts) > 3
        assert all(part.count(mark) % 2 == 0 for part in parts)


def test_a_fence_larger_than_a_part_is_split_between_lines() -> None:
    text = "Intro\n\n```\n" + "".join(f"value = {number}\n" for number in range(2_000)) + "```\nAfter\n"
    parts = parts_of(text, 500)
    assert len(parts) > 10
    assert all(part.endswith("\n") for part in parts)
    assert min(wire_tokens(part) for part in parts[1:-1]) > 400


def test_an_unclosed_fence_runs_to_the_end() -> None:
    text = "Intro\n\n```\n" + "value\n" * 3_000
    assert "".join(parts_of(text, 400)) == text


def test_a_line_longer_than_a_part_is_cut_at_a_blank_and_one_without_blanks_anywhere() -> None:
    assert all(part.endswith(" ") for part in parts_of("word " * 2_000, 100)[:-1])
    assert [len(part) for part in parts_of("x" * 1_000, 100)][:2] == [398, 398]


def test_the_budget_counts_the_text_as_json_writes_it() -> None:
    text = '"\n' * 1_000
    assert all(wire_tokens(part) <= 50 for part in parts_of(text, 50))
    assert tokens_up_to(text, 0, len(text), 5_000) == wire_tokens(text)
    assert tokens_up_to(text, 0, len(text), 100) > 100
