"""The arithmetic of the measures, on rows small enough to check by hand."""

from __future__ import annotations

import pytest

from wikimcp.evaluation.measures import (
    Place,
    Returned,
    Row,
    by_category,
    covers,
    page_ranks,
    page_recall,
    reciprocal_rank,
    section_recall,
    summarise,
)
from wikimcp.evaluation.questions import Question


def _row(category: str, recall: float, *, kind: str = "", confidence: str = "strong", ms: float = 1.0) -> Row:
    return Row(
        question=Question("q", category, "?", kind, ()),
        recall={500: recall / 2, 2000: recall},
        tokens={500: 400, 2000: 1600},
        first=recall,
        page_recall={1: recall, 5: 1.0, 12: 1.0},
        reciprocal_rank=recall,
        seconds=ms / 1000,
        confidence=confidence,
        top_similarity=0.5,
        cited=4,
        verified=3,
    )


@pytest.mark.parametrize(
    ("spans", "covered"),
    [
        ([(10, 14)], True),
        ([(10, 13)], False),
        ([(1, 14)], True),
        ([(15, 90)], True),
        ([(16, 90)], False),
        ([(10, 12), (18, 19)], True),
        ([(10, 12), (11, 13)], False),
        ([(20, 30)], False),
        ([], False),
    ],
)
def test_a_section_counts_when_half_of_its_own_lines_came_back(
    spans: list[tuple[int, int]], covered: bool
) -> None:
    returned = [Returned("a", span) for span in spans]
    assert covers(Place("a", (10, 19)), returned) is covered
    assert not covers(Place("b", (10, 19)), returned), "lines of another page do not count"


def test_a_section_that_the_page_does_not_have_is_missed() -> None:
    everything = [Returned("a", (1, 1000))]
    assert section_recall([Place("a", (1, 4)), Place("a", None), None], everything) == pytest.approx(1 / 3)
    assert section_recall([], everything) == 0.0


def test_pages_rank_by_first_appearance_and_each_right_page_counts_once() -> None:
    returned = [Returned(slug, (1, 2)) for slug in ("x", "x", "a", "x", "b")]
    ranks = page_ranks(["b", "a", "b", "gone"], returned)
    assert ranks == [3, 2, None]
    assert page_recall(ranks, 1) == 0.0
    assert page_recall(ranks, 2) == pytest.approx(1 / 3)
    assert page_recall(ranks, 5) == pytest.approx(2 / 3)
    assert reciprocal_rank(ranks) == 0.5
    assert reciprocal_rank([None]) == 0.0


def test_a_summary_averages_the_answerable_and_counts_abstention_by_kind() -> None:
    rows = [
        _row("KEYWORD", 1.0, ms=1),
        _row("KEYWORD", 0.5, confidence="weak", ms=3),
        _row("NEGATIVE", 0.0, kind="far", confidence="weak", ms=5),
        _row("NEGATIVE", 0.0, kind="far", confidence="unknown", ms=2),
        _row("NEGATIVE", 0.0, kind="near", confidence="partial", ms=4),
    ]
    summary = summarise(rows)
    assert summary["questions"] == 5
    assert (summary["recall_500"], summary["recall_2000"], summary["mrr"]) == (0.375, 0.75, 0.75)
    assert (summary["grounded"], summary["called_weak"]) == (0.5, 0.5)
    assert (summary["far"], summary["near"]) == (1.0, 0.0)
    assert summary["negative"] == pytest.approx(2 / 3)
    assert (summary["citations"], summary["verified"]) == (20, 0.75)
    assert summary["p50_ms"] == pytest.approx(3)
    assert summary["p95_ms"] == pytest.approx(5)


def test_what_no_row_can_say_is_none_rather_than_zero() -> None:
    summary = summarise([_row("NEGATIVE", 0.0, confidence="weak")])
    assert summary["recall_2000"] is None
    assert summary["far"] is None
    assert summary["negative"] == 1.0
    assert summarise([])["p95_ms"] is None


def test_categories_are_summarised_apart_and_together() -> None:
    table = by_category([_row("SENTENCE", 1.0), _row("KEYWORD", 0.0), _row("KEYWORD", 1.0)])
    assert list(table) == ["KEYWORD", "SENTENCE", "overall"]
    assert [part["recall_2000"] for part in table.values()] == [0.5, 1.0, pytest.approx(2 / 3)]
