"""One immutable state of the index. Refresh builds the next beside it and swaps one reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from wikimcp.index.catalog import Catalog
from wikimcp.index.records import PageRecord
from wikimcp.models import ANONYMOUS, Audience
from wikimcp.ports import LexicalSearcher


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a build stands: ``done`` of ``total`` files."""

    done: int = 0
    total: int = 0


class Snapshot:
    """All records of one generation, withheld ones too, with the searchers of its commit.

    ``hidden`` searches withheld pages and exists only where the operator allows drafts.
    """

    def __init__(
        self,
        *,
        generation: int,
        records: Mapping[str, PageRecord],
        catalog: Catalog,
        searcher: LexicalSearcher,
        hidden: LexicalSearcher | None = None,
        ledger: Path | None = None,
        attachments: frozenset[str] = frozenset(),
        complete: bool = True,
    ) -> None:
        self.generation = generation
        self.records = records
        self.catalog = catalog
        self.searcher = searcher
        self.hidden = hidden
        self.ledger = ledger
        self.attachments = attachments
        self.complete = complete
        self._visible: dict[Audience, list[PageRecord]] = {}

    def visible(self, audience: Audience = ANONYMOUS) -> list[PageRecord]:
        """Return the pages an audience may see, by path."""
        found = self._visible.get(audience)
        if found is None:
            found = [record for record in self.records.values() if may_see(audience, record)]
            found.sort(key=lambda record: record.path)
            self._visible[audience] = found
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
    records: Mapping[str, PageRecord], *, removed: Iterable[PageRecord], added: Iterable[PageRecord]
) -> dict[str, PageRecord]:
    """Return records with some taken out and others put in."""
    changed = dict(records)
    for record in removed:
        if (now := changed.get(record.path)) is not None and now.rev == record.rev:
            del changed[record.path]
    changed.update((record.path, record) for record in added)
    return changed
