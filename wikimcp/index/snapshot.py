"""One immutable state of the index. Refresh builds the next beside it and swaps one reference."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from wikimcp.index.catalog import Catalog
from wikimcp.index.page_record import PageRecord
from wikimcp.index.sidecars import SidecarFiles
from wikimcp.layers import Layered, PathOrder
from wikimcp.models import ANONYMOUS, Audience
from wikimcp.ports import LexicalSearcher

_MOST_CARRIED = 4  # audiences whose lists are carried over; the others are made when asked for
_KEPT = (
    *("generation", "catalog", "searcher", "hidden", "ledger", "attachments", "complete", "sidecars"),
    "moves",
)


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a build stands: ``done`` of ``total`` files."""

    done: int = 0
    total: int = 0

    def __str__(self) -> str:
        told = f": {self.done} of {self.total} files so far" if self.total else ""
        return f"the index is being built{told}"


class Snapshot:
    """All records of one generation, withheld ones too, with the searchers of its commit.

    ``hidden`` searches pages that not everybody may see; None while there has been none. ``moves`` tells
    of pages whose move is not committed yet the path that git knows them by.
    """

    def __init__(
        self,
        *,
        generation: int,
        records: Layered[str, PageRecord],
        catalog: Catalog,
        searcher: LexicalSearcher,
        hidden: LexicalSearcher | None = None,
        ledger: Path | None = None,
        attachments: frozenset[str] = frozenset(),
        complete: bool = True,
        sidecars: SidecarFiles | None = None,
        moves: Mapping[str, str] | None = None,
    ) -> None:
        self.generation = generation
        self.records = records
        self.catalog = catalog
        self.searcher = searcher
        self.hidden = hidden
        self.ledger = ledger
        self.attachments = attachments
        self.complete = complete
        self.sidecars = sidecars or SidecarFiles()
        self.moves: Mapping[str, str] = moves or {}
        self._visible: dict[Audience, PathOrder[PageRecord]] = {}
        self._embedded: dict[bool, PathOrder[PageRecord]] = {}

    def changed(
        self,
        *,
        removed: Iterable[PageRecord] = (),
        added: Iterable[PageRecord] = (),
        **facts: Any,  # noqa: ANN401 - any of the constructor's
    ) -> Snapshot:
        """Return the snapshot after this one: records out and in, and other facts as given."""
        went, come = list(removed), list(added)
        kept = {name: getattr(self, name) for name in _KEPT}
        records = with_records(self.records, removed=went, added=come)
        after = Snapshot(records=records, **{**kept, **facts})
        gone = {record.path for record in (*went, *come)}
        for audience, visible in list(self._visible.items())[:_MOST_CARRIED]:
            shown = [record for record in come if may_see(audience, record)]
            after._visible[audience] = visible.changed(gone=gone, come=shown)
        for drafts, pages in self._embedded.items():
            shown = [record for record in come if drafts or not record.withheld]
            after._embedded[drafts] = pages.changed(gone=gone, come=shown)
        return after

    def without(self, paths: Collection[str]) -> Snapshot:
        """Return the snapshot without some pages, for a reader who may not have them."""
        return self.changed(removed=[self.records[path] for path in paths if path in self.records])

    def numbered(
        self,
        version: Callable[[PageRecord, str], int],
        moves: Mapping[str, str],
        fresh: Collection[PageRecord] | None = None,
    ) -> Snapshot:
        """Return the snapshot with ``moves`` and the versions that a count gives, for page and former path.

        Only ``fresh`` records are looked at where no move came or went.
        """
        looked_at = self.records.values() if fresh is None or moves != self.moves else fresh
        wanted = ((record, version(record, moves.get(record.path, ""))) for record in looked_at)
        changed = [record.at_version(number) for record, number in wanted if number != record.version]
        return self.changed(added=changed, moves=moves) if changed or moves != self.moves else self

    @cached_property
    def newest_rev(self) -> int:
        """The highest rev of all records."""
        return max((record.rev for record in self.records.values()), default=0)

    def visible(self, audience: Audience = ANONYMOUS) -> PathOrder[PageRecord]:
        """Return the pages an audience may see, by path."""
        found = self._visible.get(audience)
        if found is None:
            found = PathOrder.of(record for record in self.records.values() if may_see(audience, record))
            self._visible[audience] = found
        return found

    def embedded(self, *, drafts: bool) -> PathOrder[PageRecord]:
        """Return the pages that have vectors, by path; withheld ones too where there are drafts."""
        found = self._embedded.get(drafts)
        if found is None:
            found = PathOrder.of(r for r in self.records.values() if drafts or not r.withheld)
            self._embedded[drafts] = found
        return found

    def withheld_count(self) -> int:
        """Return how many pages not everybody may see (for the operator)."""
        return sum(not record.public for record in self.records.values())


def may_see(audience: Audience, record: PageRecord) -> bool:
    """Whether a page is there at all for an audience."""
    if record.withheld and not audience.drafts:
        return False
    return not record.labels or bool(record.labels & audience.labels)


def with_records(
    records: Layered[str, PageRecord], *, removed: Iterable[PageRecord], added: Iterable[PageRecord]
) -> Layered[str, PageRecord]:
    """Return records with some taken out and others put in."""
    gone = (
        record.path
        for record in removed
        if (now := records.get(record.path)) is not None and now.rev == record.rev
    )
    return records.changed(gone=gone, come=((record.path, record) for record in added))
