"""The graph of links: who links to whom, and that an edit carried over equals a graph made anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hypothesis import given
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


targets = st.lists(st.sampled_from(NAMES), max_size=4)
vaults = st.fixed_dictionaries({name: targets for name in NAMES[:-1]})


@given(before=vaults, edits=st.lists(st.dictionaries(st.sampled_from(NAMES[:-1]), targets), max_size=4))
def test_a_graph_carried_over_edits_equals_one_made_anew(
    before: dict[str, list[str]], edits: list[dict[str, list[str]]]
) -> None:
    now = {name: links(*targets) for name, targets in before.items()}
    graph = graph_of(now)
    for edit in edits:
        changed = {name: links(*targets) for name, targets in edit.items()}
        now |= changed
        graph = graph.updated({Page(f"{name}.md"): found for name, found in changed.items()})
        fresh = graph_of(now)
        assert graph.outgoing == fresh.outgoing
        assert graph.incoming == fresh.incoming
