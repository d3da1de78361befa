"""The segments of a tantivy index as its ``meta.json`` tells them: deleted documents, merges to come.

The library tells neither, and both matter: its statistics count deleted documents until a merge
drops them, and a writer that is let go while it merges throws the work away.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

# The library's log merge policy, at its defaults.
_MERGED_FROM = 8
_SMALLEST_LEVEL = 10_000
_LEVEL_WIDTH = 0.75
_MOST_MERGED = 10_000_000


@dataclass(frozen=True, slots=True)
class Segments:
    """Documents and deleted documents of each segment of one commit."""

    documents: tuple[int, ...]
    deleted: tuple[int, ...]

    @classmethod
    def read(cls, folder: Path) -> Segments:
        """Read the segments of the newest commit. Raises OSError or ValueError."""
        meta = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        segments = meta["segments"]
        return cls(
            tuple(int(segment["max_doc"]) for segment in segments),
            tuple(int((segment.get("deletes") or {}).get("num_deleted_docs", 0)) for segment in segments),
        )

    @property
    def total(self) -> int:
        """Number of documents, deleted ones included: what the library's statistics count."""
        return sum(self.documents)

    @property
    def waste(self) -> float:
        """Share of documents that are deleted and lie in segments too large to be merged by small edits."""
        stays = (gone for n, gone in zip(self.documents, self.deleted, strict=True) if n >= _SMALLEST_LEVEL)
        return sum(stays) / self.total if self.total else 0.0

    def merge_due(self) -> bool:
        """Whether a commit of these segments starts a merge."""
        alive = [n - gone for n, gone in zip(self.documents, self.deleted, strict=True)]
        sizes = sorted((n for n in alive if n <= _MOST_MERGED), reverse=True)
        top, level = math.inf, 0
        for size in sizes:
            log_size = math.log2(max(size, _SMALLEST_LEVEL))
            if log_size < top - _LEVEL_WIDTH:
                top, level = log_size, 0
            level += 1
            if level >= _MERGED_FROM:
                return True
        return False
