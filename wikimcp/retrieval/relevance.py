"""How relevant each section is: one linear score over evidence that is comparable between questions.

Lexical scores are divided by the highest that the question's terms could earn per unit of term
frequency (the sum of their idf), so that a score means the same for every question; cosines are
raw. A page's evidence counts for its sections: questions name the page more often than the section.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wikimcp.ports import Ids, Vectors
from wikimcp.retrieval.traits import Outline

Floats = NDArray[np.float64]
_ORDINAL_BITS = np.uint64(16)


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the page's BM25, the section's BM25, the cosine and the late interaction."""

    page: float
    section: float
    cosine: float
    late: float


# Fitted as a conditional logit over the sections of the eval's questions, halved where it was noise.
LEXICAL = Weights(page=3.8, section=4.8, cosine=0.0, late=0.0)
LEXICAL_LATE = Weights(page=3.6, section=3.2, cosine=0.0, late=8.5)
STATIC = Weights(page=2.5, section=2.4, cosine=9.0, late=8.5)
TRANSFORMER = Weights(page=1.5, section=1.9, cosine=16.5, late=8.5)
DENSE = Weights(page=0.0, section=0.0, cosine=12.0, late=0.0)

# Sections that point elsewhere or say nothing are rarely what was asked for.
_LINK_LIST, _EMPTY, _HUB, _TOP = -1.5, -1.5, -1.0, -0.5
_LEFTOVER = -4.0  # of a sync: the page itself is meant
_EMPTY_BELOW = 40  # characters
_NAMED = 1.0  # by how much a page that was named outright stands above the rest
_UNSEEN = 0.8  # a chunk that the dense list did not reach lies below the list's end

SCORED_PAGES = 25


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the indexes found for one question. ``unit`` is the sum of the terms' idf.

    ``cosine_of`` gives the cosine of any chunks by id (None without vectors), ``late_of`` their
    late-interaction score (None without token vectors).
    """

    unit: float
    chunk_ids: Ids
    chunk_scores: Vectors
    page_revs: Ids
    page_scores: Vectors
    dense_ids: Ids
    dense_scores: Vectors
    cosine_of: Callable[[Ids], Vectors] | None = None
    late_of: Callable[[Ids], Vectors] | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """Candidate sections in file order, page by page: arrays of one length.

    ``rev`` and ``section`` name the section, ``score`` is in logits, ``cosine`` is the best of its
    chunks (-1 without vectors), ``best_chunk`` that chunk's ordinal on the page. All sections of a
    page are there. Costs are quarter tokens.
    """

    rev: NDArray[np.uint64]
    section: NDArray[np.int64]
    level: NDArray[np.int64]
    text_cost: NDArray[np.int64]
    path_cost: NDArray[np.int64]
    text_key: NDArray[np.int64]
    score: Floats
    cosine: Floats
    best_chunk: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.rev)


def candidate_pages(evidence: Evidence, weights: Weights) -> dict[int, float]:
    """Return how promising each page is that the lists name, by rev."""
    unit = max(evidence.unit, 1e-6)
    ids = np.concatenate((evidence.chunk_ids, evidence.dense_ids))
    below = _below(evidence)
    lexical = np.concatenate((evidence.chunk_scores / unit, np.zeros(len(evidence.dense_ids))))
    dense = np.concatenate((np.full(len(evidence.chunk_ids), below), evidence.dense_scores))
    unique, at = np.unique(ids, return_inverse=True)
    best_lexical, best_dense = np.zeros(len(unique)), np.full(len(unique), below)
    np.maximum.at(best_lexical, at, lexical)
    np.maximum.at(best_dense, at, dense)
    scores = weights.section * best_lexical + weights.cosine * best_dense
    revs, first = np.unique(unique >> _ORDINAL_BITS, return_index=True)
    best = np.maximum.reduceat(scores, first) if len(first) else scores
    pages: dict[int, float] = dict(zip(revs.tolist(), best.tolist(), strict=True))
    for rev, score in zip(evidence.page_revs.tolist(), (evidence.page_scores / unit).tolist(), strict=True):
        pages[rev] = pages.get(rev, weights.cosine * below) + weights.page * score
    return pages


def _below(evidence: Evidence) -> float:
    """Return the cosine to suppose for a chunk that the dense list did not reach."""
    return float(evidence.dense_scores.min()) * _UNSEEN if len(evidence.dense_scores) else 0.0


def score_sections(
    evidence: Evidence,
    weights: Weights,
    outlines: Mapping[int, Outline],
    *,
    hubs: Sequence[int] = (),
    leftovers: Sequence[int] = (),
    named: Sequence[int] = (),
    limit: int = SCORED_PAGES,
) -> Scored:
    """Score every section of the prepared pages and return those of the best ``limit`` pages.

    ``outlines`` are by rev, in the order in which equals shall stand; ``hubs`` are revs of hub pages,
    ``leftovers`` of copies that a sync left. A page that the question does nothing but name (``named``)
    comes before all others.
    """
    there = _Sections.of(outlines)
    if not there.revs:
        return _none()
    score, cosine, signal = _words_and_meaning(evidence, weights, there)
    is_named = np.isin(there.revs, list(named))
    page_best = np.where(is_named, np.inf, np.maximum.reduceat(score, there.starts))
    kept_pages = np.sort(np.argsort(-page_best, kind="stable")[:limit])
    keep = np.isin(there.page_of, kept_pages)
    if evidence.late_of is not None and weights.late:
        # The weight is the most that it can add: what lies further behind is not worth the work.
        of_kept = (keep & (score >= score[keep].max() - weights.late))[there.section_of]
        late = there.best(evidence.late_of(there.chunk_ids[of_kept]), of=of_kept, missing=0.0)
        known = late > 0
        score += weights.late * np.where(known, late, np.median(late[known]) if known.any() else 0.0)
    of_page = _HUB * np.isin(there.revs, list(hubs)) + _LEFTOVER * np.isin(there.revs, list(leftovers))
    score += _prior(there.shapes) + of_page[there.page_of]
    for page in np.flatnonzero(is_named):
        own = there.page_of == page
        score[own] += max(score[keep & ~own].max(initial=-np.inf) + _NAMED - score[own].max(), 0.0)
    return Scored(
        rev=np.array(there.revs, np.uint64)[there.page_of][keep],
        section=(np.arange(len(score)) - there.starts[there.page_of])[keep],
        level=_joined([shape.level for shape in there.shapes])[keep],
        text_cost=_joined([shape.text_cost for shape in there.shapes])[keep],
        path_cost=_joined([shape.path_cost for shape in there.shapes])[keep],
        text_key=_joined([shape.text_keys for shape in there.shapes])[keep],
        score=score[keep],
        cosine=cosine[keep],
        best_chunk=there.best_chunks(signal)[keep],
    )


@dataclass(frozen=True, slots=True)
class _Sections:
    """The sections of the prepared pages side by side, and their chunks.

    ``starts`` are the places of the pages' first sections; ``page_of`` is by section, ``section_of``
    and ``chunk_ids`` by chunk.
    """

    revs: list[int]
    shapes: list[Outline]
    starts: NDArray[np.int64]
    page_of: NDArray[np.int64]
    chunk_ids: Ids
    section_of: NDArray[np.int64]

    @classmethod
    def of(cls, outlines: Mapping[int, Outline]) -> _Sections:
        """Lay out the sections of some pages, in the order given."""
        revs = [rev for rev, shape in outlines.items() if len(shape)]
        shapes = [outlines[rev] for rev in revs]
        counts = np.array([len(shape) for shape in shapes], np.int64)
        starts = np.cumsum(counts) - counts
        page_of = np.repeat(np.arange(len(revs)), counts)
        chunks = np.array([len(shape.chunk_section) for shape in shapes], np.int64)
        chunk_page = np.repeat(np.arange(len(revs)), chunks)
        ordinals = np.arange(len(chunk_page)) - (np.cumsum(chunks) - chunks)[chunk_page]
        ids = (np.array(revs, np.uint64) << _ORDINAL_BITS)[chunk_page] | ordinals.astype(np.uint64)
        sections = _joined([shape.chunk_section for shape in shapes]) + starts[chunk_page]
        return cls(revs, shapes, starts, page_of, ids, sections)

    def best(
        self, values: Floats | Vectors, *, missing: float, of: NDArray[np.bool_] | None = None
    ) -> Floats:
        """Return the best value among the chunks of each section; ``of`` says which chunks have one."""
        best = np.full(len(self.page_of), missing)
        np.maximum.at(best, self.section_of if of is None else self.section_of[of], values)
        return best

    def best_chunks(self, signal: Floats) -> NDArray[np.int64]:
        """Return the ordinal on its page of the strongest chunk of each section."""
        order = np.argsort(signal, kind="stable")
        best = np.zeros(len(self.page_of), np.int64)
        best[self.section_of[order]] = (self.chunk_ids[order] & np.uint64(0xFFFF)).astype(np.int64)
        return best


def _words_and_meaning(
    evidence: Evidence, weights: Weights, there: _Sections
) -> tuple[Floats, Floats, Floats]:
    """Return score and cosine of each section, and what tells its best chunk, by chunk."""
    unit = max(evidence.unit, 1e-6)
    revs = np.array(there.revs, np.uint64)
    words = _lookup(there.chunk_ids, evidence.chunk_ids, evidence.chunk_scores / unit)
    page_words = _lookup(revs, evidence.page_revs, evidence.page_scores / unit)
    score = weights.page * page_words[there.page_of] + weights.section * there.best(words, missing=0.0)
    if evidence.cosine_of is None:
        return score, np.full(len(score), -1.0), words
    chunk_cosine = evidence.cosine_of(there.chunk_ids).astype(np.float64)
    cosine = there.best(chunk_cosine, missing=-1.0)
    # A section whose vector is still to be made is neither favoured nor sunk for it.
    supposed = np.where(cosine == -1.0, _below(evidence), np.maximum(cosine, 0.0))
    return score + weights.cosine * supposed, cosine, chunk_cosine


def _prior(shapes: Sequence[Outline]) -> Floats:
    share = _joined([shape.link_share for shape in shapes])
    empty = _joined([shape.characters for shape in shapes]) < _EMPTY_BELOW
    prior: Floats = (
        _LINK_LIST * share + _EMPTY * empty + _TOP * (_joined([shape.level for shape in shapes]) <= 1)
    )
    return prior


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def _lookup(wanted: Ids, keys: Ids, values: Vectors) -> Floats:
    """Return the value of each wanted key, 0 where there is none."""
    if not len(keys):
        return np.zeros(len(wanted))
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], wanted)
    at[at == len(keys)] = 0
    found = order[at]
    return np.where(keys[found] == wanted, values[found].astype(np.float64), 0.0)


def _none() -> Scored:
    whole = np.zeros(0, np.int64)
    return Scored(np.zeros(0, np.uint64), whole, whole, whole, whole, whole, np.zeros(0), np.zeros(0), whole)
