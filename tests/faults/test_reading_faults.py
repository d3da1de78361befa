"""The fault cases that concern reading, each named after its entry in the list of fault cases."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from wikimcp.errors import NotFound
from wikimcp.markdown.body import parse_body, without_comments
from wikimcp.markdown.tokens import span_sha256
from wikimcp.models import Link, LinkKind, ParsedPage
from wikimcp.vaults.detect import detect
from wikimcp.vaults.folder import FolderAdapter
from wikimcp.vaults.options import VaultOptions


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    return folder


def put(vault: Path, name: str, text: str | bytes) -> str:
    file = vault / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return name


def read(vault: Path, name: str) -> ParsedPage:
    adapter = detect(vault)
    return adapter.parse(adapter.read(name))


def page_of(vault: Path, text: str | bytes, name: str = "page.md") -> ParsedPage:
    return read(vault, put(vault, name, text))


def text_of(vault: Path, name: str = "page.md") -> str:
    return detect(vault).read(name).text


def targets(links: tuple[Link, ...]) -> list[str]:
    return [link.target for link in links]


def codes(page: ParsedPage) -> dict[str, int]:
    return {note.code: note.line for note in (*page.diagnostics, *page.body.diagnostics)}


def headings(text: str) -> list[tuple[str, ...]]:
    return [section.heading_path for section in parse_body(text).sections if section.level]


def paths(adapter: FolderAdapter) -> list[str]:
    return [stamp.path for stamp in adapter.scan().files]


# Frontmatter


def test_b01_a_colon_in_an_unquoted_title_costs_nothing_but_a_note(vault: Path) -> None:
    page = page_of(vault, "---\ntitle: Retro: week 12\ntags: [team]\n---\n# Retro\nWe shipped the lamp.\n")
    assert page.title == "Retro: week 12"
    assert page.tags == ("team",)
    assert not page.withheld
    assert codes(page) == {"frontmatter_invalid": 2}
    section = page.body.sections[0]
    assert text_of(vault)[section.own.start : section.own.end] == "# Retro\nWe shipped the lamp.\n"


def test_b02_tabs_for_indentation_are_read_as_blanks(vault: Path) -> None:
    page = page_of(vault, "---\ntitle: Pump\ntags:\n\t- ops\n\t- water\n---\nBody.\n")
    assert page.tags == ("ops", "water")
    assert codes(page) == {"frontmatter_tabs": 4}
    own = page.body.sections[0].own
    assert text_of(vault)[own.start : own.end] == "Body.\n"


def test_b03_of_duplicate_publication_keys_the_most_restrictive_wins(vault: Path) -> None:
    page = page_of(vault, "---\ntitle: Oak\nstatus: draft\nstatus: final\n---\nBody.\n")
    assert page.withheld == "status: draft"
    assert page.status == "draft"
    (note,) = page.diagnostics
    assert "'status'" in note.message
    assert "lines 3 and 4" in note.message


def test_b03_of_duplicate_ordinary_keys_the_last_wins(vault: Path) -> None:
    page = page_of(vault, "---\ntitle: One\ntitle: Two\n---\n")
    assert page.title == "Two"
    assert codes(page) == {"frontmatter_duplicate_key": 3}


@pytest.mark.parametrize(
    "flags",
    [
        "draft: true\ndraft: false",
        "draft: false\ndraft: true",
        "Draft: yes\ndraft: no",
        "publish: true\npublish: false",
        "published: yes\npublished: no",
        "review_state: rejected\nreview_state: approved",
        "review-state: draft\nreview_state: approved",
    ],
)
def test_b03_holds_for_every_publication_key(vault: Path, flags: str) -> None:
    assert page_of(vault, f"---\n{flags}\n---\nBody.\n").withheld


def test_b04_a_windows_path_or_code_tick_stays_raw_text(vault: Path) -> None:
    page = page_of(vault, "---\npath: `D:\\notes\\team`\n---\nBody.\n")
    assert page.frontmatter == {"path": "`D:\\notes\\team`"}
    assert codes(page) == {"frontmatter_invalid": 2}


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("relations: [[Oak Plan]]\npeople: [[Ana]], [[Bo]]", ["Oak Plan", "Ana", "Bo"]),
        ("relations: [[Oak Plan]]", ["Oak Plan"]),
        ("people: [[Ana]], [[Bo]]", ["Ana", "Bo"]),
        ("related:\n  - [[Oak Plan]]s", ["Oak Plan"]),
        ("related:\n  - [[Oak Plan]]\n  - '[[Elm|the elm]]'", ["Oak Plan", "Elm"]),
        ("related: [[[Ana]], [[Bo]]]", ["Ana", "Bo"]),
    ],
)
def test_b06_unquoted_wikilinks_are_edges_with_their_property(
    vault: Path, block: str, expected: list[str]
) -> None:
    page = page_of(vault, f"---\n{block}\n---\n")
    assert targets(page.body.links) == expected
    assert {link.prop for link in page.body.links} <= {"relations", "people", "related"}
    assert all(link.line >= 2 for link in page.body.links)


def test_b06_the_value_is_shown_as_text(vault: Path) -> None:
    page = page_of(vault, "---\nrelations: [[Oak Plan]]\n---\n")
    assert page.frontmatter == {"relations": "[[Oak Plan]]"}


@pytest.mark.parametrize(
    "text",
    ["---\n\nA thought before the walk.\n\nMore text.\n", "---\nnot a mapping\n---\nRest.\n"],
)
def test_b07_a_horizontal_rule_as_first_line_eats_no_body(vault: Path, text: str) -> None:
    page = page_of(vault, text)
    assert page.frontmatter == {}
    assert not page.withheld
    assert page.body.sections[0].own.start == 0
    assert page.body.sections[-1].own.end == len(text)
    assert page.body.sections[0].own.first_line == 1


def test_b09_a_broken_block_that_hides_a_draft_flag_withholds(vault: Path) -> None:
    page = page_of(vault, "---\ndraft: true\ntitle: Pay: review\n---\nSecret figure 4411.\n")
    assert page.withheld == "draft: true"


@pytest.mark.parametrize(
    "block",
    [
        "title: a: b\n  draft: true",
        "title: a: b\ndraft true",
        "title: a: b\ndraft = yes",
        "title: a: b\n'draft': yes",
        "title: a: b\npublish:\n  no",
        "title: 'open quote\ndraft: true",
        "tags: [a, b\nstatus: embargoed",
        "- draft: true",
        "{draft: true, title: a: b}",
        "title: a: b\ndraft: maybe",
        "title: a: b\ndraft:",
        "title: a: b\nvisibility: [team",
        "title: a: b\n? draft\n: true",
        "title: !!python/object:x {}\npublic: false",
        "title: a: b\nreview state: needs review",
        "a: 1\n---\n---\ndraft: true",
        "a: 1\n---\n\n---\na: b: c\n  draft: yes",
    ],
)
def test_b09_any_sign_of_a_flag_that_is_not_clearly_public_withholds(vault: Path, block: str) -> None:
    assert page_of(vault, f"---\n{block}\n---\nSecret.\n").withheld


@pytest.mark.parametrize(
    "text",
    [
        "+++\ndraft = true\n+++\nx",
        " ---\ndraft: true\n---\nx",
        "---\ndraft: true\n",
        "\ufeff\ufeff---\ndraft: true\n---\n",
        "<!-- made by a tool -->\n---\ndraft: true\n---\n",
    ],
)
def test_b09_a_block_out_of_place_fails_closed_too(vault: Path, text: str) -> None:
    page = page_of(vault, text)
    assert page.withheld
    assert "frontmatter_out_of_place" in codes(page)


@pytest.mark.parametrize(
    "block", ["title: a: b\ndraft: false", "title: a: b\nstatus: active", "title: a: b\npublish: yes # now"]
)
def test_b09_a_broken_block_with_clearly_public_flags_is_served(vault: Path, block: str) -> None:
    assert not page_of(vault, f"---\n{block}\n---\nText.\n").withheld


def test_b10_unquoted_dates_are_json_strings(vault: Path) -> None:
    block = "created: 2031-02-03\nat: 2031-02-03 04:05:06\nclock: 12:30\nn: .nan\ni: .inf\n1: odd\n? [a]\n: b"
    page = page_of(vault, f"---\n{block}\n---\n")
    assert json.loads(json.dumps(page.frontmatter, allow_nan=False)) == {
        "created": "2031-02-03",
        "at": "2031-02-03T04:05:06",
        "clock": "12:30",
        "n": ".nan",
        "i": ".inf",
        "1": "odd",
        "[a]": "b",
    }
    assert page.created == "2031-02-03"


def test_b12_yaml_surprises_stay_as_written(vault: Path) -> None:
    page = page_of(vault, "---\ntitle: 20310203\ncountry: NO\nver: 1.10\npublished: no\n---\n")
    assert page.title == "20310203"
    assert page.frontmatter == {"title": "20310203", "country": "NO", "ver": "1.10", "published": "no"}
    assert page.withheld == "published: no"


def test_b13_tags_and_aliases_may_be_numbers_nothing_or_text(vault: Path) -> None:
    first = page_of(vault, "---\ntags:\n  - 2031\n  - ops\naliases:\ntype:\n---\n")
    assert (first.tags, first.aliases, first.type) == (("ops",), (), "")
    assert "2031" in next(note.message for note in first.diagnostics if note.code == "tags_ignored")
    second = page_of(vault, "---\ntags: ops, infra\naliases: Old Name\n---\n")
    assert (second.tags, second.aliases) == (("ops", "infra"), ("Old Name",))
    third = page_of(vault, "---\ntags: #ops\n---\n")
    assert third.tags == ()
    assert codes(third) == {"frontmatter_comment_value": 2}


def test_b15_byte_order_mark_and_carriage_returns(vault: Path) -> None:
    text = "\ufeff---\r\ntitle: Wintry\r\ntags: [a]\r\n---\r\n# Head\r\nText\r\n"
    page = page_of(vault, text)
    assert (page.title, page.tags) == ("Wintry", ("a",))
    (section,) = page.body.sections
    assert section.heading == "Head"
    assert (section.own.first_line, section.own.last_line) == (5, 6)
    assert text[section.own.start : section.own.end] == "# Head\r\nText\r\n"
    assert span_sha256("# Head\r\nText\r\n") == span_sha256("# Head\nText")


def test_b15_a_mark_without_a_block_and_lone_carriage_returns(vault: Path) -> None:
    marked = page_of(vault, "\ufeff# Head\ntext\n")
    assert [section.heading for section in marked.body.sections] == ["Head"]
    assert marked.body.sections[0].own.start == 1
    text = "---\rtitle: A\r---\r# One\rtext\r\r## Two\rmore"
    page = page_of(vault, text)
    assert page.title == "A"
    assert [section.heading for section in page.body.sections] == ["One", "Two"]
    assert [section.own.first_line for section in page.body.sections] == [4, 7]
    own = page.body.sections[1].own
    assert text[own.start : own.end] == "## Two\rmore"


def test_b17_fences_may_have_trailing_blanks_or_end_in_dots_but_not_be_indented(vault: Path) -> None:
    assert page_of(vault, "---  \ntitle: A\n---\t\nBody").title == "A"
    assert page_of(vault, "---\ntitle: A\n...\nBody").title == "A"
    indented = page_of(vault, " ---\ntitle: A\n---\n", "third.md")
    assert indented.frontmatter == {}
    assert not indented.withheld


# Links


def test_b20_an_escaped_pipe_in_a_table_is_a_label() -> None:
    body = parse_body("| k | v |\n|---|---|\n| 1 | [[Red Barn\\|barn]] |\n| 2 | [[Red Barn#Roof\\|r]] |\n")
    found = [(link.target, link.fragment, link.label) for link in body.links]
    assert found == [("Red Barn", "", "barn"), ("Red Barn", "Roof", "r")]


def test_b21_an_unescaped_pipe_in_a_table_is_still_found() -> None:
    (link,) = parse_body("| k | v |\n|---|---|\n| 1 | [[Red Barn|barn]] |\n").links
    assert (link.target, link.label, link.line) == ("Red Barn", "barn", 3)


def test_b22_wikilinks_in_code_are_none() -> None:
    text = (
        "Use `[[slug]]`.\n\n```bash\nif [[ -n \"$A\" ]]; then grep '[[:space:]]'; fi\n```\n\n"
        "    [[indented]]\n\n<pre>[[raw]]</pre>\n\n[[Real]]\n"
    )
    assert targets(parse_body(text).links) == ["Real"]


@pytest.mark.parametrize(
    "text",
    [
        "``a ` [[no]] b``",
        "- item\n\n  ```\n  [[no]]\n  ```\n",
        "> ```\n> [[no]]\n> ```\n",
        "> quote\n>\n>     [[no]]\n",
        "~~~\n[[no]]\n",
        "text <pre>[[no]]</pre> more",
        "text <code>[[no]]</code> more",
        "$[[no]]$ and $$[[no]]$$",
        "$$\n[[no]]\n$$",
        "<!-- [[no]] -->",
        "a <!-- [[no]] --> b",
        "<!--\n[[no]]\n\n[[no]]\n-->",
        "<script>\n[[no]]\n</script>",
        "<pre>\n\n[[no]]\n\n</pre>",
        '{{< ref "[[no]]" >}}',
        "{{% note [[no]]\n[a](no.md) %}}",
        "{{ [[no]] }}",
        "{{date}} {{query [[no]]}}",
        "{% include [[no]] %}",
        "\\[[no]]",
        "`a` ``[[no]]``",
        "[[]] [[ ]] [[:space:]]",
        "[x]: no.md '[[no]]'",
    ],
)
def test_b22_no_link_from_code_math_comments_or_templates(text: str) -> None:
    assert parse_body(text).links == ()


def test_b24_links_in_comments_are_kept_but_flagged() -> None:
    text = "%% [[Hidden]] %%\n\n%%\n[[Hidden2]]\n%%\n<!-- [[H3]] -->\nText [[Shown]]\n"
    body = parse_body(text)
    assert [(link.target, link.in_comment) for link in body.links] == [
        ("Hidden", True),
        ("Hidden2", True),
        ("Shown", False),
    ]
    assert without_comments(text).split() == ["Text", "[[Shown]]"]
    assert body.first_paragraph == "Text Shown"


def test_b24_a_comment_holds_neither_headings_nor_tags() -> None:
    body = parse_body("# Real\n\n%%\n# Hidden\n#secret\n%%\n\nText #shown, 50%% of it and 5%%.\n\n## Next\n")
    assert [section.heading for section in body.sections] == ["Real", "Next"]
    assert body.tags == ("shown",)


def test_b25_a_heading_of_the_same_note() -> None:
    links = parse_body("# Kit\nSee [[#Spare parts]] or [[#Gone]].\n## Spare parts\n").links
    assert [(link.target, link.fragment) for link in links] == [("", "Spare parts"), ("", "Gone")]


def test_b27_attachments_and_embeds() -> None:
    text = (
        "![[map.png]] ![[Doc.pdf#page=3]] ![[pic.jpg|200]] [[map.png]] ![[Barn#Roof]] "
        "![alt|300x20](my%20pic.png)"
    )
    links = parse_body(text).links
    assert [(link.kind, link.target, link.fragment, link.label) for link in links] == [
        (LinkKind.ATTACHMENT, "map.png", "", ""),
        (LinkKind.ATTACHMENT, "Doc.pdf", "page=3", ""),
        (LinkKind.ATTACHMENT, "pic.jpg", "", ""),
        (LinkKind.ATTACHMENT, "map.png", "", ""),
        (LinkKind.EMBED, "Barn", "Roof", ""),
        (LinkKind.ATTACHMENT, "my pic.png", "", "alt"),
    ]


def test_b29_an_extension_in_the_link_stays_a_page_link() -> None:
    links = parse_body("[[Barn.md]] [[Barn.MD]] [[Barn]] [[build v3.1 plan]] [[v3.1]]").links
    assert {link.kind for link in links} == {LinkKind.WIKILINK}


def test_b37_a_slash_in_a_title_is_kept_in_the_target() -> None:
    assert targets(parse_body("[[On/Off Switch]]").links) == ["On/Off Switch"]


def test_b39_any_file_name_is_listed_and_readable_by_its_path(vault: Path) -> None:
    names = ["🦊.md", "№.md", "--.md", "Сад.md", "日本語 メモ.md", "#1 & [x] (y).md"]
    for name in names:
        put(vault, name, f"text of {name}\n")
    adapter = detect(vault)
    assert sorted(paths(adapter)) == sorted(names)
    pages = [adapter.parse(adapter.read(name)) for name in names]
    assert all(len(page.canonical_id) == 26 and page.canonical_id.isalnum() for page in pages)
    assert len({page.canonical_id for page in pages}) == len(names)
    assert [page.title for page in pages] == ["🦊", "№", "--", "Сад", "日本語 メモ", "#1 & [x] (y)"]


@pytest.mark.skipif(os.name == "nt", reason="file names are text there")
def test_b39_a_file_name_that_is_no_utf8_is_served_by_the_path_we_print(vault: Path) -> None:
    try:
        (vault / os.fsdecode(b"caf\xe9.md")).write_text("# Coffee\n", "utf-8")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    adapter = detect(vault)
    (path,) = paths(adapter)
    assert path == "caf\\xe9.md"
    json.dumps(path).encode("utf-8")
    assert adapter.parse(adapter.read(path)).title == "Coffee"
    assert adapter.stat(path) == adapter.scan().files[0]


# Tags


def test_b40_a_fragment_in_a_url_is_no_tag() -> None:
    text = "See [kit](https://x.test/g.html#seal-kit), <https://x.test/#a> and #real/sub."
    assert parse_body(text).tags == ("real/sub",)


def test_b41_colours_issue_numbers_and_code_are_no_tags() -> None:
    text = (
        "Fix #42 with #y42. `#nope`\n```css\na{color:#00b7da}\n```\n#1984 \\#esc word#no #日本\n"
        "\n## Head { #anchor }\n\n[x]: #y\n"
    )
    assert parse_body(text).tags == ("y42", "日本")
    assert parse_body("A bare #00b7da is one.").tags == ("00b7da",)


# Chunks, spans and citations


def test_b43_a_comment_in_a_fence_is_no_heading() -> None:
    text = "# Real\n\n```python\n# not a heading\nx = 1\n```\nafter\n\n## Next\n"
    assert headings(text) == [("Real",), ("Real", "Next")]


def test_b44_fence_rules() -> None:
    text = "````\n```\n# a\n```\n````\n\n~~~\n```\n# b\n~~~\n\n    ```\n## Usage\n"
    assert headings(text) == [("Usage",)]
    assert headings("# Top\n\n```\n# in it\n\n# still\n") == [("Top",)]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_b46_lines_count_the_frontmatter(vault: Path, line_end: str, mark: str) -> None:
    text = mark + line_end.join(["---", "a: 1", "b: 2", "---", "", "# One", "", "Target sentence.", ""])
    page = page_of(vault, text)
    (section,) = page.body.sections
    assert (section.own.first_line, section.own.last_line) == (6, 8)
    stored = (vault / "page.md").read_bytes().decode("utf-8")
    assert stored[section.own.start : section.own.end].rstrip().endswith("Target sentence.")
    assert stored[section.own.start :].startswith("# One")


def test_b46_only_real_line_ends_count(vault: Path) -> None:
    text = "# One\n\na\fb\u2028c\u2029d\x85e\x0bf\n\n## Two\n"
    page = page_of(vault, text)
    assert [section.own.first_line for section in page.body.sections] == [1, 5]


# Bad files


def test_b69_ignored_files_are_not_there_and_conflict_copies_are_flagged(vault: Path) -> None:
    ignored = [
        ".trash/old.md",
        ".obsidian/x.md",
        "node_modules/r/README.md",
        ".stversions/n.md",
        "build/a.md",
    ]
    conflicts = ["n.sync-conflict-20310203-101010-ABCDEFG.md", "n (conflicted copy 2031-02-03).md"]
    for name in [*ignored, *conflicts, "n.md", "private/p.md"]:
        put(vault, name, "text\n")
    adapter = detect(vault)
    assert sorted(paths(adapter)) == sorted([*conflicts, "n.md", "private/p.md"])
    assert [adapter.parse(adapter.read(name)).conflict_copy for name in [*conflicts, "n.md"]] == [
        True,
        True,
        False,
    ]
    for name in ignored:
        assert adapter.stat(name) is None
        with pytest.raises(FileNotFoundError):
            adapter.read(name)
    assert "private/p.md" not in paths(detect(vault, VaultOptions(ignore=("private/",))))


def test_b69_what_obsidian_newly_excludes_leaves_at_the_next_walk(vault: Path) -> None:
    put(vault, "private/p.md", "text\n")
    put(vault, "n.md", "text\n")
    put(vault, ".obsidian/app.json", "{}")
    adapter = detect(vault)
    assert adapter.name == "obsidian"
    assert paths(adapter) == ["n.md", "private/p.md"]
    put(vault, ".obsidian/app.json", '{"userIgnoreFilters": ["private/"]}')
    assert paths(adapter) == ["n.md"]
    assert adapter.stat("private/p.md") is None


def test_b69_a_vault_inside_of_a_folder_called_build_is_served(tmp_path: Path) -> None:
    vault = tmp_path / "build" / ".hidden" / "notes"
    put(vault, "a.md", "text\n")
    assert paths(detect(vault)) == ["a.md"]


def test_b70_a_file_that_is_not_utf8(vault: Path) -> None:
    legacy = page_of(vault, b"# Caf\xe9\nIt\x92s fine\n", "legacy.md")
    assert (legacy.title, legacy.encoding) == ("Café", "cp1252")
    assert "legacy_encoding" in codes(legacy)
    assert "It’s fine" in text_of(vault, "legacy.md")
    marked = page_of(vault, "\ufeff# Grüße\n".encode("utf-16-le"), "wide.md")
    assert (marked.title, marked.encoding) == ("Grüße", "utf-16-le")
    put(vault, "x.md", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    content = detect(vault).read("x.md")
    assert (content.encoding, content.text) == ("binary", "")
    assert [note.code for note in content.diagnostics] == ["binary"]


def test_b70_one_bad_byte_costs_one_character(vault: Path) -> None:
    put(vault, "n.md", "# Größe\nfine \u00e4 text ".encode() + b"\xff end\n")
    content = detect(vault).read("n.md")
    assert content.encoding == "utf-8"
    assert content.text == "# Größe\nfine ä text \ufffd end\n"
    assert [note.code for note in content.diagnostics] == ["bad_bytes"]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="needs a user whom rights can stop")
def test_b72_unreadable_files_and_folders_stop_nothing(vault: Path) -> None:
    for name in ["ok.md", "locked.md", "shut/in.md"]:
        put(vault, name, "text\n")
    (vault / "locked.md").chmod(0)
    (vault / "shut").chmod(0)
    try:
        adapter = detect(vault)
        scan = adapter.scan()
        assert [stamp.path for stamp in scan.files] == ["locked.md", "ok.md"]
        assert scan.unread == ("shut",)
        with pytest.raises(PermissionError):
            adapter.read("locked.md")
    finally:
        (vault / "shut").chmod(0o700)


# Size


def alias_bomb() -> str:
    lines = ["a: &a [x,x,x,x,x,x,x,x,x]"]
    for above, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{','.join([f'*{above}'] * 9)}]")
    return "\n".join(lines)


@pytest.mark.parametrize(
    "block",
    [
        alias_bomb(),
        "text: " + "x" * 5_000_000,
        "\n".join(f"k{number}: v" for number in range(100_000)),
        "a: " + "[" * 5_000,
        "a: " + "{b: " * 5_000,
        "\n".join(" " * level + "a:" for level in range(400)),
        "a: !!python/object/apply:os.system ['true']",
        "a: &x [*x]",
    ],
    ids=["aliases", "size", "keys", "depth", "maps", "indent", "tag", "loop"],
)
def test_b78_hostile_metadata_is_bounded(vault: Path, block: str) -> None:
    put(vault, "n.md", f"---\n{block}\ndraft: false\n---\n# Body\n")
    adapter = detect(vault)
    content = adapter.read("n.md")
    begin = time.process_time()
    page = adapter.parse(content)
    assert time.process_time() - begin < 2  # nothing near to an explosion
    assert "frontmatter_invalid" in codes(page)
    assert not page.withheld
    assert page.title == "Body"
    assert len(json.dumps(page.frontmatter)) < 6_000_000


# Security and privacy


@pytest.mark.parametrize(
    "name",
    [
        "../outside.md",
        "a/../../outside.md",
        "..\\outside.md",
        "%2e%2e%2foutside.md",
        "%252e%252e/outside.md",
        "/etc/outside.md",
        "C:\\outside.md",
        "C:/outside.md",
        "\\\\host\\share\\outside.md",
        "n.md\0.txt",
        "n.txt\0.md",
        "file:///outside.md",
        "a//outside.md",
        "./n.md",
        "",
        ".",
        "..",
    ],
)
def test_b96_path_traversal_never_reads(tmp_path: Path, vault: Path, name: str) -> None:
    put(vault, "n.md", "inside\n")
    put(tmp_path, "outside.md", "outside\n")
    adapter = detect(vault)
    with pytest.raises((NotFound, FileNotFoundError)) as caught:
        adapter.read(name)
    assert str(tmp_path) not in str(caught.value)
    assert adapter.stat(name) is None


def test_b97_symlinks_out_of_the_vault_are_not_followed(tmp_path: Path, vault: Path) -> None:
    put(tmp_path, "outside.md", "outside\n")
    put(tmp_path, "beside/secret.md", "secret\n")
    put(vault, "n.md", "inside\n")
    (vault / "leak.md").symlink_to("../outside.md")
    (vault / "dir").symlink_to("../beside")
    adapter = detect(vault)
    scan = adapter.scan()
    assert [stamp.path for stamp in scan.files] == ["n.md"]
    assert {path: note.code for path, note in scan.diagnostics} == {
        "leak.md": "link_outside",
        "dir": "link_outside",
    }
    for name in ["leak.md", "dir/secret.md"]:
        with pytest.raises(NotFound):
            adapter.read(name)
        assert adapter.stat(name) is None


def test_b97_the_root_may_be_a_link_and_links_within_are_served_once(tmp_path: Path, vault: Path) -> None:
    put(vault, "real/a.md", "a\n")
    put(vault, ".store/b.md", "b\n")
    (vault / "again.md").symlink_to("real/a.md")
    (vault / "twice").symlink_to("real")
    (vault / "loop").symlink_to(".")
    (vault / "store").symlink_to(".store")
    (vault / "b2.md").symlink_to(".store/b.md")
    (vault / "dangling.md").symlink_to("nowhere.md")
    (tmp_path / "link").symlink_to(vault)
    adapter = detect(tmp_path / "link")
    scan = adapter.scan()
    assert [stamp.path for stamp in scan.files] == ["real/a.md", "store/b.md"]
    assert adapter.read("store/b.md").text == "b\n"
    assert ("dangling.md", "link_broken") in {(path, note.code) for path, note in scan.diagnostics}
    (vault / "store").unlink()
    assert paths(adapter) == ["b2.md", "real/a.md"]
    assert adapter.read("b2.md").stamp == adapter.stat("b2.md") == adapter.scan().files[0]


def test_b97_a_link_swapped_in_after_the_walk_is_refused(tmp_path: Path, vault: Path) -> None:
    put(tmp_path, "beside/n.md", "secret\n")
    put(vault, "sub/n.md", "inside\n")
    adapter = detect(vault)
    assert paths(adapter) == ["sub/n.md"]
    (vault / "sub" / "n.md").unlink()
    (vault / "sub").rmdir()
    (vault / "sub").symlink_to("../beside")
    with pytest.raises(NotFound):
        adapter.read("sub/n.md")


def test_b97_trusted_targets_are_an_opt_in(tmp_path: Path, vault: Path) -> None:
    put(tmp_path, "beside/n.md", "shared\n")
    (vault / "team").symlink_to("../beside")
    adapter = detect(vault, VaultOptions(trusted_links=("../beside",)))
    assert paths(adapter) == ["team/n.md"]
    assert adapter.read("team/n.md").text == "shared\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_b97_pipes_never_block(vault: Path) -> None:
    put(vault, "n.md", "inside\n")
    os.mkfifo(vault / "pipe.md")
    adapter = detect(vault)
    scan = adapter.scan()
    assert [stamp.path for stamp in scan.files] == ["n.md"]
    assert [(path, note.code) for path, note in scan.diagnostics] == [("pipe.md", "not_a_file")]
    with pytest.raises(FileNotFoundError):
        adapter.read("pipe.md")
    assert adapter.stat("pipe.md") is None


def test_b101_a_link_to_a_draft_is_a_name_like_any_other(vault: Path) -> None:
    draft = page_of(vault, "---\ndraft: true\ntitle: Merger\n---\n[[Open]]", "d.md")
    assert draft.withheld == "draft: true"
    links = page_of(vault, "See [[d|the deal]] and [[Merger]]", "open.md").body.links
    assert [(link.target, link.label) for link in links] == [("d", "the deal"), ("Merger", "")]


@pytest.mark.parametrize(
    "flag",
    [
        "draft: true",
        'publish: "off"',
        'draft: "1"',
        "status: Embargoed",
        "Draft: yes",
        "status: [draft]",
        "draft: maybe",
        "draft: 'TRUE '",
        "draft: ON",
        "draft: [true]",
        "draft: 1",
        "draft: y",
        "draft:",
        "draft: {a: 1}",
        "draft: [true, false]",
        "DRAFT : true",
        "published: 0",
        "published: N",
        "publish: 'No'",
        "public: false",
        "public: nope",
        "status: needs review",
        "status: Needs-Review",
        "status: '\"draft\"'",
        "status: draft, wip",
        "status: {a: draft}",
        "review_state: Proposed",
        "reviewState: rejected",
        "state: NEEDS_REVIEW",
        "status: ｄｒａｆｔ",
        "status: 🚧 draft",
        "status: Draft - second version",
        "status: needs review by Ana",
        "draft:: true",
        "dra\u200bft: true",
        "draft:true",
        "? draft\n: true",
        "visibility:",
        "visibility: []",
        "base: &b {draft: true}\n<<: *b",
    ],
)
def test_b102_flags_in_all_their_forms_withhold(vault: Path, flag: str) -> None:
    assert page_of(vault, f"---\n{flag}\n---\nText.\n").withheld


@pytest.mark.parametrize(
    "flag",
    [
        "draft: false",
        "draft: 'No'",
        "draft: 0",
        "publish: on",
        "published: 2001-02-03",
        "published: 1999",
        "published:",
        "public: Y",
        "status: active",
        "status:",
        "status: published",
        "status: drafting room",
        "state: California",
        "review_state: approved",
        "visibility: public",
        "my-draft: true",
        "meta: {draft: true}",
        "title: draft",
    ],
)
def test_b102_what_is_clearly_public_is_served(vault: Path, flag: str) -> None:
    page = page_of(vault, f"---\n{flag}\n---\nText.\n")
    assert not page.withheld
    assert not page.labels


def test_b102_flags_of_the_first_block_of_properties_count(vault: Path) -> None:
    assert page_of(vault, "title:: Plan\npublic:: false\n\n- text\n").withheld
    assert not page_of(vault, "# Plan\n\n- task\n  status:: blocked\n").withheld


@pytest.mark.parametrize(
    "head",
    ['{ "title": "Plan", "draft": true }\n', '---json\n{"draft": true}\n---\n', '{\n  "publish": false\n}\n'],
)
def test_a_draft_flag_in_json_frontmatter_withholds(tmp_path: Path, head: str) -> None:
    (tmp_path / "plan.md").write_text(f"{head}\nSecret.\n", encoding="utf-8")
    adapter = detect(tmp_path, VaultOptions())
    assert adapter.parse(adapter.read("plan.md")).withheld
