"""One index on disk: a folder with the catalog and the lexical indexes that belong to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wikimcp.index.catalog import Catalog
from wikimcp.index.records import PageRecord
from wikimcp.ports import LexicalIndex, LexicalSearcher

OpenLexical = Callable[[Path], LexicalIndex]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was read of a folder at one moment: all of one generation.

    ``records`` are those from the rev asked for on; ``revs`` are those of all pages.
    """

    generation: int
    complete: bool
    records: list[PageRecord]
    revs: list[int]
    searcher: LexicalSearcher
    hidden: LexicalSearcher | None


@dataclass(frozen=True, slots=True)
class IndexFolder:
    """The open parts of one index. ``hidden`` holds withheld pages where the operator allows drafts."""

    path: Path
    catalog: Catalog
    lexical: LexicalIndex
    hidden: LexicalIndex | None

    @classmethod
    def open(cls, path: Path, open_lexical: OpenLexical, *, keep_hidden: bool) -> IndexFolder:
        """Open an index. Raises StateError or OSError when a part of it cannot be opened."""
        return cls(
            path,
            Catalog(path / "catalog.sqlite"),
            open_lexical(path / "lexical"),
            open_lexical(path / "hidden") if keep_hidden else None,
        )

    @classmethod
    def create(
        cls, path: Path, open_lexical: OpenLexical, *, keep_hidden: bool, meta: dict[str, str]
    ) -> IndexFolder:
        """Make an empty index in an empty folder. Raises StateError when the disk refuses."""
        Catalog.create(path / "catalog.sqlite", meta).close()
        return cls.open(path, open_lexical, keep_hidden=keep_hidden)

    def load(self, *, since: int = 0) -> Loaded | None:
        """Read pages from rev ``since`` on, with searchers of the same generation.

        None when catalog and lexical indexes do not belong together: a writer is between its commits,
        or died there.
        """
        meta, records, revs = self.catalog.pages(since=since)
        searcher = self.lexical.searcher()
        hidden = self.hidden.searcher() if self.hidden is not None else None
        generation = int(meta["generation"])
        if any(part.generation != generation for part in (searcher, hidden) if part is not None):
            return None
        return Loaded(generation, meta.get("complete") == "1", records, revs, searcher, hidden)

    def whole(self) -> bool:
        """Whether catalog and lexical indexes belong together; true for sure only under the write lock."""
        generation = self.catalog.generation()
        parts = (self.lexical, self.hidden)
        return all(part.searcher().generation == generation for part in parts if part is not None)

    def close(self) -> None:
        """Close files and connections."""
        self.catalog.close()
        self.lexical.close()
        if self.hidden is not None:
            self.hidden.close()
