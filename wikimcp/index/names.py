"""Resolving the name a caller gives for a page, in the order that the contract fixes."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cached_property
from heapq import nlargest

from wikimcp.errors import Ambiguous, NotFound, nearest
from wikimcp.index.page_record import PageRecord
from wikimcp.index.visible import VisiblePages

_MOST_CANDIDATES = 12
_MOST_COMPARED = 60
_LONGEST_SUGGESTED = 80


def fold(name: str) -> str:
    """Return a name folded for comparison: NFC, then full case folding, then NFC again."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


class PageNames:
    """Lookup tables over the visible pages, by exact name and, built at their first use, by others."""

    def __init__(self, visible: VisiblePages) -> None:
        self._pages = visible.pages
        self.slugs = visible.by_slug
        self.paths = visible.by_path
        self.ids = visible.by_id

    @cached_property
    def _folded_slugs(self) -> dict[str, list[PageRecord]]:
        return _group((fold(page.slug), page) for page in self._pages)

    @cached_property
    def _stems(self) -> dict[str, list[PageRecord]]:
        return _group((fold(page.slug.rsplit("/", 1)[-1]), page) for page in self._pages)

    @cached_property
    def _titles(self) -> dict[str, list[PageRecord]]:
        return _group((fold(page.title), page) for page in self._pages)

    @cached_property
    def _aliases(self) -> dict[str, list[PageRecord]]:
        return _group((fold(alias), page) for page in self._pages for alias in page.aliases)

    def resolve(self, name: str) -> PageRecord:
        """Return the page of that name, which may be written as a link to a part of it (``page#part``).

        Raises Ambiguous with the candidates when several fit at one step, NotFound with the nearest
        names when none does.
        """
        return self.resolve_part(name)[0]

    def resolve_part(self, name: str) -> tuple[PageRecord, str]:
        """Return the page of a name and the part of it that is meant; raises as ``resolve``.

        A page whose own name holds a ``#`` comes first; the part is empty then.
        """
        try:
            return self._whole(name), ""
        except NotFound:
            page, mark, part = name.partition("#")
            if not mark or not page.strip() or not part.strip():
                raise
            try:
                return self._whole(page), part.strip()
            except NotFound:
                pass
            raise

    def _whole(self, name: str) -> PageRecord:
        if (as_written := self.slugs.get(name) or self.paths.get(name)) is not None:
            return as_written  # a file's name may end in a blank
        wanted = name.strip()
        exact = self.slugs.get(wanted) or self.paths.get(wanted) or self.ids.get(wanted)
        if exact is not None:
            return exact
        key = fold(wanted)
        without_suffix = key.removesuffix(".md").removesuffix(".markdown").removesuffix(".org")
        for table in (self._folded_slugs, self._stems, self._titles, self._aliases):
            found = table.get(key) or table.get(without_suffix)
            if found:
                return self._only(wanted, found)
        raise NotFound(f"no page named {wanted[:120]!r}", hint=self._suggest(wanted))

    def _only(self, name: str, found: list[PageRecord]) -> PageRecord:
        settled = [page for page in found if not page.conflict_copy] or found
        distinct = {page.slug: page for page in settled}
        if len(distinct) == 1:
            return next(iter(distinct.values()))
        candidates = [f"{page.slug} ({page.canonical_id})" for page in distinct.values()]
        shown = ", ".join(candidates[:_MOST_CANDIDATES])
        more = len(candidates) - _MOST_CANDIDATES
        raise Ambiguous(
            f"{name[:120]!r} names {len(candidates)} pages: {shown}{f' and {more} more' if more > 0 else ''}",
            candidates=candidates,
            hint="Use one of these slugs or ids.",
        )

    def _suggest(self, name: str) -> str:
        close = nearest(name[:_LONGEST_SUGGESTED], self._alike(name)) if name else []
        if not close:
            return "Search for it with assemble_bundle, or see list_pages."
        return f"Nearest: {', '.join(close)}."

    def _alike(self, name: str) -> list[str]:
        """Return the slugs that share most trigrams: an edit distance over every page is too slow."""
        wanted = _trigrams(name[:_LONGEST_SUGGESTED])
        shares = (
            (len(wanted & _trigrams(page.slug)), page.slug) for page in self._pages if not page.conflict_copy
        )
        best = nlargest(_MOST_COMPARED, ((share, slug) for share, slug in shares if share))
        return [slug for _, slug in best]


def _trigrams(name: str) -> set[str]:
    padded = f" {name.casefold()} "
    return {padded[at : at + 3] for at in range(len(padded) - 2)}


def _group(pairs: Iterable[tuple[str, PageRecord]]) -> dict[str, list[PageRecord]]:
    table: dict[str, list[PageRecord]] = {}
    for written, page in pairs:
        if key := written.strip():
            table.setdefault(key, []).append(page)
    return table
