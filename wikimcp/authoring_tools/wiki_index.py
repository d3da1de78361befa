"""The compiled wiki as an index: opened when first asked, proposed pages included, for authors only."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from wikimcp.authoring.okf import RESERVED
from wikimcp.authoring.pages import SUPPORT
from wikimcp.authoring.workspace import Workspace
from wikimcp.authoring_tools.contract import Match
from wikimcp.errors import Unavailable, WikimcpError
from wikimcp.guide.specs import ToolAnswer
from wikimcp.index.view import Reading
from wikimcp.markdown.links import PAGE_SUFFIXES
from wikimcp.models import Caller

T = TypeVar("T")
_AUTHOR = Caller(name="author", may_see_drafts=True, operator=True)
_READER = Caller(name="author")
_MOST_SECTIONS = 30  # what assemble_bundle gives at most
_TOKENS_EACH = 300  # of a match: with more room sections would be widened to whole pages
_MOST_TOKENS = 24_000


class Service(Protocol):
    """What is needed of the service over the wiki root."""

    def call(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        """Run one of the 21 tools."""

    def examine(self, caller: Caller, work: Callable[[Reading], T], *, include_drafts: bool = False) -> T:
        """Return what a function finds in the pages that a caller sees."""

    def wait_ready(self, vectors: str = "floor") -> None:
        """Wait until the index answers."""

    def close(self) -> None:
        """Release threads, processes and locks."""


class WikiIndex:
    """Searches the compiled wiki and verifies citations of it. Safe to call from several threads."""

    def __init__(self, open_service: Callable[[], Service], workspace: Workspace) -> None:
        self._open = open_service
        self._workspace = workspace
        self._service: Service | None = None
        self._vault: Service | None = None
        self._mutex = threading.Lock()

    def search(self, query: str, mode: str, limit: int) -> list[Match]:
        """Return the best sections of pages; indexes, log and the pages that serve the wiki are left out."""
        wanted = min(_MOST_SECTIONS, limit * 3)
        budget = min(_MOST_TOKENS, (limit + 1) * _TOKENS_EACH)
        asked = {"query": query, "mode": mode, "limit": wanted, "token_budget": budget}
        answer = self._ready("none" if mode == "lexical" else "floor").call(
            "assemble_bundle", {**asked, "include_drafts": True}, _AUTHOR
        )
        matches = [self._match(section) for section in (answer.structured or {}).get("sections", [])]
        return [match for match in matches if match.path and _is_page(match.path)][:limit]

    def add_vault(self, service: Service) -> None:
        """Take citations of another vault for evidence too: that of the server's own tools."""
        self._vault = service

    def verify(self, citations: tuple[str, ...]) -> Mapping[str, str]:
        """Return the status of each citation: in the wiki, else in the vault that is served beside it."""
        wiki, vault = self._ready("none"), self._vault
        statuses: dict[str, str] = {}
        for citation in citations:
            status = _status(wiki, citation, _AUTHOR)
            if status != "current" and vault is not None and _status(vault, citation, _READER) == "current":
                status = "current"
            statuses[citation] = status
        return statuses

    def examine(self, work: Callable[[Reading], T]) -> T:
        """Return what ``work`` finds in the pages."""
        return self._ready("none").examine(_AUTHOR, work, include_drafts=True)

    def close(self) -> None:
        """Close the service, if it was ever opened. Idempotent."""
        with self._mutex:
            service, self._service = self._service, None
        if service is not None:
            service.close()

    def _ready(self, vectors: str) -> Service:
        self._workspace.require_wiki()
        with self._mutex:
            if self._service is None:
                self._service = self._open()
            self._service.wait_ready(vectors)
            return self._service

    def _match(self, section: Mapping[str, Any]) -> Match:
        citation = section["citation"]
        slug = str(section["slug"])
        paths = (f"{slug}{suffix}" for suffix in PAGE_SUFFIXES)
        path = next((path for path in paths if (self._workspace.wiki_root / path).is_file()), "")
        first, last = citation["lines"]
        return Match(
            path=path,
            title=str(section["title"]),
            heading_path=tuple(section["headingPath"]),
            lines=(first, last),
            text=str(section["text"]),
            handle=str(citation["handle"]),
        )


def _status(service: Service, citation: str, caller: Caller) -> str:
    """Return the verdict on one citation, asked alone, so that no answer is cut short."""
    arguments = {"verify": [citation], "include_drafts": caller.may_see_drafts}
    try:
        answer = service.call("list_stale_citations", arguments, caller)
    except Unavailable:
        raise
    except WikimcpError as error:
        return error.message
    rows = (answer.structured or {}).get("verified", [])
    return str(rows[0]["status"]) if rows else "no citation"


def _is_page(path: str) -> bool:
    return path.rpartition("/")[2] not in RESERVED and path not in SUPPORT
