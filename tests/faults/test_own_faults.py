"""Faults of the same kinds that are not on the list: what people's tools leave in their folders.

Each case says what the owner would expect; the number is its name (``O-01`` ...).
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.vaults.dialects import Served, only_page, pages_of, put, served
from wikimcp.markdown.body import parse_body
from wikimcp.markdown.dates import read_time
from wikimcp.markdown.org import read_org
from wikimcp.models import Caller, ParsedPage
from wikimcp.vaults.detect import detect
from wikimcp.vaults.options import VaultOptions


def case(number: int, *values: object) -> object:
    return pytest.param(*values, id=f"O-{number:02}")


def page(folder: Path, text: str, name: str = "a.md") -> ParsedPage:
    return only_page(put(folder / "v", {name: text}))


def codes(found: ParsedPage) -> set[str]:
    return {note.code for note in (*found.diagnostics, *found.body.diagnostics)}


# Frontmatter: what is written so shall be read so


@pytest.mark.parametrize(
    ("block", "field", "expected"),
    [
        case(1, "title: 0o17", "title", "0o17"),
        case(2, "title: [A, B]", "title", "A, B"),
        case(3, "title: |\n  two\n  lines", "title", "two lines"),
        case(4, "title:\u00a0narrow", "title", "narrow"),
        case(5, "title: x\ntags:\u3000wide", "tags", ("wide",)),
        case(6, "tags:\n- a\n-b\n- c", "tags", ("a", "b", "c")),
        case(7, "tags: [a, , b]", "tags", ("a", "b")),
        case(8, "tags: [[a b]], [[c]]", "tags", ("a b", "c")),
        case(9, "tags: a\ntag: b", "tags", ("a", "b")),
        case(10, "aliases: [X]\nalias: Y", "aliases", ("X", "Y")),
        case(11, 'aliases: ["a, b", c]', "aliases", ("a, b", "c")),
        case(12, "title: {{title}}", "title", "{{title}}"),
        case(13, "title: <% tp.file.title %>", "title", "<% tp.file.title %>"),
        case(14, "base: &b\n  x: 1\ntitle: T\nuse:\n  <<: *b", "title", "T"),
        case(15, "title: T\n...", "title", "T"),
        case(16, "updated: February 3, 2031", "updated_at", "2031-02-03"),
        case(17, "updated: '[[2031-02-03]]'", "updated_at", "2031-02-03"),
        case(18, "updated: 2031/2/3 4:05", "updated_at", "2031-02-03T04:05"),
        case(19, "updated: soon\nlast_updated: 2031-02-03", "updated_at", "2031-02-03"),
    ],
)
def test_a_value_is_read_as_its_writer_meant_it(
    tmp_path: Path, block: str, field: str, expected: object
) -> None:
    assert getattr(page(tmp_path, f"---\n{block}\n---\nBody.\n"), field) == expected


@pytest.mark.parametrize(
    ("block", "code"),
    [
        case(20, "updated: not a date", "date_unreadable"),
        case(21, "updated: 03/02/2031", "date_unreadable"),
        case(22, "canonical_id: [a, b]", "id_unreadable"),
        case(23, "id: {a: b}", "id_unreadable"),
        case(102, "created: 2024-13-45", "date_unreadable"),
        case(103, "date: 2031-02-31", "date_unreadable"),
        case(104, "reviewedAt: [2031-02-03, 2031-2-30]", "date_unreadable"),
        case(105, "Due Date: next week", "date_unreadable"),
    ],
)
def test_a_value_that_cannot_be_taken_is_told_with_its_line(tmp_path: Path, block: str, code: str) -> None:
    with served(put(tmp_path / "v", {"a.md": f"---\ntitle: T\n{block}\n---\nBody.\n"})) as wiki:
        got = wiki.call("get_page", slug="a")
        (note,) = [note for note in got["diagnostics"] if note["code"] == code]
        assert note["line"] == 3
        assert got["updatedAt"][:2] == "20" and "not a date" not in got["updatedAt"]
        assert got.get("idDerived") is True or code != "id_unreadable"


@pytest.mark.parametrize(
    "text",
    [
        case(24, '{"title": "T",\n\n"draft": true}\nBody.\n'),
        case(25, '{\n  "state": "private"\n}\nBody.\n'),
        case(26, '+++\ntitle = "T"\n\ndraft = true\n+++\nBody.\n'),
        case(27, "\n---\ntitle: T\n\ndraft: true\n---\nBody.\n"),
        case(28, "---\ndraft：true\n---\nBody.\n"),  # the colon of a Chinese keyboard
        case(29, "---\ntitle: T\ndraft:\u00a0true\n---\nBody.\n"),
        case(30, "---\nSome prose\nand more\nand more\n\nwith: a colon in it\n\ndraft: true\n---\nBody.\n"),
        case(31, "---json\n{\n\n\"status\": \"draft\"}\n---\nBody.\n"),
        case(32, "---\nbroken: [\nreview_state: rejected\n---\nBody.\n"),
        case(33, '{"draft": "true", broken\n\n}\nBody.\n'),
    ],
)  # fmt: skip
def test_a_draft_flag_is_seen_in_whatever_head_it_stands(tmp_path: Path, text: str) -> None:
    assert page(tmp_path, text).withheld


@pytest.mark.parametrize(
    "text",
    [
        case(34, '{"title": "T", "draft": false,\n\n"state": "open"}\nBody.\n'),
        case(35, "---\n\nA thought: the public: is here.\n\n---\nMore.\n"),
        case(36, "{{< note >}}\n\nstatus: draft is what we show here\n"),
        case(37, "+++\ntitle = \"T\"\n\ndraft = false\n+++\nBody.\n"),
        case(38, "---\ntitle: T\nstatus: Published\n---\nBody.\n"),
    ],
)  # fmt: skip
def test_what_is_no_draft_flag_withholds_nothing(tmp_path: Path, text: str) -> None:
    assert not page(tmp_path, text).withheld


# Headings


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        case(39, "## Title ##\n## C#\n## C# ##\n", ["Title", "C#", "C#"]),
        case(40, "## [Doc](x.md) and [[a|b]] `code`\n", ["Doc and b code"]),
        case(41, "## \u200bFoo\u200b \ufeffBar\u00ad\n", ["Foo Bar"]),
        case(42, "## Foo[^1]\n\n[^1]: note\n", ["Foo"]),
        case(43, "## A &amp; B \\# C\n", ["A & B # C"]),
        case(44, "para\nmore\n---\n", ["para more"]),
        case(45, "> [!note] T\n> ## in a callout\n", [""]),
        case(46, "##NoBlank\n#tag\n", [""]),
        case(47, "<!--\n# hidden\n-->\n# Shown %% not this %%\n", ["", "Shown"]),
        case(48, f"# {'word ' * 20_000}\n", [f"{'word ' * 119}word…"]),
    ],
)
def test_a_heading_is_what_a_reader_sees_of_it(text: str, headings: list[str]) -> None:
    assert [section.heading for section in parse_body(text).sections] == headings


@pytest.mark.parametrize(
    ("name", "content"),
    [
        case(49, "Parent > Kid", "### Kid\n\nof parent\n"),
        case(50, "A > B", "## A > B\n\nitself\n"),
        case(51, "Top > A > B", "## A > B\n\nitself\n"),
        case(52, "A > B > Kid", "### Kid\n\nof a and b\n"),
        case(53, "A > B/Kid", "### Kid\n\nof a and b\n"),
    ],
)
def test_a_heading_that_holds_a_separator_is_found_alone_and_in_a_path(
    tmp_path: Path, name: str, content: str
) -> None:
    text = "# Top\n\n## Parent\n\n### Kid\n\nof parent\n\n## A > B\n\nitself\n\n### Kid\n\nof a and b\n"
    with served(put(tmp_path / "v", {"a.md": text})) as wiki:
        (found,) = wiki.call("read_pages", slugs=["a"], heading=name)["pages"]
        assert found["content"].startswith(content)


# Links and tags


LINKED = {
    "a.b.c.md": "x", "C#.md": "x", "Café.md": "x", "sub/note.md": "x", "guide/index.md": "x",
    "api/README.md": "x", "What?.md": "x", "10:30 meeting.md": "x", "a+b.md": "x", "zw\u200bj.md": "x",
    "100% done.md": "x", "x_(y).md": "x", "lead .md": "x",
}  # fmt: skip


@pytest.mark.parametrize(
    ("link", "slug"),
    [
        case(54, "[[a.b.c]]", "a.b.c"),
        case(55, "[[C#]]", "C#"),
        case(56, "[[Cafe\u0301]]", "Café"),
        case(57, "[[sub\\note]]", "sub/note"),
        case(58, "[x](sub\\note.md)", "sub/note"),
        case(59, "[x](guide/)", "guide/index"),
        case(60, "[x](api)", "api/README"),
        case(61, "[x](What%3F.md)", "What?"),
        case(62, "[[10:30 meeting]]", "10:30 meeting"),
        case(63, "[x](a+b.md)", "a+b"),
        case(64, "[[zwj]]", "zw\u200bj"),
        case(65, "[[note#]]", "sub/note"),
        case(66, "[[100% done]]", "100% done"),
        case(67, "[x](x_(y).md)", "x_(y)"),
        case(68, "[x](<lead .md>)", "lead "),
        case(69, "[[note\u200e]]", "sub/note"),
    ],
)
def test_a_link_leads_where_its_writer_meant(tmp_path: Path, link: str, slug: str) -> None:
    with served(put(tmp_path / "v", {**LINKED, "src.md": f"See {link}.\n"})) as wiki:
        assert [target for _, target in wiki.resolved("src")] == [slug]
        assert "error" not in wiki.call("read_pages", slugs=[slug])["pages"][0]


@pytest.mark.parametrize(
    "text",
    [
        case(70, "[[{{date}}]] [[<% tp.file.title %>]]"),
        case(71, "[[#]] [[]] [[ # ]] [[|x]]"),
        case(72, "```dataview\nLIST FROM [[A]]\n```\n`= [[A]].x`"),
        case(73, "```mermaid\ngraph TD; A[[kestrel]] --> B\n```"),
        case(74, "<script>var x = '[[no]]'</script>\n"),
        case(106, "#+BEGIN_QUERY\n{:query [[?b :block/refs [[A]]] #t}\n#+END_QUERY\n"),
        case(107, "- #+begin_query\n  [[A]] [x](y.md)\n  #+end_query\n"),
        case(
            108,
            "{{query (and [[A]] [[B]])}} {{query (or\n  [[A]]\n  ((5f0c0000-0000-4000-8000-000000000001)))}}",
        ),
        case(109, "#+BEGIN_SRC clojure\n[[A]]\n#+END_SRC\n"),
        case(110, '<% tp.file.include("[[A]]") %> <%*\nlet x = "[[A]]"\n%>'),
        case(111, "```tasks\npath includes [[A]]\n```\n```query\n[[A]]\n```\n~~~dataviewjs\n[[A]]\n~~~\n"),
        case(112, "{{cards [[A]]}} {{renderer :todo, [[A]]}} {{table [[A]]}}"),
    ],
)
def test_what_is_no_link_is_none(text: str) -> None:
    assert parse_body(text).links == ()


@pytest.mark.parametrize(
    "text",
    [
        case(113, "#+BEGIN_QUOTE\n[[A]]\n#+END_QUOTE\n"),
        case(114, "#+BEGIN_QUERY\nnever closed, so text: [[A]]\n"),
        case(115, "```\n#+BEGIN_QUERY\n```\n[[A]]\n\n#+END_QUERY\n"),
        case(116, "#+BEGIN_QUERY\nx\n#+END_QUERY\n[[A]]\n#+BEGIN_SRC\ny\n#+END_SRC\n"),
        case(117, "1 <% 2 [[A]]"),
        case(118, "{{embed [[A]]}}"),
    ],
)
def test_what_only_looks_like_a_query_hides_no_link(text: str) -> None:
    assert [link.target for link in parse_body(text).links] == ["A"]


def test_o119_queries_of_an_org_file_hold_no_links() -> None:
    text = (
        "* Head\n#+BEGIN_QUERY\n{:query [[A]] #t}\n#+END_QUERY\n{{query (and [[A]]\n [[B]])}} {{cards [[A]]}}\n"
        "{{embed [[C]]}} [[D]]\n"
    )
    _, reading = read_org(text)
    assert [(link.kind.value, link.target) for link in reading.body.links] == [
        ("embed", "C"),
        ("wikilink", "D"),
    ]
    assert reading.body.tags == ()


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        case(75, '#a/b/c #a-b #ünï #🚀 #a. (#p) "#q"', ("a/b/c", "a-b", "ünï", "🚀", "a", "p", "q")),
        case(76, "| #cell |\n|---|\n| #日本語、次 |\n", ("cell", "日本語")),
        case(77, "x#y ##h &#39; http://x/#f <a href='#x'> [l](#h) $#m$ #１２３", ()),
        case(78, "%% #hidden %% <!-- #hidden --> #shown", ("shown",)),
    ],
)
def test_a_tag_is_what_the_editor_shows_as_one(text: str, tags: tuple[str, ...]) -> None:
    assert parse_body(text).tags == tags


# Whole pages


@pytest.mark.parametrize(
    ("name", "text", "lost"),
    [
        case(
            79,
            "a.excalidraw.md",
            "---\nexcalidraw-plugin: parsed\n---\n# Excalidraw Data\n## Text Elements\nkestrel ^x1\n\n%%\n"
            f"## Drawing\n```compressed-json\n{'N4KAkA' * 5_000}\n```\n%%\n",
            "N4KAkA",
        ),
        case(
            80,
            "a.md",
            f"kestrel\n\n![](data:image/png;base64,{'QUJD' * 50_000})\n\nend\n",
            "QUJDQUJD",
        ),
        case(81, "a.md", '## Todo\n\n- [ ] kestrel\n\n%% kanban:settings\n```\n{"x":1}\n```\n%%\n', "kanban"),
        case(82, "a.md", "> [!warning]- Kestrel\n> body\n", ""),
        case(83, "a.md", "| a | b |\n|--|--|\n| x[^1] | kestrel |\n\n[^1]: note\n", ""),
        case(84, "a.md", "kestrel\x0c \x1b[31mred\x07\n", ""),
        case(85, "a.md", "# A\rkestrel\r## B\rx\r", ""),
        case(86, "a.md", "import X from './x'\n\n<X kestrel>\n\ntext\n\n</X>\n", ""),
        case(87, "a.md", "!!! note\n    kestrel\n\n:::tip\nx\n:::\n", ""),
        case(88, "a.md", f"| k | v |\n|---|---|\n{'| cell | other |' * 1 + chr(10)}" * 3_000 + "\nkestrel\n", ""),
    ],
)  # fmt: skip
def test_a_page_of_another_tool_is_found_and_shown_without_its_machinery(
    tmp_path: Path, name: str, text: str, lost: str
) -> None:
    with served(put(tmp_path / "v", {name: text, "z.md": "Other.\n"})) as wiki:
        (section,) = wiki.call("assemble_bundle", query="kestrel")["sections"]
        assert "kestrel" in section["text"].casefold()
        assert not lost or lost not in section["text"]


def test_o89_a_merge_that_was_not_finished_is_told_with_its_line(tmp_path: Path) -> None:
    text = "---\nx: 1\n---\n# A\n\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n"
    found = page(tmp_path, text)
    assert [(n.code, n.line) for n in found.body.diagnostics] == [("merge_conflict", 6)]
    assert codes(page(tmp_path / "b", "# A\n\n```\n<<<<<<< HEAD\n```\n")) == set()


def test_o90_transclusions_that_go_round_end(tmp_path: Path) -> None:
    with served(put(tmp_path / "v", {"a.md": "![[b]] kestrel", "b.md": "![[a]] ![[b]]"})) as wiki:
        assert wiki.found("kestrel") == ["a"]
        assert wiki.resolved("b") == [("a", "a"), ("b", "b")]


def test_o91_block_ids_in_lists_and_after_tables_are_known() -> None:
    text = "- item ^b1\n  - sub ^b-2\n\npara\n^b3\n\n| t |\n|--|\n| x |\n\n^b4\n"
    assert parse_body(text).block_ids == ("b1", "b-2", "b3", "b4")


ODD_NAMES = [
    *("a  b", "con", "aux", "dot.", "lead ", "tab\tname", "new\nline", "q?u*o:t|e", "x" * 240, "e\u0301"),
    *("👩‍👩‍👧", "שלום", "a%20b", "a&b=c", "a^b", "{c}", "~t", "$d", "@e", "!f", "a,b", "'q'", '"d"', "`t`"),
    *("2031-02-03", "_index", "null", "true", "v1.0", "-dash", "a..b", "\u00a0nb", "\u202ertl"),
]


@pytest.mark.skipif(os.name == "nt", reason="no such names there")
def test_o92_any_name_a_disk_takes_is_listed_read_and_a_resource(tmp_path: Path) -> None:
    vault = put(tmp_path / "v", {f"{name}.md": f"word{at}" for at, name in enumerate(ODD_NAMES)})
    with served(vault) as wiki:
        listed = [row["slug"] for row in wiki.call("list_pages", limit=200)["pages"]]
        assert sorted(listed) == sorted(ODD_NAMES)
        for at, name in enumerate(ODD_NAMES):
            assert wiki.call("read_pages", slugs=[name])["pages"][0]["content"] == f"word{at}"
        resources, _ = wiki.service.resources(Caller(), None)
        texts = {wiki.service.read_resource(r.uri, Caller()) for r in resources if "/page/" in r.uri}
        assert texts == {f"word{at}" for at in range(len(ODD_NAMES))}


def test_o93_a_folder_named_like_a_page_and_a_page_of_its_name_are_both_there(tmp_path: Path) -> None:
    found = pages_of(put(tmp_path / "v", {"x.md/inner.md": "a", "x.md.md": "b", "x/x.md": "c"}))
    assert sorted(found) == ["x.md", "x.md/inner", "x/x"]


@pytest.mark.skipif(os.name == "nt", reason="no links without rights there")
def test_o94_a_second_name_of_a_page_is_told_to_the_operator_alone(tmp_path: Path) -> None:
    vault = put(tmp_path / "v", {"real.md": "kestrel", "d.md": "---\ndraft: true\n---\nx", "sub/n.md": "x"})
    for link, target in (("again.md", "real.md"), ("second.md", "d.md"), ("twice", "sub")):
        (vault / link).symlink_to(target)
    with served(vault) as wiki:
        status = wiki.service.status(Caller(operator=True))
        named = {entry["path"] for entry in status["skipped"] if entry["code"] == "link_served_once"}
        assert named == {"again.md", "second.md", "twice"}
        assert status["files"]["skipped"] == wiki.call("list_pages")["index"]["skipped"] == 0
        assert wiki.found("kestrel") == ["real"]
        assert said(wiki, "second.md") == said(wiki, "zecond.md").replace("zecond", "second")


def said(wiki: Served, name: str) -> str:
    try:
        return json.dumps(wiki.call("get_page", slug=name))
    except Exception as error:
        return str(error)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_o95_what_is_no_file_is_named_and_stops_nothing(tmp_path: Path) -> None:
    vault = put(tmp_path / "v", {"a.md": "kestrel"})
    os.mkfifo(vault / "pipe.md")
    (vault / "loop.md").symlink_to("loop.md")
    (vault / "gone.md").symlink_to("nowhere")
    with served(vault) as wiki:
        assert wiki.found("kestrel") == ["a"]
        skipped = wiki.service.status(Caller(operator=True))["skipped"]
        assert {entry["path"] for entry in skipped} == {"pipe.md", "loop.md", "gone.md"}


@pytest.mark.parametrize(
    "name",
    [
        case(96, "n (conflicted copy 2031-02-03).md"),
        case(97, "n (Ana's conflicted copy 2031-02-03).md"),
        case(98, "n.sync-conflict-20310203-101010-ABCDEFG.md"),
    ],
)
def test_a_copy_that_a_sync_left_never_wins(tmp_path: Path, name: str) -> None:
    with served(
        put(tmp_path / "v", {"n.md": "kestrel words", name: "kestrel kestrel", "s.md": "[[n]]"})
    ) as wiki:
        assert wiki.found("kestrel")[0] == "n"
        assert wiki.resolved("s") == [("n", "n")]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("2031-02-03T01:02:03Z", "2031-02-03T01:02:03Z"),
        ("3rd of March 2031", "2031-03-03"),
        ("Mon, 3 Mar 2031", "2031-03-03"),
        ("1700000000000", "2023-11-14T22:13:20+00:00"),
        ("2031-02-31", ""),
        ("2031-13", ""),
        ("yesterday", ""),
        ("Marchember 3, 2031", ""),
        ("", ""),
    ],
)
def test_o99_a_date_is_read_when_it_can_mean_one_day_only(written: str, read: str) -> None:
    assert read_time(written) == read


def test_o100_case_only_twins_are_two_pages_and_each_is_read_by_its_own_name(tmp_path: Path) -> None:
    vault = put(tmp_path / "v", {"Note.md": "one", "note.md": "two", "NOTE.md": "three"})
    if len(list(vault.iterdir())) < 3:
        pytest.skip("this disk folds case")
    with served(vault) as wiki:
        texts = [wiki.call("read_pages", slugs=[n])["pages"][0]["content"] for n in ("Note", "note", "NOTE")]
        assert texts == ["one", "two", "three"]


def test_o101_a_glob_of_the_settings_makes_a_page_private_under_any_name_of_it(tmp_path: Path) -> None:
    vault = put(tmp_path / "v", {"a/secret.md": "---\ntitle: T\naliases: [S]\n---\nx", "b.md": "[[S]] [[T]]"})
    adapter = detect(vault, VaultOptions(private=("a/",)))
    assert adapter.parse(adapter.read("a/secret.md")).withheld
