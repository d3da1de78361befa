"""Moves of pages that are in the work tree and not yet in a commit: which page at HEAD each of them was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from wikimcp.index.former import paths_now
from wikimcp.index.history import Counts
from wikimcp.index.page_record import PageRecord


def uncommitted_moves(
    records: Mapping[str, PageRecord],
    counts: Counts,
    *,
    ledger: Path | None,
    there: Callable[[str], bool],
) -> dict[str, str]:
    """Return the path at HEAD of each page that was moved since, by its path now.

    A page that is new was moved when the ledger saw it move, or when its content is that of a page at HEAD
    whose file is gone (``there`` tells). Of several with one content those of the same name go together.
    """
    gone = [path for path in counts.committed if path not in records and path in counts.commits]
    if not gone:
        return {}
    new = {path: page for path, page in records.items() if path not in counts.committed}
    if not new:
        return {}
    seen = paths_now(ledger, gone) if ledger is not None else {}
    moves = {now: path for path, now in seen.items() if now in new and not there(path)}
    left: dict[str, list[str]] = {}
    for path in sorted(set(gone) - set(moves.values())):
        for content in dict.fromkeys(counts.committed[path]):
            left.setdefault(content, []).append(path)
    for same_name in (True, False):
        for path in sorted(new.keys() - moves.keys()):
            for former in left.get(new[path].content_hash, ()):
                if (_file_name(former) == _file_name(path) or not same_name) and not there(former):
                    moves[path] = former
                    for content in dict.fromkeys(counts.committed[former]):
                        left[content].remove(former)
                    break
    return moves


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]
