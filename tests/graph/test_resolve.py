"""Where a link leads: the order of the contract, entry by entry, and never by the order of the walk."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from wikimcp.graph.resolve import LinkResolver, Resolution
from wikimcp.models import Link, LinkKind


@dataclass(frozen=True)
class Page:
    path: str
    title: str = ""
    title_explicit: bool = False
    aliases: tuple[str, ...] = ()
    conflict_copy: bool = False

    @property
    def slug(self) -> str:
        """The path without its suffix."""
        return self.path.rpartition(".")[0]


def lead(
    pages: Sequence[Page],
    target: str,
    *,
    source: str = "src.md",
    kind: LinkKind = LinkKind.WIKILINK,
    fragment: str = "",
    files: Sequence[str] = (),
) -> Resolution:
    """Resolve one link, with the pages walked in several orders: the answer must be one."""
    link = Link(kind, target, fragment=fragment)
    found = set()
    for seed in range(4):
        shuffled, shuffled_files = list(pages), list(files)
        random.Random(seed).shuffle(shuffled)
        random.Random(seed).shuffle(shuffled_files)
        found.add(LinkResolver(shuffled, shuffled_files).resolve(link, Page(source)))
    (one,) = found
    return one


def pages(*paths: str) -> list[Page]:
    return [Page(path) for path in paths]


def to(
    target: str, *paths: str, source: str = "src.md", kind: LinkKind = LinkKind.WIKILINK
) -> tuple[str, str]:
    found = lead(pages(*paths), target, source=source, kind=kind)
    return found.slug, found.via


def test_an_exact_path_from_the_root_comes_first() -> None:
    assert to("a/n", "a/n.md", "b/n.md", "n.md", source="b/src.md") == ("a/n", "path")
    assert to("n", "n.md", "b/n.md", source="c/src.md") == ("n", "path")


def test_the_linking_pages_own_folder_comes_before_others() -> None:
    assert to("n", "a/n.md", "b/n.md", source="b/src.md") == ("b/n", "folder")


def test_then_its_own_top_level_folder_so_that_translations_stay_among_themselves() -> None:
    found = lead(pages("de/x/n.md", "en/x/n.md", "a/n.md"), "n", source="en/y/src.md")
    assert (found.slug, found.ambiguous) == ("en/x/n", False)


def test_then_the_shortest_path() -> None:
    found = lead(pages("a/b/n.md", "c/n.md"), "n", source="d/src.md")
    assert (found.slug, found.ambiguous) == ("c/n", False)


def test_pages_of_equal_rank_are_a_fixed_choice_and_marked_ambiguous() -> None:
    found = lead(pages("b/n.md", "a/n.md"), "n", source="c/src.md")
    assert (found.slug, found.candidates) == ("a/n", ("a/n", "b/n"))
    assert found.ambiguous


def test_a_bare_name_is_found_in_the_whole_vault() -> None:
    assert to("Mill", "places/Mill.md", source="days/d.md") == ("places/Mill", "name")


@pytest.mark.parametrize("target", ["Barn.md", "Barn.MD", "Barn", " Barn ", "Barn.markdown"])
def test_a_suffix_in_the_link_is_no_part_of_the_name(target: str) -> None:
    assert to(target, "Barn.md", source="x/src.md")[0] == "Barn"


def test_only_a_final_suffix_counts() -> None:
    assert to("build v3.1 plan", "build v3.1 plan.md")[0] == "build v3.1 plan"
    assert to("a.md.b", "a.md.b.md")[0] == "a.md.b"


def test_case_is_folded_when_no_name_fits_exactly() -> None:
    assert to("mynote", "MyNote.md") == ("MyNote", "case")
    assert to("MYNOTE", "MyNote.md") == ("MyNote", "case")
    assert to("mynote", "MyNote.md", "mynote.md")[0] == "mynote"
    assert to("MyNote", "MyNote.md", "mynote.md")[0] == "MyNote"
    assert lead(pages("MyNote.md", "mynote.md"), "MYNOTE").ambiguous
    assert to("STRASSE", "Straße.md") == ("Straße", "case")
    assert to("A/N", "a/n.md") == ("a/n", "case")


def test_composed_and_decomposed_names_are_one() -> None:
    assert to("Caf\u00e9", "Cafe\u0301.md")[0] == "Cafe\u0301"
    assert to("Cafe\u0301", "Caf\u00e9.md")[0] == "Caf\u00e9"


def test_an_alias_is_found_after_names_and_says_so() -> None:
    boat = Page("boat.md", aliases=("SS",))
    assert lead([boat], "SS") == Resolution("boat", "alias")
    assert lead([boat, Page("ss.md")], "SS").slug == "ss"
    two = lead([boat, Page("ship.md", aliases=("ss",))], "SS")
    assert (two.slug, two.candidates) == ("boat", ("boat", "ship"))


def test_then_the_slug_form_and_then_an_explicit_title() -> None:
    assert to("red barn", "red-barn.md") == ("red-barn", "slug")
    assert to("Red_Barn", "red barn.md") == ("red barn", "slug")
    switch = Page("n.md", title="On/Off Switch", title_explicit=True)
    assert lead([switch], "On/Off Switch") == Resolution("n", "title")
    assert lead([Page("n.md", title="On/Off Switch")], "On/Off Switch").slug == ""
    named = [switch, Page("m.md", aliases=("On/Off Switch",))]
    assert lead(named, "on/off switch") == Resolution("m", "alias")


def test_a_target_with_a_slash_matches_from_the_root_or_as_the_end_of_a_path() -> None:
    assert to("b/n", "a/b/n.md", "b/n.md", source="a/src.md") == ("b/n", "path")
    assert to("b/n", "a/b/n.md", "c/n.md") == ("a/b/n", "name")
    assert to("b/n", "ab/n.md") == ("", "")
    assert to("/b/n", "b/n.md") == ("b/n", "path")


def test_relative_targets_stay_in_the_vault() -> None:
    assert to("./n", "a/n.md", "n.md", source="a/src.md")[0] == "a/n"
    assert to("../n", "a/n.md", "n.md", source="a/src.md")[0] == "n"
    assert to("../../n", "a/n.md", "n.md", source="a/src.md")[0] == ""
    assert to("./n", "b/n.md", source="a/src.md")[0] == ""
    for target in ("../../../etc/passwd", "..", "../..", "./../../n", "%2e%2e/%2e%2e/n"):
        assert (
            to(target, "n.md", "a/b.md", source="a/src.md")[0] in ("", "n") and to(target, "a/b.md")[0] == ""
        )


def test_a_markdown_link_is_relative_to_its_page_then_from_the_root_then_anywhere() -> None:
    markdown = LinkKind.MARKDOWN
    assert to("n.md", "a/n.md", "n.md", source="a/src.md", kind=markdown) == ("a/n", "path")
    assert to("b/n.md", "b/n.md", "c/b/n.md", source="a/src.md", kind=markdown) == ("b/n", "path")
    assert to("n", "x/y/n.md", source="a/src.md", kind=markdown) == ("x/y/n", "name")
    assert to("My%20Note.md", "My Note.md", kind=markdown)[0] == "My Note"
    assert to("%231%20%26%20%5Bx%5D%20(y).md", "#1 & [x] (y).md", kind=markdown)[0] == "#1 & [x] (y)"
    assert to("100%.md", "100%.md", kind=markdown)[0] == "100%"


@pytest.mark.parametrize("name", ["🦊", "№", "--", "Сад", "日本語 メモ", "#1 & [x] (y)", "a.b", "...", "C++"])
def test_any_name_can_be_linked(name: str) -> None:
    assert to(name, f"{name}.md", f"x/other {name}.md", source="x/src.md")[0] == name


def test_attachments_are_found_beside_the_page_from_the_root_and_by_name() -> None:
    files = ("a/map.png", "map.png", "b/deep/Plan.PDF", "ab/x.png", "c/b/x.png")
    embed = LinkKind.EMBED

    def file(target: str, source: str = "src.md") -> str:
        return lead(pages("Barn.md"), target, source=source, kind=embed, files=files).attachment

    assert file("map.png", "a/src.md") == "a/map.png"
    assert file("map.png", "z/src.md") == "map.png"
    assert file("plan.pdf") == "b/deep/Plan.PDF"
    assert file("deep/Plan.PDF") == "b/deep/Plan.PDF"
    assert file("b/x.png") == "c/b/x.png"
    assert file("../map.png", "a/src.md") == "map.png"
    assert file("nowhere.png") == ""
    assert lead(pages("Barn.md"), "map.png", kind=embed, files=files).via == "attachment"


def test_a_page_and_its_twins_of_other_kinds_are_told_apart() -> None:
    files = ("dashboard.base", "dashboard.canvas")
    page = lead(pages("dashboard.md"), "dashboard", files=files)
    assert (page.slug, page.ambiguous) == ("dashboard", False)
    assert lead(pages("dashboard.md"), "dashboard.base", files=files).attachment == "dashboard.base"


def test_a_heading_alone_is_a_link_to_the_page_itself() -> None:
    assert lead(pages("kit.md"), "", source="kit.md", fragment="Spare parts") == Resolution("kit", "self")
    assert lead(pages("kit.md"), "", source="kit.md").slug == ""


def test_sync_leftovers_are_never_linked() -> None:
    copy = Page("n (conflicted copy).md", title="n", title_explicit=True, aliases=("n",), conflict_copy=True)
    assert lead([copy], "n").slug == ""
    assert lead([copy], "n (conflicted copy)").slug == ""
    assert lead([copy, Page("x/n.md")], "n").slug == "x/n"


def test_links_that_lead_out_and_citations_are_no_pages() -> None:
    for kind in (LinkKind.EXTERNAL, LinkKind.CITATION):
        assert lead(pages("n.md"), "n", kind=kind).slug == ""


def test_a_block_leads_to_the_page_that_holds_it() -> None:
    resolver = LinkResolver(pages("n.md"), blocks={"5f0c": "n"})
    assert resolver.resolve(Link(LinkKind.BLOCK, "5F0C"), Page("src.md")) == Resolution("n", "block")
    assert resolver.resolve(Link(LinkKind.BLOCK, "dead"), Page("src.md")).slug == ""
    assert LinkResolver(pages("n.md")).resolve(Link(LinkKind.BLOCK, "5f0c"), Page("src.md")).slug == ""
