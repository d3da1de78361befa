"""The measures: how much of the right sections came back, where the right pages stand, and averages.

Pure arithmetic over rows. Lines are 1-based and inclusive, as citations give them.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from wikimcp.evaluation.questions import Question

COVERED = 0.5
"""The share of a right section's own lines that returned spans must cover."""
FIRST_SECTIONS = 5
PAGE_CUTS = (1, 5, 12)

Lines = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a right section stands: its page's slug and its own lines (heading included).

    ``lines`` is None when the page has no such heading: the page can still be found.
    """

    slug: str
    lines: Lines | None


@dataclass(frozen=True, slots=True)
class Returned:
    """One returned section: the page and the lines of its citation."""

    slug: str
    lines: Lines


@dataclass(frozen=True, slots=True)
class Row:
    """What one question got in one run. Recalls are shares of its right sections or pages, 0 to 1.

    ``recall`` and ``tokens`` are by token budget; ``first`` counts the first sections at the largest
    budget only, as do the page measures, ``seconds`` and what follows them.
    """

    question: Question
    recall: Mapping[int, float]
    tokens: Mapping[int, int]
    first: float
    page_recall: Mapping[int, float]
    reciprocal_rank: float
    seconds: float
    confidence: str
    top_similarity: float
    cited: int
    verified: int


def covers(place: Place, returned: Iterable[Returned]) -> bool:
    """Tell whether the returned spans of a page cover at least half of a section's own lines."""
    if place.lines is None:
        return False
    first, last = place.lines
    got: set[int] = set()
    for section in returned:
        if section.slug == place.slug:
            got.update(range(max(first, section.lines[0]), min(last, section.lines[1]) + 1))
    return len(got) >= COVERED * (last - first + 1)


def section_recall(places: Sequence[Place | None], returned: Sequence[Returned]) -> float:
    """Return the share of the right sections that are covered; one that was not found counts as missed."""
    return _share(place is not None and covers(place, returned) for place in places)


def page_ranks(slugs: Iterable[str], returned: Sequence[Returned]) -> list[int | None]:
    """Return the rank of each page by first appearance, from 1; None when it did not appear."""
    order = list(dict.fromkeys(section.slug for section in returned))
    return [order.index(slug) + 1 if slug in order else None for slug in dict.fromkeys(slugs)]


def page_recall(ranks: Sequence[int | None], cut: int) -> float:
    """Return the share of the right pages among the first ``cut`` pages."""
    return _share(rank is not None and rank <= cut for rank in ranks)


def reciprocal_rank(ranks: Sequence[int | None]) -> float:
    """Return 1 / rank of the best right page; 0 when none appeared."""
    return max((1 / rank for rank in ranks if rank), default=0.0)


def summarise(rows: Sequence[Row]) -> dict[str, float | int | None]:
    """Average the rows by name of measure; None where no row can say (no answerable question, say).

    ``far`` and ``near`` are shares of the NEGATIVE questions of that kind that came back weak or
    unknown, ``negative`` of all; ``grounded`` and ``called_weak`` are shares of the answerable ones.
    Times are milliseconds.
    """
    answerable = [row for row in rows if row.question.answerable]
    negative = [row for row in rows if not row.question.answerable]
    budgets = list(rows[0].recall) if rows else []
    times = sorted(row.seconds * 1000 for row in rows)
    cited = sum(row.cited for row in rows)
    summary: dict[str, float | int | None] = {"questions": len(rows)}
    for budget in budgets:
        summary[f"recall_{budget}"] = _mean(row.recall[budget] for row in answerable)
    summary["recall_first_5"] = _mean(row.first for row in answerable)
    for cut in PAGE_CUTS:
        summary[f"page_recall_{cut}"] = _mean(row.page_recall[cut] for row in answerable)
    summary["mrr"] = _mean(row.reciprocal_rank for row in answerable)
    summary["grounded"] = _mean(row.confidence in ("strong", "partial") for row in answerable)
    summary["called_weak"] = _mean(row.confidence == "weak" for row in answerable)
    for name, kinds in (("far", {"far"}), ("near", {"near"}), ("negative", {"far", "near", ""})):
        of_kind = [row for row in negative if row.question.kind in kinds]
        summary[name] = _mean(row.confidence in ("weak", "unknown") for row in of_kind)
    for budget in budgets:
        summary[f"tokens_{budget}"] = _mean(row.tokens[budget] for row in rows)
    summary["citations"] = cited
    summary["verified"] = sum(row.verified for row in rows) / cited if cited else None
    summary["p50_ms"] = statistics.median(times) if times else None
    summary["p95_ms"] = times[min(len(times) - 1, int(0.95 * len(times)))] if times else None
    return summary


def by_category(rows: Sequence[Row]) -> dict[str, dict[str, float | int | None]]:
    """Summarise each category, by name, and all of them as ``overall``."""
    names = sorted({row.question.category for row in rows})
    parts = {name: summarise([row for row in rows if row.question.category == name]) for name in names}
    return {**parts, "overall": summarise(rows)}


def _mean(values: Iterable[float]) -> float | None:
    known = list(values)
    return statistics.fmean(known) if known else None


def _share(truths: Iterable[bool]) -> float:
    values = list(truths)
    return sum(values) / len(values) if values else 0.0
