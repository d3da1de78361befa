"""The Logseq fixture and its corners: names, journals, properties, blocks, tags that are pages, org files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vaults.dialects import FIXTURES, fixture_copy, only_page, pages_of, paths_of, put, served
from wikimcp.models import LinkKind, ParsedPage
from wikimcp.vaults.detect import VaultOptions, detect

PUMP = "5f0c0000-0000-4000-8000-000000000001"
PLANE = "5f0c0000-0000-4000-8000-000000000002"
PAGES = {
    "2031_02_03",
    "2031_02_04",
    "Area/Pump",
    "Area/Valve",
    "Workshop",
    "a.b",
    "Shown name",
    "machine",
    "wages",
}


@pytest.fixture(scope="module")
def pages() -> dict[str, ParsedPage]:
    return pages_of(FIXTURES / "logseq")


def page_with(folder: Path, text: str, name: str = "p.md", config: str = "{}") -> ParsedPage:
    return only_page(put(folder, {"logseq/config.edn": config, f"pages/{name}": text}))


def test_its_pages_are_those_of_the_two_folders_by_their_page_names(pages: dict[str, ParsedPage]) -> None:
    assert set(pages) == PAGES
    assert [slug for slug, page in pages.items() if page.withheld] == ["wages"]


def test_page_properties_are_fields_and_no_text(pages: dict[str, ParsedPage]) -> None:
    pump = pages["Area/Pump"]
    assert (pump.title, pump.aliases, pump.tags) == (
        "Area/Pump",
        ("Big pump", "water lifter"),
        ("machine", "spare parts"),
    )
    assert pump.frontmatter["owner"] == "[[Mara]]"
    assert pump.summary == "The pump lifts water from the well."
    assert pump.body.sections[0].own.first_line == 6


def test_block_properties_are_kept_out_of_what_is_searched(tmp_path: Path) -> None:
    with served(fixture_copy("logseq", tmp_path)) as wiki:
        assert wiki.found("pump lifts water")[0] == "Area/Pump"
        searcher = wiki.view.snapshot.searcher
        for words in ("collapsed", "background"):
            held = searcher.search(words, limit=10)
            assert not len(held.chunk_ids), words
        [page] = wiki.call("read_pages", slugs=["Area/Pump"])["pages"]
        assert "collapsed:: true" in page["content"], "a page is read as it stands"


def test_its_links_lead_where_logseq_leads_them(tmp_path: Path) -> None:
    with served(fixture_copy("logseq", tmp_path)) as wiki:
        assert wiki.resolved("Area/Valve") == [
            ("Feb 3rd, 2031", "2031_02_03"),
            ("Area/Pump", "Area/Pump"),
            (PUMP, "Area/Pump"),
            ("5f0c0000-0000-4000-8000-00000000dead", ""),
            ("a.b", "a.b"),
        ]
        assert wiki.resolved("Area/Pump") == [
            ("Mara", ""),
            ("Area/Valve", "Area/Valve"),
            ("machine", "machine"),
            ("spare parts", ""),
        ]
        assert wiki.resolved("2031_02_03") == [
            ("area/pump", "Area/Pump"),
            ("maintenance", ""),
            ("Workshop", "Workshop"),
            (PLANE, "Workshop"),
        ]
        assert wiki.resolved("2031_02_04") == [("2031-02-03", "2031_02_03"), ("2031_02_03", "2031_02_03")]
        assert wiki.resolved("a.b") == [("../assets/valve.png", "assets/valve.png")]
        valve = wiki.view.body(wiki.view.names.slugs["Area/Valve"]).links
        assert [link.kind for link in valve] == [
            LinkKind.WIKILINK,
            LinkKind.WIKILINK,
            LinkKind.BLOCK,
            LinkKind.BLOCK,
            LinkKind.EMBED,
        ]
        assert valve[1].label == "big one"


def test_a_caller_may_name_a_page_as_logseq_shows_it(tmp_path: Path) -> None:
    with served(fixture_copy("logseq", tmp_path)) as wiki:
        for name in ("Feb 3rd, 2031", "2031-02-03", "2031_02_03", "journals/2031_02_03.md"):
            assert wiki.call("get_page", slug=name)["slug"] == "2031_02_03", name
        for name in ("Area/Pump", "area/pump", "Big pump", "pages/Area%2FPump.md"):
            assert wiki.call("get_page", slug=name)["slug"] == "Area/Pump", name


def test_an_org_file_is_read_like_a_page_of_markdown(pages: dict[str, ParsedPage], tmp_path: Path) -> None:
    org = pages["Workshop"]
    assert org.title == "Workshop"
    assert org.aliases == ("Shed",)
    assert org.tags == ("tools", "wood", "iron")
    assert [section.heading_path for section in org.body.sections] == [
        ("Sharpen the plane",),
        ("Sharpen the plane", "Whetstone"),
        ("Glue",),
    ]
    assert org.body.block_ids == (PLANE,)
    assert org.summary == "The plane wants a whetstone, see that day and Area/Valve."
    with served(fixture_copy("logseq", tmp_path)) as wiki:
        assert wiki.resolved("Workshop") == [
            ("tools", ""),
            ("wood", ""),
            ("iron", ""),
            ("../journals/2031_02_03.md", "2031_02_03"),
            ("Area/Valve", "Area/Valve"),
            (PUMP, "Area/Pump"),
            ("Org notes.org#Whetstone", "Workshop"),
        ]
        assert wiki.found("thousand grit whetstone")[0] == "Workshop"
        [read] = wiki.call("read_pages", slugs=["Workshop"], heading="Whetstone")["pages"]
        assert read["content"].startswith("** Whetstone\n")


@pytest.mark.parametrize(
    ("name", "config", "slug"),
    [
        ("Area%2FPump.md", "{}", "Area/Pump"),
        ("Area___Pump.md", "{}", "Area/Pump"),
        ("Area___Pump.org", "{}", "Area/Pump"),
        ("a.b.md", "{}", "a.b"),
        ("a.b.md", "{:file/name-format :legacy}", "a/b"),
        ("a.b.md", ";; {:file/name-format :legacy}\n{:file/name-format :triple-lowbar}", "a.b"),
        ("what%3F.md", "{}", "what?"),
        ("deep/er/Page.md", "{}", "Page"),
        ("100%.md", "{}", "100%"),
        ("___.md", "{}", "pages/___"),
    ],
)
def test_a_file_name_is_decoded_to_a_page_name(tmp_path: Path, name: str, config: str, slug: str) -> None:
    assert page_with(tmp_path, "- x\n", name, config).slug == slug


@pytest.mark.parametrize(
    ("config", "file", "title"),
    [
        ("{}", "2031_02_03.md", "Feb 3rd, 2031"),
        ('{:journal/page-title-format "yyyy-MM-dd"}', "2031_02_03.md", "2031-02-03"),
        ('{:journal/page-title-format "EEEE, dd.MM.yyyy"}', "2031_02_03.md", "Monday, 03.02.2031"),
        ('{:journal/page-title-format "do MMMM yy"}', "2031_02_22.md", "22nd February 31"),
        ('{:journal/page-title-format "MMM do, yyyy"}', "2031_02_11.md", "Feb 11th, 2031"),
        ('{:journal/page-title-format "E, yyyy/MM/dd"}', "2031-02-01.md", "Sat, 2031/02/01"),
        ('{:journal/file-name-format "dd.MM.yyyy"}', "03.02.2031.md", "Feb 3rd, 2031"),
        ('{:journal/file-name-format "yyyyMMdd" :journals-directory "days"}', "20310203.md", "Feb 3rd, 2031"),
    ],
)
def test_a_journal_is_titled_by_the_graphs_format(tmp_path: Path, config: str, file: str, title: str) -> None:
    folder = "days" if "days" in config else "journals"
    page = only_page(put(tmp_path, {"logseq/config.edn": config, f"{folder}/{file}": "- x\n"}))
    assert page.title == title
    assert title in (*page.aliases, page.slug)
    assert page.created.startswith("2031-02-")


def test_a_file_among_the_journals_that_is_no_day_is_a_page(tmp_path: Path) -> None:
    page = only_page(put(tmp_path, {"logseq/config.edn": "{}", "journals/2031_13_44.md": "- x\n"}))
    assert (page.title, page.aliases, page.created) == ("2031_13_44", (), "")


@pytest.mark.parametrize(
    "text",
    [
        "public:: false\n- x\n",
        "public:: FALSE\n\n- x\n",
        "- public:: false\n- x\n",
        "- title:: T\n  public:: no\n\t- child\n",
        "---\ntitle: T\n---\npublic:: false\n\n- x\n",
        "title:: T\r\npublic:: false\r\n\r\n- x\r\n",
        "\n\npublic:: maybe\n- x\n",
        "access:: [{ALLOW view crew}]\n- x\n",
    ],
)
def test_a_page_property_withholds_like_frontmatter(tmp_path: Path, text: str) -> None:
    page = page_with(tmp_path, text)
    assert page.withheld or page.labels == {"crew"}


@pytest.mark.parametrize(
    "text", ["#+public: false\n* x\n", ":PROPERTIES:\n:public: false\n:END:\n* x\n", "* x\n#+draft: yes\n"]
)
def test_a_keyword_of_an_org_file_withholds_too(tmp_path: Path, text: str) -> None:
    assert page_with(tmp_path, text, "p.org").withheld


def test_public_true_withholds_nothing(tmp_path: Path) -> None:
    assert not page_with(tmp_path, "public:: true\n- x\n").withheld


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("tags:: a, [[two words]], #c\n\n- x\n", ("a", "two words", "c")),
        ("tags:: [[a]] [[b]]\n\n- x\n", ("a", "b")),
        ("tags:: #a #[[b c]]\n\n- x\n", ("a", "b c")),
        ("topic:: #ops now\n\n- x #y\n", ("ops", "y")),
        ("- #[[two words]] and `#code`\n", ("two words",)),
        ("- x\n  tags:: block, level\n", ()),
    ],
)
def test_tags_are_read_in_every_form_and_each_is_a_link(
    tmp_path: Path, text: str, tags: tuple[str, ...]
) -> None:
    page = page_with(tmp_path, text)
    assert page.tags == tags
    assert {link.target for link in page.body.links} == set(tags)


def test_properties_in_a_code_block_are_code(tmp_path: Path) -> None:
    page = page_with(tmp_path, "- see\n  ```text\n  id:: not-a-property\n  ```\n- id:: really\n")
    text = "- see\n  ```text\n  id:: not-a-property\n  ```\n- id:: really\n"
    assert [text[start:end] for start, end in page.body.hidden] == ["id:: really\n"]


def test_children_below_page_properties_stay_blocks(tmp_path: Path) -> None:
    page = page_with(tmp_path, "- title:: T\n\t- A child with [[Link]]\n")
    assert page.slug == "T"
    assert [link.target for link in page.body.links] == ["Link"]
    assert page.summary == "A child with Link"


def test_two_files_of_one_name_are_two_pages(tmp_path: Path) -> None:
    vault = put(
        tmp_path / "v",
        {
            "logseq/config.edn": "{}",
            "pages/X.md": "- one\n",
            "pages/X.org": "* two\n",
            "pages/y.md": "title:: X\n\n- three\n",
        },
    )
    with served(vault) as wiki:
        assert [page.slug for page in wiki.view.pages] == ["X", "pages/X", "pages/y"]
        assert len({page.canonical_id for page in wiki.view.pages}) == 3
        assert [page.path for page in wiki.view.pages] == ["pages/X.md", "pages/X.org", "pages/y.md"]
        for page in wiki.view.pages:
            assert wiki.call("get_page", slug=page.slug)["slug"] == page.slug


def test_a_block_that_moves_to_another_page_takes_its_references_along(tmp_path: Path) -> None:
    block = f"- moved\n  id:: {PUMP}\n"
    vault = put(
        tmp_path / "v",
        {
            "logseq/config.edn": "{}",
            "pages/a.md": block,
            "pages/b.md": "- b\n",
            "pages/c.md": f"- (({PUMP.upper()}))\n",
        },
    )
    with served(vault) as wiki:
        assert wiki.resolved("c") == [(PUMP.upper(), "a")]
        put(vault, {"pages/a.md": "- a\n", "pages/b.md": block})
        wiki.service.keeper.scan()
        snapshot = wiki.service.keeper.store.snapshot
        assert snapshot is not None
        wiki.view = wiki.service.keeper.view(snapshot, wiki.view.audience)
        assert wiki.resolved("c") == [(PUMP.upper(), "b")]


def test_settings_that_lead_out_of_the_graph_or_make_no_sense_are_not_followed(tmp_path: Path) -> None:
    put(tmp_path / "out", {"x.md": "marker"})
    config = '{:pages-directory "../out" :hidden "no vector" :journals-directory 7 "'
    vault = put(tmp_path / "v", {"logseq/config.edn": config, "pages/a.md": "- x\n"})
    assert paths_of(detect(vault)) == ["pages/a.md"]


def test_hidden_files_of_the_graph_are_not_there_and_the_config_names_the_folders(tmp_path: Path) -> None:
    config = '{:pages-directory "notes" :hidden ["/notes/x" "notes/y.md"]}'
    files = {f"notes/{name}.md": "- t\n" for name in ("a", "x/b", "y", "z/x")}
    vault = put(tmp_path, {"logseq/config.edn": config, "pages/old.md": "- t\n", **files})
    adapter = detect(vault, VaultOptions())
    assert paths_of(adapter) == ["notes/a.md", "notes/z/x.md"]
    assert adapter.stat("pages/old.md") is None


def test_a_title_of_signs_that_nobody_can_type_is_no_name(tmp_path: Path) -> None:
    files = {
        "pages/a.md": '---\ntitle: "\\0\\e[31m Pump"\n---\nx\n',
        "pages/b.md": '---\ntitle: "\\0"\n---\nx\n',
    }
    with served(put(tmp_path / "v", {"logseq/config.edn": "{}", **files})) as wiki:
        slugs = [page["slug"] for page in wiki.call("list_pages")["pages"]]
        assert slugs == ["[31m Pump", "b"]
        for slug in slugs:
            assert wiki.call("get_page", slug=slug)["slug"] == slug
