"""Fixture vaults served whole: the adapter's pages, and the service that an agent asks."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wikimcp.app import build_service
from wikimcp.index.view import View
from wikimcp.models import ANONYMOUS, Caller, LinkKind, ParsedPage
from wikimcp.service import WikiService
from wikimcp.settings import load_settings
from wikimcp.vaults.detect import VaultOptions, detect
from wikimcp.vaults.folder import FolderAdapter

FIXTURES = Path(__file__).parent / "fixtures"
DIALECTS = ("obsidian", "logseq", "dendron", "foam", "quartz", "llmwiki", "generic")


def put(vault: Path, files: dict[str, str]) -> Path:
    """Write files by their path and return the vault."""
    for name, text in files.items():
        file = vault / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="")
    return vault


def fixture_copy(dialect: str, folder: Path) -> Path:
    """Copy a fixture vault, so that nothing is ever written beside the original."""
    return Path(shutil.copytree(FIXTURES / dialect, folder / dialect))


def paths_of(adapter: FolderAdapter) -> list[str]:
    """Return the paths of all pages."""
    return [stamp.path for stamp in adapter.scan().files]


def pages_of(vault: Path, options: VaultOptions | None = None) -> dict[str, ParsedPage]:
    """Read every page of a vault, by slug."""
    adapter = detect(vault, options)
    pages = [adapter.parse(adapter.read(path)) for path in paths_of(adapter)]
    return {page.slug: page for page in pages}


def only_page(vault: Path) -> ParsedPage:
    """Read the one page of a vault."""
    (page,) = pages_of(vault).values()
    return page


class Served:
    """A running service over one vault, and the view that its tools read."""

    def __init__(self, service: WikiService) -> None:
        self.service = service
        keeper = service.keeper
        assert keeper.store.snapshot is not None
        self.view: View = keeper.view(keeper.store.snapshot, ANONYMOUS)

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its structured answer."""
        answer = self.service.call(tool, arguments, Caller())
        assert answer.structured is not None
        return dict(answer.structured)

    def found(self, query: str) -> list[str]:
        """Return the slugs that a search finds, best first."""
        return [page["slug"] for page in self.call("retrieve_context", query=query)["pages"]]

    def everything(self) -> str:
        """Return the answers of the listing tools and the whole text of every page, as one text."""
        slugs = [page.slug for page in self.view.pages]
        answers = [self.call(tool) for tool in ("list_pages", "list_tags", "list_clusters")]
        answers += [self.call("read_pages", slugs=[slug]) for slug in slugs]
        answers += [self.call("get_page", slug=slug) for slug in slugs]
        return json.dumps([*answers, self.found("marker withheld hidden")])

    def resolved(self, slug: str) -> list[tuple[str, str]]:
        """Return where each link of a page leads: (target as written, slug, attachment or nothing)."""
        page = self.view.names.slugs[slug]
        rows = []
        for link in self.view.body(page).links:
            if link.kind is LinkKind.EXTERNAL:
                continue
            written = f"{link.target}#{link.fragment}" if link.fragment else link.target
            resolution = self.view.links.resolve(link, page)
            rows.append((written, resolution.slug or resolution.attachment))
        return rows


@contextmanager
def served(vault: Path, **flags: object) -> Iterator[Served]:
    """Serve a vault with its state beside it and without vectors."""
    given = {"vault": str(vault), "embedder": "none", "state_dir": str(vault.parent / "state"), **flags}
    service = build_service(load_settings(given, env={}, cwd=vault), background=False)
    try:
        service.wait_ready()
        yield Served(service)
    finally:
        service.close()
