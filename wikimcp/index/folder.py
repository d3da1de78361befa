"""One index on disk: a folder with the catalog and the lexical indexes that belong to it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from wikimcp.index.catalog import Catalog
from wikimcp.index.page_record import PageRecord
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


class IndexFolder:
    """The open parts of one index.

    ``hidden`` holds pages that not everybody may see: labelled ones, and withheld ones where the operator
    allows drafts. It comes into being with the first such page: None before, in a vault without any for good.
    """

    def __init__(
        self, path: Path, catalog: Catalog, lexical: LexicalIndex, *, open_lexical: OpenLexical, drafts: bool
    ) -> None:
        self.path = path
        self.catalog = catalog
        self.lexical = lexical
        self.hidden: LexicalIndex | None = None
        self._open_lexical = open_lexical
        self._drafts = drafts

    @classmethod
    def open(cls, path: Path, open_lexical: OpenLexical, *, keep_hidden: bool) -> IndexFolder:
        """Open an index; ``keep_hidden``: withheld pages too. Raises StateError or OSError."""
        catalog, lexical = Catalog(path / "catalog.sqlite"), open_lexical(path / "lexical")
        opened = cls(path, catalog, lexical, open_lexical=open_lexical, drafts=keep_hidden)
        opened._find_hidden()
        return opened

    @classmethod
    def create(
        cls, path: Path, open_lexical: OpenLexical, *, keep_hidden: bool, meta: dict[str, str]
    ) -> IndexFolder:
        """Make an empty index in an empty folder. Raises StateError when the disk refuses."""
        Catalog.create(path / "catalog.sqlite", meta).close()
        return cls.open(path, open_lexical, keep_hidden=keep_hidden)

    def keeps(self, page: PageRecord) -> bool:
        """Whether a page that not everybody may see is searched for those who may."""
        return not page.withheld or self._drafts

    def make_hidden(self) -> LexicalIndex:
        """Return the index of hidden pages, made where it is missing. Under the write lock only.

        It is made aside and put in place whole: who opens half an index would make it anew.
        """
        self._find_hidden()
        if self.hidden is None:
            aside, place = self.path / "hidden-new", self.path / "hidden"
            shutil.rmtree(aside, ignore_errors=True)
            self._open_lexical(aside).close()
            os.replace(aside, place)
            self.hidden = self._open_lexical(place)
        return self.hidden

    def _find_hidden(self) -> None:
        """Open the index of hidden pages once another process has made it."""
        if self.hidden is None and (self.path / "hidden").is_dir():
            self.hidden = self._open_lexical(self.path / "hidden")

    def load(self, *, since: int = 0) -> Loaded | None:
        """Read pages from rev ``since`` on, with searchers of the same generation.

        None when catalog and lexical indexes do not belong together: a writer is between its commits,
        or died there.
        """
        meta, records, revs = self.catalog.pages(since=since)
        self._find_hidden()
        searcher = self.lexical.searcher()
        hidden = self.hidden.searcher() if self.hidden is not None else None
        generation = int(meta["generation"])
        if any(part.generation != generation for part in (searcher, hidden) if part is not None):
            return None
        return Loaded(generation, meta.get("complete") == "1", records, revs, searcher, hidden)

    def whole(self) -> bool:
        """Whether catalog and lexical indexes belong together; true for sure only under the write lock."""
        generation = self.catalog.generation()
        self._find_hidden()
        parts = (self.lexical, self.hidden)
        return all(part.searcher().generation == generation for part in parts if part is not None)

    def close(self) -> None:
        """Close files and connections."""
        self.catalog.close()
        self.lexical.close()
        if self.hidden is not None:
            self.hidden.close()
