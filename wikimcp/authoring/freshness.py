"""Whether a page still rests on the sources it was compiled from, and which lines of them it points at."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from wikimcp.authoring.anchors import anchor_text, anchor_url
from wikimcp.authoring.manifest import AnchorEntry, Manifest
from wikimcp.authoring.okf import link_target
from wikimcp.authoring.pages import Page, source_path
from wikimcp.authoring.workspace import Workspace
from wikimcp.errors import AccessDenied

State = Literal["current", "stale", "source gone", "unknown"]

_ANCHOR = re.compile(
    r"(?<![\w/.:-])(?P<path>[\w./%-]+?)#L(?P<first>\d{1,8})(?:-L?(?P<last>\d{1,8}))?(?![\w-])"
)
_MOST_ANCHORS = 20


@dataclass(frozen=True, slots=True)
class Freshness:
    """``state`` of a page against its sources; ``changed`` and ``gone`` name those that are other now."""

    state: State
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        named = {"changed": list(self.changed) or None, "gone": list(self.gone) or None}
        return {"freshness": self.state, **{key: value for key, value in named.items() if value}}


@dataclass(frozen=True, slots=True)
class SourceLines:
    """Lines of a source that a page points at; ``path`` is relative to the workspace."""

    path: str
    first: int
    last: int
    symbol: str = ""

    @property
    def anchor(self) -> str:
        """The form that pages use."""
        return anchor_text(self.path, self.first, self.last)

    def to_json(self, workspace: Workspace, *, links: bool) -> dict[str, Any]:
        """Return the JSON form; with ``links`` also as an address of this machine."""
        root = workspace.workspace_root
        link = anchor_url(root, self.path, self.first, self.last) if links else None
        found = {"anchor": self.anchor, "symbol": self.symbol or None, "link": link}
        return {key: value for key, value in found.items() if value}


def freshness(workspace: Workspace, manifest: Manifest | None, page: Page) -> Freshness:
    """Compare the sources of a page on disk with those it was compiled from; unknown without a record."""
    entry = next((item for item in manifest.pages if item.page == page.path), None) if manifest else None
    known = {source.path: source.sha256 for source in entry.sources} if entry else {}
    named = dict.fromkeys(
        path
        for source in page.head.sources
        if not source.retired and (path := source_path(workspace, page.path, source.resource))
    )
    folders = {item.path: item.sha256 for item in manifest.folders} if manifest else {}
    hashes = {path: _hash(workspace, path, folders) for path in dict.fromkeys((*known, *named))}
    gone = tuple(path for path, digest in hashes.items() if digest is None)
    changed = tuple(path for path, was in known.items() if hashes[path] not in (None, was))
    state: State = "current"
    if gone:
        state = "source gone"
    elif changed:
        state = "stale"
    elif not known:
        state = "unknown"
    return Freshness(state, changed, gone)


def source_lines(workspace: Workspace, manifest: Manifest | None, page: Page) -> list[SourceLines]:
    """Return the lines of sources that a page points at, as last refreshed, else as written; some at most."""
    recorded = [item for item in manifest.anchors if item.page == page.path] if manifest else []
    found = [_recorded(item) for item in recorded] or list(_written(workspace, page))
    return list(dict.fromkeys(found))[:_MOST_ANCHORS]


def page_facts(
    workspace: Workspace, manifest: Manifest | None, page: Page, *, links: bool
) -> Mapping[str, Any]:
    """Return what an answer says of a page beside its text."""
    return {
        "page": page.path,
        "title": page.title,
        "type": page.head.type or None,
        "category": page.category or None,
        "status": page.head.status or None,
        "description": page.head.description or None,
        **freshness(workspace, manifest, page).to_json(),
        "anchors": [item.to_json(workspace, links=links) for item in source_lines(workspace, manifest, page)],
    }


def _recorded(item: AnchorEntry) -> SourceLines:
    return SourceLines(item.at or item.path, item.start, item.end, item.symbol or "")


def _written(workspace: Workspace, page: Page) -> Iterator[SourceLines]:
    """Find anchors in the text: relative to the project, or as a link relative to the page."""
    for match in _ANCHOR.finditer(page.text):
        written = match["path"]
        linked = link_target(page.path, written)
        wanted = [written, source_path(workspace, page.path, written) if linked else None]
        path = next((path for path in wanted if path and _hash(workspace, path) is not None), None)
        if path is not None:
            yield SourceLines(path, int(match["first"]), int(match["last"] or match["first"]))


def _hash(workspace: Workspace, path: str, folders: Mapping[str, str] | None = None) -> str | None:
    """Return the hash of a source, of a folder the one that was last recorded in ``folders``.

    None when it is not there or leaves the workspace.
    """
    try:
        place = workspace.inside(path)
        if place.is_dir():
            return (folders or {}).get(path)
        with place.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, AccessDenied):
        return None
