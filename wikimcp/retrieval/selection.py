"""Which sections go into a bundle: a greedy fill of the token budget with contiguous runs.

Neighbouring sections of one page join to one span when the first heading stands above the rest
(a subtree, or siblings under one parent), so that a span reads as a piece of the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wikimcp.retrieval.relevance import Floats, Scored

_LENGTH_POWER = 0.3  # how much a long section must be better than a short one
_LENGTH_OFFSET = 40
_MOST_TRIED = 250  # sections
_SMALLEST = 40  # tokens left that are not worth another look
_LONGEST_SECTION = 1_500  # tokens; a longer section is cut around its best chunk
_LONGEST_SHARE = 0.6  # of the budget that one section may take


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


def longest_section(budget: int) -> int:
    """Return the tokens from which a section is cut around its best chunk."""
    return max(min(_LONGEST_SECTION, int(budget * _LONGEST_SHARE)), _SMALLEST)


def capped_tokens(scored: Scored, budget: int) -> NDArray[np.int64]:
    """Return the tokens each section would take, over-long ones cut."""
    return np.minimum(scored.tokens, longest_section(budget))


def select_runs(
    scored: Scored,
    probability: Floats,
    tokens: NDArray[np.int64],
    overhead: NDArray[np.int64],
    *,
    budget: int,
    limit: int,
    alone: NDArray[np.bool_],
) -> tuple[list[Run], list[int]]:
    """Return the runs that fill ``budget`` tokens with at most ``limit`` spans, best first.

    A section that does not fit is skipped, not the end of the list; the second value lists those.
    ``tokens`` are of each section, ``overhead`` those of a span's citation on that section's page.
    ``alone`` marks sections that may not join others (because they are cut).
    """
    filler = _Filler(scored, tokens, overhead, alone, budget=budget, limit=limit)
    order = np.argsort(-probability / (tokens + _LENGTH_OFFSET) ** _LENGTH_POWER, kind="stable")
    skipped = []
    for at in order[:_MOST_TRIED].tolist():
        if budget - filler.used < _SMALLEST:
            break
        if probability[at] > 0 and filler.owner[at] < 0 and not filler.place(at):
            skipped.append(at)
    runs = [Run(a, b, float(probability[a:b].max())) for a, b in filler.runs.values()]
    runs.sort(key=lambda run: -run.probability)
    return runs, skipped


class _Filler:
    """The bundle while it fills: runs by number, and which run owns each section."""

    def __init__(
        self,
        scored: Scored,
        tokens: NDArray[np.int64],
        overhead: NDArray[np.int64],
        alone: NDArray[np.bool_],
        *,
        budget: int,
        limit: int,
    ) -> None:
        self.owner = np.full(len(scored), -1)
        self.runs: dict[int, tuple[int, int]] = {}
        self.used = 0
        self._scored = scored
        self._tokens = tokens
        self._overhead = overhead
        self._alone = alone
        self._budget = budget
        self._limit = limit
        self._gap = budget // 30  # tokens of a section between two chosen ones that comes along
        self._number = 0

    def place(self, at: int) -> bool:
        """Take section ``at`` in, joined to a neighbour where it may; False when it does not fit."""
        if self.used + int(self._tokens[at]) > self._budget:
            return False
        for first, last, absorbed in self._options(at):
            if not self._reads_as_one(first, last):
                continue
            new = int(self._tokens[first:last][self.owner[first:last] < 0].sum())
            cost = new + int(self._overhead[at]) * (1 - len(absorbed))
            if self.used + cost > self._budget or len(self.runs) + 1 - len(absorbed) > self._limit:
                continue
            for number in absorbed:
                del self.runs[number]
            self.runs[self._number] = (first, last)
            self.owner[first:last] = self._number
            self._number += 1
            self.used += cost
            return True
        return False

    def _options(self, at: int) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        left, right = self._neighbour(at, -1), self._neighbour(at, 1)
        if left is not None and right is not None and left != right:
            yield self.runs[left][0], self.runs[right][1], (left, right)
        if left is not None:
            yield self.runs[left][0], at + 1, (left,)
        if right is not None:
            yield at, self.runs[right][1], (right,)
        yield at, at + 1, ()

    def _neighbour(self, at: int, step: int) -> int | None:
        """Return the run that lies at most a small gap away on the same page."""
        rev = self._scored.rev
        beside, passed = at + step, 0
        while 0 <= beside < len(rev) and rev[beside] == rev[at]:
            if self.owner[beside] >= 0:
                return int(self.owner[beside])
            passed += int(self._tokens[beside])
            if passed > self._gap:
                return None
            beside += step
        return None

    def _reads_as_one(self, first: int, last: int) -> bool:
        if last - first == 1:
            return True
        if self._alone[first:last].any():
            return False
        sections = self._scored.section
        if sections[last - 1] - sections[first] != last - 1 - first:
            return False
        return bool(self._scored.level[first] <= self._scored.level[first + 1 : last].min())
