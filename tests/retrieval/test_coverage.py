"""Confidence by similarity and count of sections, and what may lift it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from wikimcp.ports import LexicalTerm
from wikimcp.retrieval.coverage import NO_SIMILARITY, Coverage, judge, lifting_terms

THRESHOLDS = (0.55, 0.43)


def term(word: str, *, pages: int = 3, distinctive: bool = True) -> LexicalTerm:
    return LexicalTerm(word, word, pages, 2.0, distinctive)


def judged(
    similarity: float,
    sections: int = 3,
    *,
    terms: Sequence[LexicalTerm] = (),
    stems: Sequence[set[str]] = (),
    lift: bool = True,
    thresholds: tuple[float, float] = THRESHOLDS,
) -> Coverage:
    return judge(
        top_similarity=similarity,
        section_count=sections,
        distinct_page_count=min(sections, 2),
        terms=terms,
        section_stems=lambda: stems,
        thresholds=thresholds,
        lexical_lift=lift,
    )


@pytest.mark.parametrize(
    ("similarity", "sections", "confidence"),
    [
        (0.55, 3, "strong"),
        (0.99, 12, "strong"),
        (0.99, 2, "partial"),
        (0.55, 1, "partial"),
        (0.549, 12, "partial"),
        (0.43, 1, "partial"),
        (0.429, 12, "weak"),
        (0.0, 3, "weak"),
        (-0.2, 3, "weak"),
        (NO_SIMILARITY, 3, "unknown"),
        (NO_SIMILARITY, 0, "weak"),
        (0.9, 0, "weak"),
    ],
)
def test_similarity_and_the_count_of_sections_make_the_confidence(
    similarity: float, sections: int, confidence: str
) -> None:
    found = judged(similarity, sections)
    assert (found.confidence, found.lifted_by) == (confidence, "")
    assert (found.top_similarity, found.section_count) == (similarity, sections)


def test_the_thresholds_in_force_are_the_ones_given() -> None:
    assert judged(0.5, thresholds=(0.5, 0.4)).confidence == "strong"
    assert judged(0.39, thresholds=(0.5, 0.4)).confidence == "weak"


def test_a_distinctive_word_that_no_page_holds_is_missing_and_keeps_strong_down_to_partial() -> None:
    found = judged(0.9, terms=[term("valve"), term("zorp", pages=0)])
    assert (found.confidence, found.missing_terms) == ("partial", ("zorp",))
    common = judged(0.9, terms=[term("valve"), term("whence", pages=0, distinctive=False)])
    assert (common.confidence, common.missing_terms) == ("strong", ("whence",))


PAIR = [term("wicket"), term("gauge")]
LONG = [term(word) for word in ("pump", "valve", "lamp", "wick", "key", "door")]


def test_one_section_with_every_distinctive_term_lifts_weak_to_partial_and_no_further() -> None:
    found = judged(0.25, 12, terms=PAIR, stems=[{"wicket"}, {"wicket", "gauge", "other"}])
    assert found.confidence == "partial"
    assert found.lifted_by == "one section holds every distinctive term: wicket, gauge"


def test_terms_spread_over_sections_lift_nothing() -> None:
    found = judged(0.25, 12, terms=PAIR, stems=[{"wicket"}, {"gauge"}])
    assert (found.confidence, found.lifted_by) == ("weak", "")


def test_the_lift_can_be_switched_off() -> None:
    assert judged(0.25, terms=PAIR, stems=[{"wicket", "gauge"}], lift=False).confidence == "weak"


def test_nothing_is_lifted_without_similarity_or_sections() -> None:
    stems = [{"wicket", "gauge"}]
    assert judged(NO_SIMILARITY, terms=PAIR, stems=stems).confidence == "unknown"
    assert judged(0.25, 0, terms=PAIR, stems=stems).confidence == "weak"


def test_what_similarity_gives_is_not_called_lifted() -> None:
    assert judged(0.5, terms=PAIR, stems=[{"wicket", "gauge"}]).lifted_by == ""


def test_stop_words_and_words_of_every_page_lift_nothing() -> None:
    common = [term("the", distinctive=False), term("page", distinctive=False)]
    assert lifting_terms(common, [{"the", "page"}], 0.4) == ""
    assert lifting_terms([*PAIR, *common], [{"wicket", "gauge"}], 0.25) != ""


def test_one_or_two_terms_are_enough_when_they_are_the_whole_question() -> None:
    assert lifting_terms(PAIR[:1], [{"wicket"}], 0.1) == "one section holds every distinctive term: wicket"
    assert lifting_terms(PAIR, [{"wicket"}], 0.42) == ""


def test_three_terms_of_a_long_question_are_enough_when_the_meaning_is_near() -> None:
    held = {"pump", "valve", "lamp"}
    assert lifting_terms(LONG, [held], 0.31) == (
        "one section holds 3 of 6 distinctive terms: pump, valve, lamp"
    )
    assert lifting_terms(LONG, [{"pump", "valve"}], 0.42) == ""


@pytest.mark.parametrize(
    ("count", "similarity", "lifts"),
    [(3, 0.30, True), (3, 0.29, False), (4, 0.25, True), (4, 0.24, False), (6, 0.15, True), (6, 0.14, False)],
)
def test_the_further_off_the_meaning_the_more_words_it_takes(
    count: int, similarity: float, lifts: bool
) -> None:
    held = {term.stem for term in LONG[:count]}
    assert bool(lifting_terms(LONG, [held], similarity)) is lifts


def test_no_further_section_is_read_once_one_holds_every_distinctive_term() -> None:
    sections = iter([{"wicket"}, {"wicket", "gauge"}, {"unread"}])
    assert lifting_terms(PAIR, sections, 0.42) == "one section holds every distinctive term: wicket, gauge"
    assert list(sections) == [{"unread"}]


def test_a_long_question_with_words_that_the_wiki_does_not_know_is_not_lifted() -> None:
    strange = [*LONG[:4], term("zorp", pages=0), term("blim", pages=0)]
    assert lifting_terms(strange, [{term.stem for term in LONG[:4]}], 0.42) == ""
