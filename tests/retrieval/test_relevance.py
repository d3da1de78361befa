"""Scores of sections: evidence that adds up, sections that say nothing put back, equals in fixed order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from wikimcp.ports import Ids
from wikimcp.retrieval.relevance import DENSE, LEXICAL, STATIC, Evidence, candidate_pages, score_sections
from wikimcp.retrieval.traits import Outline


def outline_of(
    sections: int,
    *,
    level: Sequence[int] | None = None,
    characters: int = 500,
    link_share: Sequence[float] | None = None,
    chunks: Sequence[int] | None = None,
) -> Outline:
    """Make the outline of one page; ``chunks`` gives the section of each chunk (one each by default)."""
    owner = np.array(chunks if chunks is not None else range(sections), np.int64)
    return Outline(
        level=np.array(level if level is not None else [2] * sections, np.int64),
        text_cost=np.full(sections, 400, np.int64),
        path_cost=np.full(sections, 40, np.int64),
        link_share=np.array(link_share if link_share is not None else [0.0] * sections, np.float32),
        characters=np.full(sections, characters, np.int64),
        text_keys=np.arange(sections, dtype=np.int64),
        chunk_section=owner,
        chunk_start=np.arange(len(owner), dtype=np.int64) * 100,
        chunk_end=np.arange(len(owner), dtype=np.int64) * 100 + 99,
    )


def evidence_of(
    *,
    chunks: Mapping[tuple[int, int], float] | None = None,
    pages: Mapping[int, float] | None = None,
    near: Mapping[tuple[int, int], float] | None = None,
    cosines: Mapping[tuple[int, int], float] | None = None,
    late: Mapping[tuple[int, int], float] | None = None,
    unit: float = 1.0,
) -> Evidence:
    """Make evidence; chunks are named by (rev, ordinal)."""

    def ids(names: Mapping[tuple[int, int], float] | None) -> Ids:
        return np.array([rev << 16 | ordinal for rev, ordinal in names or {}], np.uint64)

    def values(found: Mapping[tuple[int, int], float] | None) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        return np.array(list((found or {}).values()), np.float32)

    def lookup(known: Mapping[tuple[int, int], float], missing: float, wanted: Ids) -> object:
        return np.array(
            [known.get((int(one) >> 16, int(one) & 0xFFFF), missing) for one in wanted], np.float32
        )

    return Evidence(
        unit=unit,
        chunk_ids=ids(chunks),
        chunk_scores=values(chunks),
        page_revs=np.array(list(pages or {}), np.uint64),
        page_scores=np.array(list((pages or {}).values()), np.float32),
        dense_ids=ids(near),
        dense_scores=values(near),
        cosine_of=None if cosines is None else lambda wanted: lookup(cosines, -1.0, wanted),  # type: ignore[arg-type, return-value]
        late_of=None if late is None else lambda wanted: lookup(late, 0.0, wanted),  # type: ignore[arg-type, return-value]
    )


def test_a_page_is_as_promising_as_its_best_chunk_and_its_own_score() -> None:
    found = candidate_pages(
        evidence_of(chunks={(1, 0): 2.0, (1, 1): 1.0, (2, 0): 1.0}, pages={2: 1.0, 3: 0.5}, unit=2.0), LEXICAL
    )
    assert found == pytest.approx({1: 4.8, 2: 2.4 + 1.9, 3: 0.95})


def test_a_page_that_the_dense_list_did_not_reach_lies_below_its_end() -> None:
    found = candidate_pages(evidence_of(near={(1, 0): 0.5, (2, 0): 0.4}, pages={3: 0.0}), STATIC)
    assert found == pytest.approx({1: 9 * 0.5, 2: 9 * 0.4, 3: 9 * 0.4 * 0.8}, abs=1e-5)


def test_scores_are_comparable_between_questions_of_any_length() -> None:
    short = evidence_of(chunks={(1, 0): 4.0}, pages={1: 4.0}, unit=4.0)
    long = evidence_of(chunks={(1, 0): 40.0}, pages={1: 40.0}, unit=40.0)
    outlines = {1: outline_of(1)}
    first, second = score_sections(short, LEXICAL, outlines), score_sections(long, LEXICAL, outlines)
    assert first.score.tolist() == pytest.approx(second.score.tolist())


def test_a_section_has_the_best_of_its_chunks() -> None:
    outlines = {1: outline_of(2, chunks=[0, 0, 1])}
    cosines = {(1, 0): 0.2, (1, 1): 0.6, (1, 2): 0.4}
    found = score_sections(evidence_of(near=cosines, cosines=cosines), DENSE, outlines)
    assert found.cosine.tolist() == pytest.approx([0.6, 0.4])
    assert found.best_chunk.tolist() == [1, 2]
    assert found.score[0] > found.score[1]


@pytest.mark.parametrize(
    "less",
    [
        {"level": [1, 2]},
        {"link_share": [1.0, 0.0]},
    ],
)
def test_what_only_points_elsewhere_or_stands_on_top_is_put_back(less: dict[str, list[float]]) -> None:
    evidence = evidence_of(chunks={(1, 0): 1.0, (1, 1): 1.0})
    found = score_sections(evidence, LEXICAL, {1: outline_of(2, **less)})  # type: ignore[arg-type]
    assert found.score[0] < found.score[1]


def test_hub_pages_empty_sections_and_leftovers_are_put_back() -> None:
    evidence = evidence_of(chunks={(rev, 0): 1.0 for rev in (1, 2, 3, 4)})
    outlines = {1: outline_of(1), 2: outline_of(1), 3: outline_of(1, characters=10), 4: outline_of(1)}
    found = score_sections(evidence, LEXICAL, outlines, hubs=[2], leftovers=[4]).score
    assert (found[0] - found).tolist() == pytest.approx([0.0, 1.0, 1.5, 4.0])


def test_a_section_without_a_vector_yet_is_not_sunk_for_it() -> None:
    near = {(1, 0): 0.5, (2, 0): 0.3}
    evidence = evidence_of(near=near, cosines=near, late={(1, 0): 0.6, (2, 0): 0.4}, pages={3: 0.1})
    found = score_sections(evidence, STATIC, {rev: outline_of(1) for rev in (1, 2, 3)})
    assert found.cosine.tolist() == pytest.approx([0.5, 0.3, -1.0])
    best, worst, new = found.score.tolist()
    assert worst - 1.0 < new < best


def test_only_the_best_pages_are_kept_with_all_their_sections() -> None:
    evidence = evidence_of(chunks={(rev, 0): float(rev) for rev in range(1, 9)})
    found = score_sections(evidence, LEXICAL, {rev: outline_of(3) for rev in range(1, 9)}, limit=2)
    assert found.rev.tolist() == [7, 7, 7, 8, 8, 8]
    assert found.section.tolist() == [0, 1, 2] * 2


def test_a_page_that_is_named_outright_comes_first_and_is_never_cut() -> None:
    evidence = evidence_of(chunks={(rev, 0): float(rev) for rev in range(1, 9)})
    outlines = {rev: outline_of(2) for rev in range(1, 9)}
    found = score_sections(evidence, LEXICAL, outlines, named=[1], limit=3)
    assert set(found.rev.tolist()) == {1, 7, 8}
    assert found.rev[np.argmax(found.score)] == 1
    assert np.isfinite(found.score).all()


def test_a_named_page_that_is_alone_or_first_anyway_keeps_its_scores() -> None:
    evidence = evidence_of(chunks={(1, 0): 9.0, (2, 0): 1.0})
    both = {1: outline_of(1), 2: outline_of(1)}
    plain, named = (score_sections(evidence, LEXICAL, both, named=names) for names in ([], [1]))
    assert named.score.tolist() == plain.score.tolist()
    alone = score_sections(evidence, LEXICAL, {1: outline_of(1)}, named=[1])
    assert np.isfinite(alone.score).all()


def test_pages_stand_in_the_order_that_they_were_given_in() -> None:
    evidence = evidence_of(chunks={(5, 0): 1.0, (2, 0): 1.0})
    found = score_sections(evidence, LEXICAL, {5: outline_of(1), 2: outline_of(1)})
    assert found.rev.tolist() == [5, 2]


def test_no_evidence_gives_no_sections() -> None:
    assert candidate_pages(evidence_of(), STATIC) == {}
    assert len(score_sections(evidence_of(), STATIC, {})) == 0
    assert len(score_sections(evidence_of(), STATIC, {1: outline_of(0)})) == 0
