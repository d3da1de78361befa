"""What a walk over the vault means for the index: pure comparison of a scan with the records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wikimcp.index.prepare import changed
from wikimcp.index.records import PageRecord
from wikimcp.models import FileStamp, Scan


@dataclass(frozen=True, slots=True)
class Changes:
    """Files to read (new, or with another stamp) and records whose file is gone.

    ``degraded`` says why pruning was stopped: the vault looks empty or is partly unreadable.
    """

    read: tuple[str, ...]
    removed: tuple[PageRecord, ...]
    degraded: str = ""

    def __bool__(self) -> bool:
        return bool(self.read or self.removed)


def compare(scan: Scan, known: Mapping[str, PageRecord]) -> Changes:
    """Compare a full walk with all records.

    An empty walk over a vault that had pages prunes nothing (an unmounted drive looks like that),
    nor does a folder that could not be listed prune what lies below it.
    """
    read = []
    present = set()
    for stamp in scan.files:
        present.add(stamp.path)
        old = known.get(stamp.path)
        if old is None or changed(old, stamp):
            read.append(stamp.path)
    removed = [record for path, record in known.items() if path not in present]
    if removed and not scan.files:
        return Changes((), (), "the vault looks empty; its pages are kept until they can be seen again")
    if scan.unread:
        kept = tuple(f"{folder}/" for folder in scan.unread)
        removed = [
            r for r in removed if not (r.path.startswith(kept) or "." in scan.unread or "" in scan.unread)
        ]
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
    for path, stamp in stamps.items():
        old = known.get(path)
        if stamp is None:
            if old is not None:
                removed.append(old)
        elif reread or old is None or changed(old, stamp):
            read.append(path)
    return Changes(tuple(read), tuple(removed))
