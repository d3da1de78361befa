"""One pass over all pages of the wiki, inside of a change: what refreshing, retiring and repointing share.

Pages are compiled against a state of the sources; then indexes, the queue of contradictions and the log
follow, and the manifest comes last. A manifest that says the same as before keeps its time, so that nothing
is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from wikimcp.authoring.compiling import Compiled, Moves, PageCompiler
from wikimcp.authoring.contradictions import (
    Contradiction,
    contradictions,
    for_everybody,
    is_ours,
    queue_page,
    write_queue,
)
from wikimcp.authoring.dependents import dependents
from wikimcp.authoring.laps import Laps
from wikimcp.authoring.log import add_entry
from wikimcp.authoring.manifest import Manifest, save_manifest
from wikimcp.authoring.merkle import Tree
from wikimcp.authoring.pages import QUEUE, Page, list_pages, page_paths, regenerate_indexes
from wikimcp.authoring.refresh_report import AffectedPage, Note
from wikimcp.authoring.scanning import Progress
from wikimcp.authoring.source_files import SourceFiles
from wikimcp.authoring.workspace import Workspace
from wikimcp.authoring.writing import Transaction, decoded, transaction
from wikimcp.errors import Conflict, WikiError

_ATTEMPTS = 3
Result = TypeVar("Result")


def in_one_change(workspace: Workspace, work: Callable[[Transaction], Result]) -> Result:
    """Do some work as one change; again when somebody without the lock wrote one of its files meanwhile.

    Raises Conflict when that happens time after time, and what ``transaction`` raises.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            with transaction(workspace) as change:
                return work(change)
        except Conflict:
            continue
    with transaction(workspace) as change:
        return work(change)


@dataclass(frozen=True, slots=True)
class Passed:
    """What a pass found: all pages as compiled, whom they concern, what does not agree, what was odd.

    ``queued`` counts the contradictions that everybody may know of: those in the queue.
    """

    compiled: tuple[Compiled, ...]
    dependents: tuple[str, ...]
    contradictions: tuple[Contradiction, ...]
    queued: int
    notes: tuple[Note, ...]

    @property
    def affected(self) -> tuple[AffectedPage, ...]:
        """The pages whose sources changed."""
        return tuple(AffectedPage(item.page.path, item.affected) for item in self.compiled if item.affected)

    @property
    def stale(self) -> tuple[str, ...]:
        """The pages whose sources changed since they were filed."""
        return tuple(item.page.path for item in self.compiled if item.stale)


def compile_pages(
    change: Transaction,
    manifest: Manifest,
    tree: Tree,
    *,
    changed: Iterable[str] = (),
    moves: Moves | None = None,
    full: bool = False,
    progress: Progress | None = None,
    laps: Laps | None = None,
) -> Passed:
    """Compile all pages and plan what is to be written of them, of the indexes and of the queue."""
    laps = laps or Laps()
    sources = SourceFiles(change.workspace, tree)
    compiler = PageCompiler(change.workspace, sources, manifest, changed=changed, moves=moves, full=full)
    pages = list_pages(change)
    compiled: list[Compiled] = []
    notes = [Note("", "interrupted_change", note) for note in change.notes]
    missing = sorted({*page_paths(change)} - {page.path for page in pages})
    notes += [Note(path, "page_unreadable", "the page cannot be read") for path in missing]
    for done, page in enumerate(pages):
        if progress:
            progress("pages", done, len(pages))
        if (fault := _unreadable(change, page)) is not None:
            notes.append(Note(page.path, "page_unreadable", fault.message))
            continue
        result = compiler.compile(page)
        if result.text != page.text:
            change.write(page.path, result.text, expect=page.content_hash)
        compiled.append(result)
        notes += [Note(page.path, odd.code, odd.message, odd.line) for odd in result.notes]
    if progress and pages:
        progress("pages", len(pages), len(pages))
    laps.lap("pages")
    regenerate_indexes(change, pages)  # what was written of them is in no index
    found = contradictions(compiled)
    queued = for_everybody(found, (item.page for item in compiled))
    write_queue(change, queued)
    if (queue := queue_page(change)) is not None and not is_ours(queue):
        notes.append(Note(QUEUE, "queue_not_ours", "somebody else's page is in the place of the queue"))
    notes += [Note(where, odd.code, odd.message) for where, odd in sorted(sources.notes.items())]
    concerned = dependents(pages, [item.page.path for item in compiled if item.affected])
    laps.lap("indexes")
    return Passed(tuple(compiled), tuple(concerned), tuple(found), len(queued), tuple(notes))


def save_pass(
    change: Transaction,
    stored: Manifest,
    after: Manifest,
    passed: Passed,
    *,
    log: Iterable[tuple[str, str]],
    laps: Laps,
) -> None:
    """Plan the entries of the log (verb, message) and, at the very end, the manifest.

    ``stored`` is the manifest as it lies on the disk: what a verb changed of it beforehand is to be written.
    """
    kept = {item.page.path for item in passed.compiled}
    unread = {note.where for note in passed.notes if note.code == "page_unreadable"}
    entries = [item.entry for item in passed.compiled]
    entries += [entry for entry in stored.pages if entry.page in unread - kept]
    anchors = [anchor for item in passed.compiled for anchor in item.anchors]
    anchors += [anchor for anchor in stored.anchors if anchor.page in unread - kept]
    after = replace(
        after,
        compiled_at=stored.compiled_at,
        pages=tuple(sorted(entries, key=lambda entry: entry.page)),
        anchors=tuple(sorted(anchors, key=lambda item: (item.page, item.path, item.start, item.end))),
    )
    for verb, message in log:
        add_entry(change, verb, message)
    laps.lap("indexes")
    if after != stored:
        save_manifest(change, replace(after, compiled_at=change.workspace.now()))
    laps.lap("manifest write")


def _unreadable(change: Transaction, page: Page) -> WikiError | None:
    """Return why a page cannot be edited without losing a byte of it; None when it can."""
    if "\ufffd" not in page.text:
        return None
    try:
        decoded(change.read(page.path) or b"", page.path)
    except WikiError as fault:
        return fault
    return None
