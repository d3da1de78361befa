"""An index without a service over it, and all that it says about a vault, for comparing two of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from wikimcp.app import open_lexical
from wikimcp.index.freshness import Freshness
from wikimcp.index.page_record import PageRecord
from wikimcp.index.state import StateDir
from wikimcp.index.store import IndexStore
from wikimcp.index.view import View
from wikimcp.models import ANONYMOUS, Audience
from wikimcp.vaults.detect import VaultOptions, detect

# What differs between two indexes of one vault without telling anything about it.
_OWN = frozenset(("rev", "version"))


def index_of(
    vault: Path, state: Path, *, options: VaultOptions | None = None, hidden: bool = False
) -> IndexStore:
    """Return a store over a vault; nothing is read yet."""
    adapter = detect(vault, options)
    return IndexStore(
        adapter=adapter,
        state=StateDir.open(state),
        open_lexical=open_lexical,
        fingerprint={"hidden": str(hidden)},
        keep_hidden=hidden,
    )


class Served:
    """A store with what keeps it fresh, and the views that follow one another."""

    def __init__(self, store: IndexStore, *, watch: bool) -> None:
        self.store = store
        self.freshness = Freshness(store, watch=watch)
        self._view: View | None = None
        store.open()
        self.freshness.begin()
        store.refresh()

    def view(self) -> View:
        """Return the view of all that is on disk now, made from the one before."""
        self.freshness.freshen()
        assert not self.freshness.pending
        assert self.store.snapshot is not None
        if self._view is None or self._view.snapshot is not self.store.snapshot:
            self._view = view_of(self.store, previous=self._view)
        return self._view

    def close(self) -> None:
        """Let go of files and watches."""
        self.freshness.close()
        self.store.close()


def view_of(store: IndexStore, audience: Audience = ANONYMOUS, *, previous: View | None = None) -> View:
    """Return what an audience sees of a store's newest snapshot."""
    assert store.snapshot is not None
    return View(store.snapshot, audience, store.adapter, previous=previous)


def facts(view: View, *, dateless: Iterable[str] = ()) -> dict[str, Any]:
    """Return everything a view says but the numbers that only count its own history.

    ``dateless`` are pages without a date of their own that were touched: they keep the time of their
    last edit, which a new index cannot know.
    """
    kept = set(dateless)
    keys = view.snapshot.catalog.chunk_keys()
    return {
        "pages": {page.path: _record(page, dated=page.path not in kept) for page in view.pages},
        "withheld": sorted(r.path for r in view.snapshot.records.values() if not r.public),
        "outgoing": dict(view.links.outgoing),
        "incoming": dict(view.links.incoming),
        "clusters": {
            name: ([page.path for page in c.members], c.page_count, c.parent, c.hub and c.hub.path)
            for name, c in view.clusters.items()
        },
        "tags": {tag: [page.path for page in pages] for tag, pages in view.tags.items()},
        "chunk keys": {page.path: keys[page.rev] for page in view.pages},
        "skipped": [(file.path, asdict(file.why)) for file in view.snapshot.catalog.skipped()],
        "names": sorted(view.names.slugs) + sorted(view.names.ids),
        "attachments": view.snapshot.attachments,
    }


def lexical_facts(view: View, query: str) -> dict[str, Any]:
    """Return what the lexical index says to a query, pages by path; scores by (path, chunk)."""
    hits = view.lexical(query, limit=500)
    pages = view.by_rev
    chunks = [(pages[int(chunk) >> 16].path, int(chunk) & 0xFFFF) for chunk in hits.chunk_ids]
    return {
        "terms": [(t.surface, t.stem, t.pages, round(t.weight, 5), t.distinctive) for t in hits.terms],
        "count": view.count_pages(query),
        "chunks": dict(zip(chunks, np.round(hits.chunk_scores, 6).tolist(), strict=True)),
        "pages": {
            pages[int(rev)].path: round(float(score), 6)
            for rev, score in zip(hits.page_revs, hits.page_scores, strict=True)
        },
    }


def _record(page: PageRecord, *, dated: bool) -> dict[str, Any]:
    left_out = _OWN if dated else _OWN | {"updated_at"}
    return {name: getattr(page, name) for name in PageRecord.__dataclass_fields__ if name not in left_out}
