"""The whole corpus read: round trip of every span, headings beside those of the reference parser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.markdown.tokens import count_tokens
from wikimcp.models import ParsedPage
from wikimcp.vaults.detect import detect

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "wikantik-pages"

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus beside the repository is absent")


@pytest.fixture(scope="module")
def pages() -> list[tuple[str, ParsedPage]]:
    adapter = detect(CORPUS)
    contents = [adapter.read(stamp.path) for stamp in adapter.scan().files]
    return [(content.text, adapter.parse(content)) for content in contents]


def lines_of(text: str) -> list[str]:
    return re.split("(?<=\n)|(?<=\r)(?!\n)", text)


def test_every_span_slices_to_whole_lines_that_begin_with_its_heading(
    pages: list[tuple[str, ParsedPage]],
) -> None:
    for text, page in pages:
        lines = lines_of(text)
        for section in page.body.sections:
            for span in (section.own, section.subtree):
                sliced = text[span.start : span.end]
                assert sliced == "".join(lines[span.first_line - 1 : span.last_line]), page.path
                assert lines[span.first_line - 1].strip()
                assert lines[span.last_line - 1].strip()
            words = re.findall(r"\w+", section.heading)
            head = "".join(lines[section.own.first_line - 1 :][:6])  # setext headings may take several lines
            assert all(word in head for word in words), (page.path, section.heading)


def test_sections_tile_the_body_but_for_blank_lines(pages: list[tuple[str, ParsedPage]]) -> None:
    for text, page in pages:
        at = parse_frontmatter(text).body_start
        for section in page.body.sections:
            assert not text[at : section.own.start].strip(), page.path
            assert section.own.end <= section.subtree.end
            at = section.own.end
        assert not text[at:].strip(), page.path


def test_chunks_tile_sections_and_keep_their_size(pages: list[tuple[str, ParsedPage]]) -> None:
    sizes = []
    for text, page in pages:
        assert [chunk.ordinal for chunk in page.body.chunks] == list(range(len(page.body.chunks)))
        for section in page.body.sections:
            chunks = [chunk for chunk in page.body.chunks if chunk.section == section.ordinal]
            assert chunks[0].start == section.own.start
            assert chunks[-1].end == section.own.end
            assert all(left.end == right.start for left, right in zip(chunks, chunks[1:], strict=False))
            sizes += [(count_tokens(text[c.start : c.end]), text[c.start : c.end]) for c in chunks]
    for size, chunk in sizes:
        assert size <= 400 or "```" in chunk or "|" in chunk, chunk[:200]


def test_headings_equal_those_of_the_reference_parser(pages: list[tuple[str, ParsedPage]]) -> None:
    """Level, text and line agree; the reference counts lines from the body's first.

    The one allowed difference: headings inside of quotes open no section (the reference lists them,
    nested). Texts are compared without markup characters, as the reference gives source there.
    """
    reference = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    compared = 0
    for text, page in pages:
        start = parse_frontmatter(text).body_start
        skipped = len(lines_of(text[:start])) - 1
        expected = [
            (int(token.tag[1]), shown(inline), token.map[0] + skipped + 1)
            for token, inline in headings_outside_quotes(reference.parse(text[start:]))
            if token.map
        ]
        found = [
            (section.level, letters(section.heading), section.own.first_line)
            for section in page.body.sections
            if section.level
        ]
        assert found == expected, page.path
        compared += len(found)
    assert compared > 10_000


def headings_outside_quotes(tokens: list[Token]) -> Iterator[tuple[Token, Token]]:
    quotes = 0
    for token, following in zip(tokens, tokens[1:], strict=False):
        quotes += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        if token.type == "heading_open" and not quotes:
            yield token, following


def shown(inline: Token) -> str:
    parts = [child.content for child in inline.children or [] if child.type in ("text", "code_inline")]
    return letters("".join(parts))


def letters(text: str) -> str:
    return "".join(re.findall(r"\w", text))


def test_frontmatter_is_valid_json_and_every_page_has_its_fields(pages: list[tuple[str, ParsedPage]]) -> None:
    for _, page in pages:
        json.dumps(page.frontmatter, allow_nan=False)
        assert page.title
        assert page.canonical_id
    withheld = {page.path: page.withheld for _, page in pages if page.withheld}
    assert withheld == {"CurationTest.md": "status: draft"}
    assert not any(page.labels for _, page in pages)
    assert sum(bool(page.summary) for _, page in pages) > 1_190


def test_links_equal_those_of_the_reference_parser(pages: list[tuple[str, ParsedPage]]) -> None:
    """Markdown links agree in number.

    Math is opaque here and text there, so pages with a dollar sign are left out, as are those with
    what the reference does not know at all: wikilinks and templates.
    """
    reference = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    compared = 0
    for text, page in pages:
        start = parse_frontmatter(text).body_start
        if "$" in text or "[[" in text or "{{" in text:
            continue
        tokens = [
            child
            for token in reference.parse(text[start:])
            for child in token.children or []
            if (child.type == "link_open" and child.attrs["href"]) or child.type == "image"
        ]
        links = [link for link in page.body.links if not link.prop]
        assert len(links) == len(tokens), page.path
        compared += len(links)
    assert compared > 3_000
