"""What every embedder must do. Members are found by themselves: a new file is tested at once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wikimcp.embedders
from wikimcp.embedders.fastembed import FastembedEmbedder
from wikimcp.embedders.wordllama import WordLlamaEmbedder
from wikimcp.ports import Embedder

Make = Callable[[], Embedder]

NOT_MEMBERS = {
    *(
        "weights",
        "catalog",
        "model_directory",
        "model_store",
        "staging",
        "hub",
        "wheel",
        "bert_onnx",
        "resolve",
    )
}
MAKERS: dict[str, Callable[[Path], Embedder]] = {
    "wordllama": lambda _: WordLlamaEmbedder(),
    "fastembed": lambda folder: FastembedEmbedder(folder),
}
TEXTS = [
    "how do I change my password",
    "the volcano covered the island in ash",
    "",
    "why is the database slow?",
]


def members() -> list[str]:
    return sorted({module.name for module in iter_modules(wikimcp.embedders.__path__)} - NOT_MEMBERS)


@pytest.fixture(params=members())
def make(request: pytest.FixtureRequest) -> Make:
    """Make an embedder that has loaded nothing yet."""
    member: str = request.param
    folder = Path()
    if member == "fastembed":
        pytest.importorskip("fastembed", reason="fastembed is not installed")
        folder = request.getfixturevalue("tiny_model")
    return lambda: MAKERS[member](folder)


@pytest.fixture
def embedder(make: Make) -> Embedder:
    return make()


def test_every_member_file_has_a_maker_here() -> None:
    assert set(members()) == set(MAKERS)


def test_the_name_is_stable_and_fit_for_a_file_name(make: Make) -> None:
    first, second = make(), make()
    assert first.name == second.name
    assert re.fullmatch(r"[\w.-]+", first.name)
    assert str(first.dimension) in first.name.split("-")


def test_strong_coverage_asks_for_more_than_partial(embedder: Embedder) -> None:
    strong, partial = embedder.thresholds
    assert 0 < partial < strong < 1


def test_vectors_are_float32_rows_of_length_one_and_zero_for_no_text(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (4, embedder.dimension)
    assert vectors.dtype.name == "float32"
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 0, 1], abs=1e-4)


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimension)
    assert embedder.embed([""]).shape == (1, embedder.dimension)


def test_a_question_is_one_vector_of_length_one(embedder: Embedder) -> None:
    vector = embedder.embed_query(TEXTS[0])
    assert vector.shape == (embedder.dimension,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-4)
    assert not embedder.embed_query("").any()


def test_a_text_has_the_same_bits_alone_in_company_and_in_another_instance(make: Make) -> None:
    embedder, other = make(), make()
    texts = [*TEXTS, *(f"{text} {number}" for number in range(300) for text in TEXTS[:2])]
    together = embedder.embed(texts)
    for place in (0, 1, 5, 300, 603):
        assert np.array_equal(together[place], embedder.embed([texts[place]])[0])
    assert np.array_equal(other.embed(texts[::-1])[::-1], together)


def test_texts_that_share_words_are_nearer(embedder: Embedder) -> None:
    question = embedder.embed_query("how do I reset my password")
    near, far = embedder.embed(["steps to reset my forgotten password", TEXTS[1]]) @ question
    assert near > far


def test_first_use_from_many_threads_gives_everyone_the_same(make: Make) -> None:
    embedder = make()
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: embedder.embed(TEXTS), range(16)))
    alone = make().embed(TEXTS)
    assert all(np.array_equal(result, alone) for result in results)


def test_a_very_long_text_is_embedded(embedder: Embedder) -> None:
    vectors = embedder.embed(["the valve closes above the limit. " * 20_000, "x" * 200_000])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-4)


@pytest.mark.parametrize("text", ["\x00", "\ud800", "a\udfff b", "配置 Đường", "\u2581", "🦊" * 50, "\r\n\t"])
def test_odd_texts_are_embedded(embedder: Embedder, text: str) -> None:
    vectors = embedder.embed([text, "pressure"])
    assert np.isfinite(vectors).all()
    assert np.linalg.norm(vectors[1]) == pytest.approx(1, abs=1e-4)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(), max_size=4))
def test_any_texts_give_finite_rows_of_length_one_or_zero(embedder: Embedder, texts: list[str]) -> None:
    vectors = embedder.embed(texts)
    lengths = np.linalg.norm(vectors, axis=1)
    assert vectors.shape == (len(texts), embedder.dimension)
    assert np.all((np.abs(lengths - 1) < 1e-4) | (lengths == 0))


def test_embedding_leaves_the_environment_alone(make: Make) -> None:
    before = dict(os.environ)
    make().embed(TEXTS)
    assert dict(os.environ) == before
