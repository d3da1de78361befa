"""The Quartz fixture and its corners: the content folder, ignored patterns, what the site would publish."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vaults.dialects import FIXTURES, fixture_copy, pages_of, paths_of, put, served
from wikimcp.vaults.detect import detect


def test_its_pages_are_those_of_the_content_folder_that_are_not_ignored() -> None:
    adapter = detect(FIXTURES / "quartz")
    assert adapter.source_root == FIXTURES / "quartz" / "content"
    pages = pages_of(FIXTURES / "quartz")
    assert set(pages) == {"index", "moon", "stars/Vega", "stars/Altair", "stars/Mira", "stars/private/Deneb"}
    assert {slug for slug, page in pages.items() if page.withheld} == {"stars/Altair", "stars/Mira"}
    index = pages["index"]
    assert (index.role, index.wiki_title, index.description) == (
        "index",
        "Sky notes",
        "What can be seen on a clear night",
    )


def test_its_links_lead_where_quartz_leads_them(tmp_path: Path) -> None:
    with served(fixture_copy("quartz", tmp_path)) as wiki:
        assert wiki.resolved("index") == [
            ("stars/Vega", "stars/Vega"),
            ("./moon", "moon"),
            ("stars/Vega#Colour", "stars/Vega"),
        ]
        assert wiki.resolved("moon") == [("index", "index"), ("stars/Vega#Colour", "stars/Vega")]
        assert wiki.resolved("stars/private/Deneb") == [("Alpha Lyrae", "stars/Vega")]
        assert wiki.found("fifth brightest")[0] == "stars/Vega"


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("quartz.config.ts", 'ignorePatterns: ["secret", `*.tmp.md`],'),
        ("quartz.config.js", "module.exports = {'ignorePatterns': ['secret', // x\n '*.tmp.md']}"),
        ("quartz.config.yaml", "configuration:\n  ignorePatterns:\n    - secret\n    - '*.tmp.md'\n"),
        ("quartz.config.yml", "ignorePatterns: [secret, '*.tmp.md', 7]\n"),
    ],
)
def test_ignored_patterns_are_read_from_any_configuration(tmp_path: Path, name: str, config: str) -> None:
    files = {f"content/{path}.md": "x" for path in ("a", "secret/b", "c.tmp", "d/secret/e", "d/f.tmp")}
    vault = put(tmp_path, {name: config, **files})
    assert paths_of(detect(vault)) == ["a.md", "d/f.tmp.md", "d/secret/e.md"]


@pytest.mark.parametrize("config", ["ignorePatterns: patterns(),", "ignorePatterns: [\n"])
def test_patterns_that_are_no_plain_list_are_told(tmp_path: Path, config: str) -> None:
    scan = detect(put(tmp_path, {"quartz.config.ts": config, "a.md": "x"})).scan()
    assert [note.code for _, note in scan.diagnostics] == ["vault_settings"]


@pytest.mark.parametrize(
    ("name", "config", "explicit"),
    [
        ("quartz.config.ts", "filters: [Plugin.ExplicitPublish()]", True),
        ("quartz.config.ts", "filters: [Plugin.RemoveDrafts()] // Plugin.ExplicitPublish()", False),
        ("quartz.config.yaml", "plugins:\n  filters:\n    - explicit-publish\n", True),
        ("quartz.config.yaml", "plugins:\n  - source: github:q/explicit-publish\n    enabled: true\n", True),
        (
            "quartz.config.yaml",
            "plugins:\n  - source: github:q/explicit-publish\n    enabled: false\n",
            False,
        ),
    ],
)
def test_a_site_that_publishes_on_demand_withholds_the_rest(
    tmp_path: Path, name: str, config: str, explicit: bool
) -> None:
    pages = pages_of(
        put(tmp_path, {name: config, "content/a.md": "x", "content/b.md": "---\npublish: true\n---\nx"})
    )
    assert bool(pages["a"].withheld) is explicit
    assert not pages["b"].withheld
