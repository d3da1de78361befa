"""The one writer: applies changes to ledger, lexical index and catalog as one new generation.

The order matters. The ledger first: it may run ahead, it counts by content. Then the lexical
commit, then the catalog commit, both carrying the generation's number, so that a reader can tell
when they do not belong together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain

from wikimcp.citations.anchors import SourceRoots
from wikimcp.index.changes import Changes, surely_gone
from wikimcp.index.folder import IndexFolder
from wikimcp.index.ledger import Ledger, Sighting
from wikimcp.index.page_record import PageRecord, Row, page_row
from wikimcp.index.parse_pool import prepare_all
from wikimcp.index.pins import CitingPage, Names, cites, new_pins
from wikimcp.index.prepare import Prepared, Skipped
from wikimcp.index.records import BODY_COLUMNS, SkippedFile
from wikimcp.models import Scan
from wikimcp.ports import AnalyzedPage, VaultAdapter

Progress = Callable[[str, int, int], None]
_BATCH = 256
_LINKS_AT, _FRONTMATTER_AT = map(BODY_COLUMNS.index, ("links", "frontmatter"))


@dataclass(slots=True)
class Applied:
    """What an apply did: the records to put into and to take out of the snapshot."""

    generation: int
    added: list[PageRecord] = field(default_factory=list)
    removed: list[PageRecord] = field(default_factory=list)
    restamped: list[PageRecord] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    citing: list[CitingPage] = field(default_factory=list)

    @property
    def moved_on(self) -> bool:
        """Whether any content changed, so that a new generation was committed."""
        return bool(self.added or self.removed)


class IndexWriter:
    """Writes one index folder. Used under the write lock only."""

    def __init__(
        self,
        *,
        adapter: VaultAdapter,
        folder: IndexFolder,
        ledger: Ledger,
        sources: SourceRoots | None = None,
        number: Callable[[PageRecord], int] | None = None,
    ) -> None:
        self._adapter = adapter
        self._folder = folder
        self._catalog = folder.catalog
        self._ledger = ledger
        self._sources = sources
        self._number = number

    def apply(
        self,
        changes: Changes,
        known: Mapping[str, PageRecord],
        *,
        scan: Scan | None = None,
        complete: bool = True,
        fresh: bool = False,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> Applied:
        """Read the changed files and commit one generation; nothing is committed for mere touches.

        ``known`` are all records by path. ``scan`` is the full walk behind the changes (None for a
        partial refresh). ``complete`` false marks a first build that is not at its end.
        """
        with self._catalog.transaction():
            applied = Applied(self._catalog.generation())
            next_rev = self._catalog.next_rev()
            hidden: list[AnalyzedPage] = []
            source = prepare_all(
                self._adapter, changes.read, analyze=self._folder.lexical.analysis, workers=workers
            )
            pages = self._store(source, known, applied, next_rev, hidden, progress, total=len(changes.read))
            gone = list(changes.removed)
            self._ledger.retire(record.path for record in gone)  # first: what comes may be what went
            if not fresh and len(changes.read) <= _BATCH:
                pages = iter(list(pages))  # a big batch goes through: only its pages in hand are held
            first = next(pages, None)  # whether anything changed is known once there is a page, or none
            if fresh or first or hidden or gone or applied.moved_on:
                source_pages = pages if first is None else chain((first,), pages)
                self._commit_lexical(source_pages, gone, applied, hidden, fresh=fresh)
            applied.removed += gone
            self._ledger.retire(item.path for item in applied.skipped if item.gone)
            self._catalog.remove(record.rev for record in gone)
            self._catalog.restamp((record.rev, record.stamp) for record in applied.restamped)
            self._note_skipped(scan, changes, applied)
            if applied.added:
                self._pin(applied)
            if applied.moved_on or fresh:
                applied.generation += 1
                self._catalog.set_meta(
                    generation=applied.generation,
                    next_rev=next_rev + len(applied.added),
                    complete=int(complete),
                    indexed_at=datetime.now(UTC).isoformat(timespec="seconds"),
                )
        return applied

    def retire_absent(self, scan: Scan) -> None:
        """Note in the ledger which pages went while no index could tell: one that turns up elsewhere goes on.

        A page that a walk leaves out may be one of servers with other settings: its file decides.
        """
        present = {stamp.path for stamp in scan.files}
        root = self._adapter.source_root
        others = [path for path in self._ledger.paths() if path not in present]
        if present:  # else the vault looks empty, which tells nothing of its pages
            self._ledger.retire(path for path in others if surely_gone(root / path))

    def _commit_lexical(
        self,
        pages: Iterable[AnalyzedPage],
        gone: Sequence[PageRecord],
        applied: Applied,
        hidden: list[AnalyzedPage],
        *,
        fresh: bool,
    ) -> None:
        generation = applied.generation + 1
        # The replaced revs are known only when the pages have been read: a lazy iterator.
        removed = _Removed(gone, applied)
        self._folder.lexical.write(generation=generation, removed=removed, added=pages, fresh=fresh)
        beside = self._folder.make_hidden() if hidden else self._folder.hidden
        if beside is not None:
            beside.write(generation=generation, removed=removed, added=hidden, fresh=fresh)

    def _store(
        self,
        source: Iterable[Prepared | Skipped],
        known: Mapping[str, PageRecord],
        applied: Applied,
        next_rev: int,
        hidden: list[AnalyzedPage],
        progress: Progress | None,
        *,
        total: int,
    ) -> Iterator[AnalyzedPage]:
        """Store prepared pages in the catalog and yield those that everybody may see."""
        done = 0
        for batch in _batches(source):
            fresh = self._sort_out(batch, known, applied)
            versions = self._versions(fresh)
            page_rows: list[Row] = []
            body_rows: list[Row] = []
            replaced: list[int] = []
            ready: list[AnalyzedPage] = []
            for item in fresh:
                path = item.record.path
                rev = next_rev + len(applied.added)
                record = replace(item.record, rev=rev, version=item.record.version or versions[path])
                old = known.get(path)
                if old is not None:
                    applied.removed.append(old)
                    replaced.append(old.rev)
                applied.added.append(record)
                page_rows.append(page_row(record))
                body_rows.append((rev, *item.body[1:]))
                if cites(links := item.body[_LINKS_AT]):
                    applied.citing.append(CitingPage(path, links, item.body[_FRONTMATTER_AT]))
                if record.public:
                    ready.append(replace(item.lexical, rev=rev))
                elif self._folder.keeps(record):
                    hidden.append(replace(item.lexical, rev=rev))
            self._catalog.remove(replaced)
            self._catalog.add(page_rows, body_rows)
            done += len(batch)
            if progress:
                progress("reading", done, total)
            yield from ready

    def _sort_out(
        self, batch: Sequence[Prepared | Skipped], known: Mapping[str, PageRecord], applied: Applied
    ) -> list[Prepared]:
        """Set aside what was skipped or only touched; return what has new content."""
        fresh = []
        for item in batch:
            if isinstance(item, Skipped):
                applied.skipped.append(item)
                old = known.get(item.path)
                if old is not None:
                    applied.removed.append(old)
                    self._catalog.remove([old.rev])
                continue
            old = known.get(item.record.path)
            if old is not None and same_content(old, item.record):
                stamp = item.record.stamp
                applied.restamped.append(
                    replace(old, mtime_ns=stamp.mtime_ns, size=stamp.size, inode=stamp.inode)
                )
            else:
                fresh.append(item)
        return fresh

    def _versions(self, fresh: Sequence[Prepared]) -> dict[str, int]:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        pages = ((item.record, item.declared_id) for item in fresh)
        return self._ledger.record(
            Sighting(page.path, page.canonical_id, declared, page.content_hash, now)
            for page, declared in pages
        )

    def _pin(self, applied: Applied) -> None:
        """Note the versions of what the new pages cite, and those of new pages that citations waited for."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        pins = new_pins(
            applied.citing,
            known=self._ledger.pinned,
            names=lambda names: self._names(self._catalog.public_pages(names)),
            sources=self._sources,
            at=now,
        )
        self._ledger.pin(pins, self._names(applied.added), now)

    def _names(self, pages: Iterable[PageRecord]) -> Names:
        number = self._number
        for page in pages:
            if not page.public:  # nobody shall learn from a pin how often a withheld page changed
                continue
            version = number(page) if number else page.version
            yield page.canonical_id, page.slug, page.path, version, page.content_hash

    def _note_skipped(self, scan: Scan | None, changes: Changes, applied: Applied) -> None:
        """Bring the list of files that are not served in line; nothing is written where it stays."""
        before = self._catalog.skipped()
        seen = {*changes.read, *changes.absent, *(record.path for record in applied.removed)}
        kept = [file for file in before if file.path not in seen]
        if scan is not None:
            kept = skipped_by_walk(scan, kept)
        found = [SkippedFile(s.path, s.diagnostic, s.stamp) for s in applied.skipped if not s.gone]
        now = sorted((*kept, *found), key=_skipped_order)
        if now != before:
            self._catalog.set_skipped(now)


class _Removed:
    """The revs that leave the lexical index, read after the additions have been made."""

    def __init__(self, gone: Sequence[PageRecord], applied: Applied) -> None:
        self._gone = gone
        self._applied = applied

    def __iter__(self) -> Iterator[int]:
        yield from (record.rev for record in self._gone)
        yield from (record.rev for record in self._applied.removed)


def skipped_by_walk(scan: Scan, before: Sequence[SkippedFile]) -> list[SkippedFile]:
    """Return the files that are not served after a walk that asks for no file to be read, in order.

    ``before`` are those of the last time, of which files that could not be read stay while they are there.
    """
    read_before = [file for file in before if file.stamp is not None]
    if read_before:
        present = {stamp.path for stamp in scan.files}
        read_before = [file for file in read_before if file.path in present]
    walked = [SkippedFile(path, why) for path, why in scan.diagnostics]
    return sorted((*read_before, *walked), key=_skipped_order)


def _skipped_order(file: SkippedFile) -> tuple[str, str]:
    return file.path, file.why.code


def same_content(old: PageRecord, new: PageRecord) -> bool:
    """Whether a file that was touched reads as before.

    The file time is not content: a page without a date of its own keeps the time of its last edit.
    """
    return old.content_hash == new.content_hash and old.encoding == new.encoding


def _batches(source: Iterable[Prepared | Skipped]) -> Iterator[list[Prepared | Skipped]]:
    batch: list[Prepared | Skipped] = []
    for item in source:
        batch.append(item)
        if len(batch) >= _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
