"""The rebuilt BERT graph against the same network written out in numpy."""

from __future__ import annotations

from math import erf
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wikimcp.embedders.bert_onnx import mean_vectors, quantise, require_packages, write_bert
from wikimcp.errors import Unavailable

from .conftest import CONFIG, HEADS, HIDDEN, LAYERS, tiny_vocabulary, tiny_weights, write_tokenizer

pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime: Any = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

Array = NDArray[np.float64]
_erf = np.vectorize(erf)


def reference(weights: dict[str, NDArray[np.float32]], ids: list[int], segments: list[int]) -> Array:
    """Run one text through BERT, in double precision, without padding."""

    def of(name: str) -> Array:
        weight: Array = weights[name].astype(np.float64)
        return weight

    def norm(state: Array, prefix: str) -> Array:
        centred = state - state.mean(axis=-1, keepdims=True)
        scaled: Array = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-12)
        return scaled * of(f"{prefix}.weight") + of(f"{prefix}.bias")

    def linear(state: Array, prefix: str) -> Array:
        return state @ of(f"{prefix}.weight").T + of(f"{prefix}.bias")

    state = of("embeddings.word_embeddings.weight")[ids]
    state = state + of("embeddings.position_embeddings.weight")[: len(ids)]
    state = norm(state + of("embeddings.token_type_embeddings.weight")[segments], "embeddings.LayerNorm")
    size = HIDDEN // HEADS
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        query, key, value = (
            linear(state, f"{prefix}.attention.self.{part}") for part in ("query", "key", "value")
        )
        contexts = []
        for head in range(HEADS):
            own = slice(head * size, (head + 1) * size)
            scores = query[:, own] @ key[:, own].T / size**0.5
            shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
            contexts.append(shares / shares.sum(axis=-1, keepdims=True) @ value[:, own])
        attended = linear(np.concatenate(contexts, axis=1), f"{prefix}.attention.output.dense")
        state = norm(attended + state, f"{prefix}.attention.output.LayerNorm")
        inner = linear(state, f"{prefix}.intermediate.dense")
        inner = inner * (1 + _erf(inner / 2**0.5)) / 2
        state = norm(linear(inner, f"{prefix}.output.dense") + state, f"{prefix}.output.LayerNorm")
    return state


def run(path: Path, ids: list[list[int]], mask: list[list[int]], segments: list[list[int]]) -> Array:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    names = ("input_ids", "attention_mask", "token_type_ids")
    feeds = {
        name: np.array(value, np.int64) for name, value in zip(names, (ids, mask, segments), strict=True)
    }
    found: Array = session.run(["last_hidden_state"], feeds)[0].astype(np.float64)
    return found


@pytest.mark.parametrize("prefix", ["", "bert."])
def test_the_graph_computes_bert_and_padding_changes_nothing(tmp_path: Path, prefix: str) -> None:
    weights = tiny_weights()
    write_bert({prefix + name: tensor for name, tensor in weights.items()}, CONFIG, tmp_path / "model.onnx")
    long, short = [2, 9, 14, 30, 7, 3], [2, 50, 3]
    found = run(
        tmp_path / "model.onnx",
        [long, [*short, 0, 0, 0]],
        [[1] * 6, [1, 1, 1, 0, 0, 0]],
        [[0, 0, 0, 1, 1, 1], [0] * 6],
    )
    assert np.abs(found[0] - reference(weights, long, [0, 0, 0, 1, 1, 1])).max() < 1e-4
    assert np.abs(found[1, :3] - reference(weights, short, [0, 0, 0])).max() < 1e-4


def test_the_quantised_graph_is_smaller_and_near(tmp_path: Path) -> None:
    write_tokenizer(tmp_path)
    write_bert(tiny_weights(), CONFIG, tmp_path / "whole.onnx")
    quantise(tmp_path / "whole.onnx", tmp_path / "small.onnx")
    assert (tmp_path / "small.onnx").stat().st_size < 0.6 * (tmp_path / "whole.onnx").stat().st_size
    texts = ["why is the database slow", "the volcano covered the island", "?"]
    whole = mean_vectors(tmp_path / "whole.onnx", tmp_path / "tokenizer.json", texts)
    small = mean_vectors(tmp_path / "small.onnx", tmp_path / "tokenizer.json", texts)
    assert whole.shape == (3, HIDDEN)
    assert np.all((whole * small).sum(axis=1) > 0.98)


def test_another_architecture_and_a_missing_weight_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="only BERT"):
        write_bert(tiny_weights(), {**CONFIG, "model_type": "roberta"}, tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="only BERT"):
        write_bert(tiny_weights(), {**CONFIG, "hidden_act": "relu"}, tmp_path / "model.onnx")
    weights = tiny_weights()
    del weights["encoder.layer.1.output.dense.bias"]
    with pytest.raises(ValueError, match=r"no encoder\.layer\.1\.output\.dense\.bias"):
        write_bert(weights, CONFIG, tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()


def test_the_vocabulary_of_the_tiny_model_covers_its_sentences() -> None:
    assert {"volcano", "database", "[PAD]"} <= set(tiny_vocabulary())


@pytest.mark.parametrize("package", ["onnx", "onnxruntime"])
def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    import sys

    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(Unavailable, match=rf"{package} is not installed\. pip install onnx onnxruntime"):
        require_packages()
