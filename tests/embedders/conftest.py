"""A tiny transformer with random weights, made here, so that no test needs a real model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

SENTENCES = """
    how do i change my password ? steps to reset a forgotten password : the volcano covered the island in ash
    when does the next train leave the timetable of departures from the station why is the database slow
    queries take long because an index is missing the valve closes when the pressure in the tank rises
    above the limit set by the operator load width query passage
"""
HIDDEN, LAYERS, HEADS, INNER, POSITIONS = 32, 2, 4, 64, 96
CONFIG: dict[str, Any] = {
    "model_type": "bert",
    "hidden_act": "gelu",
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": INNER,
    "max_position_embeddings": POSITIONS,
    "layer_norm_eps": 1e-12,
    "pad_token_id": 0,
}
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
POOLING = {
    "word_embedding_dimension": HIDDEN,
    "pooling_mode_mean_tokens": True,
    "pooling_mode_cls_token": False,
}


def tiny_vocabulary() -> dict[str, int]:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    tokens = [*SPECIAL.values(), *letters, *(f"##{letter}" for letter in letters), *SENTENCES.split()]
    return {token: place for place, token in enumerate(dict.fromkeys(tokens))}


def tiny_weights(seed: int = 5) -> dict[str, NDArray[np.float32]]:
    rng = np.random.default_rng(seed)

    def some(*shape: int) -> NDArray[np.float32]:
        return rng.normal(0, 0.1, shape).astype(np.float32)

    weights = {
        # Far larger than the rest, so that a text's vector follows its words.
        "embeddings.word_embeddings.weight": some(len(tiny_vocabulary()), HIDDEN) * np.float32(8),
        "embeddings.position_embeddings.weight": some(POSITIONS, HIDDEN) * np.float32(0.2),
        "embeddings.token_type_embeddings.weight": some(2, HIDDEN) * np.float32(0.2),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}"
        shapes = {"intermediate.dense": (INNER, HIDDEN), "output.dense": (HIDDEN, INNER)}
        shapes |= {f"attention.self.{part}": (HIDDEN, HIDDEN) for part in ("query", "key", "value")}
        shapes |= {"attention.output.dense": (HIDDEN, HIDDEN)}
        for name, shape in shapes.items():
            weights[f"{prefix}.{name}.weight"] = some(*shape)
            weights[f"{prefix}.{name}.bias"] = some(shape[0])
        norms += [f"{prefix}.attention.output.LayerNorm", f"{prefix}.output.LayerNorm"]
    for name in norms:
        weights[f"{name}.weight"] = 1 + some(HIDDEN) * np.float32(0.2)
        weights[f"{name}.bias"] = some(HIDDEN) * np.float32(0.2)
    return weights


def write_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import WordPiece

    vocabulary = tiny_vocabulary()
    tokenizer = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "tokenizer_config.json", {"model_max_length": 64, **SPECIAL})
    write_json(folder / "special_tokens_map.json", SPECIAL)


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def make_model(folder: Path, *, seed: int = 5) -> Path:
    """Write a whole model folder; its vectors are random but share what texts share."""
    pytest.importorskip("onnx", reason="onnx is not installed")
    from wikimcp.embedders.bert_onnx import write_bert

    folder.mkdir(parents=True)
    write_bert(tiny_weights(seed), CONFIG, folder / "model.onnx")
    write_tokenizer(folder)
    write_json(folder / "config.json", CONFIG)
    write_json(folder / "1_Pooling" / "config.json", POOLING)
    return folder


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_model(tmp_path_factory.mktemp("models") / "tiny-bert")
