"""Writes RESULTS.md: what was run, when and on what, every figure with its goal, and what to keep in mind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.goals import PEER_ROWS, PEERS, PeerRow, goal_for
from benchmarks.measures.queries import STATISTICS
from benchmarks.measures.queries import TITLE as QUERIES_TITLE
from benchmarks.plots import plots
from benchmarks.results import Results, VaultSet

_MARKS = {"missed": " ✗", "met": " ✓", "aim met": " ✓ aim"}
_WHERE = {"inside": "inside the server", "stdio": "over stdio"}
_REMARKS = """\
- Each repetition runs in fresh processes over a fresh state directory, in an empty home folder, with no
  settings of the user. A cell is the median, in brackets the smallest and the largest value.
- Times "from spawn" count the start of Python. The pages were just written or read: they come from the page
  cache, not from a disk.
- *Alike* copies have equal text under other names, and equal embedded text is embedded once: such a vault
  has a tenth of the vectors. In a *varied* vault every copy has a word of its own in title, summary, id and
  each paragraph, so that nothing is shared: there, embedding and memory are those of as many real pages.
  Names and aliases are found in every copy, which is harder than in a vault that grew.
- A waiting client asks again after 10 ms: times until something is right are exact to that.
- The ratios to plain Python (one core reads every file and counts its words in a dictionary) and to the
  SDK's import are what can be compared between machines; seconds cannot."""


def write(results: Results, folder: Path, titles: dict[str, str]) -> Path:
    """Write RESULTS.md and its plots into a folder; returns the file. ``titles`` names the measures."""
    drawn = plots(results)
    if drawn:
        (folder / "plots").mkdir(parents=True, exist_ok=True)
    for name, svg in drawn.items():
        (folder / "plots" / f"{name}.svg").write_text(svg, encoding="utf-8")
    file = folder / "RESULTS.md"
    file.write_text(render(results, titles, plotted=list(drawn)), encoding="utf-8")
    return file


def render(results: Results, titles: dict[str, str], *, plotted: Sequence[str] = ()) -> str:
    """Return the report as markdown."""
    parts = ["# Speed, memory and sizes", _run_facts(results), "## Goals", _goals(results)]
    for measure, title in titles.items():
        outcomes = results.of(measure)
        if not outcomes:
            continue
        parts.append(f"## {title}")
        if measure in plotted:
            parts.append(f"![{title}](plots/{measure}.svg)")
        parts.append(_queries(results) if title == QUERIES_TITLE else _figures(results, measure))
        notes = dict.fromkeys(remark for outcome in outcomes for remark in outcome.remarks)
        parts += [f"{remark[0].upper()}{remark[1:]}" for remark in notes]
        parts += [f"**Broke off** at {o.set_name}: {o.failure}" for o in outcomes if o.failure]
    parts += ["## Beside other servers", _peers(results), "## To keep in mind", _REMARKS]
    return "\n\n".join(parts) + "\n"


def _run_facts(results: Results) -> str:
    machine = results.machine
    packages = ", ".join(f"{name} {version}" for name, version in machine["packages"].items())
    options = ", ".join(f"{name} {value}" for name, value in results.options.items())
    minutes = sum(outcome.seconds for outcome in results.outcomes) / 60
    load = f"{results.load_before} before, {results.load_after} after"
    lines = [
        f"Run on {results.date} with `make bench` ({options}).",
        "",
        f"- {machine['cpu'] or 'CPU unknown'}, {machine['cores']} usable cores, {machine['memory_gb']} GB",
        f"- {machine['system']}; {machine['python']}; wikimcp {machine['wikimcp']}",
        f"- {packages}",
        f"- Load average: {load}; the measures took {minutes:.0f} minutes",
        f"- Vaults: {'; '.join(one.name for one in results.sets)}",
    ]
    if results.busy:
        lines += ["", "**The machine did other work when this began: take all times as upper bounds.**"]
    return "\n".join(lines)


def _goals(results: Results) -> str:
    """Return one row for each goal, with the medians of the vaults that it holds for."""
    order = list(dict.fromkeys(figure.key for _, figure in results.by_set()))
    rows: dict[tuple[int, str, str], dict[str, str]] = {}
    verdicts = []
    for one, figure in results.by_set():
        if goal := goal_for(figure.key, one.scale):
            verdicts.append(goal.verdict(figure.median))
            head = (order.index(figure.key), _full_label(figure), f"{goal} {_unit(figure)}".rstrip())
            rows.setdefault(head, {})[one.name] = number(figure.median, figure.unit) + _MARKS[verdicts[-1]]
    if not rows:
        return "No goal is set for what was measured."
    met = sum(verdict != "missed" for verdict in verdicts)
    names = [one.name for one in results.sets]
    said = f"{met} of {len(verdicts)} medians meet their goal. Goals of speed and memory are set for about "
    return f"{said}1,201 and 12,010 pages.\n\n" + _table(
        ("figure", "goal", *names),
        [(*head[1:], *(cells.get(name, "–") for name in names)) for head, cells in sorted(rows.items())],
    )


def _full_label(figure: Figure) -> str:
    parts = figure.key.split(".")
    if parts[0] == "queries":
        return f"{figure.label}, {_WHERE[parts[1]]}, {parts[3]}"
    return figure.label


def _figures(results: Results, measure: str) -> str:
    """Return a table with one row for each figure and one column for each vault."""
    sets = results.sets_of(measure)
    rows = []
    for key, first in results.labels(measure).items():
        cells = []
        for one in sets:
            figure, goal = results.figure(key, one), goal_for(key, one.scale)
            mark = _MARKS[goal.verdict(figure.median)] if figure and goal else ""
            cells.append(_cell(figure) + mark)
        rows.append((first.label, _unit(first), *cells))
    return _table(("figure", "unit", *(one.name for one in sets)), rows)


def _queries(results: Results) -> str:
    """Return p50 / p95 / max of each tool, inside the server and over stdio."""
    sets = results.sets_of("queries")
    tools = dict.fromkeys(figure.label for figure in results.labels("queries").values())
    rows = [
        (f"`{tool}`", words, *(_three(results, f"queries.{where}.{tool}", one) for one in sets))
        for where, words in _WHERE.items()
        for tool in tools
    ]
    return "Milliseconds: p50 / p95 / max of all calls, each the median of the repetitions.\n\n" + _table(
        ("tool", "where", *(one.name for one in sets)), rows
    )


def _three(results: Results, key: str, one: VaultSet) -> str:
    """Return a cell with the three statistics of a tool."""
    found = [results.figure(f"{key}.{statistic}", one) for statistic in STATISTICS]
    return " / ".join(number(figure.median, "ms") for figure in found if figure) or "–"


def _peers(results: Results) -> str:
    rows = [(row.label, f"**{_ours(results, row)}**", *row.theirs) for row in PEER_ROWS]
    said = (
        "The others' figures were measured elsewhere, over the same 1,201 pages (ten copies for 12,010), on "
        "two cores of **another machine**, with keyword search. They say what such servers need. A ratio "
        "between them and the column of wikimcp compares machines as well and proves nothing by itself."
    )
    return f"{said}\n\n" + _table(("", "wikimcp, here", *PEERS), rows)


def _ours(results: Results, row: PeerRow) -> str:
    found = [results.figure_at(key, row.scale) for key in row.ours]
    cells = []
    for figure in found:
        if figure is None:
            return "–"
        in_seconds = figure.unit == "ms" and row.label.endswith(", s")
        cells.append(number(figure.median / 1000, "s") if in_seconds else number(figure.median, figure.unit))
    return " / ".join(cells)


def number(value: float, unit: str) -> str:
    """Write a value with the digits that matter for its unit."""
    if unit in ("count", "tokens", "%"):
        return f"{value:,.0f}"
    if unit == "MB":
        return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
    if unit == "x":
        return f"{value:.1f}"
    return f"{value:,.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.3f}"


def _unit(figure: Figure) -> str:
    return "" if figure.unit == "count" else figure.unit


def _cell(figure: Figure | None) -> str:
    if figure is None:
        return "–"
    middle = number(figure.median, figure.unit)
    low, high = (number(value, figure.unit) for value in (min(figure.values), max(figure.values)))
    return middle if low == high else f"{middle} ({low} to {high})"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(_table_lines(columns, rows))


def _table_lines(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{'|'.join('---' for _ in columns)}|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
