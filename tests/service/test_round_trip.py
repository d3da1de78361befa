"""A citation can be checked against the file: its lines give its text, and their hash is the one cited."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.vaults.dialects import DIALECTS, fixture_copy, served
from wikimcp.markdown.tokens import span_sha256
from wikimcp.vaults.detect import detect

CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "wikantik-pages"


def lines_of(text: str) -> list[str]:
    return re.split("(?<=\n)|(?<=\r)(?!\n)", text)


def hash_of_lines(text: str, lines: list[int]) -> str:
    return span_sha256("".join(lines_of(text)[lines[0] - 1 : lines[1]]))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_section_of_a_fixture_is_cited_with_the_hash_of_its_lines(dialect: str, tmp_path: Path) -> None:
    checked = 0
    with served(fixture_copy(dialect, tmp_path)) as wiki:
        adapter = wiki.service.keeper.store.adapter
        for page in wiki.view.pages:
            text = adapter.read(page.path).text
            (whole,) = wiki.call("read_pages", slugs=[page.slug])["pages"]
            assert whole["citation"]["spanSha256"] == hash_of_lines(text, whole["citation"]["lines"])
            assert whole["content"] == text
            for section in wiki.view.sections(page):
                own = text[section.own.start : section.own.end]
                span = [section.own.first_line, section.own.last_line]
                assert own == "".join(lines_of(text)[span[0] - 1 : span[1]])
                found = wiki.call("assemble_bundle", query=f"{page.title} {own[:200]}", mode="lexical")
                for cited in found["sections"]:
                    source = adapter.read(wiki.view.names.slugs[cited["slug"]].path).text
                    assert cited["citation"]["spanSha256"] == hash_of_lines(
                        source, cited["citation"]["lines"]
                    )
                    checked += 1
                if section.heading and section.duplicate == 1:
                    asked = " > ".join(section.heading_path)
                    (part,) = wiki.call("read_pages", slugs=[page.slug], heading=asked)["pages"]
                    citation = part["citation"]
                    assert citation["lines"][0] == section.own.first_line
                    assert citation["spanSha256"] == hash_of_lines(text, citation["lines"])
    assert checked


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus beside the repository is absent")
def test_every_section_of_the_corpus_has_the_hash_of_its_lines() -> None:
    adapter = detect(CORPUS)
    checked = 0
    for stamp in adapter.scan().files:
        content = adapter.read(stamp.path)
        lines = lines_of(content.text)
        for section in adapter.parse(content).body.sections:
            for span in (section.own, section.subtree):
                sliced = content.text[span.start : span.end]
                whole = "".join(lines[span.first_line - 1 : span.last_line])
                assert span_sha256(sliced) == span_sha256(whole), stamp.path
            checked += 1
    assert checked > 10_000
