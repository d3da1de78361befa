"""The compiled wiki fixture: its source root, hub pages, typed folders, and what it was compiled from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vaults.dialects import FIXTURES, fixture_copy, pages_of, put, served
from wikimcp.vaults.detect import detect


def test_its_pages_are_those_of_the_wiki_and_none_of_its_sources() -> None:
    pages = pages_of(FIXTURES / "llmwiki")
    assert set(pages) == {"Index", "hot", "concepts/Sourdough", "entities/Salt", "questions/wages"}
    assert [slug for slug, page in pages.items() if page.withheld] == ["questions/wages"]
    assert {slug: page.role for slug, page in pages.items() if page.role != "topic"} == {
        "Index": "index",
        "hot": "hot",
    }
    assert pages["Index"].wiki_title == "Bakery wiki"
    sourdough = pages["concepts/Sourdough"]
    assert (sourdough.type, sourdough.clusters, sourdough.source_refs) == (
        "concept",
        ("dough",),
        ("raw/interview.md",),
    )


def test_its_links_lead_where_they_should(tmp_path: Path) -> None:
    with served(fixture_copy("llmwiki", tmp_path)) as wiki:
        assert wiki.resolved("Index") == [
            ("concepts/Sourdough", "concepts/Sourdough"),
            ("mother dough", "concepts/Sourdough"),
        ]
        assert wiki.resolved("entities/Salt") == [("Sourdough", "concepts/Sourdough")]
        assert wiki.found("flour and water ferment")[0] == "concepts/Sourdough"
        assert [cluster["name"] for cluster in wiki.call("list_clusters")["clusters"]] == ["dough"]


@pytest.mark.parametrize(
    ("files", "folder"),
    [
        (["wiki/index.md", "openwiki/hot.md"], "wiki"),
        (["wiki/x.md", "openwiki/HOT.MD"], "openwiki"),
        (["index.md", "wiki/Overview.md", "concepts/a.md"], "wiki"),
        (["Quickstart.md", "categories/a.md", "wiki/x.md"], ""),
        ([".wiki-compiler.json", "wiki/x.md", "y.md"], "wiki"),
        ([".wiki-compiler.json", "notes/x.md"], ""),
    ],
)
def test_the_source_root_is_the_first_folder_with_a_sign(
    tmp_path: Path, files: list[str], folder: str
) -> None:
    adapter = detect(put(tmp_path, dict.fromkeys(files, "x")))
    assert (adapter.name, adapter.source_folder) == ("llmwiki", folder)
