"""How relevant each section is: one linear score over evidence that is comparable between questions.

Lexical scores are divided by the highest that the question's terms could earn per unit of term
frequency (the sum of their idf), so that a score means the same for every question; cosines are
raw. A page's evidence counts for its sections: questions name the page more often than the section.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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
    pages: dict[int, float] = {}
    for rev, score in zip((unique >> _ORDINAL_BITS).tolist(), scores.tolist(), strict=True):
        if score > pages.get(rev, -np.inf):
            pages[rev] = score
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
    named: Sequence[int] = (),
    limit: int = SCORED_PAGES,
) -> Scored:
    """Score every section of the prepared pages and return those of the best ``limit`` pages.

    ``outlines`` are by rev, in the order in which equals shall stand; ``hubs`` are revs of hub pages.
    A page that the question does nothing but name (``named``) comes before all others.
    """
    revs = [rev for rev, shape in outlines.items() if len(shape)]
    if not revs:
        return _none()
    shapes = [outlines[rev] for rev in revs]
    counts = np.array([len(shape) for shape in shapes])
    starts = np.concatenate(([0], np.cumsum(counts)[:-1]))
    page_of = np.repeat(np.arange(len(revs)), counts)
    chunk_ids, section_of = _chunks(revs, shapes, starts)
    unit = max(evidence.unit, 1e-6)

    total = int(counts.sum())
    lexical = _best_per_section(
        _lookup(chunk_ids, evidence.chunk_ids, evidence.chunk_scores / unit, missing=0.0), section_of, total
    )
    page_lexical = _lookup(
        np.array(revs, np.uint64), evidence.page_revs, evidence.page_scores / unit, missing=0.0
    )
    if evidence.cosine_of is not None:
        chunk_cosine = evidence.cosine_of(chunk_ids).astype(np.float64)
        cosine = _best_per_section(chunk_cosine, section_of, total, missing=-1.0)
        signal = chunk_cosine
    else:
        cosine = np.full(total, -1.0)
        signal = _lookup(chunk_ids, evidence.chunk_ids, evidence.chunk_scores / unit, missing=0.0)
    score = weights.page * page_lexical[page_of] + weights.section * lexical
    if evidence.cosine_of is not None:
        # A section whose vector is still to be made is neither favoured nor sunk for it.
        supposed = np.where(cosine == -1.0, _below(evidence), np.maximum(cosine, 0.0))
        score = score + weights.cosine * supposed
    is_named = np.isin(np.array(revs), list(named))
    page_best = np.where(is_named, np.inf, np.maximum.reduceat(score, starts))
    kept_pages = np.sort(np.argsort(-page_best, kind="stable")[:limit])
    keep = np.isin(page_of, kept_pages)
    if evidence.late_of is not None and weights.late:
        of_kept = keep[section_of]
        late = _best_per_section(
            evidence.late_of(chunk_ids[of_kept]).astype(np.float64), section_of[of_kept], total
        )
        known = late > 0
        score = score + weights.late * np.where(known, late, np.median(late[known]) if known.any() else 0.0)
    score = score + _prior(shapes, np.isin(np.array(revs), list(hubs))[page_of])
    for page in np.flatnonzero(is_named):
        own = page_of == page
        score[own] += max(score[keep & ~own].max(initial=-np.inf) + _NAMED - score[own].max(), 0.0)
    ordinals = np.arange(total) - starts[page_of]
    return Scored(
        rev=np.array(revs, np.uint64)[page_of][keep],
        section=ordinals[keep],
        level=np.concatenate([shape.level for shape in shapes])[keep],
        text_cost=np.concatenate([shape.text_cost for shape in shapes])[keep],
        path_cost=np.concatenate([shape.path_cost for shape in shapes])[keep],
        text_key=np.concatenate([shape.text_keys for shape in shapes])[keep],
        score=score[keep],
        cosine=cosine[keep],
        best_chunk=_best_chunks(signal, section_of, chunk_ids, total)[keep],
    )


def _prior(shapes: Sequence[Outline], on_hub: NDArray[np.bool_]) -> Floats:
    share = np.concatenate([shape.link_share for shape in shapes])
    characters = np.concatenate([shape.characters for shape in shapes])
    level = np.concatenate([shape.level for shape in shapes])
    prior: Floats = (
        _LINK_LIST * share + _EMPTY * (characters < _EMPTY_BELOW) + _HUB * on_hub + _TOP * (level <= 1)
    )
    return prior


def _chunks(
    revs: Sequence[int], shapes: Sequence[Outline], starts: NDArray[np.int64]
) -> tuple[Ids, NDArray[np.int64]]:
    """Return the ids of all chunks of the pages, and the position of each one's section."""
    ids = [
        (np.uint64(rev) << _ORDINAL_BITS) | np.arange(len(shape.chunk_section), dtype=np.uint64)
        for rev, shape in zip(revs, shapes, strict=True)
    ]
    sections = [shape.chunk_section + start for shape, start in zip(shapes, starts, strict=True)]
    return np.concatenate(ids), np.concatenate(sections)


def _lookup(wanted: Ids, keys: Ids, values: Vectors, *, missing: float) -> Floats:
    if not len(keys):
        return np.full(len(wanted), missing)
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], wanted)
    at[at == len(keys)] = 0
    found = order[at]
    return np.where(keys[found] == wanted, values[found].astype(np.float64), missing)


def _best_per_section(
    values: Floats, section_of: NDArray[np.int64], total: int, *, missing: float = 0.0
) -> Floats:
    best = np.full(total, missing)
    np.maximum.at(best, section_of, values)
    return best


def _best_chunks(
    signal: Floats, section_of: NDArray[np.int64], chunk_ids: Ids, total: int
) -> NDArray[np.int64]:
    """Return the ordinal on its page of the strongest chunk of each section."""
    order = np.argsort(signal, kind="stable")
    best = np.zeros(total, np.int64)
    best[section_of[order]] = (chunk_ids[order] & np.uint64(0xFFFF)).astype(np.int64)
    return best


def _none() -> Scored:
    whole = np.zeros(0, np.int64)
    return Scored(np.zeros(0, np.uint64), whole, whole, whole, whole, whole, np.zeros(0), np.zeros(0), whole)
