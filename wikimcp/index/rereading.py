"""Answers over files as they are: made again when a file behind one turns out to have changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from wikimcp.errors import StateError, Unavailable, WikimcpError
from wikimcp.index.keeper import IndexKeeper
from wikimcp.index.page_record import PageRecord
from wikimcp.index.stale import Stale
from wikimcp.index.view import Reading
from wikimcp.models import Audience

_TRIES = 8  # an answer is made again while the files behind it change
_PATIENT_TRIES = 3  # then for a moment at which they were looked at, and without what keeps changing even so
_LOOKS = 12
T = TypeVar("T")


def read_as_it_is(keeper: IndexKeeper, audience: Audience, run: Callable[[Reading], T]) -> T:
    """Return what ``run`` makes of a fresh view for an audience; it may be run several times.

    Raises what ``run`` raises, and Unavailable when the pages behind it never come to rest.
    """
    changing: set[str] = set()
    found_stale: set[str] = set()
    behind: set[str] = set()
    for attempt in range(_TRIES):
        keeper.freshen()
        patient = attempt >= _PATIENT_TRIES
        known = _as_indexed(keeper, behind) if patient else {}
        reading = keeper.reading(audience, without=changing)
        try:
            result = run(reading)
            stale = keeper.stale(
                page for path, page in reading.touched.items() if known.get(path) is not page
            )
        except Stale as signal:
            stale = [signal.path]
        except StateError as error:
            if attempt == _TRIES - 1 and not keeper.store.needs_rebuild:
                raise
            keeper.mend(error, reading.view.snapshot)
            continue
        except WikimcpError:
            if not patient and keeper.moved():
                continue
            raise
        if not stale:
            if not patient and keeper.moved():
                continue  # not behind this answer, but perhaps it belongs into it now
            return result
        if found_stale.issuperset(stale) and keeper.store.vault_trouble:
            raise Unavailable(keeper.store.vault_trouble, hint="Ask again when it is back.")
        found_stale.update(stale)
        behind.update(reading.touched)
        if patient:
            changing.update(stale)
        keeper.doubt(stale)
    if keeper.store.needs_rebuild:
        raise keeper.unfinished()
    raise Unavailable(
        "the pages behind this answer keep changing while it is made", hint="Ask again in a moment."
    )


def _as_indexed(keeper: IndexKeeper, paths: Collection[str]) -> dict[str, PageRecord]:
    """Return the pages among ``paths`` whose files are as indexed at a moment from now on: all, if it can be.

    Where pages change faster than an answer is made, some file behind it will always have changed when it is
    done. It is right all the same: for a moment after the question, at which each was looked at.
    """
    pages: dict[str, PageRecord] = {}
    stale: set[str] = set()
    for _ in range(_LOOKS):
        snapshot = keeper.store.snapshot
        records = snapshot.records if snapshot is not None else {}
        pages = {path: records[path] for path in paths if path in records}
        stale = set(keeper.stale(pages.values()))
        if not stale:
            break
        keeper.doubt(stale)
        keeper.freshen()
    return {path: page for path, page in pages.items() if path not in stale}
