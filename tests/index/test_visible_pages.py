"""Pages of a view: every slug and id on one page only, carried over edits as if made anew."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.small_wiki import page_record
from wikimcp.index.page_record import PageRecord
from wikimcp.index.visible import VisiblePages
from wikimcp.markdown.identity import derived_id

IDS = ("01A", "01B", "01C")


def page(rev: int, path: str, canonical_id: str, slug: str = "") -> PageRecord:
    name = slug or path.rpartition(".")[0]
    return page_record(rev, path, name, "", canonical_id=canonical_id, id_derived=False)


def shown(view: VisiblePages) -> list[tuple[str, str, str, bool, int]]:
    return [(p.path, p.slug, p.canonical_id, p.id_derived, p.rev) for p in view.pages]


def test_the_first_page_by_path_keeps_an_id_and_the_others_get_their_own() -> None:
    view = VisiblePages.of([page(1, "a.md", "01A"), page(2, "b.md", "01A"), page(3, "c.md", "01A")])
    ids = [p.canonical_id for p in view.pages]
    assert ids[0] == "01A" and len(set(ids)) == 3
    assert [p.id_derived for p in view.pages] == [False, True, True]
    assert view.by_id["01A"].path == "a.md"
    clash = view.clashes_of(view.by_path["b.md"])[0]
    assert clash.code == "duplicate_id"
    assert "a.md" in clash.message and "c.md" in clash.message and "01A" in clash.message
    assert {p.path for p, _ in view.clashes()} == {"a.md", "b.md", "c.md"}


def test_files_of_one_slug_are_both_there_under_names_of_their_own() -> None:
    view = VisiblePages.of([page(1, "a.markdown", "1"), page(2, "a.md", "2")])
    assert [p.slug for p in view.pages] == ["a", "a.md"]
    assert view.by_slug["a.md"].rev == 2
    titled = VisiblePages.of([page(1, "x/a.md", "1", "Pump"), page(2, "y/b.md", "2", "Pump")])
    assert [p.slug for p in titled.pages] == ["Pump", "y/b"]
    assert titled.clashes_of(titled.by_path["y/b.md"])[0].code == "duplicate_name"


def test_a_page_that_claims_the_derived_id_of_another_does_not_get_it_twice() -> None:
    view = VisiblePages.of([page(1, "a.md", derived_id("b")), page(2, "b.md", derived_id("b"))])
    assert len(view.by_id) == 2


suffixed = st.sampled_from([f"{stem}{suffix}" for stem in "abcdef" for suffix in (".md", ".markdown")])
plain = st.tuples(suffixed, st.one_of(st.none(), st.tuples(st.sampled_from(IDS), st.just(""))))
# Some dialects name pages otherwise than by their path.
titled = st.tuples(st.sampled_from(IDS), st.sampled_from(("", "", "a", "b", "Pump")))
named = st.tuples(st.sampled_from([f"{stem}.md" for stem in "abcdef"]), st.one_of(st.none(), titled))
histories = st.lists(st.lists(plain, min_size=1, max_size=4), min_size=1, max_size=6) | st.lists(
    st.lists(named, min_size=1, max_size=4), min_size=1, max_size=6
)


@settings(max_examples=300, deadline=None)
@given(rounds=histories, asked=st.booleans())
def test_pages_carried_over_edits_are_those_of_a_view_made_anew(
    rounds: list[list[tuple[str, tuple[str, str] | None]]], asked: bool
) -> None:
    records: dict[str, PageRecord] = {}
    carried: VisiblePages | None = None
    rev = 0
    for changes in rounds:
        for path, names in changes:
            rev += 1
            if names is None:
                records.pop(path, None)
            else:
                records[path] = page(rev, path, *names)
        ordered = [records[path] for path in sorted(records)]
        carried = VisiblePages.of(ordered, before=carried)
        fresh = VisiblePages.of(ordered)
        assert shown(carried) == shown(fresh)
        for name in ("by_path", "by_rev", "by_slug", *(["by_id"] if asked else [])):
            mine, theirs = getattr(carried, name), getattr(fresh, name)
            assert {key: p.path for key, p in mine.items()} == {key: p.path for key, p in theirs.items()}
        mine_clashes = sorted((p.path, why.message) for p, why in carried.clashes())
        assert mine_clashes == sorted((p.path, why.message) for p, why in fresh.clashes())
