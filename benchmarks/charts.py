"""Bar charts as SVG, readable on light and dark pages; no library needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_WIDTH, _LABELS, _VALUES, _ROW, _TOP = 860, 330, 150, 24, 46
_COLOURS = ("#2f6fb3", "#3f8f5f", "#8a63a8")
_STYLE = """\
text { font: 13px system-ui, 'DejaVu Sans', sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 15px }
.group { font-weight: 600 }
.axis { stroke: #8c959f; stroke-width: 1 }
.range { stroke: #24292f; stroke-width: 1.5 }
.goal { stroke: #c4432b; stroke-width: 2; stroke-dasharray: 3 2 }
.base { fill: #8c959f }
@media (prefers-color-scheme: dark) { text { fill: #d0d7de } .range { stroke: #d0d7de } }
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its label, its length, the words beside it; ``colour`` counts groups, None is a baseline.

    ``low`` and ``high`` draw a range over the bar's end, ``goal`` a broken line.
    """

    label: str
    value: float
    text: str
    colour: int | None = 0
    low: float | None = None
    high: float | None = None
    goal: float | None = None


def bar_chart(title: str, groups: Mapping[str, Sequence[Bar]]) -> str:
    """Return horizontal bars in named groups under a title, all on one scale from zero."""
    bars = [bar for group in groups.values() for bar in group]
    most = max((max(bar.value, bar.high or 0, bar.goal or 0) for bar in bars), default=0) or 1
    scale = (_WIDTH - _LABELS - _VALUES) / most
    height = _TOP + _ROW * (len(bars) + len(groups)) + 14
    rows: list[str] = []
    top = _TOP
    for name, group in groups.items():
        rows.append(f'<text class="group" x="{_LABELS + 4}" y="{top + 13}">{escape(name)}</text>')
        for at, bar in enumerate(group, start=1):
            rows += _bar(bar, top + at * _ROW, scale)
        top += _ROW * (len(group) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_STYLE}</style>",
        f'<text class="title" x="8" y="24">{escape(title)}</text>',
        *rows,
        f'<line class="axis" x1="{_LABELS}" y1="{_TOP - 6}" x2="{_LABELS}" y2="{height - 8}"/>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _bar(bar: Bar, top: int, scale: float) -> list[str]:
    """Return the marks of one bar whose row begins at ``top``."""
    middle = top + _ROW / 2 - 3
    paint = 'class="base"' if bar.colour is None else f'fill="{_COLOURS[bar.colour % len(_COLOURS)]}"'
    reach = max(bar.value, bar.high or 0)
    if bar.goal is not None and 0 <= (bar.goal - reach) * scale < _VALUES / 2:
        reach = bar.goal  # the words stand behind the line, not on it
    parts = [
        f'<text x="{_LABELS - 8}" y="{middle + 4.5:.1f}" text-anchor="end">{escape(bar.label)}</text>',
        f'<rect {paint} x="{_LABELS}" y="{top}" width="{bar.value * scale:.1f}" height="{_ROW - 6}" rx="2"/>',
    ]
    if bar.low is not None and bar.high is not None and bar.high > bar.low:
        ends = f'x1="{_LABELS + bar.low * scale:.1f}" x2="{_LABELS + bar.high * scale:.1f}"'
        parts.append(f'<line class="range" {ends} y1="{middle:.1f}" y2="{middle:.1f}"/>')
    if bar.goal is not None:
        at = f"{_LABELS + bar.goal * scale:.1f}"
        parts.append(f'<line class="goal" x1="{at}" x2="{at}" y1="{top - 2}" y2="{top + _ROW - 4}"/>')
    parts.append(
        f'<text x="{_LABELS + reach * scale + 8:.1f}" y="{middle + 4.5:.1f}">{escape(bar.text)}</text>'
    )
    return parts
