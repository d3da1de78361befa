"""Mentions that are carried over edits and starts equal those of a search through everything."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.index.live_wiki import LiveWiki
from wikimcp.graph.mentions import ChunkMentions
from wikimcp.index import mention_tables
from wikimcp.index.mention_file import FoundMentions, MentionFile, word_hashes
from wikimcp.index.mention_tables import MentionTables
from wikimcp.index.view import View

NAMES = ("Oak", "Oak Mill", "Mill", "Old Oak Mill", "River Bank", "\u6771\u4eac", "the lamp")
TEXTS = (
    *NAMES,
    "oak mill",
    "an old oak by the river",
    "bank of the river",
    "MILL, river",
    "\u6771\u4eac\u90fd",
)
titles = st.sampled_from(NAMES)
pages = st.builds(
    lambda title, alias, words: (
        f"---\ntitle: {title}\naliases: [{alias}]\n---\n"
        + "".join(f"\n## {n}\n\n{w}.\n" for n, w in enumerate(words))
    ),
    titles,
    titles,
    st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3),
)
PATHS = tuple(f"{name}.md" for name in "abcdef")


@pytest.fixture
def wiki(tmp_path: Path) -> Iterator[LiveWiki]:
    wiki = LiveWiki(tmp_path, watch=False)
    yield wiki
    wiki.stop()


def view_of(wiki: LiveWiki) -> View:
    wiki.service.keeper.freshen()
    return wiki.service.keeper.reading().view


def mentions(wiki: LiveWiki) -> dict[str, Any]:
    view = view_of(wiki)
    return dict(view.graphs.mentions(view.graphs.knowledge().graph).by_page)


def searched(wiki: LiveWiki) -> dict[str, Any]:
    """Return the mentions as they are found without anything from before."""
    view = view_of(wiki)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MentionFile, "read", lambda *_: None)
        patch.setattr(MentionFile, "write", lambda *_: None)
        return dict(MentionTables().find(view.graphs.knowledge().graph, view).by_page)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    first=st.dictionaries(st.sampled_from(PATHS), pages, min_size=3),
    steps=st.lists(st.tuples(st.sampled_from(PATHS), st.none() | pages, st.booleans()), max_size=5),
)
def test_mentions_carried_over_equal_those_found_at_once(
    first: dict[str, str], steps: list[tuple[str, str | None, bool]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        wiki = LiveWiki(Path(folder), watch=False)
        try:
            for path, text in first.items():
                wiki.write(path, text)
            assert mentions(wiki) == searched(wiki)
            for path, new, restart in steps:
                if new is None:
                    (wiki.vault / path).unlink(missing_ok=True)
                else:
                    wiki.write(path, new)
                if restart:
                    wiki.stop()
                assert mentions(wiki) == searched(wiki)
        finally:
            wiki.stop()


def looked_through(wiki: LiveWiki, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the paths of the pages whose texts are read for the mentions of now."""
    read: list[str] = []
    plain = mention_tables._chunk_words

    def noted(page: Any, view: Any) -> Any:  # noqa: ANN401
        read.append(page.path)
        return plain(page, view)

    monkeypatch.setattr(mention_tables, "_chunk_words", noted)
    assert mentions(wiki)
    monkeypatch.setattr(mention_tables, "_chunk_words", plain)
    return read


def test_only_what_may_be_different_is_looked_through(
    wiki: LiveWiki, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki.write("oak.md", "# Oak\n\nBy the river bank.\n")
    wiki.write("mill.md", "# Mill\n\nUnder the oak.\n")
    for number in range(60):
        wiki.write(f"page-{number:02}.md", f"# Number {number}\n\nOak and a bank.\n")
    assert len(looked_through(wiki, monkeypatch)) == 62
    assert looked_through(wiki, monkeypatch) == []
    wiki.stop()
    assert looked_through(wiki, monkeypatch) == [], "another start goes on from what was found"
    wiki.write("mill.md", "# Mill\n\nUnder the old oak.\n")
    assert looked_through(wiki, monkeypatch) == ["mill.md"]
    wiki.write("river.md", "# River bank\n\nWater.\n")
    assert looked_through(wiki, monkeypatch) == ["oak.md", "river.md"], "and where the new name may stand"
    assert mentions(wiki)["oak"][0].nodes[-1] == ("page:river", 1)
    (wiki.vault / "river.md").unlink()
    wiki.stop()
    assert "oak.md" in looked_through(wiki, monkeypatch)
    assert ("page:river", 1) not in mentions(wiki)["oak"][0].nodes


@pytest.mark.parametrize("damage", [b"", b"no database" * 400, None])
def test_a_damaged_file_costs_a_search_and_no_more(wiki: LiveWiki, damage: bytes | None) -> None:
    wiki.write("oak.md", "# Oak\n\nText.\n")
    wiki.write("mill.md", "# Mill\n\nUnder the oak.\n")
    expected = mentions(wiki)
    [file] = view_of(wiki).snapshot.catalog.folder.glob("mentions-*.sqlite")
    assert file.stat().st_mode & 0o777 == 0o600
    wiki.stop()
    if damage is None:
        file.unlink()
        file.mkdir()
    else:
        file.write_bytes(damage)
    assert mentions(wiki) == expected
    wiki.write("mill.md", "# Mill\n\nUnder the oak, the oak.\n")
    assert mentions(wiki)["mill"][0].nodes[-1] == ("page:oak", 2)


def test_what_is_kept_comes_back(tmp_path: Path) -> None:
    file = MentionFile(tmp_path)
    assert file.read("a") is None
    chunks = (ChunkMentions(0, (("page:a", 2), ("page:b", 1))), ChunkMentions(3, (("page:b", 4),)))
    found = FoundMentions({"old oak": "page:a", "mill": ""}, {1: chunks, 7: ()})
    file.write("a", found)
    assert file.read("a") == found and file.read("b") is None
    file.add_words(
        {1: word_hashes(["old", "oak", "oak"]), 7: word_hashes(["mill"]), 8: word_hashes([])}, live={1, 7, 8}
    )
    assert file.pages_with(["oak old"], [1, 7, 8]) == {1}
    assert file.pages_with(["oak mill", "mill"], [1, 7, 8]) == {7}
    assert file.pages_with(["oak"], [1, 9]) == {1, 9}, "of what is not known it may be anything"
    assert file.pages_with([f"n{n}" for n in range(500)], [1, 7]) == {1, 7}
    file.add_words({9: word_hashes(["new"])}, live={9})
    assert file.pages_with(["oak"], [1, 9]) == {1}, "what is gone is not kept"
