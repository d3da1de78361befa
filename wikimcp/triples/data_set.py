"""A data set as the worker holds it: an engine, the lines that are dropped by their key, and what waits.

A copy is loaded in two parts: what is said of sections, which is most of it, waits until somebody asks for
it or nobody is in haste. What a query can touch (``reach``) decides whether it may run before.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from wikimcp.triples import frames
from wikimcp.triples.copies import Waiting, body_of, body_parts, write_copy
from wikimcp.triples.gate import Plan
from wikimcp.triples.reach import Reach
from wikimcp.triples.running import Engine


class DataSet:
    """One data set of the worker."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.plans: dict[str, Plan] = {}
        self._kept: dict[str, bytes] = {}
        self._waiting: Waiting | None = None
        self._later = b""  # the lines of what waits, once some of them are loaded
        self._loaded = 0  # bytes of them

    def change(self, kind: bytes, payload: bytes) -> bool:
        """Do what a frame asks for; False where a copy is damaged: the store sends the lines instead."""
        self.plans.clear()
        if kind == frames.LOAD:
            try:
                self._load(payload)
            except Exception:
                return False
            return True
        self.settle()
        if kind == frames.ADD:
            self.engine.add(payload)
        elif kind == frames.KEEP:
            self._keep(payload)
        elif kind == frames.DROP:
            self._drop(payload.decode())
        return True

    @property
    def settled(self) -> bool:
        """Whether nothing waits to be loaded."""
        return self._waiting is None

    def settle(self, most: int | None = None) -> None:
        """Load what waits: all of it, or about ``most`` bytes of lines."""
        if self._waiting is None:
            return
        if not self._later:
            self._later = self._waiting.lines()
        start = self._loaded
        end = self._later.find(b"\n", start + most) + 1 if most is not None else 0
        end = end or len(self._later)
        self.engine.add(self._later[start:end])
        self._loaded = end
        if end == len(self._later):
            self._waiting, self._later, self._loaded = None, b"", 0

    def holds(self, reach: Reach) -> bool:
        """Whether all that a query can touch is loaded."""
        return self._waiting is None or (reach is not None and reach.isdisjoint(self._waiting.reach))

    def has_term(self, iri: str) -> bool:
        """Whether vocabulary or data, what waits included, have this class or property."""
        return self.engine.has_term(iri) or iri in self._waiting_terms()

    def terms(self) -> Collection[str]:
        """Return the classes and properties of vocabulary and data."""
        return {*self.engine.terms(), *self._waiting_terms()}

    def _waiting_terms(self) -> Collection[str]:
        return {term for both in self._waiting.reach for term in both} if self._waiting is not None else ()

    def _keep(self, payload: bytes) -> None:
        name, lines = _parted(payload)
        self.engine.add(lines)
        self._kept[name.decode()] = lines

    def _drop(self, key: str) -> None:
        lines = self._kept.pop(key, None)
        if lines is None:
            self.engine.remove_page(key)
        else:
            self.engine.remove(lines)

    def _load(self, body: bytes) -> None:
        """Fill an empty data set with the body of a copy. Raises what an engine does for what is no lines."""
        kept, lines, waiting = body_parts(body)
        self.engine.add(lines)
        self._kept, self._waiting = kept, waiting

    def save(self, payload: bytes) -> None:
        """Write all of it, which must be settled, to a file."""
        path, head = _parted(payload)
        write_copy(Path(os.fsdecode(path)), head, body_of(self._kept, self.engine.dump()))


def _parted(payload: bytes) -> tuple[bytes, bytes]:
    length = int.from_bytes(payload[:4], "little")
    return payload[4 : 4 + length], payload[4 + length :]
