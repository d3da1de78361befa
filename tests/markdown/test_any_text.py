"""Whatever a text holds: nothing is raised, spans slice right, chunks tile sections, values are JSON."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wikimcp.markdown.body import read_blocks, read_body, without_comments
from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.markdown.tokens import LineIndex, count_tokens, normalise_span, span_sha256
from wikimcp.models import ParsedBody

PIECES = [
    *("# ", "## ", "### Title", "===", "---", "\n", "\r\n", "\r", "\n\n", "- ", "1. ", "> ", "    ", "\t"),
    *("```", "~~~", "`", "$", "$$", "%%", "<!--", "-->", "<pre>", "</pre>", "<div>", "[[", "]]", "![[", "|"),
    *("[a](b.md)", "](", "[x]: y", "{{", "}}", "{{<", ">}}", "#tag", "#12", "^id", "key:: ", "((", "\\", "*"),
    *("| a | b |\n|---|---|\n", "| c | [[d|e]] |\n", "[^1]", "[^1]: note", "[{ALLOW view A}]", "{#id}"),
    *(
        "word",
        "Сад",
        "日本語。",
        "\u00e9",
        "e\u0301",
        "🦊",
        "\u2028",
        "\f",
        "\0",
        "\ufeff",
        " ",
        ". ",
        "![",
        "&amp;",
    ),
]
FRONT = [
    *(
        "---\n",
        "...\n",
        "title: ",
        "tags: [",
        "]",
        "a: b\n",
        "draft: ",
        "true",
        "status: draft",
        ": ",
        "- ",
        "\n",
    ),
    *(
        "  ",
        "\t",
        "[[X]]",
        "&a ",
        "*a",
        "<<: *a",
        "!!x ",
        "'",
        '"',
        "|\n",
        "{",
        "}",
        "#",
        "? ",
        "\r\n",
        "2031-02-03",
    ),
]
documents = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=60).map("".join)
blocks = st.lists(st.sampled_from(FRONT) | st.text(max_size=5), max_size=30).map("".join)


def check_spans(text: str, start: int, body: ParsedBody) -> None:
    lines = re.split("(?<=\n)|(?<=\r)(?!\n)", text)
    at = start
    for number, section in enumerate(body.sections):
        assert section.ordinal == number
        for span in (section.own, section.subtree):
            sliced = "".join(lines[span.first_line - 1 : span.last_line])
            assert sliced.endswith(text[span.start : span.end])
            assert text[span.start : span.end].strip()
        assert not text[at : section.own.start].strip()
        at = section.own.end
        chunks = [chunk for chunk in body.chunks if chunk.section == number]
        assert chunks[0].start == section.own.start
        assert chunks[-1].end == section.own.end
        assert all(left.end == right.start for left, right in zip(chunks, chunks[1:], strict=False))
        assert all(chunk.start < chunk.end for chunk in chunks)
    assert not text[at:].strip()
    for link in body.links:
        assert text[link.start : link.start + 1] in ("[", "!", "<", "(")
        assert link.line == LineIndex(text).line(link.start)


@settings(max_examples=200, deadline=None)
@given(documents)
@example("\r\n# a\r\r\nb\n\r# c")
@example("- # In a list\n  text\n> # In a quote\n")
@example("\u2028# x\n\u2028\n## y")
def test_spans_slice_right_and_chunks_tile_sections(text: str) -> None:
    check_spans(text, 0, read_body(text).body)


@settings(max_examples=100, deadline=None)
@given(blocks, documents)
def test_any_frontmatter_gives_json_and_a_body(block: str, rest: str) -> None:
    text = f"---\n{block}\n---\n{rest}"
    front = parse_frontmatter(text)
    json.dumps(front.data, allow_nan=False).encode("utf-8")
    assert 0 <= front.body_start <= len(text)
    assert set(front.positions) == set(front.data)
    check_spans(text, front.body_start, read_body(text, front.body_start).body)


@settings(max_examples=100, deadline=None)
@given(documents)
def test_blocks_tile_the_text_as_whole_lines(text: str) -> None:
    found = read_blocks(text)
    assert "".join(text[block.start : block.end] for block in found) == text
    assert all(text[block.start - 1] in "\r\n" for block in found[1:])


@settings(max_examples=100, deadline=None)
@given(documents)
def test_what_is_left_without_comments_is_part_of_the_text(text: str) -> None:
    rest = iter(text)
    assert all(character in rest for character in without_comments(text))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80))
def test_measures_do_not_depend_on_where_a_text_is_cut(left: str, right: str) -> None:
    both = count_tokens(left + right)
    assert both <= count_tokens(left) + count_tokens(right) <= both + 1
    assert span_sha256(f"  {left}\r\n\t{right} ") == span_sha256(f"{left} {right}")
    assert normalise_span(normalise_span(left)) == normalise_span(left)


@settings(max_examples=100, deadline=None)
@given(st.text("ab\r\n", max_size=40), st.lists(st.integers(0, 39), max_size=12))
def test_lines_are_the_same_in_whatever_order_they_are_asked_for(text: str, offsets: list[int]) -> None:
    index = LineIndex(text)
    for offset in [min(offset, len(text)) for offset in offsets]:
        inside = text[offset - 1 : offset + 1] == "\r\n"  # still in the line that this pair ends
        before = text[: offset - 1] if inside else text[:offset]
        assert index.line(offset) == len(re.findall("\r\n|\r|\n", before)) + 1


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("abcde", 2),
        ("a\u2026\u00e9de", 2),
        ("\u65e5\u672c ab", 3),
        ("\ud800\u4e00abcd", 3),
        ("\U00020000", 1),
    ],
)
def test_each_character_of_a_script_without_blanks_is_a_token_and_four_of_the_others(
    text: str, tokens: int
) -> None:
    assert count_tokens(text) == tokens
