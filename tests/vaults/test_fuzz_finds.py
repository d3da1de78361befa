"""What fuzzing found, each kind by its smallest page: withholding that failed open, readings that took for ever."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vaults.dialects import only_page, put, served
from wikimcp.index.prepare import Prepared, prepare
from wikimcp.lexical.tantivy import analysis
from wikimcp.markdown.body import LONGEST_HEADING
from wikimcp.models import ParsedPage
from wikimcp.vaults.detect import detect
from wikimcp.vaults.logseq import LogseqAdapter


def read(tmp_path: Path, data: bytes) -> ParsedPage:
    (tmp_path / "p.md").write_bytes(data)
    return only_page(tmp_path)


@pytest.mark.parametrize(
    "data",
    [
        b" ---\r\ntitle: x\r\nstatus: draft\r\n---\r\n",
        b"---\r\ntitle: x\r\ndraft: true\r\nnever closed",
        b"+++\r\ntitle: x\r\ndraft: true\r\n+++\r\nwords",
        "---\na: [1\n\uff44raft: true\n---\n".encode(),
        "---\na: [1\ndr\u200baft: true\n---\n".encode(),
        "---\na: [1\n\uff44\uff52\uff41\uff46\uff54\uff1a yes\n---\n".encode(),
        b"\xef\xbb\xbf---\ndraft: true\n---\nbad \xed\xa0\x80 \xff\xfe bytes",
        "\u200b---\ndraft: true\n---\n".encode() + b"\xed\xbf\xbf \xff",
        b"---\nsummary: |\n  a\n\n  b\n'public': no\n!!x\n'\n...\nwords",
        b"---\n=======\n\x00\nlong: " + b"x" * 20_000 + b"\nstatus: draft\n---\nwords",
    ],
    ids=lambda data: repr(data[:30]),
)
def test_a_block_that_is_broken_still_withholds(tmp_path: Path, data: bytes) -> None:
    assert read(tmp_path, data).withheld


def test_a_byte_order_mark_says_utf_8_whatever_follows(tmp_path: Path) -> None:
    page = read(tmp_path, b"\xef\xbb\xbf# Caf\xc3\xa9\n\n\xff \xfe \xfd\n")
    assert (page.encoding, page.title) == ("utf-8", "Caf\u00e9")


def test_french_in_an_old_encoding_is_read_though_a_word_is_one_letter(tmp_path: Path) -> None:
    page = read(tmp_path, "Café à la crème, à la carte".encode("cp1252"))
    assert page.summary == "Café à la crème, à la carte"


def test_prices_in_euros_do_not_hide_an_old_encoding(tmp_path: Path) -> None:
    page = read(tmp_path, "Gebühr: 50 € – schön, 12 €.\n".encode("cp1252"))
    assert (page.encoding, page.summary) == ("cp1252", "Gebühr: 50 € – schön, 12 €.")


def test_a_heading_that_is_a_whole_text_is_cut_in_paths(tmp_path: Path) -> None:
    page = read(tmp_path, b"# " + b"long " * 20_000 + b"\n\n" + b"a sentence of words. " * 20_000)
    (section,) = page.body.sections
    assert len(section.heading) <= LONGEST_HEADING
    assert section.heading.endswith("\u2026")
    assert isinstance(
        prepare(detect(tmp_path), "p.md", analyze=analysis), Prepared
    )  # once a matter of minutes


@pytest.mark.parametrize("text", ["n: " + "9" * 40_000, "#+BEGIN_QUOTE\n" * 20_000 + "#+END_QUOTE\n"])
def test_org_files_are_read_in_linear_time(tmp_path: Path, text: str) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "p.org").write_text(text, encoding="utf-8")
    adapter = LogseqAdapter(tmp_path)
    page = adapter.parse(adapter.read("pages/p.org"))  # once a matter of a minute
    assert page.body.sections


def test_only_the_mark_of_an_org_item_is_taken_off(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "p.org").write_text("One - two + three\n- 4. five\n", encoding="utf-8")
    adapter = LogseqAdapter(tmp_path)
    assert adapter.parse(adapter.read("pages/p.org")).summary == "One - two + three"


def test_a_page_whose_name_ends_in_a_blank_can_be_asked_for(tmp_path: Path) -> None:
    with served(put(tmp_path / "v", {"note .md": "words", "other.md": "more"})) as wiki:
        assert wiki.call("get_page", slug="note ")["path"] == "note .md"
        assert wiki.call("read_pages", slugs=["note "])["pages"][0]["content"] == "words"
