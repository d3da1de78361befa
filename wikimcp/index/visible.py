"""The pages that one audience may see, by path, slug, id and rev: every slug and id on one page only.

Carried over from one snapshot to the next: an edit of one page costs that page, not the vault.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wikimcp.index.records import PageRecord
from wikimcp.markdown.identity import derived_id
from wikimcp.models import Diagnostic

_MOST_CARRIED = 500  # changed pages; with more, the tables are made anew


@dataclass(frozen=True, slots=True)
class _Claims:
    """Which pages declare a slug, and an id: paths in order, the first of which has it.

    ``copies`` are the pages that may be copies of one, by its path.
    """

    slugs: dict[str, tuple[str, ...]]
    ids: dict[str, tuple[str, ...]]
    copies: dict[str, tuple[str, ...]]

    def copied(self) -> _Claims:
        return _Claims(dict(self.slugs), dict(self.ids), dict(self.copies))


@dataclass(frozen=True, slots=True)
class _Tables:
    """``records`` as they are in the snapshot, and the pages they are in the view, by their names."""

    records: dict[str, PageRecord]
    by_path: dict[str, PageRecord]
    by_rev: dict[int, PageRecord]
    by_slug: dict[str, PageRecord]
    by_id: dict[str, PageRecord]

    def copied(self) -> _Tables:
        return _Tables(
            dict(self.records), dict(self.by_path), dict(self.by_rev), dict(self.by_slug), dict(self.by_id)
        )

    def put(self, page: PageRecord) -> None:
        self.by_path[page.path] = self.by_rev[page.rev] = page
        self.by_slug[page.slug] = self.by_id[page.canonical_id] = page

    def drop(self, page: PageRecord) -> None:
        del self.by_path[page.path], self.by_rev[page.rev]
        if self.by_slug.get(page.slug) is page:
            del self.by_slug[page.slug]
        if self.by_id.get(page.canonical_id) is page:
            del self.by_id[page.canonical_id]


class VisiblePages:
    """View pages sorted by path. Never changes; ``carried`` makes the next.

    Where pages share an id the first by path keeps it and the others get derived ones; where they
    share a slug (``a.md`` and ``a.markdown``, two notes of one title) the others go by their path.
    """

    def __init__(self, records: Sequence[PageRecord], tables: _Tables, claims: _Claims) -> None:
        self._tables = tables
        self._claims = claims
        self.pages: Sequence[PageRecord] = [tables.by_path[record.path] for record in records]
        self.by_path: Mapping[str, PageRecord] = tables.by_path
        self.by_rev: Mapping[int, PageRecord] = tables.by_rev
        self.by_slug: Mapping[str, PageRecord] = tables.by_slug
        self.by_id: Mapping[str, PageRecord] = tables.by_id

    @classmethod
    def of(cls, records: Sequence[PageRecord], *, before: VisiblePages | None = None) -> VisiblePages:
        """Return the view of records sorted by path, going on from an earlier one."""
        if before is not None:
            found = before._carried(records)
            if found is not None:
                return found
        claims = _Claims({}, {}, {})
        for record in records:
            claims.slugs[record.slug] = (*claims.slugs.get(record.slug, ()), record.path)
            claims.ids[record.canonical_id] = (*claims.ids.get(record.canonical_id, ()), record.path)
            if record.copy_of:
                claims.copies[record.copy_of] = (*claims.copies.get(record.copy_of, ()), record.path)
        tables = _Tables({record.path: record for record in records}, {}, {}, {}, {})
        for record in records:
            tables.put(_as_seen(record, claims, tables.records))
        return cls(records, tables, claims)

    def _carried(self, records: Sequence[PageRecord]) -> VisiblePages | None:
        """Return the view after some records changed; None when too many did."""
        known = self._tables.records
        come = [record for record in records if known.get(record.path) is not record]
        if len(come) > _MOST_CARRIED:
            return None
        went = [known[record.path] for record in come if record.path in known]
        if len(records) != len(known) + len(come) - len(went):
            present = {record.path for record in records}
            went += [record for path, record in known.items() if path not in present]
            if len(went) > _MOST_CARRIED:
                return None
        claims = self._claims.copied()
        renamed = _claimed(claims.slugs, "slug", went, come) | _claimed(
            claims.ids, "canonical_id", went, come
        )
        _claimed(claims.copies, "copy_of", *([r for r in some if r.copy_of] for some in (went, come)))
        for record in (*went, *come):
            renamed.update(claims.copies.get(record.path, ()))
        tables = self._tables.copied()
        for path in {*renamed, *(record.path for record in went)} & self.by_path.keys():
            tables.drop(self.by_path[path])
        for record in went:
            del tables.records[record.path]
        tables.records.update((record.path, record) for record in come)
        for path in renamed:
            tables.put(_as_seen(tables.records[path], claims, tables.records))
        return VisiblePages(records, tables, claims)

    def clashes(self) -> Iterable[tuple[PageRecord, Diagnostic]]:
        """Yield (page, diagnostic) for each page that shares its declared id or slug with others."""
        for name, table in (("id", self._claims.ids), ("name", self._claims.slugs)):
            for value, paths in table.items():
                if len(paths) > 1:
                    for path in paths:
                        yield self.by_path[path], _clash(name, value, path, paths)

    def clashes_of(self, page: PageRecord) -> tuple[Diagnostic, ...]:
        """Return the diagnostics of one page that shares its declared id or slug with others."""
        record = self._tables.records[page.path]
        tables = (("id", record.canonical_id, self._claims.ids), ("name", record.slug, self._claims.slugs))
        return tuple(
            _clash(name, value, page.path, table[value])
            for name, value, table in tables
            if len(table[value]) > 1
        )


def _claimed(
    table: dict[str, tuple[str, ...]], field: str, went: Iterable[PageRecord], come: Iterable[PageRecord]
) -> set[str]:
    """Bring a table of claims in line; return the paths of all pages with a claim that changed."""
    keys = set()
    for record in went:
        key = getattr(record, field)
        table[key] = tuple(path for path in table[key] if path != record.path)
        keys.add(key)
    for record in come:
        key = getattr(record, field)
        table[key] = tuple(sorted((*table.get(key, ()), record.path)))
        keys.add(key)
    claimed = {path for key in keys for path in table[key]}
    for key in keys:
        if not table[key]:
            del table[key]
    return claimed


def _as_seen(record: PageRecord, claims: _Claims, records: Mapping[str, PageRecord]) -> PageRecord:
    """Return a record as it is among all pages of the view: its names its own, a copy known as one."""
    page = _named_apart(record, claims)
    return page.as_copy() if record.copy_of in records and not page.conflict_copy else page


def _named_apart(record: PageRecord, claims: _Claims) -> PageRecord:
    """Return a record under the slug and id that are its own among the pages that claim them."""
    slug, canonical_id = record.slug, record.canonical_id
    if claims.slugs[slug][0] != record.path:
        bare = record.path.rpartition(".")[0]
        slug = record.path if bare in claims.slugs else bare
    if claims.ids[canonical_id][0] != record.path:
        own = derived_id(slug)
        canonical_id = own if own != canonical_id else derived_id(f"{slug}\0{record.path}")
    if slug == record.slug and canonical_id == record.canonical_id:
        return record
    return record.under(slug, canonical_id)


def _clash(name: str, value: str, path: str, paths: Sequence[str]) -> Diagnostic:
    others = ", ".join(other for other in paths[:6] if other != path)
    keeps = "this page keeps it" if path == paths[0] else f"{paths[0]} keeps it, this page has another"
    return Diagnostic(f"duplicate_{name}", f"the {name} {value!r} is also claimed by {others}; {keeps}")
