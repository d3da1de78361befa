"""Filling a bundle: within its room, in contiguous runs that read as one, the likeliest first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.retrieval.scored_sections import scored_of
from wikimcp.retrieval import selection as of_selection
from wikimcp.retrieval.relevance import Scored
from wikimcp.retrieval.selection import Costs, Run, Selection, probabilities


def costs_of(text: list[int], *, citation: int = 600, cut: tuple[int, ...] = ()) -> Costs:
    return Costs(text, [citation] * len(text), [at not in cut for at in range(len(text))])


def filled(
    scored: Scored, probability: list[float], costs: Costs, *, room: int = 100_000, limit: int = 12
) -> list[tuple[int, int]]:
    selection = Selection(scored, np.array(probability), costs, limit=limit)
    selection.fill(room)
    return [(run.first, run.last) for run in selection.runs]


def test_the_likeliest_sections_come_first() -> None:
    scored = scored_of([1, 2, 3])
    assert filled(scored, [0.2, 0.5, 0.3], costs_of([400] * 3)) == [(1, 2), (2, 3), (0, 1)]


def test_the_likeliest_section_is_taken_though_a_short_one_is_worth_more_for_its_cost() -> None:
    scored = scored_of([1, 2, 3])
    costs = costs_of([4_000, 40, 40], citation=40)
    assert filled(scored, [0.4, 0.3, 0.3], costs, room=4_100) == [(0, 1)]


def test_what_does_not_fit_is_skipped_and_the_next_one_taken() -> None:
    scored = scored_of([1, 2, 3])
    costs = costs_of([4_000, 400, 400], citation=100)
    assert filled(scored, [0.6, 0.2, 0.2], costs, room=1_000) == [(1, 2), (2, 3)]


def test_neighbours_are_one_span_and_cost_one_citation() -> None:
    scored = scored_of([1, 1, 1], level=[1, 2, 2])
    costs = costs_of([400, 400, 400], citation=600)
    assert filled(scored, [0.5, 0.3, 0.2], costs, room=1_800) == [(0, 3)]
    assert filled(scored, [0.5, 0.3, 0.2], costs, room=1_799) == [(0, 2)]


def test_a_small_gap_comes_along_and_a_wide_one_does_not() -> None:
    scored = scored_of([1, 1, 1], level=[1, 1, 1])
    likely = [0.6, 0.0001, 0.3999]
    assert filled(scored, likely, costs_of([400, 100, 400]), limit=1) == [(0, 3)]
    assert filled(scored, likely, costs_of([400, 9_000, 400]), room=9_000) == [(0, 1), (2, 3)]


def test_a_run_begins_with_its_highest_heading() -> None:
    parts = scored_of([1, 1], level=[2, 1])
    assert filled(parts, [0.5, 0.5], costs_of([400, 400])) == [(0, 1), (1, 2)]
    subtree = scored_of([1, 1], level=[1, 2])
    assert filled(subtree, [0.5, 0.5], costs_of([400, 400])) == [(0, 2)]


def test_a_section_that_is_cut_stands_alone() -> None:
    scored = scored_of([1, 1, 1])
    costs = costs_of([400, 400, 400], cut=(1,))
    assert filled(scored, [0.4, 0.3, 0.3], costs) == [(0, 1), (1, 2), (2, 3)]


@pytest.mark.parametrize("ruled_out", [1, 2])
def test_a_section_that_is_ruled_out_is_not_even_taken_in_between_others(ruled_out: int) -> None:
    scored = scored_of([1] * 4)
    likely = [0.3, 0.3, 0.2, 0.2]
    likely[ruled_out] = 0.0
    runs = filled(scored, likely, costs_of([40] * 4))
    assert runs
    assert not any(first <= ruled_out < last for first, last in runs)


def test_filling_again_adds_to_what_there_is() -> None:
    scored = scored_of([1, 2, 3])
    selection = Selection(scored, np.array([0.5, 0.3, 0.2]), costs_of([400] * 3, citation=100), limit=12)
    selection.fill(1_000)
    assert [run.first for run in selection.runs] == [0, 1]
    selection.fill(500)
    assert [run.first for run in selection.runs] == [0, 1, 2]
    assert selection.runs[0] == Run(0, 1, 0.5)


def test_probabilities_are_shares_of_belief() -> None:
    assert probabilities(scored_of([])).tolist() == []
    found = probabilities(scored_of([1, 2, 3], score=[1_000.0, 1_000.0, -1_000.0]))
    assert found.tolist() == pytest.approx([0.5, 0.5, 0.0])


@st.composite
def fillings(draw: st.DrawFn) -> tuple[Scored, list[float], Costs, int, int]:
    """Draw pages of sections with levels, costs and beliefs, some of them ruled out or cut."""
    lengths = draw(st.lists(st.integers(1, 9), min_size=1, max_size=5))
    pages = [page for page, length in enumerate(lengths, start=1) for _ in range(length)]
    count = len(pages)
    level = draw(st.lists(st.integers(0, 4), min_size=count, max_size=count))
    text = draw(st.lists(st.sampled_from([4, 80, 400, 2_000]), min_size=count, max_size=count))
    belief = draw(st.lists(st.sampled_from([0.0, 1e-9, 0.01, 0.2, 0.9]), min_size=count, max_size=count))
    cut = draw(st.sets(st.integers(0, count - 1), max_size=2))
    citation = draw(st.sampled_from([0, 100, 700]))
    costs = costs_of(text, citation=citation, cut=tuple(cut))
    room = draw(st.sampled_from([0, 500, 2_000, 8_000]))
    return scored_of(pages, level=level), belief, costs, room, draw(st.integers(1, 6))


@given(fillings())
def test_every_filling_keeps_the_rules(filling: tuple[Scored, list[float], Costs, int, int]) -> None:
    scored, belief, costs, room, limit = filling
    runs = filled(scored, belief, costs, room=room, limit=limit)
    assert len(runs) <= limit
    taken = [at for first, last in runs for at in range(first, last)]
    assert len(taken) == len(set(taken))
    assert sum(costs.text[at] for at in taken) + len(runs) * costs.citation[0] <= room
    for first, last in runs:
        assert len(set(scored.rev[first:last].tolist())) == 1
        assert all(belief[at] > 0 for at in range(first, last))
        if last - first > 1:
            assert scored.level[first] <= scored.level[first + 1 : last].min()
            assert all(costs.whole[first:last])
    best = [max(belief[first:last]) for first, last in runs]
    assert best == sorted(best, reverse=True)
    assert runs == filled(scored, belief, costs, room=room, limit=limit)
    # Nothing that fits was left out; a place that runs free by joining may come too late for one.
    for at in range(len(belief)):
        if belief[at] > 0 and at not in taken and limit >= len(belief):
            used = sum(costs.text[other] for other in taken) + len(runs) * costs.citation[0]
            assert used + costs.text[at] + costs.citation[0] > room


class Slow(Selection):
    """Looks at every way to join a section with what was chosen around it, and at the whole of each join."""

    def _may_fit(self, at: int) -> bool:
        return True

    def _best(self, at: int) -> of_selection._Option | None:
        around = [run for run in self._runs.items() if self._page[run[1][0]] == self._page[at]]
        before = max((run for run in around if run[1][1] <= at), key=lambda run: run[1], default=None)
        behind = min((run for run in around if run[1][0] > at), key=lambda run: run[1], default=None)
        ways: list[tuple[int, int, tuple[int, ...]]] = [(at, at + 1, ())]
        if before and self._may_join(at, range(at - 1, before[1][1] - 2, -1)):
            ways.append((before[1][0], at + 1, (before[0],)))
        if behind and self._may_join(at, range(at + 1, behind[1][0] + 1)):
            ways.append((at, behind[1][1], (behind[0],)))
        if len(ways) == 3 and before and behind:
            ways.append((before[1][0], behind[1][1], (before[0], behind[0])))
        best = None
        for first, last, beside in ways:
            level = self._level[first:last]
            new = [other for other in range(first, last) if self._owner[other] < 0]
            cost = self._costs.citation[at] * (1 - len(beside)) + sum(self._costs.text[a] for a in new)
            if level[0] > min(level) or cost > self._room or len(self._runs) - len(beside) >= self._limit:
                continue
            gain = 0.0
            for other in new:
                gain += self._probability[other]
            worth = gain / (max(cost, 0) + of_selection._COST_OFFSET) ** of_selection._COST_POWER
            if best is None or worth > best.worth:
                best = of_selection._Option(new[0], new[-1] + 1, beside, cost, worth)
        return best

    def _may_join(self, at: int, way: range) -> bool:
        """Whether all up to a run may be joined, and what lies between is small enough."""
        *between, edge = way
        gap = of_selection._WIDEST_GAP * self._costs.citation[at]
        for other in between:
            if not self._costs.whole[other] or self._probability[other] == 0 or gap < 0:
                return False
            gap -= self._costs.text[other]
        return gap >= 0 and self._costs.whole[edge] and self._costs.whole[at]


@given(fillings())
def test_looking_only_at_what_is_new_chooses_as_looking_at_every_join(
    filling: tuple[Scored, list[float], Costs, int, int],
) -> None:
    scored, belief, costs, room, limit = filling
    chosen = [kind(scored, np.array(belief), costs, limit=limit) for kind in (Selection, Slow)]
    for step in (room, room // 3):
        for selection in chosen:
            selection.fill(step)
        quick, slow = (selection.runs for selection in chosen)
        assert quick == slow
