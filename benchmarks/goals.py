"""What the figures are held against: the goals, and what other servers needed on a machine of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Scale = Literal["small", "large", "huge", ""]
SCALES: Mapping[Scale, tuple[int, int]] = {
    "small": (1_000, 1_500),
    "large": (10_000, 15_000),
    "huge": (100_000, 150_000),
}
"""Page counts that the goals for 1,201, for 12,010 and for 120,100 pages are applied to."""


def scale_of(pages: int) -> Scale:
    """Return which goals a vault of so many pages is held against; empty when it is of another size."""
    return next((scale for scale, (low, high) in SCALES.items() if low <= pages <= high), "")


@dataclass(frozen=True, slots=True)
class Goal:
    """A bound on a median, and a better value that is aimed at. ``at_least``: more is better."""

    bound: float
    aim: float | None = None
    at_least: bool = False

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        return f"{sign} {self.bound:,g}" + (f", aim {self.aim:,g}" if self.aim is not None else "")

    def verdict(self, value: float) -> str:
        """Return missed, met, or aim met."""
        if value < self.bound if self.at_least else value > self.bound:
            return "missed"
        return "aim met" if self.aim is not None and value <= self.aim else "met"


_WARM = Goal(1.0, 0.6)
_MEMORY = Goal(350)
_EDIT = Goal(100)
_ALWAYS = Goal(100, at_least=True)
_KINDS = ("new", "edited", "replaced", "draft", "deleted")
_BUNDLE_P95 = "queries.inside.assemble_bundle.p95"

GOALS: Mapping[Scale, Mapping[str, Goal]] = {
    "": {
        **{f"edits.{kind}.call": _EDIT for kind in _KINDS},
        **{f"edits.{kind}.right": _ALWAYS for kind in _KINDS},
        "fleet.many.builds": Goal(1),
        "fleet.many.edit": _ALWAYS,
        "size.tools.input": Goal(5_000),
        "size.tools.schemas": Goal(9_000),
        "size.changed": Goal(0),
    },
    "small": {
        "cold.lexical": Goal(1.5),
        "warm.legacy.total": _WARM,
        "warm.modern.total": _WARM,
    },
    "large": {
        "cold.lexical": Goal(10, 7),
        "warm.legacy.total": _WARM,
        "warm.modern.total": _WARM,
        _BUNDLE_P95: Goal(20, 15),
        "memory.dense": _MEMORY,
        "memory.session": _MEMORY,
        "memory.serving": _MEMORY,
    },
    "huge": {
        "cold.lexical": Goal(120),
        "warm.legacy.total": Goal(2.0),
        "warm.modern.total": Goal(2.0),
        _BUNDLE_P95: Goal(50),
        **{f"edits.{kind}.call": Goal(300) for kind in _KINDS},
        "memory.dense": Goal(1_200),
        "memory.session": Goal(1_200),
        "memory.serving": Goal(1_200),
    },
}


def goal_for(key: str, scale: Scale) -> Goal | None:
    """Return the goal of a figure on a vault of a scale: its own, else that of any."""
    return GOALS[scale].get(key) or GOALS[""].get(key)


PEERS = (
    "markdown-vault-mcp 5.1.0",
    "basic-memory 0.24.1",
    "qmd 2.8.3 (BM25)",
    "mcpvault 0.16.0",
    "llmwiki-serve 0.2.10",
)
"""Other servers over markdown, as measured over stdio (the last one over HTTP) on two cores."""


@dataclass(frozen=True, slots=True)
class PeerRow:
    """One thing that was measured of the others, in the order of PEERS, and the keys of ours."""

    label: str
    scale: Scale
    ours: tuple[str, ...]
    theirs: tuple[str, str, str, str, str]


PEER_ROWS = (
    PeerRow("install, MB", "", ("size.install",), ("159", "657", "857 + Node", "24", "112")),
    PeerRow(
        "1,201 pages: cold to first right answer, s",
        "small",
        ("cold.right_answer",),
        ("4.1", "311", "2.7", "1.3", "4.8"),
    ),
    PeerRow(
        "1,201 pages: warm spawn to first right answer, s",
        "small",
        ("warm.legacy.total",),
        ("1.4", "6.0", "0.30", "0.49", "4.5"),
    ),
    PeerRow(
        "1,201 pages: search p50 / p95, ms",
        "small",
        ("queries.stdio.assemble_bundle.p50", "queries.stdio.assemble_bundle.p95"),
        ("5.3 / 13.7", "47 / 121", "4.8 / 18.7", "266 / 321", "81 / 138"),
    ),
    PeerRow(
        "1,201 pages: peak memory, MB", "small", ("memory.session",), ("148", "568", "184", "198", "350")
    ),
    PeerRow(
        "1,201 pages: edit seen after, s",
        "small",
        ("edits.edited.visible",),
        ("2.2", "3.8", "never", "0.3", "4.3 to 5.9"),
    ),
    PeerRow(
        "1,201 pages: four servers at once, s",
        "small",
        ("fleet.many.right",),
        ("3.5, one error", "21.8", "no edit seen", "ok, 1 s a query", "not possible"),
    ),
    PeerRow(
        "12,010 pages: cold to first right answer, s",
        "large",
        ("cold.right_answer",),
        ("23.6", "about 3,300", "19.4", "7.6", "89"),
    ),
    PeerRow(
        "12,010 pages: search p50 / p95, ms",
        "large",
        ("queries.stdio.assemble_bundle.p50", "queries.stdio.assemble_bundle.p95"),
        ("13 / 30", "–", "11.5 / 67", "2,651 / 3,123", "1,203 / 3,427"),
    ),
    PeerRow(
        "12,010 pages: edit seen after, s",
        "large",
        ("edits.edited.visible",),
        ("3.9", "–", "never", "–", "59"),
    ),
    PeerRow(
        "tools/list, tokens (tools)",
        "",
        ("size.tools.message",),
        ("17,052 (44)", "16,410", "1,622 (4)", "2,579", "–"),
    ),
    PeerRow("vault files rewritten", "", ("size.changed",), ("0", "all", "0", "0", "0")),
)
