"""The refresh: the wiki is brought in line with its sources, in all that can be told without thinking.

The sources are scanned first, without holding anybody up. Then, under the lock of the wiki, each page is
compiled against them, indexes, queue and log follow, and the manifest comes last; all of it is one change.
What was refreshed and is still so is not written again: not a byte. What is left to be thought about is
reported: stale pages, lines that changed, contradictions, folders without a page.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace

from wikimcp.authoring.compiling import Moves
from wikimcp.authoring.coverage import gaps
from wikimcp.authoring.laps import Laps
from wikimcp.authoring.manifest import FolderEntry, Manifest, RootEntry, manifest_of
from wikimcp.authoring.merkle import Tree, TreeDiff, compare
from wikimcp.authoring.refresh_report import Note, RefreshReport
from wikimcp.authoring.scanning import Progress, Scanned, ScanRules, scan
from wikimcp.authoring.stamps import load_stamps, save_stamps
from wikimcp.authoring.wiki_pass import Passed, compile_pages, in_one_change, save_pass
from wikimcp.authoring.workspace import Area, Workspace
from wikimcp.authoring.writing import Transaction
from wikimcp.errors import WikiError


def refresh_wiki(
    workspace: Workspace, *, full: bool = False, progress: Progress | None = None, laps: Laps | None = None
) -> RefreshReport:
    """Bring the wiki in line with its sources; ``full`` reads and compiles everything again.

    ``laps`` counts its time, for who wants to know more of it than the report tells.
    With ``workspace.dry_run`` nothing is written. Raises WikiError when there is no wiki, its manifest is
    broken or the disk refuses (then nothing was changed), TooLarge for too many sources, Refused for a
    secret, and Conflict when somebody kept writing the same pages.
    """
    workspace.require_wiki()
    laps = laps or Laps()
    scanned = scan_sources(workspace, full=full, progress=progress, laps=laps)

    def refresh(change: Transaction) -> RefreshReport:
        return refresh_within(change, scanned.tree, full=full, progress=progress, laps=laps)

    report = in_one_change(workspace, refresh)
    laps.lap("write")
    if scanned.fresh_stamps and not workspace.dry_run:
        save_stamps(workspace, scanned.stamped)
        laps.lap("stamps write")
    odd = tuple(Note(path, note.code, note.message, note.line) for path, note in scanned.notes)
    return replace(report, hashed=scanned.hashed, notes=(*odd, *report.notes), seconds=laps.seconds)


def scan_sources(
    workspace: Workspace, *, full: bool = False, progress: Progress | None = None, laps: Laps | None = None
) -> Scanned:
    """Scan the raw roots and what was staged. What the verbs themselves write is no source.

    That goes for the lock of the staging area, too, and for what is not yet complete there.
    """
    left_out = {str(Area.AGENTS_SKILLS), str(Area.CLAUDE_SKILLS)}
    if workspace.wiki_root.is_relative_to(workspace.workspace_root):
        left_out.add(workspace.wiki_root.relative_to(workspace.workspace_root).as_posix())
    folders = [root.folder for root in workspace.raw_roots]
    for folder in folders:
        if (workspace.workspace_root / folder).is_relative_to(workspace.wiki_root):
            raise WikiError(
                f"the raw root '{folder}' lies in the wiki itself", hint="Sources lie outside of the wiki."
            )
    staging = workspace.area_root(Area.STAGING)
    if staging.is_dir() and os.path.realpath(staging) == str(staging):
        folders.append(str(Area.STAGING))
    laps = laps or Laps()
    known = {} if full else load_stamps(workspace)
    laps.lap("stamps read")
    return scan(
        workspace.workspace_root,
        folders,
        known=known,
        rules=ScanRules(frozenset(left_out), dotless_folders=frozenset({str(Area.STAGING)})),
        progress=progress,
        laps=laps,
    )


def known_tree(manifest: Manifest, *, like: Tree | None = None) -> Tree:
    """Return the sources as they were at the last refresh; ``like`` is a tree that is much the same."""
    held = {"" if entry.path == "." else entry.path: entry.files for entry in manifest.folders}
    return Tree.of(held, like=like)


def refresh_within(
    change: Transaction,
    tree: Tree,
    *,
    before: Manifest | None = None,
    moves: Mapping[str, str] | None = None,
    told: Sequence[tuple[str, str]] = (),
    full: bool = False,
    progress: Progress | None = None,
    laps: Laps | None = None,
) -> RefreshReport:
    """Refresh the wiki inside of a change, against a scanned tree.

    ``before`` stands for the manifest as it is. ``moves`` are sources (old path, new path) that the caller
    says lie elsewhere; ``told`` are entries of the log (verb, message) that are written along.
    """
    workspace = change.workspace
    laps = laps or Laps()
    stored = manifest_of(change) or Manifest(profile=workspace.profile)
    laps.lap("manifest read")
    before = before or stored
    diff = compare(known_tree(before, like=tree), tree)
    laps.lap("tree")
    passed = compile_pages(
        change,
        before,
        tree,
        changed=_changed(diff),
        moves=Moves({**dict(diff.moved), **(moves or {})}, told=bool(moves)),
        full=full,
        progress=progress,
        laps=laps,
    )
    first = not before.roots
    worth_telling = bool(diff) or (bool(change.pending()) and not told)
    after = _with_tree(before, workspace, tree) if diff or first else before
    message = _message(diff, passed) if worth_telling else ""
    log = [("Compiled" if first else "Refreshed", message), *told]
    save_pass(change, stored, after, passed, log=[entry for entry in log if entry[1]], laps=laps)
    entries = [item.entry for item in passed.compiled]
    profile = after.profile if workspace.profile == "auto" else workspace.profile
    without_page = tuple(gaps(tree, entries, profile=profile))
    laps.lap("gaps")
    return RefreshReport(
        sources=len(tree),
        pages=len(passed.compiled),
        diff=diff,
        affected=passed.affected,
        dependents=passed.dependents,
        anchors=tuple(drift for item in passed.compiled for drift in item.drifts),
        stale=passed.stale,
        contradictions=passed.contradictions,
        gaps=without_page,
        notes=passed.notes,
        changes=change.changes,
        first=first,
        dry_run=workspace.dry_run,
    )


def _with_tree(manifest: Manifest, workspace: Workspace, tree: Tree) -> Manifest:
    """Return the manifest with another state of the sources."""
    roots = [RootEntry(root.folder, _sha256(tree, root.folder)) for root in workspace.raw_roots]
    nodes = sorted(tree.folders.items())
    folders = [FolderEntry(path or ".", node.sha256, node.files) for path, node in nodes]
    return replace(manifest, roots=tuple(roots), folders=tuple(folders))


def _sha256(tree: Tree, folder: str) -> str:
    node = tree.folders.get("" if folder == "." else folder)
    return node.sha256 if node else ""


def _changed(diff: TreeDiff) -> list[str]:
    return [*diff.added, *diff.modified, *diff.deleted, *(path for pair in diff.moved for path in pair)]


def _message(diff: TreeDiff, passed: Passed) -> str:
    """Say in one line what a refresh found."""
    sources = (
        (len(diff.added), "added"),
        (len(diff.modified), "modified"),
        (len(diff.deleted), "deleted"),
        (len(diff.moved), "moved"),
    )
    changed = ", ".join(f"{count} {word}" for count, word in sources if count) or "unchanged"
    moved = sum(drift.rewritten for item in passed.compiled for drift in item.drifts)
    parts = [
        f"sources {changed}",
        _count(len(passed.affected), "page affected", "pages affected"),
        _count(moved, "anchor moved along", "anchors moved along"),
        _count(passed.queued, "contradiction open", "contradictions open"),
    ]
    return "; ".join(part for part in parts if part) + "."


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}" if number else ""
