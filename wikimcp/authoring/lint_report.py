"""What lint says: its rules, what they found, and the report that holds it under the keys of the contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

Level = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: ``code`` never changes its meaning, ``key`` is where the report lists what it found.

    Only rules of level ``error`` make a report not ok.
    """

    code: str
    name: str
    key: str
    level: Level
    summary: str
    hint: str


BROKEN_LINK = Rule(
    "W001",
    "broken-link",
    "broken_links",
    "error",
    "A link leads to no page and no file.",
    "Correct the target, write the page, or take the link out.",
)
DEAD_ANCHOR = Rule(
    "W002",
    "dead-anchor",
    "dead_anchors",
    "error",
    "A source anchor names a file, or lines of it, that are not there as they were.",
    "Point the anchor at where the lines are now, or correct what the page says of them.",
)
MISSING_HEADING = Rule(
    "W003",
    "missing-heading",
    "missing_headings",
    "warning",
    "A link leads to a page that is there, but to a heading or block that is not.",
    "Name a heading that the page has.",
)
ORPHAN = Rule(
    "W004",
    "orphan",
    "orphans",
    "note",
    "No other page links to this one.",
    "Link to it from a page that a reader comes from.",
)
ISOLATED = Rule(
    "W005",
    "isolated",
    "isolated",
    "note",
    "This page links to no other page.",
    "Link to what it builds on.",
)
GAP = Rule(
    "W006",
    "gap",
    "gaps",
    "note",
    "Several pages link to a name that no page has, or no page speaks of a folder of sources.",
    "Write the page that they ask for.",
)
STALE = Rule(
    "W007",
    "stale",
    "stale",
    "note",
    "The page has not been updated for long.",
    "Read it against its sources, and update it or confirm it.",
)
DUPLICATE_TITLE = Rule(
    "W008",
    "duplicate-title",
    "duplicates",
    "warning",
    "Another page has the same title.",
    "Give one of them another title, or make them one page.",
)
MISSING_FIELDS = Rule(
    "W009",
    "missing-fields",
    "missing_frontmatter",
    "warning",
    "The frontmatter lacks fields that are asked for, or that nearly all pages here have.",
    "Add the fields.",
)
SECRET = Rule(
    "W010",
    "secret",
    "secrets",
    "warning",
    "The page holds what looks like a secret.",
    "Take it out and make it worthless where it is valid.",
)
PRUNED_SOURCE = Rule(
    "W011",
    "pruned-source",
    "pruned_sources",
    "note",
    "A source that the page rests on is gone.",
    "File the page again from a source that is there, or name the new place of this one.",
)
INDEX_DRIFT = Rule(
    "W012",
    "index-drift",
    "index_drift",
    "warning",
    "An index does not say what the frontmatter of its pages says.",
    "`wikimcp lint --fix` makes it anew.",
)
LEFTOVER_WIKILINK = Rule(
    "W013",
    "leftover-wikilink",
    "leftover_wikilinks",
    "warning",
    "A compiled wiki holds a [[wikilink]] where it has relative links.",
    "`wikimcp lint --fix` writes the link relative.",
)
NOT_CONFORMING = Rule(
    "W014",
    "not-conforming",
    "missing_frontmatter",
    "warning",
    "A page of a compiled wiki is not in the form that its format asks for.",
    "Correct the frontmatter; `wikimcp okf check` says more.",
)
CHANGED_SOURCE = Rule(
    "W015",
    "changed-source",
    "stale",
    "note",
    "A source has changed since the page was compiled from it.",
    "Read the source again and correct the page, then run `wikimcp refresh`.",
)
RULES: tuple[Rule, ...] = (
    BROKEN_LINK,
    DEAD_ANCHOR,
    MISSING_HEADING,
    ORPHAN,
    ISOLATED,
    GAP,
    STALE,
    DUPLICATE_TITLE,
    MISSING_FIELDS,
    SECRET,
    PRUNED_SOURCE,
    INDEX_DRIFT,
    LEFTOVER_WIKILINK,
    NOT_CONFORMING,
    CHANGED_SOURCE,
)
KEYS: tuple[str, ...] = tuple(dict.fromkeys(rule.key for rule in RULES))
"""The keys of a report that hold findings, in their order."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule found. ``line`` and ``column`` count from 1; column 0 is the whole line.

    ``page`` is the path of the file relative to the root of the vault, ``hint`` what to do about it.
    """

    rule: Rule
    page: str
    line: int
    message: str
    column: int = 0
    hint: str = ""

    @property
    def order(self) -> tuple[str, str, int, int, str]:
        """By rule, then by place."""
        return (self.rule.code, self.page, self.line, self.column, self.message)

    def row(self) -> dict[str, Any]:
        """Return the finding as a JSON value."""
        return {
            "rule": self.rule.code,
            "page": self.page,
            "line": self.line,
            **({"column": self.column} if self.column else {}),
            "message": self.message,
            "hint": self.hint or self.rule.hint,
        }


@dataclass(frozen=True, slots=True)
class Measured:
    """How much there was for the rules to look at: what shares in the score are shares of."""

    pages: int = 0
    links: int = 0
    fragments: int = 0
    anchors: int = 0
    indexes: int = 0


@dataclass(frozen=True, slots=True)
class ScorePart:
    """What one key took from the score: ``found`` of ``among``, and the points ``lost`` of its ``weight``."""

    key: str
    found: int
    among: int
    weight: int
    lost: float


@dataclass(frozen=True)
class LintReport:
    """All findings in order, what they were found among, and the score with its parts.

    ``notes`` say what could not be checked and why.
    """

    findings: tuple[Finding, ...]
    measured: Measured
    score: int
    parts: tuple[ScorePart, ...]
    notes: tuple[str, ...] = ()
    compiled: bool = field(default=False)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong that makes a wiki lead its reader astray: dead anchors, broken links."""
        return not any(finding.rule.level == "error" for finding in self.findings)

    @cached_property
    def by_key(self) -> Mapping[str, Sequence[Finding]]:
        """The findings of every key, keys without any too."""
        table: dict[str, list[Finding]] = {key: [] for key in KEYS}
        for finding in self.findings:
            table[finding.rule.key].append(finding)
        return table

    def to_json(self, most: int | None = None) -> dict[str, Any]:
        """Return the report as a JSON value; of each key at most ``most`` findings, all without it.

        ``counts`` always tells of all of them.
        """
        found = self.by_key
        return {
            "ok": self.ok,
            "score": self.score,
            "pages": self.measured.pages,
            "counts": {key: len(rows) for key, rows in found.items()},
            "score_parts": [part_row(part) for part in self.parts],
            **{key: [finding.row() for finding in rows[:most]] for key, rows in found.items()},
            "notes": list(self.notes),
        }


def part_row(part: ScorePart) -> dict[str, Any]:
    """Return a part of the score as a JSON value."""
    return {
        "key": part.key,
        "found": part.found,
        "among": part.among,
        "weight": part.weight,
        "lost": round(part.lost, 2),
    }


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings by rule and place, each once."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: finding.order))
