"""The graph of links: who links to whom, and that an edit carried over equals a graph made anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.graph.test_resolve import Page
from wikimcp.graph.links import LinkGraph, same_names
from wikimcp.graph.resolve import LinkTarget
from wikimcp.models import Link, LinkKind

NAMES = ("a", "b", "x/c", "x/d", "nowhere")


def links(*targets: str, comment: bool = False) -> list[Link]:
    return [Link(LinkKind.WIKILINK, target, in_comment=comment) for target in targets]


def graph_of(written: Mapping[str, Sequence[Link]]) -> LinkGraph:
    pages = [Page(f"{name}.md") for name in written]

    def links_of(page: LinkTarget) -> Sequence[Link]:
        return written[page.slug]

    return LinkGraph.build(pages, links_of)


def test_links_are_counted_once_in_order_and_never_to_the_page_itself() -> None:
    graph = graph_of({"a": links("b", "c", "b", "a", "nowhere"), "b": links("x/c"), "x/c": []})
    assert graph.outgoing["a"] == ("b", "x/c")
    assert graph.incoming == {"b": ("a",), "x/c": ("a", "b")}
    assert (graph.in_degree("x/c"), graph.in_degree("a"), graph.in_degree("none")) == (2, 0, 0)


def test_links_in_comments_do_not_count() -> None:
    assert graph_of({"a": links("b", comment=True), "b": []}).incoming == {}


def test_a_name_that_changes_may_change_the_links_of_others_and_a_text_does_not() -> None:
    page = Page("a.md", title="A", title_explicit=True, aliases=("one",))
    assert same_names(page, Page("a.md", title="A", title_explicit=True, aliases=("one",)))
    assert not same_names(page, Page("a.md", title="B", title_explicit=True, aliases=("one",)))
    assert not same_names(page, Page("a.md", title="A", aliases=("one",)))
    assert not same_names(page, Page("a.md", title="A", title_explicit=True))
    assert not same_names(
        page, Page("a.md", title="A", title_explicit=True, aliases=("one",), conflict_copy=True)
    )
    assert same_names(Page("a.md", title="First heading"), Page("a.md", title="Another heading"))


@dataclass(frozen=True)
class Named(Page):
    name: str = ""

    @property
    def slug(self) -> str:
        """Its own name, else the path without its suffix."""
        return self.name or super().slug


folders = st.sampled_from(("", "x/", "x/y/", "Z/"))
stems = st.sampled_from(
    ("a", "A", "b c", "b-c", "B_c", "index", "README", "note", "x", "d.e", "ü", "_", "a%20b")
)
paths = st.builds("{}{}{}".format, folders, stems, st.sampled_from((".md", ".markdown", ".org")))
names = st.sampled_from(("a", "b c", "B-C", "x/a", "Other", "x", "note.md", "x/index", "ü/", "d.e", "a.org"))
pages = st.builds(
    Named,
    path=paths,
    title=names,
    title_explicit=st.booleans(),
    aliases=st.lists(names, max_size=2).map(tuple),
    conflict_copy=st.sampled_from((False, False, False, True)),
    name=st.sampled_from(("", "", "", "Own name", "own/name", "x/index")),
)
ways = st.sampled_from(("", "./", "../", "/", "x/", "x/../", "x\\", "X/", "%78/"))
ends = st.sampled_from(("", "", "", ".md", ".MD", ".org", "/", "#", "%20", " ", "/."))
targets = st.builds("{}{}{}".format, ways, st.one_of(stems, names, st.just("")), ends)
kinds = st.sampled_from((LinkKind.WIKILINK, LinkKind.MARKDOWN, LinkKind.EMBED, LinkKind.EXTERNAL))
written = st.lists(
    st.builds(Link, kinds, targets, in_comment=st.sampled_from((False, False, True))), max_size=4
)
vaults = st.lists(st.tuples(pages, written), max_size=8)


def unique(vault: Sequence[tuple[Named, list[Link]]]) -> dict[str, tuple[Named, list[Link]]]:
    """Return the pages of a vault by path, each slug on one of them only, as a view has them."""
    found: dict[str, tuple[Named, list[Link]]] = {}
    slugs: set[str] = set()
    for page, links in vault:
        if page.path not in found and page.slug not in slugs:
            found[page.path] = page, links
            slugs.add(page.slug)
    return found


def made(vault: Mapping[str, tuple[Named, list[Link]]]) -> LinkGraph:
    pages = [page for page, _ in vault.values()]
    return LinkGraph.build(pages, lambda page: vault[page.path][1], attachments=("x/pic.png",))


@settings(max_examples=400, deadline=None)
@given(rounds=st.lists(vaults, min_size=2, max_size=4), kept=st.integers(0, 8))
def test_a_graph_carried_over_edits_equals_one_made_anew(
    rounds: list[list[tuple[Named, list[Link]]]], kept: int
) -> None:
    now = unique(rounds[0])
    graph = made(now)
    for more in rounds[1:]:
        after = unique([*more, *list(now.values())[:kept]])
        changed = {
            path: (now.get(path, (None, []))[0], after.get(path, (None, []))[0]) for path in now | after
        }
        differ = [
            (old, new)
            for old, new in changed.values()
            if old is None or new is None or old.slug != new.slug or not same_names(old, new)
        ]
        gone = [old for old, _ in differ if old is not None]
        come = [new for _, new in differ if new is not None]
        by_slug = {page.slug: (page, links) for page, links in after.values()}
        concerned = graph.concerned((*gone, *come)) if gone or come else set()
        edited = {page: links for page, links in after.values() if now.get(page.path) != (page, links)}
        edited |= dict(by_slug[slug] for slug in concerned if slug in by_slug)
        graph, fresh, now = graph.updated(edited, gone=gone, come=come), made(after), after
        assert dict(graph.outgoing) == dict(fresh.outgoing)
        assert dict(graph.incoming) == dict(fresh.incoming)
        for page, links in after.values():
            for link in links:
                assert graph.resolve(link, page) == fresh.resolve(link, page)


def test_a_page_more_concerns_those_only_whose_links_may_mean_it() -> None:
    graph = graph_of({"a": links("New page"), "b": links("other"), "x/c": links("a"), "x/d": links("..")})
    assert graph.concerned([Page("y/new-page.md")]) == {"a", "x/d"}
    assert graph.concerned([Page("other/index.md")]) == {"b", "x/d"}
