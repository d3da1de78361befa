"""Reading sources: text, tables, HTML, PDF and DOCX become text, and what is hostile becomes a named error."""

from __future__ import annotations

import io
import time
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.authoring.documents import claiming, pdf, shown, zipped
from wikimcp.authoring.extraction import Extract, Limits, read_source
from wikimcp.authoring.html_text import html_to_text
from wikimcp.authoring.source_kinds import MOST_EXTRACT, Kind, cut, fenced, kind_of
from wikimcp.errors import BadArgument, TimedOut, TooLarge, Unavailable, Unreadable, WikimcpError

MIB = 2**20


def read(data: bytes, name: str, **given: str) -> Extract:
    return read_source(kind_of(data, name=name), data, **given)  # type: ignore[arg-type]


def html(text: str) -> str:
    return html_to_text(text)[0]


# Text


def test_text_is_taken_as_it_is_with_one_kind_of_line_end() -> None:
    assert read(b"\xef\xbb\xbf# One\r\n\r\ntwo\rthree", "a.md") == Extract("# One\n\ntwo\nthree", cut=False)
    assert read("žluť 日本".encode(), "notes.txt").text == "žluť 日本"


@pytest.mark.parametrize("name", ["a.md", "a.py", "a.csv", "a.json", "LICENSE"])
def test_text_that_is_no_utf_8_is_refused_with_the_place(name: str) -> None:
    with pytest.raises(BadArgument, match=r"not UTF-8 \(byte 7 on line 2\)"):
        read(b"a good\n\xff line", name)


def test_binary_without_a_known_kind_is_refused() -> None:
    with pytest.raises(BadArgument, match="NUL bytes"):
        read(b"\0\1\2", "data.bin")
    with pytest.raises(Unreadable, match="archive"):
        read(zipped({"a.txt": b"a"}), "a.zip")


def test_code_and_json_are_fenced_so_that_nothing_in_them_ends_the_fence() -> None:
    assert read(b"x = '```'\n", "a.py").text == "````py\nx = '```'\n````\n"
    assert read(b'{"a": 1}', "a.json").text == '```json\n{"a": 1}\n```\n'
    assert fenced("no end", "") == "```\nno end\n```\n"


def test_json_that_is_none_or_too_deep_is_a_named_error() -> None:
    with pytest.raises(BadArgument, match="line 1 column 2"):
        read(b"{a: 1}", "a.json")
    with pytest.raises(TooLarge, match="nested too deeply"):
        read(b"[" * 200_000 + b"]" * 200_000, "a.json")


def test_tables_become_markdown_whatever_parts_their_cells() -> None:
    table = "| a | b |\n| --- | --- |\n| 1 | x \\| y |\n"
    assert read(b"a,b\n1,x | y\n", "t.csv").text == table
    assert read(b"a;b\n1;x | y\n", "t.csv").text == table
    assert read(b"a\tb\n1\tx | y\n", "t.tsv").text == table
    assert read(b'a,b\n"two\nlines","say ""hi"""\n', "t.csv").text.endswith('| two lines | say "hi" |\n')


def test_pictures_are_stubs_that_say_so() -> None:
    for data, name in (
        (b"\x89PNG\r\n\x1a\n\0\0", "x.bin"),
        (b"<svg/>", "a.svg"),
        (b"RIFF\0\0\0\0WEBPVP8 ", ""),
    ):
        assert kind_of(data, name=name).name == "image"
        assert "Nothing was read out of it" in read(data, name).text


def test_an_extract_is_cut_at_a_line_and_never_inside_a_character() -> None:
    text, shortened = cut("äöü\n" * 400_000)
    assert shortened and len(text.encode()) <= MOST_EXTRACT and text.endswith("ü\n")
    text, shortened = cut("ä" * MOST_EXTRACT)
    assert shortened and set(text) == {"ä"}
    assert cut("short") == ("short", False)
    assert cut("\ud800")[0] == "?"


# HTML


def test_html_keeps_what_a_reader_sees_and_nothing_that_runs() -> None:
    page = """<!doctype html><html><head><title>The  mill</title><style>p{}</style>
    <script>alert("x")</script></head><body onload="evil()"><nav>Menu</nav>
    <h1>Grinding &amp; more</h1><p>Barley <b>is</b>
    ground.<br>Daily.</p><ul><li>one<li>two<ul><li>deeper</ul></ul><ol><li>first<li>second</ol>
    <table><tr><th>grain<th>kg<tr><td>rye<td>3|4</table>
    <pre>  x = 1\n    y</pre><p><a href="https://e.org/a b">link</a> <a href="javascript:evil()">no</a>
    <a href="data:text/html,x">no</a> <img src=x alt="a wheel"><noscript>off</noscript><svg><text>drawn</text></svg>
    <p hidden>secret orders<p>after<div style="display: none">unseen <p>inner</p> orders</div>
    <span aria-hidden="true">icon</span><!-- comment --><template>tpl</template> end</body></html>"""
    text, title = html_to_text(page)
    assert title == "The mill"
    assert "# Grinding & more\n\nBarley is ground.\nDaily." in text
    assert "- one\n- two\n\n  - deeper" in text and "1. first\n2. second" in text
    assert "| grain | kg |\n| --- | --- |\n| rye | 3\\|4 |" in text
    assert "```\n  x = 1\n    y\n```" in text
    assert "[link](https://e.org/a%20b)" in text and "[image: a wheel]" in text and "after" in text
    for gone in (
        "alert",
        "evil",
        "javascript",
        "data:",
        "p{}",
        "Menu",
        "orders",
        "unseen",
        "icon",
        "comment",
        "tpl",
        "off",
        "drawn",
    ):
        assert gone not in text


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("<p>a<p>b", "a\n\nb\n"),
        ("<ul><li hidden>x<li>y</ul>z", "- y\n\nz\n"),
        ("<ul><li hidden>x</ul>z", "z\n"),
        ("<table><tr><td hidden>x<td>y</table>", "| y |\n| --- |\n"),
        ("<table><tr><td>a", "| a |\n| --- |\n"),
        ("<pre>a", "```\na\n```\n"),
        ("<div></b></i></ul></li>text</div>", "text\n"),
        ("<script>a</script >b<script>never closed", "b\n"),
        ("<style><p>x</style>y", "y\n"),
        ("<svg><title>drawn</title></svg><p>x", "x\n"),
        ("plain &lt;b&gt; &#x41; &nbsp;x", "plain <b> A x\n"),
        ("<p>a <b hidden>x</b> c", "a  c\n"),
        ("<table><tr><td>out<table><tr><td>in</table><td>more</table>", None),
        ("", "\n"),
    ],
)
def test_broken_html_loses_form_and_no_text(page: str, expected: str | None) -> None:
    text = html(page)
    if expected is None:
        assert all(word in text for word in ("out", "in", "more"))
    else:
        assert text.replace("  ", " ") == expected.replace("  ", " ")


@given(
    st.lists(
        st.sampled_from(
            [
                *(
                    "<p>",
                    "</p>",
                    "<ul>",
                    "</ul>",
                    "<li>",
                    "<li hidden>",
                    "<table>",
                    "</table>",
                    "<tr>",
                    "<td>",
                    "</td>",
                ),
                *(
                    "<pre>",
                    "</pre>",
                    "<a href='x'>",
                    "</a>",
                    "<script>",
                    "</script>",
                    "<div hidden>",
                    "</div>",
                ),
                *(
                    "<!--",
                    "-->",
                    "<h1>",
                    "</h1>",
                    "&amp;",
                    "&#0;",
                    "<",
                    ">",
                    "\r\n",
                    "<title>",
                    "</title>",
                    "<br/>",
                ),
                *(
                    "<code>",
                    "</code>",
                    "<ol>",
                    "</ol>",
                    "<img alt='i'>",
                    "<svg/>",
                    "<![CDATA[",
                    "<?x",
                    "words",
                ),
            ]
        ),
        max_size=40,
    )
)
def test_any_pieces_of_html_are_read_and_nothing_hidden_by_its_author_comes_out(pieces: list[str]) -> None:
    text, title = html_to_text("".join(pieces) + "<div hidden>UNSEEN</div><script>EVIL</script>")
    assert text.endswith("\n") and "\n\n\n" not in text and "\n" not in title
    if not {"<!--", "<title>", "<![CDATA[", "<?x", "<", "<script>"} & set(pieces):
        assert "UNSEEN" not in text and "EVIL" not in text


def test_html_is_read_in_the_charset_it_names_and_relative_links_count_from_its_address() -> None:
    data = '<meta charset="iso-8859-2"><p>žluť <a href="../b">x</a>'.encode("iso-8859-2")
    found = read(data, "a.html", base="https://e.org/docs/a/")
    assert "žluť [x](https://e.org/docs/b)" in found.text
    assert "ž" in read("<p>ž".encode("utf-16"), "a.html", charset="utf-16").text
    with pytest.raises(BadArgument, match="charset nobody knows"):
        read(b'<meta charset="klingon"><p>x', "a.html")
    with pytest.raises(BadArgument, match="not in the charset it names"):
        read(b"<p>\xff", "a.html")


def test_deep_and_endless_html_is_read_within_its_limits() -> None:
    deep = ("<div>" * 50_000 + "core" + "<ul><li>" * 20_000 + "leaf").encode()
    assert {"core", "leaf"} <= set(read(deep, "a.html").text.replace("-", " ").split())
    assert "x" in read(b"<p>x</p>" * 30_000, "a.html").text


# PDF


def test_a_pdf_gives_its_pages_and_title_packed_or_not() -> None:
    pytest.importorskip("pypdf")
    for packed in (False, True):
        found = read(
            pdf([shown("The mill grinds."), shown("Barley.")], packed=packed, title="Mill book"), "a.pdf"
        )
        assert found.title == "Mill book" and not found.cut
        assert found.text == "<!-- page 1 -->\n\nThe mill grinds.\n\n<!-- page 2 -->\n\nBarley.\n"


def test_a_pdf_is_known_by_its_first_bytes() -> None:
    assert kind_of(pdf([shown("x")]), name="report").name == "pdf"
    assert kind_of(b"%PDF-", name="x.md").name == "pdf"


def test_an_encrypted_pdf_is_named_and_one_that_needs_no_password_is_read() -> None:
    pypdf = pytest.importorskip("pypdf")
    for password, reads in (("secret", False), ("", True)):
        writer = pypdf.PdfWriter(clone_from=io.BytesIO(pdf([shown("Hidden words")])))
        writer.encrypt(password, owner_password="owner", algorithm="RC4-128")
        out = io.BytesIO()
        writer.write(out)
        if reads:
            assert "Hidden words" in read(out.getvalue(), "a.pdf").text
        else:
            with pytest.raises(Unreadable, match="encrypted"):
                read(out.getvalue(), "a.pdf")


@pytest.mark.parametrize(
    ("data", "error", "said"),
    [
        (
            pdf([b"q 300 0 0 300 0 0 cm /Im1 Do Q", b""]),
            Unreadable,
            "holds no text on its 2 pages, as of a scan",
        ),
        (pdf([]), Unreadable, "holds no text on its 0 pages"),
        (b"%PDF-1.7\nnothing that helps", Unreadable, "the PDF is broken"),
        (pdf([shown("x")])[:200], Unreadable, "the PDF is broken"),
        (pdf([shown("x")], packed=True).replace(b"FlateD", b"FlatXD"), Unreadable, "the PDF is broken"),
        (
            pdf([b"BT (" + b"\0" * (200 * MIB) + b") Tj ET"], packed=True),
            TooLarge,
            "unpacks into more than is read",
        ),
        (pdf([b"[" * 300_000 + b"]" * 300_000]), WikimcpError, "PDF"),
    ],
    ids=["scanned", "no pages", "no pdf", "cut off", "odd filter", "bomb", "nested"],
)
def test_a_pdf_that_cannot_be_read_is_a_named_error(
    data: bytes, error: type[WikimcpError], said: str
) -> None:
    pytest.importorskip("pypdf")
    with pytest.raises(error, match=said):
        read(data, "a.pdf")


# DOCX


def docx_of(*paragraphs: tuple[str, str]) -> bytes:
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.core_properties.title = "Mill rules"
    for style, text in paragraphs:
        document.add_paragraph(text, style=style)
    table = document.add_table(rows=2, cols=2)
    for number, text in enumerate(("grain", "kg", "rye", "3|4")):
        table.cell(number // 2, number % 2).text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def test_a_docx_gives_headings_lists_tables_and_title_in_order() -> None:
    data = docx_of(
        ("Title", "Rules"), ("Heading 2", "Daily"), ("Normal", "Grind  barley."), ("List Bullet", "oil")
    )
    found = read(data, "a.docx")
    assert found.title == "Mill rules"
    assert found.text == (
        "# Rules\n\n## Daily\n\nGrind barley.\n\n- oil\n\n| grain | kg |\n| --- | --- |\n| rye | 3\\|4 |\n"
    )


def test_a_docx_that_is_a_bomb_is_refused_before_it_is_unpacked() -> None:
    data = docx_of(("Normal", "x"))
    bombs = {
        "one part": zipped({"word/document.xml": b" " * (50 * MIB)}),
        "all parts": zipped({f"word/{n}.xml": b"\0" * (4 * MIB) for n in range(33)}),
        "many parts": zipped({f"word/{n}.xml": b"" for n in range(5_000)}),
        "ratio": zipped({"word/document.xml": b"<w/>", "word/media/a.bin": b"\0" * (20 * MIB)}),
    }
    for name, bomb in bombs.items():
        with pytest.raises(TooLarge, match="as a zip bomb does"):
            read(bomb, "a.docx")
        assert len(bomb) < MIB, name
    with pytest.raises(TooLarge, match="as a zip bomb does"):
        read(claiming(data, b"word/document.xml", 2**31 - 1), "a.docx")
    with pytest.raises(Unreadable, match="the document is broken"):
        read(claiming(data, b"word/document.xml", 10), "a.docx")


def test_a_docx_with_a_flood_of_entities_does_not_unfold_it() -> None:
    docx = pytest.importorskip("docx")
    assert docx
    levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    flood = f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "aaaaaaaaaa">{levels}]><w:document xmlns:w="x"><w:body>&e11;</w:body></w:document>'
    plain = docx_of(("Normal", "x"))
    with zipfile.ZipFile(io.BytesIO(plain)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with pytest.raises(WikimcpError):
        read(zipped(parts | {"word/document.xml": flood.encode()}), "a.docx")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "encrypted or an old Office document"),
        (b"no zip at all", "no DOCX document"),
        (zipped({"other.txt": b"x"}), "the document is broken"),
    ],
    ids=["encrypted", "no zip", "no document"],
)
def test_what_is_no_docx_is_a_named_error(data: bytes, said: str) -> None:
    pytest.importorskip("docx")
    with pytest.raises(Unreadable, match=said):
        read(data, "a.docx")


# The process that reads


def test_a_reader_that_takes_too_long_is_killed_at_its_limit() -> None:
    began = time.monotonic()
    with pytest.raises(TimedOut, match=r"longer than 0\.2 seconds"):
        read_source(Kind("html", "html", apart=True), b"<p>x</p>" * 2_000_000, limits=Limits(seconds=0.2))
    assert time.monotonic() - began < 10


def test_a_reader_that_needs_too_much_memory_ends_with_a_named_error() -> None:
    data = b"[" + b"[1.5]," * 1_000_000 + b"0]"
    with pytest.raises(WikimcpError, match="memory|broke down"):
        read_source(Kind("json", "json", apart=True), data, limits=Limits(memory_bytes=128 * MIB))


@pytest.mark.parametrize(("library", "name"), [("pypdf", "a.pdf"), ("docx", "a.docx")])
def test_without_the_extra_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, library: str, name: str
) -> None:
    code = (
        f"import sys; sys.modules[{library!r}] = None; from wikimcp.authoring.extraction import work; work()"
    )
    monkeypatch.setattr("wikimcp.authoring.extraction._CODE", code)
    data = pdf([shown("x")]) if library == "pypdf" else zipped({"word/document.xml": b"<w/>"})
    with pytest.raises(Unavailable, match="not installed") as raised:
        read(data, name)
    assert "wikimcp-server[documents]" in raised.value.hint


def test_a_reader_that_dies_is_a_named_error_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wikimcp.authoring.extraction._CODE", "import os; os.abort()")
    with pytest.raises(Unreadable, match="broke down"):
        read_source(Kind("html", "html", apart=True), b"<p>x")
