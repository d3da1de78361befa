"""Answers over files as they are: made again when a file behind one turns out to have changed meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TypeVar

from wikimcp.errors import StateError, Unavailable, WikimcpError
from wikimcp.index.keeper import IndexKeeper
from wikimcp.index.records import PageRecord
from wikimcp.index.stale import Stale
from wikimcp.index.view import Reading
from wikimcp.models import Audience

_TRIES = 6  # an answer is made again while the files behind it change
_PATIENT_TRIES = 3  # then it is made without those that keep changing
T = TypeVar("T")


def read_as_it_is(keeper: IndexKeeper, audience: Audience, run: Callable[[Reading], T]) -> T:
    """Return what ``run`` makes of a fresh view for an audience; it may be run several times.

    Raises what ``run`` raises, and Unavailable when the pages behind it never come to rest.
    """
    changing: set[str] = set()
    behind: set[str] = set()
    for attempt in range(_TRIES):
        keeper.freshen()
        patient = attempt >= _PATIENT_TRIES
        reading = keeper.reading(audience, without=changing if patient else ())
        known = _as_indexed(keeper, reading, behind) if patient else {}
        try:
            result = run(reading)
            stale = keeper.stale(
                page for page in reading.touched.values() if known.get(page.path) is not page
            )
        except Stale as signal:
            stale = [signal.path]
        except StateError as error:
            if attempt == _TRIES - 1 and not keeper.store.needs_rebuild:
                raise
            keeper.mend(error, reading.view.snapshot)
            continue
        except WikimcpError:
            if attempt < _PATIENT_TRIES and keeper.moved():
                continue
            raise
        if not stale:
            if attempt < _PATIENT_TRIES and keeper.moved():
                continue  # not behind this answer, but perhaps it belongs into it now
            return result
        if changing.issuperset(stale) and keeper.store.vault_trouble:
            raise Unavailable(keeper.store.vault_trouble, hint="Ask again when it is back.")
        behind.update(reading.touched)
        changing.update(stale)
        keeper.doubt(stale)
    if keeper.store.needs_rebuild:
        raise keeper.unfinished()
    raise Unavailable(
        "the pages behind this answer keep changing while it is made", hint="Ask again in a moment."
    )


def _as_indexed(keeper: IndexKeeper, reading: Reading, paths: Collection[str]) -> dict[str, PageRecord]:
    """Return the pages among ``paths`` whose files are as indexed at this moment.

    Where pages change faster than an answer is made, some file behind it will always have changed when it is
    done. It is right all the same: for a moment after the question, at which each was looked at.
    """
    records = reading.view.snapshot.records
    pages = {path: records[path] for path in paths if path in records}
    stale = set(keeper.stale(pages.values()))
    return {path: page for path, page in pages.items() if path not in stale}
