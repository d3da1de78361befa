"""Markdown links beside those of markdown-it-py, by value: target, kind and line of each, over every page there is.

The reference knows CommonMark with tables and no more. So these differences are allowed, and no others, each
only on a line that holds the sign of what the reference does not know:

- math (``$``): a link inside of a formula is one for the reference;
- templates (``{{``, ``{%``, ``<%``): so is one inside of a shortcode;
- wikilinks (``[[``): it reads ``[[a](b)]`` and the like otherwise;
- HTML (``<pre`` and its like): what stands between two raw tags is text for it;
- footnotes (``[^``): a reference to one is a plain text for it.

``mailto:`` counts as not written: the reference puts it before an address in angle brackets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.markdown.lenient import line_feeds
from wikimcp.models import Link, LinkKind, ParsedPage
from wikimcp.vaults.detect import detect
from wikimcp.vaults.options import VaultOptions

ROOT = Path(__file__).parents[2]
CORPUS = ROOT.parent / "shared" / "corpus" / "wikantik-pages"
FOLDERS = [ROOT / "sample_vault", ROOT / "tests" / "vaults" / "fixtures"]
OTHER_SYNTAX = (
    "$",
    "{{",
    "{%",
    "<%",
    "[[",
    "<pre",
    "<code",
    "<script",
    "<style",
    "<textarea",
    "<kbd",
    "<samp",
    "[^",
)
REFERENCE = MarkdownIt("commonmark").enable(["table", "strikethrough"])

Found = tuple[int, str, bool]
"""A link: line of the file, address without percent signs, whether it is an image."""


def pages_of(folder: Path) -> Iterator[tuple[str, ParsedPage]]:
    adapter = detect(folder, VaultOptions(adapter="generic"))
    for stamp in adapter.scan().files:
        content = adapter.read(stamp.path)
        if content.encoding != "binary":
            yield content.text, adapter.parse(content)


def by_reference(body: str, first_line: int) -> Counter[Found]:
    found: Counter[Found] = Counter()
    for token in REFERENCE.parse(body):
        if token.type == "inline" and token.map is not None:
            found.update(links_of(token, first_line + token.map[0]))
    return found


def links_of(inline: Token, line: int) -> Iterator[Found]:
    for child in inline.children or ():
        if child.type == "link_open":
            yield line, address(str(child.attrs["href"])), False
        elif child.type == "image":
            yield line, address(str(child.attrs["src"])), True
        line += child.type in ("softbreak", "hardbreak") or child.content.count("\n")


def address(href: str) -> str:
    """Return an address as both write it: without percent signs, a query behind a page's suffix left out."""
    path, mark, fragment = href.partition("#")
    bare, query, _ = path.partition("?")
    if query and bare.lower().endswith((".md", ".markdown")) and ":" not in bare:
        path = bare
    return unquote(f"{path}{mark}{fragment}").rstrip("#").removeprefix("mailto:")


def ours(text: str, page: ParsedPage) -> Counter[Found]:
    found: Counter[Found] = Counter()
    for link in page.body.links:
        if link.start >= 0 and not text.startswith(("[[", "![[", "((", "[^"), link.start):
            image = text.startswith("!", link.start)
            found[(link.line, address(written(link)), image)] += 1
    return found


def written(link: Link) -> str:
    return f"{link.target}#{link.fragment}" if link.fragment else link.target


def differences(text: str, page: ParsedPage) -> tuple[list[str], int]:
    """Return the links that one of both has and the other has not, but for those that are allowed."""
    body = line_feeds(text[parse_frontmatter(text).body_start :])
    first = line_feeds(text).count("\n") - body.count("\n") + 1
    lines = line_feeds(text).split("\n")
    here, there = ours(text, page), by_reference(body, first)
    del here[(0, "", False)]
    odd = []
    for line, target, image in (*(here - there), *(there - here)):
        near = "\n".join(lines[max(line - 2, 0) : line + 1])  # a formula may begin on the line before
        if target and not any(sign in near for sign in OTHER_SYNTAX):
            odd.append(f"{page.path}:{line}: {target!r}{' (image)' if image else ''}")
    return odd, sum((here & there).values())


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_links_are_those_of_the_reference(folder: Path) -> None:
    compared = [differences(text, page) for text, page in pages_of(folder)]
    assert [line for odd, _ in compared for line in odd] == []
    assert sum(equal for _, equal in compared) >= 5


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus beside the repository is absent")
def test_links_of_the_corpus_are_those_of_the_reference() -> None:
    compared = [differences(text, page) for text, page in pages_of(CORPUS)]
    assert [line for odd, _ in compared for line in odd] == []
    assert sum(equal for _, equal in compared) > 5_400
    kinds = Counter(link.kind for _, page in pages_of(FOLDERS[1]) for link in page.body.links)
    assert kinds[LinkKind.MARKDOWN] and kinds[LinkKind.EXTERNAL]


@pytest.mark.parametrize(
    "text",
    [
        "a [b](c%20d.md#e%20f 'title') ![x|200](<y z.png>) [r][1] [1] <https://x.test/a?b=c#d>\n\n[1]: /q.md\n",
        "> - [a](b.md)\n>   [c](d.md)\n\n| [x](y.md) | z |\n|---|---|\n| ![i](j.png) | [k](l.md#m) |\n",
        "[![badge](b.svg)](https://x.test) *[a **b**](c.md)* `[no](no.md)` [x\ny](z.md)\nnext [w](v.md)\n",
        "[a](b_(c).md) [d](<e>) \\[no](no.md) [f](g&amp;h.md) [i](j.md?k=l#m) [ü](ü.md) <a@b.test>\n",
        "# [h](h.md)\n\nSetext [s](s.md)\n===\n\n1. [one](1.md)\n   1. [two](2.md)\n\n    [no](no.md)\n",
        "[empty]() [ref]\n\n[ref]: <u v.md> (t)\n[unused]: x.md\n",
        "a\r\n[b](c.md)\r\n\r\n[d](e.md)\rf\r",
    ],
)
def test_links_of_every_form_are_those_of_the_reference(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.md").write_text(text, encoding="utf-8", newline="")
    ((_, page),) = pages_of(tmp_path)
    odd, equal = differences(text, page)
    assert odd == []
    assert equal
