"""Finding a page under an id or a slug that it once had, whoever remembers it.

The ledger remembers what this state directory saw; git what was committed, also before there was a state
directory; the work tree tells of moves that are not committed. Only pages that the caller may see are found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from wikimcp.index.audience_view import View
from wikimcp.index.former import path_of_former_id, path_of_former_slug, paths_now
from wikimcp.index.history import FormerNames, GitHistory
from wikimcp.index.page_record import PageRecord
from wikimcp.markdown.identity import derived_id

_MOST_MOVES = 3  # of one page, each remembered by another than the one before


class FormerPages:
    """The former names of the pages of a view."""

    def __init__(self, view: View, history: GitHistory | None) -> None:
        self._view = view
        self._ledger = view.snapshot.ledger
        self._slug = view.adapter.slug
        self._names = history.former if history is not None else FormerNames()
        self._committed: Mapping[str, str] = history.counts.moved if history is not None else {}
        self._waiting = {path: now for now, path in view.snapshot.moves.items()}

    def by_id(self, canonical_id: str) -> PageRecord | None:
        """Return the page that once had an id and has another now."""
        # Everybody is asked in any case: an id that is hidden costs no more than one that never was.
        paths = [
            path_of_former_id(self._ledger, canonical_id) if self._ledger else "",
            self._names.ids.get(canonical_id, ""),
            self._view.undeclared_ids.get(canonical_id, ""),
        ]
        paths += (now for path, now in self._waiting.items() if derived_id(self._slug(path)) == canonical_id)
        return self._first(paths)

    def by_slug(self, slug: str) -> PageRecord | None:
        """Return the page that once had a slug."""
        paths = [
            path_of_former_slug(self._ledger, slug) if self._ledger else "",
            self._names.slugs.get(slug, ""),
        ]
        paths += (now for path, now in self._waiting.items() if self._slug(path) == slug)
        return self._first(paths)

    def _first(self, paths: Iterable[str]) -> PageRecord | None:
        found = [self._went_on(path) for path in paths]
        return next((page for page in found if page is not None), None)

    def _went_on(self, path: str) -> PageRecord | None:
        """Follow a page from a path on to where it lies now, in as many steps whatever is found."""
        there = self._view.names.paths
        for _ in range(_MOST_MOVES):
            seen = paths_now(self._ledger, [path]) if self._ledger else {}
            told = (self._waiting.get(path), self._committed.get(path), seen.get(path))
            if path not in there:
                path = told[0] or told[1] or told[2] or ""
        return there.get(path)
