"""Making an index from nothing: slice by slice, so that the first answers need not wait for the last file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from wikimcp.index.catalog import uncollected
from wikimcp.index.changes import Changes
from wikimcp.index.folder import IndexFolder, Loaded
from wikimcp.index.parse_pool import POOL_FROM, spare_workers
from wikimcp.index.snapshot import Snapshot
from wikimcp.index.writer import Applied, IndexWriter
from wikimcp.layers import Layered
from wikimcp.models import Scan

_FIRST_SLICE = 2_000  # files of a first build that are published before the rest
Tell = Callable[[str, int], None]


def fill(
    opened: IndexFolder, scan: Scan, *, writer: IndexWriter, ledger: Path, tell: Tell
) -> Iterator[Snapshot]:
    """Fill an empty index; yield the snapshot after each slice, the last of which is complete.

    ``tell`` hears of the stage and the number of files done.
    """
    paths = [stamp.path for stamp in scan.files]
    slices = [paths[:_FIRST_SLICE], paths[_FIRST_SLICE:]] if len(paths) > _FIRST_SLICE else [paths]
    snapshot = Snapshot(
        generation=0,
        records=Layered({}),
        catalog=opened.catalog,
        ledger=ledger,
        searcher=opened.lexical.searcher(),
        attachments=scan.attachments,
        complete=False,
    )
    done = 0

    def progress(stage: str, at: int, _: int) -> None:
        tell(stage, done + at)

    for number, part in enumerate(slices):
        last = number == len(slices) - 1
        with uncollected():
            applied = writer.apply(
                Changes(tuple(part), ()),
                {},
                scan=scan if last else None,
                complete=last,
                fresh=number == 0,
                workers=spare_workers() if len(paths) >= POOL_FROM else 0,
                progress=progress,
            )
        done += len(part)
        snapshot = snapshot_after(applied, snapshot, opened, complete=last)
        yield snapshot


def snapshot_after(
    applied: Applied, before: Snapshot, opened: IndexFolder, *, complete: bool = True
) -> Snapshot:
    """Return the snapshot after a write to an index."""
    moved = applied.generation != before.generation
    return before.changed(
        removed=applied.removed,
        added=[*applied.added, *applied.restamped],
        generation=applied.generation,
        searcher=opened.lexical.searcher() if moved else before.searcher,
        hidden=opened.hidden.searcher() if opened.hidden and moved else before.hidden,
        complete=complete,
    )


def snapshot_loaded(
    opened: IndexFolder, loaded: Loaded, *, ledger: Path, attachments: frozenset[str]
) -> Snapshot:
    """Return the snapshot of what was read from disk."""
    return Snapshot(
        generation=loaded.generation,
        records=Layered({record.path: record for record in loaded.records}),
        catalog=opened.catalog,
        ledger=ledger,
        searcher=loaded.searcher,
        hidden=loaded.hidden,
        complete=loaded.complete,
        attachments=attachments,
    )
