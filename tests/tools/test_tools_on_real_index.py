"""The reading and listing tools over a real index of real files: what is listed can be read, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wikimcp.index.state import StateDir
from wikimcp.index.store import IndexStore
from wikimcp.index.view import Reading, View
from wikimcp.lexical.tantivy import TantivyIndex
from wikimcp.markdown.tokens import span_sha256
from wikimcp.models import ANONYMOUS
from wikimcp.tools.answers import answer_tokens, finish
from wikimcp.tools.arguments import bind_arguments
from wikimcp.tools.contract import IndexStamp, ToolContext
from wikimcp.tools.registry import load
from wikimcp.vaults.detect import VaultOptions, detect

SAMPLE_VAULT = Path(__file__).parents[2] / "sample_vault"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "wikantik-pages"


class RealWiki:
    """An index of one vault, asked as the service asks."""

    def __init__(self, vault: Path, state: Path) -> None:
        adapter = detect(vault, VaultOptions())
        self.root = adapter.source_root
        self.store = IndexStore(
            adapter=adapter, state=StateDir.open(state), open_lexical=TantivyIndex, fingerprint={}
        )
        self.store.rebuild()
        assert self.store.snapshot is not None
        self.view = View(self.store.snapshot, ANONYMOUS, adapter)

    def ask(self, name: str, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its structured content."""
        tool = load(name)
        assert tool is not None
        params, notes = bind_arguments(tool, arguments)
        reading = Reading(self.view)
        stamp = IndexStamp(generation=reading.generation, pages=len(reading.pages))
        context = ToolContext(index=stamp, notes=notes)
        answer = finish(tool, tool.run(reading, params, context), context)
        assert answer_tokens(answer) <= context.cap_tokens
        assert answer.structured is not None
        return dict(answer.structured)

    def all_of(self, name: str, items: str, **arguments: object) -> list[dict[str, Any]]:
        """Return the items of all parts of a list."""
        found: list[dict[str, Any]] = []
        cursor = ""
        while True:
            data = self.ask(name, cursor=cursor, **arguments)
            found += data[items]
            cursor = data.get("nextCursor", "")
            if not cursor:
                assert len(found) == data["total"]
                return found

    def whole(self, slug: str, **arguments: object) -> str:
        """Return the joined parts of a page or section."""
        text, cursor = "", ""
        while True:
            [page] = self.ask("read_pages", slugs=[slug], cursor=cursor, **arguments)["pages"]
            assert "error" not in page, page["error"]
            assert page["citation"]["spanSha256"] == span_sha256(page["content"])
            text += str(page["content"])
            cursor = page.get("nextCursor", "")
            if not cursor:
                return text


@pytest.fixture(scope="module", params=["sample", "odd", "corpus"])
def wiki(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealWiki]:
    vault = {"sample": SAMPLE_VAULT, "corpus": CORPUS}.get(request.param)
    if vault is None:
        vault = odd_vault(tmp_path_factory.mktemp("odd"))
    elif not vault.is_dir():
        pytest.skip(f"{vault.name} is not here")
    wiki = RealWiki(vault, tmp_path_factory.mktemp("state"))
    yield wiki
    wiki.store.close()


def odd_vault(root: Path) -> Path:
    (root / "days").mkdir()
    for name in ("🦊", "№", "--", "Сад", "日本語 メモ", "#1 & [x] (y)", "days/2031-02-03", "a.b v3.1"):
        (root / f"{name}.md").write_bytes(f"# {name}\n\nText of {name}.\n".encode())
    long = "".join(f"## Part {number}\r\n\r\n{'word ' * 60}\r\n\r\n" for number in range(300))
    (root / "long.md").write_bytes(f"\ufeff---\r\ntitle: Long\r\n---\r\n# Long\r\n\r\n{long}".encode())
    fence = "```py\n" + "x = 1\n" * 9_000 + "```\n"
    (root / "fence.md").write_bytes(f"# Fence\n\n{fence}\n## After\n\nx\n\n## After\n\ny\n".encode())
    (root / "legacy.md").write_bytes(b"# Caf\xe9\n\nIt\x92s fine\n")
    (root / "broken.md").write_bytes(b"---\ntitle: Retro: week 12\ntags: [team]\n---\n# Retro\n\nLamp.\n")
    return root


def test_every_listed_page_is_described_and_read_as_its_file_stands(wiki: RealWiki) -> None:
    rows = wiki.all_of("list_pages", "pages", limit=200)
    assert len(rows) == len(wiki.view.pages) > 10
    for row in rows[:: max(1, len(rows) // 60)]:
        data = wiki.ask("get_page", slug=row["slug"])
        assert data["slug"] == row["slug"]
        assert wiki.ask("get_page_by_id", id=data["canonicalId"])["slug"] == row["slug"]
        stored = (wiki.root / data["path"]).read_bytes()
        if data["encoding"] == "utf-8":
            assert wiki.whole(row["slug"]) == stored.decode("utf-8")


def test_every_section_is_read_by_its_path(wiki: RealWiki) -> None:
    reading = Reading(wiki.view)
    pages = reading.pages[:: max(1, len(reading.pages) // 25)]
    read = 0
    for page in pages:
        text = reading.text(page)
        for section in reading.body(page).sections[:20]:
            if not section.heading_path:
                continue
            name = f"{' > '.join(section.heading_path)} ({section.duplicate})"
            span = section.subtree
            assert wiki.whole(page.slug, heading=name) == text[span.start : span.end]
            read += 1
    assert read > 10


def test_counts_agree_between_the_tools(wiki: RealWiki) -> None:
    for cluster in wiki.all_of("list_clusters", "clusters")[:10]:
        assert wiki.ask("list_pages", cluster=cluster["name"])["total"] == cluster["pageCount"]
    for tag in wiki.all_of("list_tags", "tags", limit=1_000)[:10]:
        pages = wiki.all_of("list_pages", "pages", tags=[tag["tag"]], limit=200)
        assert {row["slug"] for row in pages} >= set(tag["topPages"])
        assert len(pages) >= tag["count"]
    kinds = wiki.all_of("list_metadata_values", "values", field="type")
    for kind in kinds[:5]:
        assert wiki.ask("list_pages_by_filter", type=kind["value"])["total"] >= kind["count"]


def test_a_page_with_faults_names_them(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    odd = RealWiki(odd_vault(vault), tmp_path / "state")
    assert odd.ask("get_page", slug="broken")["diagnostics"]
    assert odd.ask("get_page", slug="legacy")["diagnostics"]
    assert odd.ask("read_pages", slugs=["legacy"])["pages"][0]["content"].startswith("# Caf")
    odd.store.close()
