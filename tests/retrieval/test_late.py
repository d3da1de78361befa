"""Late interaction against its definition, written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from wikimcp.retrieval.late import MOST_QUERY_TOKENS, late_scores, query_tokens

VOCABULARY = 40


def table_of(seed: int) -> NDArray[np.float32]:
    table = np.random.default_rng(seed).normal(size=(VOCABULARY, 8)).astype(np.float32)
    unit: NDArray[np.float32] = table / np.linalg.norm(table, axis=1, keepdims=True)
    return unit


IDF = np.linspace(0.5, 6.0, VOCABULARY, dtype=np.float32)


@given(
    st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=12),
    st.lists(st.lists(st.integers(0, VOCABULARY - 1), max_size=9, unique=True), min_size=1, max_size=6),
    st.integers(0, 5),
)
def test_each_score_is_the_weighted_mean_of_the_best_matches(
    question: list[int], texts: list[list[int]], seed: int
) -> None:
    table = table_of(seed)
    query = query_tokens(np.array(question), table, IDF)
    assert query is not None
    ends = np.cumsum([len(text) for text in texts])
    starts = ends - [len(text) for text in texts]
    flat = np.array([token for text in texts for token in text], np.uint16)
    found = late_scores(query, flat, starts, ends)
    distinct = sorted(set(question))
    weights = [float(IDF[token]) for token in distinct]
    for score, text in zip(found.tolist(), texts, strict=True):
        best = [max([0.0, *(float(table[token] @ table[other]) for other in text)]) for token in distinct]
        expected = sum(w * b for w, b in zip(weights, best, strict=True)) / sum(weights)
        assert score == pytest.approx(expected if text else 0.0, abs=1e-5)


def test_a_question_without_tokens_has_no_late_interaction() -> None:
    assert query_tokens(np.zeros(0, np.int64), table_of(0), IDF) is None


def test_of_a_long_question_the_rarest_tokens_count() -> None:
    query = query_tokens(np.arange(VOCABULARY), table_of(0), IDF)
    assert query is not None
    assert len(query.weights) == MOST_QUERY_TOKENS
    assert query.weights.sum() == pytest.approx(1.0)
    rarest = table_of(0)[VOCABULARY - MOST_QUERY_TOKENS :]
    assert sorted(query.vectors[:, 0].tolist()) == sorted(rarest[:, 0].tolist())
