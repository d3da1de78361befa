"""What a walk over the vault means for the index: pure comparison of a scan with the records."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from wikimcp.errors import WikimcpError
from wikimcp.index.page_record import PageRecord
from wikimcp.index.prepare import changed
from wikimcp.models import FileStamp, Scan
from wikimcp.ports import VaultAdapter

_SAMPLE = 20  # pages that are looked for before others are taken to be deleted
LOOKS_EMPTY = "the vault looks empty; its pages are kept until they can be seen again"


@dataclass(frozen=True, slots=True)
class Changes:
    """Files to read (new, or with another stamp) and records whose file is gone.

    ``degraded`` says why pruning was stopped: the vault looks empty or is partly unreadable.
    ``absent`` are paths that were asked for and are neither files nor pages of the index.
    """

    read: tuple[str, ...]
    removed: tuple[PageRecord, ...]
    degraded: str = ""
    absent: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.read or self.removed)


def compare(
    scan: Scan, known: Mapping[str, PageRecord], skipped: Mapping[str, FileStamp] = MappingProxyType({})
) -> Changes:
    """Compare a full walk with all records, and with the stamps of files that could not be served.

    An empty walk over a vault that had pages prunes nothing (an unmounted drive looks like that),
    nor does a folder that could not be listed prune what lies below it.
    """
    read = []
    there = 0
    for stamp in scan.files:
        old = known.get(stamp.path)
        if old is None:
            if skipped.get(stamp.path) != stamp:
                read.append(stamp.path)
            continue
        there += 1
        if old.mtime_ns != stamp.mtime_ns or old.size != stamp.size or old.inode != stamp.inode:
            read.append(stamp.path)
    removed = []
    if there != len(known):
        present = {stamp.path for stamp in scan.files}
        removed = [record for path, record in known.items() if path not in present]
    if len(removed) > 1 and not scan.files:  # a single page may well have been deleted
        return Changes((), (), LOOKS_EMPTY)
    if scan.unread:
        kept = tuple(f"{folder}/" for folder in scan.unread)
        removed = [record for record in removed if not record.path.startswith(kept)]
        return Changes(tuple(read), tuple(removed), f"{len(scan.unread)} folders cannot be listed")
    return Changes(tuple(read), tuple(removed))


def compare_some(
    stamps: Mapping[str, FileStamp | None], known: Mapping[str, PageRecord], *, reread: bool = False
) -> Changes:
    """Compare single files: None stands for a file that is gone.

    ``reread`` reads a file again even when its stamp is as before: reading showed other content.
    """
    read = []
    removed = []
    absent = []
    for path, stamp in stamps.items():
        old = known.get(path)
        if stamp is None:
            if old is not None:
                removed.append(old)
            else:
                absent.append(path)
        elif reread or old is None or changed(old, stamp):
            read.append(path)
    return Changes(tuple(read), tuple(removed), absent=tuple(absent))


def others_there(adapter: VaultAdapter, gone: Collection[str], known: Iterable[str]) -> bool:
    """Whether pages seem to be gone by themselves, and not with their folder or the whole vault.

    Looks for some of the ``known`` paths that should still be there.
    """
    if any(_unreachable(adapter.source_root / path) for path in gone):
        return False
    others = (path for path in known if path not in gone)
    return any(adapter.stat(path) is not None for path in islice(others, _SAMPLE))


def surely_gone(path: Path) -> bool:
    """Whether there is no file; one of which that cannot be told is not gone."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False


def _unreachable(path: Path) -> bool:
    """Whether it cannot be told if a file is there: could not read is never does not exist."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return False


def other_content(
    adapter: VaultAdapter,
    known: Collection[PageRecord],
    *,
    report: Callable[[str, int, int], None] | None = None,
) -> list[str]:
    """Return the paths of files that hold something else than what was indexed, whatever their stamps say."""
    found = []
    for number, record in enumerate(known, start=1):
        try:
            same = adapter.read(record.path).content_hash == record.content_hash
        except (OSError, WikimcpError):
            same = False
        if not same:
            found.append(record.path)
        if report is not None:
            report("verifying", number, len(known))
    return found
