"""Large tables that never change, each made from the one before at the price of what differs.

Snapshots and views hold one entry for every page. An edit touches a few of them: what it leaves alone is
shared with the tables before it, and readers of those see nothing of it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from itertools import accumulate, chain, dropwhile, takewhile
from operator import attrgetter
from typing import Any, Protocol, TypeVar, overload

_LEAST_MERGED = 500  # changes; a thinner layer is never merged into its base
_LAYER_SHARE = 16  # a layer of more than this part of its base is: merging costs what the whole table does
_BLOCK = 512  # pages that an edit of one makes anew
_GONE: Any = object()
_UNKNOWN: Any = object()

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")


class Layered(Mapping[K, V]):
    """A table as a shared base and a thin layer of changes over it. Looking one key up costs a call."""

    __slots__ = ("_base", "_layer", "_length")

    def __init__(self, base: dict[K, V]) -> None:
        """Take over ``base``, which nobody changes from now on."""
        self._base = base
        self._layer: dict[K, V] = {}
        self._length = len(base)

    def changed(self, *, gone: Iterable[K] = (), come: Iterable[tuple[K, V]] = ()) -> Layered[K, V]:
        """Return the table without the keys ``gone`` (where they are there), then with what ``come``."""
        base, layer, length = self._base, dict(self._layer), self._length
        for key in gone:
            if _held(base, layer, key) is not _GONE:
                layer[key] = _GONE
                length -= 1
        for key, value in come:
            length += _held(base, layer, key) is _GONE
            layer[key] = value
        if len(layer) > max(_LEAST_MERGED, len(base) // _LAYER_SHARE):
            return Layered(_merged(base, layer))
        made: Layered[K, V] = Layered(base)
        made._layer, made._length = layer, length
        return made

    def whole(self) -> Mapping[K, V]:
        """Return the table as a plain dictionary, for who looks most of it up."""
        return _merged(self._base, self._layer) if self._layer else self._base

    def __getitem__(self, key: K) -> V:
        found: V = _held(self._base, self._layer, key)
        if found is _GONE:
            raise KeyError(key)
        return found

    @overload
    def get(self, key: K, /) -> V | None: ...

    @overload
    def get(self, key: K, /, default: V | D) -> V | D: ...

    def get(self, key: K, /, default: Any = None) -> Any:
        """Return the value of a key, ``default`` where it is not there."""
        found = self._layer.get(key, _UNKNOWN)  # not by _held: this is called for every hit of a search
        if found is _UNKNOWN:
            return self._base.get(key, default)
        return default if found is _GONE else found

    def __contains__(self, key: object) -> bool:
        return _held(self._base, self._layer, key) is not _GONE

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[K]:
        return iter(self.whole())

    def items(self) -> ItemsView[K, V]:
        """Return all keys with their values."""
        return self.whole().items()

    def values(self) -> ValuesView[V]:
        """Return all values."""
        return self.whole().values()


def _held(base: Mapping[Any, Any], layer: Mapping[Any, Any], key: object) -> Any:  # noqa: ANN401 - any value
    found = layer.get(key, _UNKNOWN)
    return base.get(key, _GONE) if found is _UNKNOWN else found


def _merged(base: dict[K, V], layer: dict[K, V]) -> dict[K, V]:
    whole = {**base, **layer}
    for key in [key for key, value in layer.items() if value is _GONE]:
        del whole[key]
    return whole


class AtPath(Protocol):
    """What lies at a path."""

    @property
    def path(self) -> str:
        """Path relative to the source root."""


P = TypeVar("P", bound=AtPath)
_path: Callable[[Any], str] = attrgetter("path")


class PathOrder(Sequence[P]):
    """Pages in order of their paths, each path once, in blocks that later orders share."""

    __slots__ = ("_blocks", "_firsts", "_starts")

    def __init__(self, blocks: Sequence[list[P]]) -> None:
        self._blocks = blocks
        self._firsts = [block[0].path for block in blocks]
        self._starts = list(accumulate(map(len, blocks), initial=0))

    @classmethod
    def of(cls, pages: Iterable[P]) -> PathOrder[P]:
        """Return pages that come in any order; those of an order as they are."""
        if isinstance(pages, PathOrder):
            return pages
        return cls(_blocks(sorted(pages, key=_path)))

    def changed(self, *, gone: Collection[str], come: Iterable[P]) -> PathOrder[P]:
        """Return the order without the pages at some paths, then with others, in place of those at theirs."""
        if not self._blocks:
            return PathOrder.of({page.path: page for page in come}.values())
        changes: dict[int, dict[str, P | None]] = {}
        for path in gone:
            changes.setdefault(self._block_of(path), {})[path] = None
        for page in come:
            changes.setdefault(self._block_of(page.path), {})[page.path] = page
        if not changes:
            return self
        made: list[list[P]] = []
        for at, block in enumerate(self._blocks):
            made += _changed(block, changes[at]) if at in changes else [block]
        return PathOrder(made)

    def _block_of(self, path: str) -> int:
        return max(bisect_right(self._firsts, path) - 1, 0)

    def starting(self, prefix: str) -> list[P]:
        """Return the pages whose paths begin with ``prefix``."""
        later = chain.from_iterable(self._blocks[self._block_of(prefix) :])
        after = dropwhile(lambda page: page.path < prefix, later)
        return list(takewhile(lambda page: page.path.startswith(prefix), after))

    def differences(self, after: PathOrder[P]) -> tuple[list[P], list[P]]:
        """Return the pages that a later order lacks, and those it has instead; shared blocks cost nothing."""
        mine, its = {id(block) for block in self._blocks}, {id(block) for block in after._blocks}
        old = {page.path: page for block in self._blocks if id(block) not in its for page in block}
        come = []
        for block in after._blocks:
            if id(block) not in mine:
                for page in block:
                    if old.get(page.path) is page:
                        del old[page.path]
                    else:
                        come.append(page)
        return list(old.values()), come

    def __len__(self) -> int:
        return self._starts[-1]

    def __iter__(self) -> Iterator[P]:
        return chain.from_iterable(self._blocks)

    @overload
    def __getitem__(self, at: int) -> P: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[P]: ...

    def __getitem__(self, at: int | slice) -> P | Sequence[P]:
        if isinstance(at, slice):
            return list(self)[at]
        place = at + len(self) if at < 0 else at
        if not 0 <= place < len(self):
            raise IndexError(at)
        block = bisect_right(self._starts, place) - 1
        return self._blocks[block][place - self._starts[block]]


def _blocks(pages: list[P]) -> list[list[P]]:
    return [pages[at : at + _BLOCK] for at in range(0, len(pages), _BLOCK)]


def _changed(block: list[P], changes: Mapping[str, P | None]) -> list[list[P]]:
    """Return the block or blocks that take the place of one."""
    kept = [page for page in block if page.path not in changes]
    kept += [page for page in changes.values() if page is not None]
    kept.sort(key=_path)
    return [kept] if 0 < len(kept) <= 2 * _BLOCK else _blocks(kept)
