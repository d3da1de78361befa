"""The pages that one audience may see, by path, slug, id and rev: every slug and id on one page only.

Carried over from one snapshot to the next: an edit of one page costs that page, not the vault.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from wikimcp.index.page_record import PageRecord, under_own_ids
from wikimcp.layers import Layered, PathOrder
from wikimcp.models import Diagnostic

_MOST_CARRIED = 500  # changed pages; with more, the tables are made anew
_Claim = str | tuple[str, ...]  # the path of the only page that claims a name, or those of all in order


@dataclass(frozen=True, slots=True)
class _Claims:
    """Which pages declare a slug, and an id: the first by path has it.

    ``copies`` are the pages that may be copies of one, by its path.
    """

    slugs: Layered[str, _Claim]
    ids: Layered[str, _Claim]
    copies: Layered[str, _Claim]

    @classmethod
    def of(cls, records: Sequence[PageRecord]) -> _Claims:
        return cls(
            _gathered((record.slug, record.path) for record in records),
            _gathered((record.canonical_id, record.path) for record in records),
            _gathered((record.copy_of, record.path) for record in records if record.copy_of),
        )

    def without_id(self) -> set[str]:
        """Return the paths of pages that declare an id which another has."""
        return {path for claim in self.ids.values() if not isinstance(claim, str) for path in claim[1:]}

    def odd(self) -> set[str]:
        """Return the paths of pages that may be seen otherwise than they are recorded, but for their id."""
        slugs = self.slugs.values()
        found = {path for claim in slugs if not isinstance(claim, str) for path in claim[1:]}
        return found.union(*map(_claimants, self.copies.values()))


@dataclass(frozen=True, slots=True)
class _Tables:
    """The pages of a view by their names; ``recorded`` are the records of those that are seen otherwise."""

    recorded: Layered[str, PageRecord]
    by_path: Layered[str, PageRecord]
    by_rev: Layered[int, PageRecord]
    by_slug: Layered[str, PageRecord]

    @classmethod
    def of(cls, pages: Sequence[PageRecord], recorded: dict[str, PageRecord]) -> _Tables:
        return cls(
            Layered(recorded),
            Layered({page.path: page for page in pages}),
            Layered({page.rev: page for page in pages}),
            Layered({page.slug: page for page in pages}),
        )

    def record(self, path: str) -> PageRecord:
        """Return the record of a page as it is in the snapshot."""
        found: PageRecord = self.recorded.get(path) or self.by_path[path]
        return found

    def changed(
        self, gone: Sequence[PageRecord], come: Sequence[PageRecord], recorded: Mapping[str, PageRecord]
    ) -> _Tables:
        """Return the tables without some pages, then with others; ``recorded`` are those seen otherwise."""
        paths = [page.path for page in gone]
        return _Tables(
            self.recorded.changed(gone=paths, come=recorded.items()),
            self.by_path.changed(gone=paths, come=((page.path, page) for page in come)),
            self.by_rev.changed(gone=(page.rev for page in gone), come=((page.rev, page) for page in come)),
            _renamed(self.by_slug, "slug", gone, come),
        )


class VisiblePages:
    """View pages sorted by path. Never changes; ``of`` makes the next from it.

    Where pages share an id the first by path keeps it and the others get derived ones; where they
    share a slug (``a.md`` and ``a.markdown``, two notes of one title) the others go by their path.
    """

    def __init__(
        self,
        records: PathOrder[PageRecord],
        pages: PathOrder[PageRecord],
        tables: _Tables,
        claims: _Claims,
    ) -> None:
        self._records = records
        self._tables = tables
        self._claims = claims
        self.pages: PathOrder[PageRecord] = pages
        self.by_path: Mapping[str, PageRecord] = tables.by_path
        self.by_rev: Mapping[int, PageRecord] = tables.by_rev
        self.by_slug: Mapping[str, PageRecord] = tables.by_slug

    @cached_property
    def by_id(self) -> Layered[str, PageRecord]:
        """Pages by their canonical ids; made when first asked for, since many ids may have to be derived."""
        return Layered({page.canonical_id: page for page in self.pages})

    @classmethod
    def of(cls, records: Iterable[PageRecord], *, before: VisiblePages | None = None) -> VisiblePages:
        """Return the view of records, going on from an earlier one."""
        ordered = PathOrder.of(records)
        if before is not None:
            went, come = before._records.differences(ordered)
            if len(went) <= _MOST_CARRIED and len(come) <= _MOST_CARRIED:
                return before._carried(ordered, went, come)
        claims = _Claims.of(ordered)
        recorded = {record.path: record for record in ordered}
        odd, without_id = claims.odd(), claims.without_id()
        alike = without_id - odd
        seen = {page.path: page for page in under_own_ids([r for r in ordered if r.path in alike])}
        seen |= {path: _as_seen(recorded[path], claims, recorded) for path in odd}
        if not seen:
            return cls(ordered, ordered, _Tables.of(ordered, {}), claims)
        pages = [seen.get(record.path, record) for record in ordered]
        return cls(
            ordered,
            PathOrder.of(pages),
            _Tables.of(pages, {path: recorded[path] for path in seen}),
            claims,
        )

    def _carried(
        self, records: PathOrder[PageRecord], went: Sequence[PageRecord], come: Sequence[PageRecord]
    ) -> VisiblePages:
        """Return the view after some records went and others came."""
        slugs, renamed = _claimed(self._claims.slugs, "slug", went, come)
        ids, others = _claimed(self._claims.ids, "canonical_id", went, come)
        copies, _ = _claimed(
            self._claims.copies, "copy_of", *([r for r in some if r.copy_of] for some in (went, come))
        )
        claims, renamed = _Claims(slugs, ids, copies), renamed | others
        for record in (*went, *come):
            renamed.update(_claimants(copies.get(record.path, ())))
            # Who goes by a path without its suffix does so as long as nobody claims that as a name.
            alike = records.starting(f"{record.slug}.")
            renamed.update(page.path for page in alike if page.path.rpartition(".")[0] == record.slug)
        now = {record.path: record for record in come}
        gone = {record.path for record in went} - now.keys()
        paths = _Present(self.by_path, gone, now)
        known = {path: now[path] if path in now else self._tables.record(path) for path in sorted(renamed)}
        shown = [_as_seen(record, claims, paths) for record in known.values()]
        recorded = {
            path: record
            for (path, record), page in zip(known.items(), shown, strict=True)
            if record is not page
        }
        left = [self.by_path[path] for path in sorted(renamed | gone) if path in self.by_path]
        tables = self._tables.changed(left, shown, recorded)
        after = VisiblePages(records, self.pages.changed(gone=gone, come=shown), tables, claims)
        if "by_id" in self.__dict__:
            after.__dict__["by_id"] = _renamed(self.by_id, "canonical_id", left, shown)
        return after

    def clashes(self) -> Iterable[tuple[PageRecord, Diagnostic]]:
        """Yield (page, diagnostic) for each page that shares its declared id or slug with others."""
        for name, table in (("id", self._claims.ids), ("name", self._claims.slugs)):
            for value, claim in table.items():
                if not isinstance(claim, str):
                    for path in claim:
                        yield self.by_path[path], _clash(name, value, path, claim)

    def clashes_of(self, page: PageRecord) -> tuple[Diagnostic, ...]:
        """Return the diagnostics of one page that shares its declared id or slug with others."""
        record = self._tables.record(page.path)
        tables = (("id", record.canonical_id, self._claims.ids), ("name", record.slug, self._claims.slugs))
        claims = [(name, value, table[value]) for name, value, table in tables]
        return tuple(
            _clash(name, value, page.path, claim)
            for name, value, claim in claims
            if not isinstance(claim, str)
        )


class _Present:
    """Which paths hold a page after an edit, without a table of them all."""

    def __init__(
        self, before: Mapping[str, PageRecord], gone: set[str], come: Mapping[str, PageRecord]
    ) -> None:
        self._before, self._gone, self._come = before, gone, come

    def __contains__(self, path: object) -> bool:
        return path in self._come or (path in self._before and path not in self._gone)


def _renamed(
    table: Layered[str, PageRecord], field: str, gone: Iterable[PageRecord], come: Iterable[PageRecord]
) -> Layered[str, PageRecord]:
    """Return pages by a name of theirs without some, where these have it, and with others."""
    name = attrgetter(field)
    return table.changed(
        gone=(name(page) for page in gone if table.get(name(page)) is page),
        come=((name(page), page) for page in come),
    )


def _claimants(claim: _Claim) -> tuple[str, ...]:
    return (claim,) if isinstance(claim, str) else claim


def _gathered(pairs: Iterable[tuple[str, str]]) -> Layered[str, _Claim]:
    """Return who claims what, of (name, path) in order of the paths."""
    found = list(pairs)
    table: dict[str, _Claim] = dict(found)
    if len(table) == len(found):
        return Layered(table)
    table = {}
    for name, path in found:
        known = table.setdefault(name, path)
        if known is not path:
            table[name] = (*_claimants(known), path)
    return Layered(table)


def _claimed(
    table: Layered[str, _Claim], field: str, went: Iterable[PageRecord], come: Iterable[PageRecord]
) -> tuple[Layered[str, _Claim], set[str]]:
    """Return a table of claims after an edit, and the paths of all pages with a claim that changed."""
    claims: dict[str, set[str]] = {}
    for records, change in ((went, set[str].discard), (come, set[str].add)):
        for record in records:
            key = getattr(record, field)
            if key not in claims:
                claims[key] = set(_claimants(table.get(key, ())))
            change(claims[key], record.path)
    ordered = {key: tuple(sorted(paths)) for key, paths in claims.items()}
    after = table.changed(
        gone=(key for key, paths in ordered.items() if not paths),
        come=((key, paths if len(paths) > 1 else paths[0]) for key, paths in ordered.items() if paths),
    )
    return after, {path for paths in ordered.values() for path in paths}


def _as_seen(record: PageRecord, claims: _Claims, paths: Container[str]) -> PageRecord:
    """Return a record as it is among all pages of the view: its names its own, a copy known as one."""
    page = _named_apart(record, claims)
    return page.as_copy() if record.copy_of in paths and not page.conflict_copy else page


def _named_apart(record: PageRecord, claims: _Claims) -> PageRecord:
    """Return a record under the slug and id that are its own among the pages that claim them."""
    page = record
    if _lost(claims.slugs, record.slug, record.path):
        bare = record.path.rpartition(".")[0]
        page = page.under(record.path if bare in claims.slugs else bare)
    return page.under_own_id() if _lost(claims.ids, record.canonical_id, record.path) else page


def _lost(table: Layered[str, _Claim], name: str, path: str) -> bool:
    """Whether a name that a page claims is another's."""
    return _claimants(table[name])[0] != path


def _clash(name: str, value: str, path: str, paths: Sequence[str]) -> Diagnostic:
    others = ", ".join(other for other in paths[:6] if other != path)
    keeps = "this page keeps it" if path == paths[0] else f"{paths[0]} keeps it, this page has another"
    return Diagnostic(f"duplicate_{name}", f"the {name} {value!r} is also claimed by {others}; {keeps}")
