"""The Obsidian fixture: excluded files, aliases, embeds, block ids, comments, links in tables."""

from __future__ import annotations

from pathlib import Path

from tests.vaults.dialects import FIXTURES, fixture_copy, pages_of, served
from wikimcp.models import LinkKind


def test_its_pages_are_all_but_the_excluded_ones() -> None:
    pages = pages_of(FIXTURES / "obsidian")
    assert set(pages) == {"Harbour", "log/Signals", "log/Tide tables", "log/pay"}
    assert [slug for slug, page in pages.items() if page.withheld] == ["log/pay"]
    harbour = pages["Harbour"]
    assert harbour.aliases == ("Port", "The Quay")
    assert harbour.tags == ("place", "place/water")
    assert harbour.body.block_ids == ("opening",)
    assert harbour.summary == "The harbour opens at slack water."
    assert pages["log/Signals"].tags == ("signal/sound",)


def test_its_links_lead_where_obsidian_leads_them(tmp_path: Path) -> None:
    with served(fixture_copy("obsidian", tmp_path)) as wiki:
        assert wiki.resolved("Harbour") == [
            ("Tide tables", "log/Tide tables"),
            ("Signals#Fog", "log/Signals"),
            ("Never built", ""),
            ("Tide tables", "log/Tide tables"),
            ("chart.png", "chart.png"),
            ("Signals#Fog", "log/Signals"),
        ]
        assert wiki.resolved("log/Signals") == [
            ("The Quay", "Harbour"),
            ("Port#^opening", "Harbour"),
            ("Lost page", ""),
        ]
        links = wiki.view.body(wiki.view.names.slugs["Harbour"]).links
        assert [link.target for link in links if link.in_comment] == ["Never built"]
        assert [link.kind for link in links[-2:]] == [LinkKind.ATTACHMENT, LinkKind.EMBED]
        assert wiki.found("two long blasts")[0] == "log/Signals"
