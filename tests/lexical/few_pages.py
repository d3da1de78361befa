"""Pages as a lexical index takes them, made as the index makes them, and what it says about them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from wikimcp.lexical.words import has_cjk
from wikimcp.ports import LexicalChunk, LexicalIndex, LexicalPage, LexicalSearcher


class FromPages:
    """A lexical index that is given pages as they are, and has them analyzed by its member."""

    def __init__(self, index: LexicalIndex) -> None:
        self._index = index
        self.searcher, self.waste, self.close = index.searcher, index.waste, index.close

    def write(
        self, *, generation: int, removed: Iterable[int], added: Iterable[LexicalPage], fresh: bool = False
    ) -> None:
        """Write pages, lazily where they come lazily."""
        pages = map(self._index.analysis, added)
        self._index.write(generation=generation, removed=removed, added=pages, fresh=fresh)


def page(
    rev: int,
    text: str | Sequence[str],
    *,
    path: str = "",
    title: str = "",
    summary: str = "",
    tags: tuple[str, ...] = (),
    aliases: tuple[str, ...] = (),
    headings: Sequence[str] = (),
    cluster: str = "",
) -> LexicalPage:
    """Return a page of one chunk for each text."""
    path = path or f"page-{rev}.md"
    title = title or f"Page {rev}"
    texts = [text] if isinstance(text, str) else list(text)
    paths: list[tuple[str, ...]] = [(title, heading) for heading in headings] or [(title,)] * len(texts)
    chunks = tuple(LexicalChunk(heads, part) for heads, part in zip(paths, texts, strict=False))
    names = (path, title, summary, *tags, *aliases, cluster)
    return LexicalPage(
        rev=rev,
        path=path,
        title=title,
        summary=summary,
        cluster=cluster,
        tags=tags,
        aliases=aliases,
        headings=tuple(headings),
        chunks=chunks,
        cjk=has_cjk(" ".join((*names, *texts))),
    )


def pages_found(
    searcher: LexicalSearcher, query: str, *, limit: int = 50, allowed: Collection[int] | None = None
) -> list[int]:
    """Return the revs of the pages found, best first."""
    return [int(rev) for rev in searcher.search(query, limit=limit, allowed=allowed).page_revs]


def chunks_found(
    searcher: LexicalSearcher, query: str, *, limit: int = 50, allowed: Collection[int] | None = None
) -> list[tuple[int, int]]:
    """Return (rev, chunk) of the chunks found, best first."""
    found = searcher.search(query, limit=limit, allowed=allowed).chunk_ids
    return [(int(chunk) >> 16, int(chunk) & 0xFFFF) for chunk in found]


def pages_with(searcher: LexicalSearcher, query: str) -> Mapping[str, int]:
    """Return in how many pages each term of a query stands."""
    return {term.surface: term.pages for term in searcher.search(query, limit=1).terms}


def texts(*lines: str, first: int = 1) -> Iterable[LexicalPage]:
    """Return one page for each text."""
    return [page(rev, line) for rev, line in enumerate(lines, start=first)]
