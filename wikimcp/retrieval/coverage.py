"""An honest word on how well the returned sections cover the question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from wikimcp.ports import LexicalTerm

Confidence = Literal["strong", "partial", "weak", "unknown"]
NO_SIMILARITY = -1.0
_ENOUGH_SECTIONS = 3
_ENOUGH_TERMS = 3
_UNKNOWN_SHARE = 0.2  # of the distinctive terms may be unknown to the wiki
_NEAR_ENOUGH = 0.30  # cosine at which three words together are no chance
_EASED_BY_WORD = 0.05  # how much lower it may be for each further word
_MOST_MORE = 5


@dataclass(frozen=True, slots=True)
class Coverage:
    """How well the evidence covers the question, from visible, returned sections only.

    ``top_similarity`` is the raw cosine of the best returned chunk, -1.0 without dense similarity.
    ``lifted_by`` says what raised the confidence above what the similarity alone gives.
    """

    confidence: Confidence
    top_similarity: float
    section_count: int
    distinct_page_count: int
    missing_terms: tuple[str, ...]
    lifted_by: str = ""


def judge(
    *,
    top_similarity: float,
    section_count: int,
    distinct_page_count: int,
    terms: Sequence[LexicalTerm],
    section_stems: Callable[[], Iterable[set[str]]],
    thresholds: tuple[float, float],
    lexical_lift: bool,
) -> Coverage:
    """Return the coverage of a bundle.

    ``section_stems`` gives the stems of each returned section with its page's names; it is asked
    only where it matters. ``thresholds`` are (strong, partial) of the embedder. Similarity alone
    gives strong from the strong threshold with at least three sections, partial from the partial
    one. A distinctive word that no page holds keeps strong down to partial: the question may well be
    about just that word. Words found together in one section lift weak to partial, never to strong.
    """
    strong, partial = thresholds
    missing = tuple(term.surface for term in terms if term.pages == 0)
    unheard = any(term.pages == 0 and term.distinctive for term in terms)
    lifted_by = ""
    confidence: Confidence
    if not section_count:
        confidence = "weak"
    elif top_similarity == NO_SIMILARITY:
        confidence = "unknown"
    elif top_similarity >= strong:
        confidence = "strong" if section_count >= _ENOUGH_SECTIONS and not unheard else "partial"
    elif top_similarity >= partial:
        confidence = "partial"
    else:
        confidence = "weak"
        if lexical_lift and (lifted_by := lifting_terms(terms, section_stems(), top_similarity)):
            confidence = "partial"
    return Coverage(confidence, top_similarity, section_count, distinct_page_count, missing, lifted_by)


def lifting_terms(
    terms: Sequence[LexicalTerm], section_stems: Iterable[set[str]], top_similarity: float
) -> str:
    """Return what lifts the confidence, or an empty string.

    One section must hold every distinctive term of the question; of a long question three are enough
    when nearly all its words are known to the wiki. The further off the meaning is, the more words
    it takes: common ones meet by chance.
    """
    distinctive = {term.stem: term.surface for term in terms if term.distinctive}
    if not distinctive:
        return ""
    held: list[str] = []
    for stems in section_stems:
        here = [surface for stem, surface in distinctive.items() if stem in stems]
        if len(here) > len(held):
            held = here
        if len(held) == len(distinctive):
            break  # no other section holds more, and finding out what it holds is dear
    whole = len(held) == len(distinctive)
    unknown = sum(term.pages == 0 for term in terms if term.distinctive)
    if not whole and (len(held) < _ENOUGH_TERMS or unknown > _UNKNOWN_SHARE * len(distinctive)):
        return ""
    if len(held) >= _ENOUGH_TERMS:
        more = min(len(held) - _ENOUGH_TERMS, _MOST_MORE)
        if top_similarity < _NEAR_ENOUGH - more * _EASED_BY_WORD:
            return ""
    share = "every distinctive term" if whole else f"{len(held)} of {len(distinctive)} distinctive terms"
    return f"one section holds {share}: {', '.join(held)}"
