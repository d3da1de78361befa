"""Rules of a compiled wiki: its books, its format and its links into the sources, beside those of any vault.

What the books say is what a refresh would find and do: the same pass, as a dry run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from wikimcp.authoring.contradictions import SOURCE_GONE
from wikimcp.authoring.lint_places import Places
from wikimcp.authoring.lint_report import (
    CHANGED_SOURCE,
    DEAD_ANCHOR,
    GAP,
    INDEX_DRIFT,
    LEFTOVER_WIKILINK,
    MISSING_FIELDS,
    NOT_CONFORMING,
    PRUNED_SOURCE,
    Finding,
)
from wikimcp.authoring.manifest import load_manifest
from wikimcp.authoring.okf_check import check_okf
from wikimcp.authoring.pages import INDEX, DiskFiles, read_page
from wikimcp.authoring.refresh import refresh_wiki
from wikimcp.authoring.refresh_report import RefreshReport
from wikimcp.authoring.workspace import Area, Workspace
from wikimcp.authoring.writing import FileChange
from wikimcp.index.page_record import PageRecord
from wikimcp.index.view import Reading
from wikimcp.models import Link

_HUNK = re.compile(r"@@ -(\d+)")
_FIELDS = frozenset(("no-title", "no-description"))


@dataclass(frozen=True, slots=True)
class Books:
    """What was found without the index: findings, and how many anchors and index files there are."""

    workspace: Workspace
    findings: tuple[Finding, ...]
    anchors: int
    indexes: int

    def leads_beyond(self, page: PageRecord, link: Link) -> bool:
        """Whether a link that leads to no page of the wiki leads to a file or folder of the workspace."""
        root, wiki = self.workspace.workspace_root, self.workspace.wiki_root
        place = Path(os.path.normpath(wiki / os.path.dirname(page.path) / link.target))
        try:
            return place.is_relative_to(root) and place.exists()
        except (OSError, ValueError):
            return False


def read_books(workspace: Workspace) -> Books:
    """Look at sources, manifest, indexes and format. Nothing is written.

    Raises WikiError when there is no wiki or its manifest is broken.
    """
    report = refresh_wiki(replace(workspace, dry_run=True))
    manifest = load_manifest(workspace)
    known = len(manifest.anchors) if manifest else 0
    found = (*_books_findings(workspace, report), *_format_findings(workspace))
    indexes = sum(1 for _ in workspace.wiki_root.glob("*/" + INDEX)) + 1
    return Books(workspace, found, max(known, len(report.anchors)), indexes)


def _books_findings(workspace: Workspace, report: RefreshReport) -> Iterator[Finding]:
    for drift in report.anchors:
        hint = "`wikimcp lint --fix` follows it." if drift.rewritten else ""
        yield Finding(DEAD_ANCHOR, drift.page, drift.line, f"{drift.anchor!r}: {drift.why}", hint=hint)
    for item in report.contradictions:
        if item.kind == SOURCE_GONE:
            for place in item.evidence:
                yield Finding(PRUNED_SOURCE, place.page, place.line, f"{item.about!r} is gone")
    for path in report.stale:
        page = read_page(DiskFiles(workspace), path)
        line, _ = Places(page.text).of_key("sources") if page else (1, 0)
        yield Finding(CHANGED_SOURCE, path, line, "a source has changed since the page was filed")
    for gap in report.gaps:
        told = f"no page speaks of {gap.folder!r} ({gap.files} file{'' if gap.files == 1 else 's'})"
        yield Finding(GAP, INDEX, 1, told, hint="Write a page that names it among its sources.")
    for change in report.changes:
        if change.area is Area.WIKI and change.path.rpartition("/")[2] == INDEX:
            message = "the index is not what the frontmatter of its pages gives"
            yield Finding(INDEX_DRIFT, change.path, _first_changed_line(change), message)


def _first_changed_line(change: FileChange) -> int:
    """Return the first line, as the file is now, that a change would replace or follow."""
    line = 1
    for row in change.diff.splitlines()[2:]:
        if found := _HUNK.match(row):
            line = max(int(found[1]), 1)
        elif row.startswith(("-", "+")):
            return line
        else:
            line += 1
    return 1


def _format_findings(workspace: Workspace) -> Iterator[Finding]:
    for odd in check_okf(workspace.wiki_root).findings:
        if odd.level == "error":
            yield Finding(NOT_CONFORMING, odd.file, max(odd.line, 1), odd.message)
        elif odd.rule in _FIELDS:
            yield Finding(MISSING_FIELDS, odd.file, max(odd.line, 1), odd.message)


def wikilink_findings(reading: Reading, page: PageRecord, places: Places) -> Iterator[Finding]:
    """Yield the wikilinks in the text of a page of a compiled wiki."""
    for link in leftover_wikilinks(reading, page, places.text):
        line, column = places.at(link.start)
        yield Finding(LEFTOVER_WIKILINK, page.path, line, f"{link.target!r} is a wikilink", column)


def leftover_wikilinks(reading: Reading, page: PageRecord, text: str) -> Iterator[Link]:
    """Yield the links of a page's text (as it was indexed) that are written in double brackets."""
    for link in reading.view.body(page).links:
        if link.start >= 0 and not link.in_comment and text.startswith(("[[", "![["), link.start):
            yield link
