"""The score of a wiki: 0 to 100, by a formula that anybody can do by hand.

``score = floor(100 - sum of lost)``, where every key of the report loses

    lost = weight * min(1, (found / among) / full)

``found`` counts findings for what stands in links and anchors, and pages with a finding for all else;
``among`` is how many links, links to headings, anchors, index files or pages there are; at the share
``full`` the whole weight is lost. The weights add up to 100. Pruned sources weigh nothing: that a source
was retired is no fault of the page. A wiki without pages has 100.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor

from wikimcp.authoring.lint_report import Finding, Measured, ScorePart


@dataclass(frozen=True, slots=True)
class Weight:
    """What a key can cost (``points``), at which share it costs all of it, and of what the share is."""

    points: int
    full: float
    among: str


WEIGHTS: Mapping[str, Weight] = {
    "broken_links": Weight(25, 0.10, "links"),
    "dead_anchors": Weight(15, 0.10, "anchors"),
    "missing_headings": Weight(5, 0.20, "fragments"),
    "orphans": Weight(10, 0.50, "pages"),
    "isolated": Weight(5, 0.50, "pages"),
    "gaps": Weight(5, 0.10, "pages"),
    "stale": Weight(5, 1.00, "pages"),
    "duplicates": Weight(5, 0.10, "pages"),
    "missing_frontmatter": Weight(10, 0.50, "pages"),
    "secrets": Weight(5, 0.05, "pages"),
    "pruned_sources": Weight(0, 1.00, "pages"),
    "index_drift": Weight(5, 0.25, "indexes"),
    "leftover_wikilinks": Weight(5, 0.50, "links"),
}
_ROUNDING = 1e-9  # of a sum of shares that is a whole number


def score(by_key: Mapping[str, Sequence[Finding]], measured: Measured) -> tuple[int, tuple[ScorePart, ...]]:
    """Return the score and what each key took from it, in the order of the weights."""
    parts = tuple(_part(key, weight, by_key.get(key, ()), measured) for key, weight in WEIGHTS.items())
    return floor(100 - sum(part.lost for part in parts) + _ROUNDING), parts


def _part(key: str, weight: Weight, findings: Sequence[Finding], measured: Measured) -> ScorePart:
    among: int = getattr(measured, weight.among)
    by_page = weight.among == "pages" and key != "gaps"
    found = len({finding.page for finding in findings}) if by_page else len(findings)
    share = found / among if among else float(bool(found))
    return ScorePart(key, found, among, weight.points, weight.points * min(1.0, share / weight.full))
