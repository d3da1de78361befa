"""The plain folder fixture: any markdown, relative links, labels, and what is never walked."""

from __future__ import annotations

from pathlib import Path

from tests.vaults.dialects import FIXTURES, fixture_copy, pages_of, served


def test_its_pages_are_all_markdown_files() -> None:
    pages = pages_of(FIXTURES / "generic")
    assert set(pages) == {"README", "docs/rules", "docs/my keys", "docs/secret"}
    assert pages["docs/secret"].labels == {"crew"}
    assert pages["docs/rules"].title == "Rules"


def test_its_links_lead_where_a_reader_expects(tmp_path: Path) -> None:
    with served(fixture_copy("generic", tmp_path)) as wiki:
        assert wiki.resolved("README") == [
            ("docs/rules.md#tools", "docs/rules"),
            ("docs/my keys.markdown", "docs/my keys"),
            ("rules", "docs/rules"),
        ]
        assert wiki.resolved("docs/my keys") == [("README", "README"), ("Keys nobody made", "")]
        assert wiki.resolved("docs/rules") == [("../README.md", "README"), ("plan.svg", "docs/plan.svg")]
        assert wiki.found("keys hang by the door")[0] == "docs/my keys"
