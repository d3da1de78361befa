"""Copies that synchronising tools leave behind, under all the names they use: told, ranked last, no link's target."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.index.live_wiki import LiveWiki
from tests.vaults.dialects import put, served
from wikimcp.models import Caller

CERTAIN = [
    "n.sync-conflict-20310203-101010-ABCDEFG.md",
    "n (conflicted copy 2031-02-03).md",
    "n (Ana's conflicted copy 2031-02-03).md",
    "n (conflicted copy 2031-02-03 101010).md",
    "n (In Konflikt stehende Kopie von Ana 2031-02-03).md",
    "n (Case Conflict).md",
    "n (Selective Sync Conflict).md",
    "n (SFConflict ana@x.test 2031-02-03-10-10-10).md",
    "n_conflict-20310203-101010.md",
    "n_Laptop_Feb-03-101010-2031_Conflict.md",
    "n_REMOTE_4711.md",
]
DOUBTFUL = ["n 2.md", "n (1).md", "n(2).md", "n-DESKTOP-7AB2C3D.md", "n-Anas-MacBook-Pro.md", "n.orig.md"]


def copies(wiki: object) -> list[str]:
    status = wiki.service.status(Caller(operator=True))  # type: ignore[attr-defined]
    return [note["path"] for note in status["diagnostics"] if note["code"] == "conflict_copy"]


@pytest.mark.parametrize("name", CERTAIN)
def test_a_certain_name_is_a_copy_even_alone(tmp_path: Path, name: str) -> None:
    with served(put(tmp_path / "v", {name: "kestrel", "s.md": f"[[{name.removesuffix('.md')}]]"})) as wiki:
        assert copies(wiki) == [name]
        assert wiki.resolved("s")[0][1] == ""


@pytest.mark.parametrize("name", DOUBTFUL)
def test_a_doubtful_name_is_a_copy_beside_the_page_it_extends(tmp_path: Path, name: str) -> None:
    link = f"[[{name.removesuffix('.md')}]]"
    with served(put(tmp_path / "alone" / "v", {f"x/{name}": "kestrel", "n.md": "k", "s.md": link})) as wiki:
        assert copies(wiki) == []
        assert wiki.resolved("s")[0][1] == f"x/{name.removesuffix('.md')}"
    files = {f"x/{name}": "kestrel kestrel", "x/n.md": "kestrel words", "s.md": f"{link} [[n]]"}
    with served(put(tmp_path / "beside" / "v", files)) as wiki:
        assert copies(wiki) == [f"x/{name}"]
        assert [target for _, target in wiki.resolved("s")] == ["", "x/n"]
        assert wiki.found("kestrel") == ["x/n", f"x/{name.removesuffix('.md')}"]
        page = wiki.call("get_page", slug=f"x/{name}")
        assert page["conflictCopy"] is True


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("n 2.md", "# Chapter 2\n"),
        ("n (1).md", "---\ntitle: The first (1)\n---\nx\n"),
        ("n 10.md", "x"),
        ("n-API.md", "x"),
        ("n2.md", "x"),
        ("2.md", "x"),
        ("n (2031).md", "x"),
        ("n-PC-games.md", "x"),
    ],
)
def test_a_page_that_numbers_itself_is_a_page(tmp_path: Path, name: str, text: str) -> None:
    with served(put(tmp_path / "v", {name: text, "n.md": "n", ".md": "x"})) as wiki:
        assert copies(wiki) == []


def test_a_copy_is_one_only_while_the_other_page_is_there_and_seen(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    try:
        wiki.write("s.md", "[[n 2]] [[n]]\n")
        wiki.write("n 2.md", "kestrel\n")

        def linked() -> list[str]:
            reading = wiki.call("get_page", slug="s")
            assert reading["slug"] == "s"
            nodes = wiki.service.graph(Caller())["edges"]
            return [edge["target"] for edge in nodes if edge["relation"] == "links_to"]

        assert linked() == ["page:n 2", "placeholder:n"]
        wiki.write("n.md", "kestrel\n")
        assert linked() == ["placeholder:n 2", "page:n"]
        assert "conflictCopy" in wiki.call("get_page", slug="n 2")
        wiki.write("n.md", "---\ndraft: true\n---\nkestrel\n")
        assert linked() == ["page:n 2", "placeholder:n"]
        assert "conflictCopy" not in wiki.call("get_page", slug="n 2")
        wiki.write("n.md", "kestrel again\n")
        assert linked() == ["placeholder:n 2", "page:n"]
        (wiki.vault / "n.md").unlink()
        assert linked() == ["page:n 2", "placeholder:n"]
    finally:
        wiki.stop()
