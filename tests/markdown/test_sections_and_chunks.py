"""Sections with exact spans, chunks that respect blocks, blocks, first paragraphs, measures."""

from __future__ import annotations

import hashlib

import pytest

from wikimcp.markdown.body import parse_body, read_blocks
from wikimcp.markdown.events import MAX_HEADINGS
from wikimcp.markdown.tokens import LineIndex, count_tokens, normalise_span, span_sha256
from wikimcp.models import ParsedBody

SENTENCE = "The valve of the northern pump closes slowly when the water is cold. "


def own_texts(text: str) -> list[str]:
    return [text[section.own.start : section.own.end] for section in parse_body(text).sections]


def chunk_texts(text: str) -> list[str]:
    return [text[chunk.start : chunk.end] for chunk in parse_body(text).chunks]


def paths(body: ParsedBody) -> list[tuple[str, ...]]:
    return [section.heading_path for section in body.sections]


def test_sections_know_their_own_text_and_their_subtree() -> None:
    text = "Lead.\n\n# A\n\ntext\n\n\n## B\nb\n\n### C\n\nc\n\n## D\n\n# E\n"
    body = parse_body(text)
    assert paths(body) == [(), ("A",), ("A", "B"), ("A", "B", "C"), ("A", "D"), ("E",)]
    assert [section.level for section in body.sections] == [0, 1, 2, 3, 2, 1]
    assert own_texts(text) == ["Lead.\n", "# A\n\ntext\n", "## B\nb\n", "### C\n\nc\n", "## D\n", "# E\n"]
    subtrees = [(section.subtree.first_line, section.subtree.last_line) for section in body.sections]
    assert subtrees == [(1, 1), (3, 15), (8, 13), (11, 13), (15, 15), (17, 17)]


def test_levels_may_be_skipped() -> None:
    assert paths(parse_body("### C\n# A\n### D\n## B\n")) == [("C",), ("A",), ("A", "D"), ("A", "B")]


def test_equal_headings_are_told_apart() -> None:
    body = parse_body("# A\n## X\n## X\n# B\n## X\n# A\n")
    assert [(section.heading_path, section.duplicate) for section in body.sections] == [
        (("A",), 1),
        (("A", "X"), 1),
        (("A", "X"), 2),
        (("B",), 1),
        (("B", "X"), 1),
        (("A",), 2),
    ]


@pytest.mark.parametrize(
    ("line", "heading"),
    [
        ("# Plain #", "Plain"),
        ("## With `code` and **bold** and ~~old~~", "With code and bold and old"),
        ("# See [the page](x.md) and [[Target|shown]] and [[Other]]", "See the page and shown and Other"),
        ("# Named {#anchor}", "Named"),
        ("# Named { #anchor .class }", "Named"),
        ("# A set {a, b}", "A set {a, b}"),
        ("# Block ^abc-1", "Block"),
        ("# Kept %%aside%%", "Kept"),
        ("# Kept <!-- aside -->", "Kept"),
        ("# Cost $a^2$", "Cost $a^2$"),
        ("# AT&amp;T", "AT&T"),
        ("Setext\n===", "Setext"),
        ("Two\nlines\n---", "Two lines"),
        ("   # Indented", "Indented"),
        ("- # In a list", "In a list"),
        ("1. ## In a numbered list", "In a numbered list"),
        ("#", ""),
    ],
)
def test_heading_texts_are_free_of_markup(line: str, heading: str) -> None:
    (section,) = parse_body(line + "\n").sections
    assert (section.heading, section.own.first_line) == (heading, 1)


@pytest.mark.parametrize(
    "text",
    [
        "#no blank",
        "\\# escaped",
        "    # indented",
        "> # quoted",
        "[^1]: # note\n\nx[^1]",
        "<div>\n# html\n</div>",
        "####### 7",
    ],
)
def test_what_is_no_heading_opens_no_section(text: str) -> None:
    assert all(section.level == 0 for section in parse_body(text).sections)


def test_a_body_without_text_has_no_sections() -> None:
    body = parse_body(" \n\n\t\n")
    assert (body.sections, body.chunks, body.first_paragraph) == ((), (), "")


def test_a_small_section_is_one_chunk() -> None:
    assert chunk_texts("# A\n\ntext\n\n- one\n- two\n\n# B\n") == ["# A\n\ntext\n\n- one\n- two\n", "# B\n"]


def test_a_long_section_is_cut_between_blocks() -> None:
    paragraphs = [SENTENCE * 6 + "\n\n" for _ in range(6)]
    chunks = chunk_texts("# A\n\n" + "".join(paragraphs))
    assert len(chunks) == 3
    assert chunks[0].startswith("# A\n")
    assert all(chunk.endswith(". \n") or chunk.endswith(". \n\n") for chunk in chunks)
    assert all(100 <= count_tokens(chunk) <= 280 for chunk in chunks)


def test_an_overlong_paragraph_is_cut_at_sentences() -> None:
    chunks = chunk_texts(SENTENCE * 60 + "\n")
    assert len(chunks) > 3
    assert all(chunk.startswith("The valve") for chunk in chunks)


def test_text_without_sentences_is_cut_at_blanks_and_without_blanks_anywhere() -> None:
    assert all(chunk.endswith((" ", "\n")) for chunk in chunk_texts("word " * 2_000 + "\n"))
    chunks = chunk_texts("x" * 10_000)
    assert "".join(chunks) == "x" * 10_000
    assert max(map(len, chunks)) <= 1_200


@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_a_fence_is_never_cut(fence: str) -> None:
    code = f"{fence}python\n" + "value = compute(1, 2, 3)\n\n" * 200 + f"{fence}\n"
    chunks = chunk_texts(f"# A\n\n{SENTENCE * 5}\n\n{code}\n{SENTENCE * 5}\n")
    assert [chunk for chunk in chunks if code in chunk]
    assert len(chunks) >= 2


def test_a_table_is_cut_between_rows_only_and_never_below_its_head() -> None:
    rows = [f"| row {number} | {SENTENCE * 3}|\n" for number in range(30)]
    text = "# A\n\n| k | v |\n|---|---|\n" + "".join(rows)
    chunks = chunk_texts(text)
    assert len(chunks) > 3
    assert chunks[0].startswith("# A\n\n| k | v |\n|---|---|\n| row 0")
    assert all(line in rows for chunk in chunks[1:] for line in chunk.splitlines(keepends=True))


def test_lists_are_cut_between_items() -> None:
    items = [f"- item {number}: {SENTENCE * 2}\n" for number in range(20)]
    assert all(chunk.startswith("- item") for chunk in chunk_texts("".join(items)))


def test_chinese_text_is_cut_by_its_own_measure() -> None:
    text = "把巡检结果写进周报，然后通知值班。" * 60
    chunks = chunk_texts(text)
    assert all(count_tokens(chunk) <= 280 for chunk in chunks)
    assert all(chunk.endswith("。") for chunk in chunks)


def test_a_cut_never_parts_a_carriage_return_from_its_line_feed() -> None:
    text = "\r\n".join("word" * 30 for _ in range(200))
    assert not any(chunk.endswith("\r") for chunk in chunk_texts(text))


def test_their_number_is_bounded_on_huge_pages() -> None:
    body = parse_body("# a\n" * (MAX_HEADINGS + 10))
    assert len(body.sections) == MAX_HEADINGS
    assert [note.code for note in body.diagnostics] == ["too_many_headings"]
    assert len(parse_body("日" * 8_000_000).chunks) < 65_536


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("# T\n\nThe *first* one\ngoes on.\n\nSecond.\n", "The first one goes on."),
        ("![badge](x.svg)\n\nReal.\n", "Real."),
        ("> quoted\n\nReal.\n", "Real."),
        ("> quoted only\n", "quoted only"),
        ("- one\n- two\n", "one"),
        ("title:: x\npublic:: true\n\nReal.\n", "Real."),
        ("- tags:: x\n- body\n", "body"),
        ("```\ncode\n```\n\nReal.\n", "Real."),
        ("%% aside %%\n\nReal [[A|b]] `c`. ^id\n", "Real b c."),
        ("[{ALLOW view All}]()\n\nReal.\n", "Real."),
        ("# Only a heading\n", ""),
    ],
)
def test_the_first_paragraph_is_the_first_that_says_something(text: str, first: str) -> None:
    assert parse_body(text).first_paragraph == first


def test_blocks_are_whole_lines_with_their_kind() -> None:
    text = "intro\n\n# H\n\n- a\n- b\n\n```\ncode\n\nmore\n```\n\n| a |\n|---|\n| 1 |\n\n> q\n\n---\n"
    assert [(block.kind, text[block.start : block.end].strip()) for block in read_blocks(text)] == [
        ("paragraph", "intro"),
        ("heading", "# H"),
        ("item", "- a"),
        ("item", "- b"),
        ("fence", "```\ncode\n\nmore\n```"),
        ("table", "| a |\n|---|"),
        ("row", "| 1 |"),
        ("paragraph", "> q"),
        ("rule", "---"),
    ]
    inner = read_blocks(text, 7, 20)
    assert (inner[0].start, inner[-1].end) == (7, 20)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("é" * 8, 2),
        ("日本語", 3),
        ("日本 word", 4),
        ("배포 절차", 5),
        ("🦊" * 4, 1),
    ],
)
def test_tokens_are_a_quarter_of_a_character_and_one_for_cjk(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_spans_are_hashed_in_their_normal_form() -> None:
    assert normalise_span("  A\r\n\tcafe\u0301 \u00a0 b\r") == "A caf\u00e9 b"
    assert span_sha256(" A\n b ") == hashlib.sha256(b"A b").hexdigest()


def test_lines_end_at_line_feeds_and_carriage_returns_only() -> None:
    text = "a\nb\r\nc\rd\u2028e\f"
    index = LineIndex(text)
    assert [index.line(offset) for offset in range(len(text))] == [1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 4]
