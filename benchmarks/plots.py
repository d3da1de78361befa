"""Chooses what is drawn: one chart for each measure that a picture says more of than its table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchmarks.charts import Bar, bar_chart
from benchmarks.goals import goal_for
from benchmarks.results import Results, VaultSet

_COLD = {"cold.words": None, "cold.lexical": 0, "cold.dense": 1, "cold.right_answer": 2}
_WARM = {
    "warm.python": None,
    "warm.sdk": None,
    **{f"warm.{era}.{part}": 0 for era in ("legacy", "modern") for part in ("handshake", "total")},
}
_MEMORY = {
    "memory.dense": 1,
    "memory.family": 1,
    "memory.session": 2,
    "memory.serving": 0,
    "memory.share.one": 0,
    "memory.share.many": 0,
}


def plots(results: Results) -> dict[str, str]:
    """Return SVG charts by the name of their measure."""
    drawn = {
        "cold": ("Cold index, seconds (median, range; broken line: goal)", _groups(results, _COLD)),
        "warm": ("Warm start, seconds (median, range; broken line: goal)", _groups(results, _WARM)),
        "queries": ("Tools inside the server, ms: p95 (p50); broken line: goal", _queries(results)),
        "memory": ("Memory, MB (median, range; broken line: goal)", _groups(results, _MEMORY)),
    }
    return {name: bar_chart(title, groups) for name, (title, groups) in drawn.items() if groups}


def _groups(results: Results, keys: Mapping[str, int | None]) -> dict[str, list[Bar]]:
    """Return the bars of some figures for each set, coloured as ``keys`` say (None: a baseline)."""
    groups = {one.name: list(_of_set(results, keys, one)) for one in results.sets}
    return {name: bars for name, bars in groups.items() if bars}


def _of_set(results: Results, keys: Mapping[str, int | None], one: VaultSet) -> Iterator[Bar]:
    for key, colour in keys.items():
        figure = results.figure(key, one)
        if figure is not None:
            goal = goal_for(key, one.scale)
            yield Bar(
                label=figure.label,
                value=figure.median,
                text=f"{figure.median:.2f}" if figure.median < 10 else f"{figure.median:,.0f}",
                colour=colour,
                low=min(figure.values),
                high=max(figure.values),
                goal=goal.bound if goal else None,
            )


def _queries(results: Results) -> dict[str, list[Bar]]:
    """Return p95 of each tool for each set."""
    tools = dict.fromkeys(figure.label for figure in results.labels("queries").values())
    groups: dict[str, list[Bar]] = {}
    for colour, one in enumerate(results.sets_of("queries")):
        for tool in tools:
            key = f"queries.inside.{tool}"
            half, most = results.figure(f"{key}.p50", one), results.figure(f"{key}.p95", one)
            if half and most:
                goal = goal_for(f"{key}.p95", one.scale)
                text = f"{most.median:.1f} ({half.median:.1f})"
                bar = Bar(tool, most.median, text, colour, goal=goal.bound if goal else None)
                groups.setdefault(one.name, []).append(bar)
    return groups
