"""Links of every kind, inline fields, block ids and tags."""

from __future__ import annotations

import pytest

from wikimcp.markdown.body import parse_body, read_body
from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.markdown.links import display_text, frontmatter_links, is_issue_key, target_name
from wikimcp.markdown.tokens import LineIndex
from wikimcp.models import Link, LinkKind

UUID = "5f0c0000-0000-4000-8000-000000000001"


def only(text: str) -> Link:
    (link,) = parse_body(text).links
    return link


@pytest.mark.parametrize(
    ("text", "kind", "target", "fragment", "label"),
    [
        ("[[Page]]", LinkKind.WIKILINK, "Page", "", ""),
        ("[[ Page | shown ]]", LinkKind.WIKILINK, "Page", "", "shown"),
        ("[[dir/Page#A#B|x]]", LinkKind.WIKILINK, "dir/Page", "A#B", "x"),
        ("[[Page#^id]]", LinkKind.WIKILINK, "Page", "^id", ""),
        ("[[C#]]", LinkKind.WIKILINK, "C#", "", ""),
        ("[[Node.js]]", LinkKind.WIKILINK, "Node.js", "", ""),
        ("![[Page#^id]]", LinkKind.EMBED, "Page", "^id", ""),
        ("{{embed [[Page]]}}", LinkKind.EMBED, "Page", "", ""),
        ("[[https://x.test/a|b]]", LinkKind.EXTERNAL, "https://x.test/a", "", "b"),
        ("[[board.canvas]]", LinkKind.ATTACHMENT, "board.canvas", "", ""),
        ("[a](Page)", LinkKind.MARKDOWN, "Page", "", "a"),
        ("[a](dir/My%20Page.md#One%20two 'title')", LinkKind.MARKDOWN, "dir/My Page.md", "One two", "a"),
        ("[a](<My Page.md>)", LinkKind.MARKDOWN, "My Page.md", "", "a"),
        ("[a](../x.md?raw=1#f)", LinkKind.MARKDOWN, "../x.md", "f", "a"),
        ("[a *b* `c`](#frag)", LinkKind.MARKDOWN, "", "frag", "a b c"),
        ("[a](build%20v3.1%20plan)", LinkKind.MARKDOWN, "build v3.1 plan", "", "a"),
        ("![a](Page.md)", LinkKind.EMBED, "Page.md", "", "a"),
        ("[a](script.py)", LinkKind.ATTACHMENT, "script.py", "", "a"),
        ("![200](pic.PNG)", LinkKind.ATTACHMENT, "pic.PNG", "", ""),
        ("[a][r]\n\n[R]: ref.md", LinkKind.MARKDOWN, "ref.md", "", "a"),
        ("[a][]\n\n[a]: ref.md", LinkKind.MARKDOWN, "ref.md", "", "a"),
        ("[a]\n\n[a]: ref.md", LinkKind.MARKDOWN, "ref.md", "", "a"),
        ("<https://x.test/#f>", LinkKind.EXTERNAL, "https://x.test/#f", "", ""),
        ("[a](mailto:a@b.test)", LinkKind.EXTERNAL, "mailto:a@b.test", "", "a"),
        ("[a](//x.test/y)", LinkKind.EXTERNAL, "//x.test/y", "", "a"),
        (f"(({UUID}))", LinkKind.BLOCK, UUID, "", ""),
        ("[[Foo]]\n\n[foo]: /url", LinkKind.WIKILINK, "Foo", "", ""),
        ("[[1]](https://x.test)", LinkKind.EXTERNAL, "https://x.test", "", "[1]"),
        ("*[[Page]]*", LinkKind.WIKILINK, "Page", "", ""),
        ("\\\\[[Page]]", LinkKind.WIKILINK, "Page", "", ""),
        ("[[[Page]]]", LinkKind.WIKILINK, "Page", "", ""),
        ("> - [[Page]]", LinkKind.WIKILINK, "Page", "", ""),
        ("text[^1]\n\n[^1]: [[Page]]", LinkKind.WIKILINK, "Page", "", ""),
    ],
)
def test_a_link_keeps_kind_target_fragment_and_label(
    text: str, kind: LinkKind, target: str, fragment: str, label: str
) -> None:
    link = only(text)
    assert (link.kind, link.target, link.fragment, link.label) == (kind, target, fragment, label)


@pytest.mark.parametrize(
    "text", ["[a]()", "[a](<>)", "[a](#)", "[a]({{base}}/x)", "[[a\nb]]", "[[a]", "[a] (b)", "((not-a-uuid))"]
)
def test_what_leads_nowhere_is_no_link(text: str) -> None:
    assert parse_body(text).links == ()


def test_a_citation_keeps_its_claim_and_its_span() -> None:
    link = only('[the claim](cite://01ABC/Part%20A?v=3&h=0123 "verbatim \\"quoted\\" span")')
    assert (link.kind, link.target) == (LinkKind.CITATION, "cite://01ABC/Part%20A?v=3&h=0123")
    assert (link.label, link.span_text) == ("the claim", 'verbatim "quoted" span')
    assert only("[s](file:src/a.py#L10-L20)").kind is LinkKind.CITATION


def test_links_come_in_order_with_place_and_line() -> None:
    text = "---\na: 1\n---\n[[A]] é [b](b.md)\r\n日本 ![[C]]\n"
    links = read_body(text, 13).body.links
    assert [(link.target, link.line, text[link.start]) for link in links] == [
        ("A", 4, "["),
        ("b.md", 4, "["),
        ("C", 5, "!"),
    ]


def test_links_in_frontmatter_carry_their_property_and_line() -> None:
    text = (
        '---\ntitle: x\nrelated: ["[[X]]", Plain]\nrelations:\n  - {type: part_of, target: "[[Y#h|z]]"}\n'
        'see: "[a](b.md)"\n---\n'
    )
    front = parse_frontmatter(text)
    links = frontmatter_links(front.data, front.positions, LineIndex(text))
    assert [(link.target, link.fragment, link.prop, link.line, link.start) for link in links] == [
        ("X", "", "related", 3, -1),
        ("Y", "h", "relations", 4, -1),
        ("b.md", "", "see", 6, -1),
    ]


def test_inline_fields_give_values_and_name_their_links() -> None:
    text = (
        "depends on:: [[X]], [[Y]]\n- **Owner**:: [[Ana]]\n- [ ] task [due:: [[2031-02-03]]] "
        "and (with:: [[Bo]])"
        "\nstd::vector<int> a; Foo::bar `key:: [[no]]`\n\nText.\n\n    code:: [[no]]\n\n[[Free]] empty::\n"
    )
    body = parse_body(text)
    assert body.fields == {
        "depends on": ("[[X]], [[Y]]",),
        "Owner": ("[[Ana]]",),
        "due": ("[[2031-02-03]]",),
        "with": ("[[Bo]]",),
    }
    assert [(link.target, link.prop) for link in body.links] == [
        ("X", "depends on"),
        ("Y", "depends on"),
        ("Ana", "Owner"),
        ("2031-02-03", "due"),
        ("Bo", "with"),
        ("Free", ""),
    ]


def test_properties_of_the_page_are_those_of_its_first_block() -> None:
    reading = read_body("\ntitle:: A\npublic:: false\n\nlater:: x\n")
    assert reading.properties == (("title", "A", 2), ("public", "false", 3))
    assert read_body("text\nkey:: x\n").properties == ()


def test_block_ids_end_a_block() -> None:
    text = (
        "Text. ^one\n\n- item ^two-2\n\n| a |\n|---|\n\n^table\n\n`x ^no`\n\n2^10 ^no more\n\n"
        f"- b\n  id:: {UUID}\n"
    )
    assert parse_body(text).block_ids == ("one", "two-2", "table", UUID)


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#a #b/c #d-e_f #1a", ("a", "b/c", "d-e_f", "1a")),
        ("(#a) **#b** *#c*, #d. #e! #f:", ("a", "b", "c", "d", "e", "f")),
        ("| #a | x |\n|---|---|\n|#b| y |", ("a", "b")),
        ("# Head #a\n\n- #b\n> #c", ("a", "b", "c")),
        ("#a/ #/b", ("a", "b")),
        ("#Ä #émile #🦊", ("Ä", "émile", "🦊")),
        ("#日本。次", ("日本",)),
        ("#[[two words]] #[[x|y]]", ("two words", "x")),
        ("#12 #1-2 #- #_ #2031/12", ()),
        ("a#b x/#c &#123; \\#d C# #", ()),
        ("[t](#x) [#y](z.md) ![#alt](p.png) [[p#q]] [[#h]]", ()),
        ("$#x$ `#y` <a href='#z'>t</a>", ()),
        ("<pre>#x</pre> <!-- #y --> %% #z %% {{< tag #w >}}", ()),
        ("## Head {#a}\n## Head { #b }\n## Head { .c #d }", ()),
        ("## Head {: #a .b }\n## Head {/* #c */}\n\nWords\n{: .d #e}\n\n{: #f} {:.g #h}", ()),
        ("[x]: #y\n[z]: <#w>", ()),
    ],
)
def test_tags_are_those_that_obsidian_reads(text: str, tags: tuple[str, ...]) -> None:
    assert parse_body(text).tags == tags


def test_issue_keys_are_recognised() -> None:
    assert all(map(is_issue_key, ["GH-42", "#12", "ABC-7", "A1-2"]))
    assert not any(map(is_issue_key, ["Abc-7", "GH-", "12", "ABC-7 plan", ""]))


def test_names_and_shown_texts_of_wikilinks() -> None:
    assert [target_name(text) for text in ["[[A#b|c]]", " plain ", "![[A]]", "[[A]] and more"]] == [
        "A",
        "plain",
        "A",
        "[[A]] and more",
    ]
    assert [
        target_name(text) for text in ["[a](b/My%20C.md#d)", "[a](<c.md>)", "[a](https://x.test/%20#y)"]
    ] == [
        "b/My C.md",
        "c.md",
        "https://x.test/%20#y",
    ]
    assert [target_name(text) for text in ["[a](#b)", "[a](b.md), too"]] == ["[a](#b)", "[a](b.md), too"]
    assert display_text("see [[A|b]] and ![[C#d]]") == "see b and C#d"


def test_a_field_in_brackets_within_that_of_a_line_has_its_own_links() -> None:
    body = parse_body("Status:: we [mitigates:: [[X]]] with [[Y]] (uses:: [[Z]]) and [[W]]\n\n[[Free]]\n")
    assert [(link.target, link.prop) for link in body.links] == [
        ("X", "mitigates"),
        ("Y", "Status"),
        ("Z", "uses"),
        ("W", "Status"),
        ("Free", ""),
    ]
    assert (body.fields["mitigates"], body.fields["uses"]) == (("[[X]]",), ("[[Z]]",))


def test_a_line_with_two_fields_does_not_make_a_property_of_the_line_below() -> None:
    body = parse_body("(uses:: [[X]]) [part of:: [[Y]]]\nThe pump lifts water.\n")
    assert "The pump lifts water." in body.first_paragraph
