"""A distinctive word that no page holds keeps the confidence below strong."""

from __future__ import annotations

from wikimcp.ports import LexicalTerm
from wikimcp.retrieval.coverage import judge


def _judged(*terms: LexicalTerm, similarity: float = 0.7) -> str:
    return judge(
        top_similarity=similarity,
        section_count=5,
        distinct_page_count=3,
        terms=terms,
        section_stems=lambda: [{term.stem for term in terms}],
        thresholds=(0.55, 0.43),
        lexical_lift=True,
    ).confidence


KNOWN = LexicalTerm("restore", "restor", 4, 2.0, True)
UNHEARD = LexicalTerm("mysql", "mysql", 0, 4.0, True)
FILLER = LexicalTerm("um", "um", 0, 4.0, False)


def test_a_question_of_known_words_may_be_strong() -> None:
    assert _judged(KNOWN) == "strong"
    assert _judged(KNOWN, FILLER) == "strong"


def test_a_distinctive_word_that_no_page_holds_makes_it_partial() -> None:
    assert _judged(KNOWN, UNHEARD) == "partial"
