"""What lint repairs by itself, in a compiled wiki alone: leftover wikilinks, moved anchors, drifted indexes.

Anchors and indexes are brought in line by a refresh, which moves an anchor only where its lines stand in one
place. A wikilink is rewritten only where it leads to exactly one page or file. All of it is one change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from wikimcp.authoring.lint_compiled import leftover_wikilinks
from wikimcp.authoring.okf import relative_link
from wikimcp.authoring.pages import DiskFiles, read_page
from wikimcp.authoring.refresh import refresh_wiki, refresh_within, scan_sources
from wikimcp.authoring.wiki_pass import in_one_change
from wikimcp.authoring.workspace import Workspace
from wikimcp.authoring.writing import FileChange, Transaction
from wikimcp.index.page_record import PageRecord
from wikimcp.index.view import Reading
from wikimcp.markdown.anchors import anchor
from wikimcp.models import Link, LinkKind

_WIKILINK = re.compile(r"!?\[\[[^\[\]\n]+\]\]")


@dataclass(frozen=True, slots=True)
class PageRewrites:
    """What is rewritten in one page: places of its text, and the content hash it must still have."""

    content_hash: str
    edits: tuple[tuple[int, int, str], ...]


@dataclass(frozen=True, slots=True)
class FixReport:
    """What was repaired, or would be in a dry run: links, anchors, and the files that this changes.

    ``waiting`` are the pages that keep their wikilinks until they are filed again.
    """

    links: int
    anchors: int
    changes: tuple[FileChange, ...]
    dry_run: bool
    waiting: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "dry_run": self.dry_run,
            "links": self.links,
            "anchors": self.anchors,
            "waiting": list(self.waiting),
            "changes": [change.to_json() for change in self.changes],
        }


Rewrites = Mapping[str, PageRewrites]
Examine = Callable[[Callable[[Reading], Rewrites]], Rewrites]


def fix_wiki(workspace: Workspace, examine: Examine) -> FixReport:
    """Repair what is safe; with ``workspace.dry_run`` only tell it.

    Raises Conflict when a page is edited meanwhile, WikiError when the disk refuses; nothing is changed then.
    """
    workspace.require_wiki()
    wanted, stale = examine(relative_links), _waiting(workspace)
    rewrites = {path: page for path, page in wanted.items() if path not in stale}
    waiting = tuple(sorted(wanted.keys() & stale))
    tree = scan_sources(workspace).tree

    def work(change: Transaction) -> FixReport:
        for path, page in rewrites.items():
            text = change.read_text(path)
            if text is not None:
                change.write(path, _rewritten(text, page), expect=page.content_hash)
        links = sum(len(page.edits) for page in rewrites.values())
        told = [("Lint", f"{links} wikilinks written as relative links.")] if links else []
        report = refresh_within(change, tree, told=told)
        return FixReport(links, len(report.reanchored), change.changes, workspace.dry_run, waiting)

    return in_one_change(workspace, work)


def _waiting(workspace: Workspace) -> frozenset[str]:
    """Return the pages that wait to be filed again and would seem to be, were their text another.

    A page that says when it was made (``generated.at``) is filed again when it says another time.
    """
    files = DiskFiles(workspace)
    stale = refresh_wiki(replace(workspace, dry_run=True)).stale
    pages = (page for path in stale if (page := read_page(files, path)) is not None)
    return frozenset(page.path for page in pages if page.head.generated is None or not page.head.generated.at)


def relative_links(reading: Reading) -> Rewrites:
    """Return what to write in place of the wikilinks that lead to one page or file."""
    found: dict[str, PageRewrites] = {}
    for page in reading.pages:
        text = reading.passing_text(page)
        edits = tuple(
            edit
            for link in leftover_wikilinks(reading, page, text)
            if (edit := _edit(reading, page, text, link)) is not None
        )
        if edits:
            found[page.path] = PageRewrites(page.content_hash, edits)
    return found


def _edit(reading: Reading, page: PageRecord, text: str, link: Link) -> tuple[int, int, str] | None:
    written = _WIKILINK.match(text, link.start)
    resolved = reading.view.links.resolve(link, page)
    if written is None or resolved.ambiguous or link.fragment.startswith("^"):
        return None
    target = reading.view.names.slugs.get(resolved.slug)
    path = target.path if target is not None else resolved.attachment
    label = " ".join((link.label or _own_name(link)).split())
    if not path or any(mark in label for mark in "[]\\|"):
        return None
    where = "" if path == page.path and link.fragment else relative_link(page.path, path)
    fragment = f"#{anchor(link.fragment.rpartition('#')[2])}" if link.fragment else ""
    picture = "!" if link.kind is LinkKind.ATTACHMENT and written[0].startswith("!") else ""
    return written.start(), written.end(), f"{picture}[{label}]({where}{fragment})"


def _own_name(link: Link) -> str:
    """Return what a reader sees of a wikilink without a label."""
    return (
        f"{link.target} > {link.fragment}" if link.target and link.fragment else link.target or link.fragment
    )


def _rewritten(text: str, page: PageRewrites) -> str:
    for start, end, written in reversed(page.edits):
        text = text[:start] + written + text[end:]
    return text
