"""Which sections go into a bundle: what adds most belief for its cost, until the budget is full.

Neighbouring sections of one page join to one span when the first heading stands above the rest
(a subtree, or siblings under one parent), so that a span reads as a piece of the page. A join
costs the text between; a new span costs a citation. All costs are quarter tokens (sizes.py).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wikimcp.retrieval.relevance import Floats, Scored
from wikimcp.retrieval.sizes import QUARTERS

_COST_POWER = 0.85  # below 1: a long section is worth a little more than its belief per token
_COST_OFFSET = 20 * QUARTERS
_MOST_TRIED = 250  # sections
_FEWEST_TRIED = 50
_TIMES_OVER = 4
_WIDEST_GAP = 2  # citations; joining over more costs more than a new span


@dataclass(frozen=True, slots=True)
class Costs:
    """Quarter tokens of each section: of its text as it would be returned, and of a citation there.

    ``whole`` is false for a section that is cut, which therefore stands alone.
    """

    text: list[int]
    citation: list[int]
    whole: list[bool]


@dataclass(frozen=True, slots=True)
class Run:
    """Sections ``first`` to ``last`` (exclusive) of the scored arrays, as one span."""

    first: int
    last: int
    probability: float


def probabilities(scored: Scored) -> Floats:
    """Return the softmax of the scores: the share of belief that each section is the right one."""
    if not len(scored):
        return np.zeros(0)
    raised = np.exp(scored.score - scored.score.max())
    share: Floats = raised / raised.sum()
    return share


class Selection:
    """A bundle while it fills: at most ``limit`` runs, each a span, for as much room as it is given.

    ``likely`` are the sections that are tried, the most probable first; the first that fits is taken
    before all others. A section of probability 0 is never taken in, not even between two others.
    """

    def __init__(self, scored: Scored, probability: Floats, costs: Costs, *, limit: int) -> None:
        self._probability: list[float] = probability.tolist()
        self._page: list[int] = scored.rev.tolist()
        self._level: list[int] = scored.level.tolist()
        self._costs = costs
        self._limit = limit
        self._room = 0
        self._owner = [-1] * len(scored)  # the number of the run that holds a section; -1: none
        self._runs: dict[int, tuple[int, int]] = {}
        self._begun: dict[int, list[int]] = {}  # the runs of each page that has one
        self._reach: dict[int, tuple[int, int]] = {}
        self._number = 0
        self._offers = [0] * len(scored)  # how often a section was offered: only the last one counts
        self._heap: list[tuple[float, int, int]] = []
        self._alone = [cost + text for cost, text in zip(costs.citation, costs.text, strict=True)]
        self._bridge = [text - cost for cost, text in zip(costs.citation, costs.text, strict=True)]
        self._worth_alone: list[float] = (
            probability / (np.array(self._alone) + _COST_OFFSET) ** _COST_POWER
        ).tolist()
        order = np.argsort(-probability, kind="stable")[:_MOST_TRIED].tolist()
        self.likely = [at for at in order if self._probability[at] > 0]

    @property
    def runs(self) -> list[Run]:
        """The runs chosen so far, the most probable first."""
        runs = [Run(a, b, max(self._probability[a:b])) for a, b in self._runs.values()]
        return sorted(runs, key=lambda run: (-run.probability, run.first))

    def fill(self, room: int) -> None:
        """Take sections in while they fit into ``room`` quarters beside the runs chosen so far.

        A section that does not fit is skipped, not the end.
        """
        self._room = room
        if not self._runs:
            self._leave_out_unlikely()
            self._take_first()
        self._heap.clear()
        for at in self.likely:
            self._offer(at)
        while self._heap:
            negative, at, offer = heapq.heappop(self._heap)
            if self._owner[at] >= 0 or offer != self._offers[at] or not self._may_fit(at):
                continue
            option = self._best(at)
            if option is None:
                continue
            if option.worth < -negative:  # what it was offered with does not fit any more
                heapq.heappush(self._heap, (-option.worth, at, offer))
                continue
            for beside in self._around(*self._take(option)):
                self._offer(beside)

    def _leave_out_unlikely(self) -> None:
        """Try no more sections than would fill the room a few times over."""
        total = 0
        for place, at in enumerate(self.likely):
            total += self._costs.text[at]
            if total > _TIMES_OVER * self._room:
                del self.likely[max(place, _FEWEST_TRIED) :]
                return

    def _take_first(self) -> None:
        for at in self.likely:
            if option := self._best(at):
                self._take(option)
                return

    def _may_fit(self, at: int) -> bool:
        """Whether a section fits, at least as a bridge between two runs where its page has any."""
        if self._page[at] in self._begun:
            return self._bridge[at] <= self._room
        return self._alone[at] <= self._room and len(self._runs) < self._limit

    def _offer(self, at: int) -> None:
        """Put a section on the heap with what it is worth now, if it fits."""
        if self._owner[at] >= 0 or self._probability[at] == 0 or not self._may_fit(at):
            return
        worth = self._worth_alone[at]
        if self._page[at] in self._begun:
            option = self._best(at)
            worth = option.worth if option is not None else 0.0
        if worth:
            self._offers[at] += 1
            heapq.heappush(self._heap, (-worth, at, self._offers[at]))

    def _take(self, option: _Option) -> tuple[int, int]:
        """Take sections in, with the runs beside them as one; returns from where to where it reaches."""
        first, last = option.first, option.last
        own = self._begun.setdefault(self._page[first], [])
        for number in option.beside:
            own.remove(number)
            begins, ends = self._runs.pop(number)
            first, last = min(first, begins), max(last, ends)
        self._runs[self._number] = (first, last)
        for at in range(first, last):
            self._owner[at] = self._number
        own.append(self._number)
        self._number += 1
        self._room -= option.cost
        return first, last

    def _best(self, at: int) -> _Option | None:
        """Return the way to take ``at`` in that is worth most; None when none fits."""
        best = None
        if len(self._runs) < self._limit:
            best = self._better(None, at, at, at + 1, ())
        if self._page[at] not in self._begun or not self._costs.whole[at]:
            return best
        left, right = self._neighbours(at)
        # A run reads as one already: of a join only what lies between is looked at, and counted.
        if left is not None:
            begins, after = self._runs[left]
            if self._stands_above(begins, after, at + 1):
                best = self._better(best, at, after, at + 1, (left,))
        if right is not None:
            until = self._runs[right][0]
            if self._stands_above(at, at + 1, until + 1):
                best = self._better(best, at, at, until, (right,))
            if left is not None and self._stands_above(begins, after, until + 1):
                best = self._better(best, at, after, until, (left, right))
        return best

    def _better(
        self, best: _Option | None, at: int, first: int, last: int, beside: tuple[int, ...]
    ) -> _Option | None:
        """Return the better of ``best`` and taking ``first`` to ``last`` in; only what fits is an option."""
        cost, gain = self._costs.citation[at] * (1 - len(beside)), 0.0
        for other in range(first, last):
            cost += self._costs.text[other]
            gain += self._probability[other]
        if cost > self._room:
            return best
        worth = gain / (max(cost, 0) + _COST_OFFSET) ** _COST_POWER
        return best if best is not None and worth <= best.worth else _Option(first, last, beside, cost, worth)

    def _neighbours(self, at: int) -> tuple[int | None, int | None]:
        """Return the runs before and behind on the same page that lie a small gap away and may be joined."""
        reach = self._reach.get(at)
        if reach is None:
            reach = self._reach[at] = (self._within(at, -1), self._within(at, 1))
        lowest, highest = reach
        left = right = None
        for number in self._begun[self._page[at]]:
            first, last = self._runs[number]
            if lowest < last <= at:
                left, lowest = number, last
            elif at < first <= highest:
                right, highest = number, first - 1
        return left, right

    def _within(self, at: int, step: int) -> int:
        """Return the furthest section, going by ``step``, where a run may begin that ``at`` joins."""
        page, probability, whole = self._page, self._probability, self._costs.whole
        gap = _WIDEST_GAP * self._costs.citation[at]
        beside = at + step
        while 0 <= beside < len(page) and page[beside] == page[at] and gap >= 0 and whole[beside]:
            if probability[beside] == 0:  # never of a run, nor between two
                break
            gap -= self._costs.text[beside]
            beside += step
        return beside - step

    def _around(self, first: int, last: int) -> Iterator[int]:
        """Yield the sections near enough to join the run from ``first`` to ``last``."""
        for at, step in ((first, -1), (last - 1, 1)):
            gap = _WIDEST_GAP * self._costs.citation[at]
            beside = at + step
            while 0 <= beside < len(self._page) and self._page[beside] == self._page[at] and gap >= 0:
                yield beside
                gap -= self._costs.text[beside]
                beside += step

    def _stands_above(self, heading: int, first: int, last: int) -> bool:
        """Whether no heading from ``first`` to ``last`` stands above that of section ``heading``."""
        return self._level[heading] <= min(self._level[first:last])


class _Option(NamedTuple):
    """One way to take sections in, from ``first`` to ``last``: the runs that they join, what it costs."""

    first: int
    last: int
    beside: tuple[int, ...]
    cost: int
    worth: float
