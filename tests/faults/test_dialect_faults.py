"""The fault cases that concern names, links and dialects, each named after its entry in the list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.vaults.dialects import Served, only_page, pages_of, paths_of, put, served
from wikimcp.errors import Ambiguous, NotFound
from wikimcp.models import LinkKind
from wikimcp.vaults.detect import VaultOptions, detect

BLOCK = "5f0c0000-0000-4000-8000-000000000001"


def leads(wiki: Served, slug: str) -> list[str]:
    return [target for _, target in wiki.resolved(slug)]


def vias(wiki: Served, slug: str) -> list[str]:
    page = wiki.view.names.slugs[slug]
    return [wiki.view.links.resolve(link, page).via for link in wiki.view.body(page).links]


# Links


@pytest.mark.parametrize(
    "signal", [{}, {".obsidian/app.json": "{}"}, {".foam": ""}, {"quartz.config.ts": ""}]
)
def test_b30_one_name_in_two_folders_is_two_pages_and_the_near_one_is_meant(
    tmp_path: Path, signal: dict[str, str]
) -> None:
    files = {"a/n.md": "in a", "b/n.md": "in b", "b/src.md": "[[n]] [[a/n]]", "c/src.md": "[[n]]"}
    with served(put(tmp_path / "v", {**files, **signal})) as wiki:
        assert leads(wiki, "b/src") == ["b/n", "a/n"]
        source = wiki.view.names.slugs["c/src"]
        (link,) = wiki.view.body(source).links
        resolution = wiki.view.links.resolve(link, source)
        assert (resolution.slug, resolution.ambiguous) == ("a/n", True)
        assert resolution.candidates == ("a/n", "b/n")


def test_b30_the_choice_does_not_hang_on_the_order_of_writing(tmp_path: Path) -> None:
    chosen = set()
    for number, folders in enumerate((("x", "y", "z"), ("z", "y", "x"), ("y", "z", "x"))):
        vault = tmp_path / str(number) / "v"
        for folder in folders:
            put(vault, {f"{folder}/n.md": "n"})
        with served(put(vault, {"src.md": "[[n]]"})) as wiki:
            chosen.add(leads(wiki, "src")[0])
    assert chosen == {"x/n"}


def test_b31_one_title_twice_is_an_ambiguity_with_both_named(tmp_path: Path) -> None:
    plan = "---\ntitle: Plan\n---\n"
    with served(put(tmp_path / "v", {"x/one.md": plan, "y/two.md": plan})) as wiki:
        with pytest.raises(Ambiguous) as caught:
            wiki.call("get_page", slug="Plan")
        assert "x/one" in caught.value.message
        assert "y/two" in caught.value.message


def test_b32_a_bare_name_is_found_in_another_folder(tmp_path: Path) -> None:
    with served(put(tmp_path / "v", {"days/d.md": "[[Mill]]", "places/Mill.md": "grinds"})) as wiki:
        assert leads(wiki, "days/d") == ["places/Mill"]


def test_b34_case_does_not_break_a_link_and_exact_case_wins(tmp_path: Path) -> None:
    vault = put(tmp_path / "v", {"MyNote.md": "m", "src.md": "[[mynote]] [[MYNOTE]] [[MyNote]]"})
    with served(vault) as wiki:
        assert leads(wiki, "src") == ["MyNote"] * 3
        assert vias(wiki, "src") == ["case", "case", "path"]
    put(vault, {"mynote.md": "the other"})
    with served(vault) as wiki:
        assert leads(wiki, "src")[::2] == ["mynote", "MyNote"]
        source = wiki.view.names.slugs["src"]
        middle = wiki.view.body(source).links[1]
        assert wiki.view.links.resolve(middle, source).ambiguous


def test_b35_an_alias_resolves_and_says_so_but_a_file_of_that_name_wins(tmp_path: Path) -> None:
    vault = put(tmp_path / "v", {"boat.md": "---\naliases: [SS]\n---\n", "src.md": "[[SS]] [[boat|SS]]"})
    with served(vault) as wiki:
        assert leads(wiki, "src") == ["boat", "boat"]
        assert vias(wiki, "src") == ["alias", "path"]
    put(vault, {"fleet/SS.md": "a file"})
    with served(vault) as wiki:
        assert leads(wiki, "src") == ["fleet/SS", "boat"]


def test_b35_two_pages_of_one_alias_are_ambiguous(tmp_path: Path) -> None:
    alias = "---\naliases: [SS]\n---\n"
    with served(put(tmp_path / "v", {"a.md": alias, "b.md": alias, "src.md": "[[SS]]"})) as wiki:
        source = wiki.view.names.slugs["src"]
        resolution = wiki.view.links.resolve(wiki.view.body(source).links[0], source)
        assert (resolution.slug, resolution.candidates) == ("a", ("a", "b"))


def test_b37_a_slash_in_a_title_is_no_path(tmp_path: Path) -> None:
    with served(
        put(tmp_path / "v", {"n.md": "---\ntitle: On/Off Switch\n---\nx", "src.md": "[[On/Off Switch]]"})
    ) as wiki:
        assert leads(wiki, "src") == ["n"]
        assert vias(wiki, "src") == ["title"]
        assert wiki.call("get_page", slug="On/Off Switch")["slug"] == "n"


def test_b39_any_file_name_is_indexed_listed_and_read_by_what_we_print(tmp_path: Path) -> None:
    names = ["🦊", "№", "--", "Сад", "日本語 メモ", "#1 & [x] (y)"]
    vault = put(tmp_path / "v", {f"{name}.md": f"word{at}" for at, name in enumerate(names)})
    with served(vault) as wiki:
        listed = [page["slug"] for page in wiki.call("list_pages")["pages"]]
        assert sorted(listed) == sorted(names)
        for at, name in enumerate(names):
            [page] = wiki.call("read_pages", slugs=[name])["pages"]
            assert page["content"] == f"word{at}"
        assert len({page.canonical_id for page in wiki.view.pages}) == len(names)


# Freshness


def test_b69_trash_settings_and_modules_are_not_there_and_conflict_copies_come_last(tmp_path: Path) -> None:
    copies = ["n.sync-conflict-20310203-101010-ABCDEFG.md", "n (conflicted copy 2031-02-03).md"]
    unwanted = [
        ".trash/old.md",
        ".obsidian/x.md",
        "node_modules/r/README.md",
        ".stversions/n.md",
        "build/b.md",
    ]
    vault = put(
        tmp_path / "v",
        {**dict.fromkeys([*copies, *unwanted], "lantern words"), "n.md": "lantern words and more"},
    )
    put(vault, {"src.md": "[[n]] [[n (conflicted copy 2031-02-03)]]"})
    with served(vault) as wiki:
        assert {page.path for page in wiki.view.pages} == {"n.md", "src.md", *copies}
        assert {page.path for page in wiki.view.pages if page.conflict_copy} == set(copies)
        assert leads(wiki, "src") == ["n", ""]
        assert wiki.found("lantern words")[0] == "n"


def test_b69_what_is_ignored_later_leaves_the_index(tmp_path: Path) -> None:
    vault = put(tmp_path / "v", {"a.md": "kept", "private/p.md": "lanternword9 [[a]]"})
    with served(vault) as wiki:
        assert wiki.found("lanternword9") == ["private/p"]
    with served(vault, ignore=["private/"]) as wiki:
        assert wiki.found("lanternword9") == []
        assert wiki.view.links.in_degree("a") == 0
    put(vault, {".obsidian/app.json": '{"userIgnoreFilters": []}'})
    with served(vault) as wiki:
        assert wiki.found("lanternword9") == ["private/p"]
        put(vault, {".obsidian/app.json": '{"userIgnoreFilters": ["private/"]}'})
        wiki.service.keeper.scan()
        assert wiki.found("lanternword9") == []


def test_b69_ignoring_is_relative_to_the_root(tmp_path: Path) -> None:
    vault = put(tmp_path / "build" / "node_modules" / "v", {"a.md": "x", "dist/b.md": "x"})
    assert paths_of(detect(vault)) == ["a.md"]


# Privacy


@pytest.mark.parametrize(
    ("signal", "folder"),
    [
        ({".obsidian/app.json": "{}"}, ""),
        ({"logseq/config.edn": "{}"}, "pages/"),
        ({"dendron.yml": "vaults: [{fsPath: v}]"}, "v/"),
        ({".foam": ""}, ""),
        ({"quartz.config.ts": ""}, "content/"),
        ({".wiki-compiler.json": "{}"}, "wiki/"),
        ({}, ""),
    ],
)
def test_b101_a_draft_leaks_from_no_dialect(tmp_path: Path, signal: dict[str, str], folder: str) -> None:
    keys = "draft: true\ntitle: Merger\ntags: [zebratag]\ncluster: zebracluster\naliases: [Joining]\n"
    draft = f"---\n{keys}---\n[[open]] zebratext"
    files = {f"{folder}d.md": draft, f"{folder}open.md": "See [[d]] and [[Merger]] and [[Joining]].\n"}
    with served(put(tmp_path / "v", {**signal, **files})) as wiki:
        assert [page.slug for page in wiki.view.pages] == ["open"]
        assert set(leads(wiki, "open")) == {""}
        assert wiki.view.links.in_degree("open") == 0
        answers = [wiki.call(tool) for tool in ("list_pages", "list_tags", "list_clusters")]
        answers.append(wiki.call("list_metadata_values"))
        assert "zebra" not in json.dumps(answers)
        assert wiki.found("zebratext") == []
        for name in ("d", "Merger", "Joining"):
            with pytest.raises(NotFound) as hidden:
                wiki.call("get_page", slug=name)
            with pytest.raises(NotFound) as missing:
                wiki.call("get_page", slug=name[::-1])
            assert hidden.value.message.replace(name, "") == missing.value.message.replace(name[::-1], "")


def test_b101_a_block_of_a_withheld_page_is_a_missing_block(tmp_path: Path) -> None:
    secret = f"public:: false\n\n- secret\n  id:: {BLOCK}\n"
    files = {"logseq/config.edn": "{}", "pages/s.md": secret, "pages/o.md": f"- (({BLOCK}))\n"}
    with served(put(tmp_path / "v", files)) as wiki:
        assert wiki.resolved("o") == [(BLOCK, "")]


# Dialects


def test_b110_logseq_names_are_page_names(tmp_path: Path) -> None:
    vault = put(
        tmp_path / "v",
        {
            "logseq/config.edn": '{:journal/page-title-format "MMM do, yyyy"}',
            "pages/Area%2FPump.md": "- p\n",
            "pages/Area___Valve.md": "- v\n",
            "pages/a.b.md": "title:: a.b",
            "journals/2031_02_03.md": "- j\n",
            "pages/src.md": "- [[Area/Pump]] [[Area/Valve]] [[Feb 3rd, 2031]] [[a.b]] [[Pump]] [[a]]\n",
        },
    )
    with served(vault) as wiki:
        assert [page.slug for page in wiki.view.pages] == [
            "2031_02_03",
            "Area/Pump",
            "Area/Valve",
            "a.b",
            "src",
        ]
        assert leads(wiki, "src") == ["Area/Pump", "Area/Valve", "2031_02_03", "a.b", "", ""]


def test_b111_logseq_blocks_and_properties(tmp_path: Path) -> None:
    task = f"- task\n  id:: {BLOCK}\n  collapsed:: true\n"
    text = f"{task}- see (({BLOCK})) {{{{embed [[X]]}}}}\n- (({BLOCK[:-1]}9))\n"
    vault = put(tmp_path / "v", {"logseq/config.edn": "{}", "pages/p.md": text, "pages/X.md": "- x\n"})
    page = pages_of(vault)["p"]
    assert page.summary == "task"
    assert page.body.block_ids == (BLOCK,)
    assert [(link.kind, link.target) for link in page.body.links] == [
        (LinkKind.BLOCK, BLOCK),
        (LinkKind.EMBED, "X"),
        (LinkKind.BLOCK, f"{BLOCK[:-1]}9"),
    ]
    hidden = [text[start:end] for start, end in page.body.hidden]
    assert hidden == [f"  id:: {BLOCK}\n", "  collapsed:: true\n"]
    with served(vault) as wiki:
        assert leads(wiki, "p") == ["p", "X", ""]
        assert vias(wiki, "p") == ["block", "path", ""]


def test_b113_files_of_one_name_that_are_no_notes_make_nothing_ambiguous(tmp_path: Path) -> None:
    files = {"dashboard.md": "d", "dashboard.base": "{}", "dashboard.canvas": "{}"}
    with served(put(tmp_path / "v", {**files, "src.md": "[[dashboard]] [[dashboard.base]]"})) as wiki:
        assert leads(wiki, "src") == ["dashboard", "dashboard.base"]
        source = wiki.view.names.slugs["src"]
        note, base = (wiki.view.links.resolve(link, source) for link in wiki.view.body(source).links)
        assert not note.ambiguous
        assert (base.slug, base.attachment) == ("", "dashboard.base")


# Of the same kinds


@pytest.mark.parametrize(
    "text",
    [
        "* [[a]]\n#+begin_src\n[[b]]\n* no heading\n#+end_src\n",
        "* [[a]] =[[b]]= ~[[c]]~\n",
        "* [[a]]\n# a comment [[b]]\n",
        "* [[a]]\n: as it stands [[b]] #c\n  : [[d]]\n:\n",
        "* [[a]]\n#+BEGIN_COMMENT\n[[b]]\n#+END_COMMENT\n",
    ],
)
def test_no_link_and_no_heading_comes_from_code_or_comments_of_an_org_file(tmp_path: Path, text: str) -> None:
    page = only_page(put(tmp_path, {"logseq/config.edn": "{}", "pages/p.org": text}))
    assert [link.target for link in page.body.links] == ["a"]
    assert page.body.tags == ()
    assert len(page.body.sections) == 1


@pytest.mark.parametrize(
    ("written", "kind", "target", "fragment", "label"),
    [
        ("[[Page]]", LinkKind.WIKILINK, "Page", "", ""),
        ("[[Page][shown]]", LinkKind.WIKILINK, "Page", "", "shown"),
        ("[[file:x.org][x]]", LinkKind.MARKDOWN, "x.org", "", "x"),
        ("[[file:../j/My%20x.md::*Head][x]]", LinkKind.MARKDOWN, "../j/My x.md", "Head", "x"),
        ("[[file:x.org::42]]", LinkKind.MARKDOWN, "x.org", "", ""),
        ("[[../assets/p.png]]", LinkKind.ATTACHMENT, "../assets/p.png", "", ""),
        (f"[[id:{BLOCK}][there]]", LinkKind.BLOCK, BLOCK, "", "there"),
        (f"(({BLOCK}))", LinkKind.BLOCK, BLOCK, "", ""),
        ("[[*Head]]", LinkKind.WIKILINK, "", "Head", ""),
        ("[[https://x.test/a][x]]", LinkKind.EXTERNAL, "https://x.test/a", "", "x"),
        ("https://x.test/a.", LinkKind.EXTERNAL, "https://x.test/a", "", ""),
        ("{{embed [[X]]}}", LinkKind.EMBED, "X", "", ""),
    ],
)
def test_a_link_of_an_org_file_keeps_kind_target_fragment_and_label(
    tmp_path: Path, written: str, kind: LinkKind, target: str, fragment: str, label: str
) -> None:
    page = only_page(put(tmp_path, {"logseq/config.edn": "{}", "pages/p.org": f"* H\nsee {written}\n"}))
    (link,) = page.body.links
    assert (link.kind, link.target, link.fragment, link.label) == (kind, target, fragment, label)


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_spans_of_an_org_file_are_right_with_any_line_ends(tmp_path: Path, ending: str) -> None:
    lines = [
        "#+title: T",
        "",
        "intro é",
        "* One :tag:",
        ":PROPERTIES:",
        f":id: {BLOCK}",
        ":END:",
        "one",
        "** Two",
        "two",
    ]
    vault = put(tmp_path, {"logseq/config.edn": "{}", "pages/p.org": ending.join([*lines, ""])})
    adapter = detect(vault)
    content = adapter.read("pages/p.org")
    page = adapter.parse(content)
    assert [(s.heading, s.own.first_line, s.own.last_line) for s in page.body.sections] == [
        ("", 3, 3),
        ("One", 4, 8),
        ("Two", 9, 10),
    ]
    for section in page.body.sections:
        text = content.text[section.own.start : section.own.end]
        assert text.startswith(("intro é", "* One", "** Two"))
    (hidden,) = page.body.hidden
    assert content.text[hidden[0] : hidden[1]].strip().startswith(":PROPERTIES:")


@pytest.mark.parametrize(
    "text",
    [
        "#+begin_src\n" * 4_000,
        ":PROPERTIES:\n" * 4_000,
        ":PROPERTIES:\n:a: b\n" + ":a: b\n" * 4_000,
        "* " * 4_000,
        "=" + "=a " * 4_000,
        "[[" * 4_000,
        "*a " * 4_000,
        "* [[ ]] [[][x]] [[file:]] [[id:]] [[*]]\n",
        "* \n" * 4_000,
        ":END:\n#+x:\n",
        "",
        "\r",
        "*",
        "* ",
        "#+title:",
    ],
)
def test_an_odd_org_file_is_read_to_its_end(tmp_path: Path, text: str) -> None:
    page = only_page(put(tmp_path, {"logseq/config.edn": "{}", "pages/p.org": text}))
    assert page.slug == "p"
    ends = [section.own.end for section in page.body.sections]
    assert all(end <= len(text) for end in ends)


@pytest.mark.parametrize(
    "name", ["dendron.yml", "logseq/config.edn", ".vscode/settings.json", "quartz.config.ts"]
)
def test_settings_of_a_dialect_that_lead_out_of_the_vault_are_not_read(tmp_path: Path, name: str) -> None:
    put(
        tmp_path / "out",
        {"c": 'ignorePatterns: ["a.md"], "foam.files.ignore": ["a.md"], :hidden ["pages/a.md"]'},
    )
    vault = put(tmp_path / "v", {".foam": "", "pages/a.md": "x", "journals/b.md": "x", "a.md": "x"})
    (vault / name).parent.mkdir(exist_ok=True)
    (vault / name).symlink_to(tmp_path / "out" / "c")
    dialect = {"d": "dendron", "l": "logseq", ".": "foam", "q": "quartz"}[name[0]]
    scan = detect(vault, VaultOptions(adapter=dialect)).scan()
    assert "vault_settings" in {note.code for _, note in scan.diagnostics}
    assert "pages/a.md" in {stamp.path for stamp in scan.files}
