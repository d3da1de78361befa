"""What a refresh found and did, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from wikimcp.authoring.compiling import AnchorDrift
from wikimcp.authoring.contradictions import Contradiction
from wikimcp.authoring.coverage import Gap
from wikimcp.authoring.merkle import TreeDiff
from wikimcp.authoring.writing import FileChange


@dataclass(frozen=True, slots=True)
class AffectedPage:
    """A page with those of its sources that changed since the last refresh."""

    page: str
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Note:
    """Something odd that was met: where (a source, or a page), a code, a sentence, the line or 0."""

    where: str
    code: str
    message: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class RefreshReport:
    """What a refresh found and did. Sources are named relative to the workspace, pages relative to the wiki.

    ``changes`` are the files of the wiki that were written, or would be in a dry run, then with their
    diffs. ``stale`` are pages whose sources changed since they were filed; ``gaps`` are folders without a
    page. ``hashed`` counts the sources that were read; ``seconds`` are those of the parts, in their order.
    """

    sources: int
    pages: int
    diff: TreeDiff = field(default_factory=TreeDiff)
    affected: tuple[AffectedPage, ...] = ()
    dependents: tuple[str, ...] = ()
    anchors: tuple[AnchorDrift, ...] = ()
    stale: tuple[str, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    gaps: tuple[Gap, ...] = ()
    notes: tuple[Note, ...] = ()
    changes: tuple[FileChange, ...] = ()
    first: bool = False
    dry_run: bool = False
    hashed: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def status(self) -> str:
        """``compiled`` for the first one, ``refreshed`` when anything was written, else ``clean``."""
        return "compiled" if self.first else "refreshed" if self.changes else "clean"

    @property
    def reanchored(self) -> tuple[AnchorDrift, ...]:
        """The anchors that were rewritten in their pages."""
        return tuple(drift for drift in self.anchors if drift.rewritten)

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON, every list in full."""
        return {
            "status": self.status,
            "dry_run": self.dry_run,
            "sources": self.sources,
            "pages": self.pages,
            "added": list(self.diff.added),
            "modified": list(self.diff.modified),
            "deleted": list(self.diff.deleted),
            "moved": [{"from": old, "to": new} for old, new in self.diff.moved],
            "affected": [{"page": item.page, "sources": list(item.sources)} for item in self.affected],
            "dependents": list(self.dependents),
            "anchors": [asdict(drift) for drift in self.anchors],
            "stale": list(self.stale),
            "contradictions": [asdict(item) for item in self.contradictions],
            "gaps": [asdict(gap) for gap in self.gaps],
            "odd": [asdict(note) for note in self.notes],
            "changes": [change.to_json() for change in self.changes],
            "hashed": self.hashed,
            "seconds": {part: round(value, 4) for part, value in self.seconds.items()},
        }
