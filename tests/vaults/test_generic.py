"""The plain folder fixture: any markdown, relative links, labels, and what is never walked."""

from __future__ import annotations

from pathlib import Path

from tests.vaults.dialects import FIXTURES, fixture_copy, pages_of, put, served
from wikimcp.models import Caller


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


def test_the_address_of_a_page_on_a_site_leads_to_its_file(tmp_path: Path) -> None:
    files = {"a.md": "[1](b/) [2](/c/b/) [3](c/) [4](c/b/#top) [5](gone/)\n", "b.md": "# B\n"}
    with served(put(tmp_path, {**files, "c/b.md": "[1](../b/)\n", "c/index.md": "# C\n"})) as wiki:
        assert [page for _, page in wiki.resolved("a")] == ["b", "c/b", "c/index", "c/b", ""]
        assert wiki.resolved("c/b") == [("../b/", "b")]


def test_a_markdown_link_in_a_property_names_one_page(tmp_path: Path) -> None:
    head = (
        "---\nrelated: ['[Other](b/My%20Page.md#x)', '[[c]]']\nsources: '[Paper](https://x.test/p#y)'\n---\n"
    )
    with served(put(tmp_path, {"a.md": head, "b/My Page.md": "# B\n", "c.md": "# C\n"})) as wiki:
        edges = wiki.service.graph(Caller())["edges"]
        assert sorted((edge["relation"], edge["target"]) for edge in edges if edge["source"] == "page:a") == [
            ("cites", "source:https://x.test/p#y"),
            ("links_to", "external:https://x.test/p#y"),
            ("links_to", "page:b/My Page"),
            ("links_to", "page:c"),
            ("related_to", "page:b/My Page"),
            ("related_to", "page:c"),
        ]
        page = wiki.call("get_page", slug="a")
        assert page["related"] == ["b/My Page.md", "c"]
        assert page["sourceRefs"] == ["https://x.test/p#y"]
