"""What a model folder says of itself, and the errors that name what it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from wikimcp.embedders.model_directory import is_model_directory, read_model_directory
from wikimcp.errors import Unavailable

from .conftest import write_json

MEAN = {"word_embedding_dimension": 48, "pooling_mode_mean_tokens": True, "pooling_mode_cls_token": False}


def model_folder(folder: Path, *, onnx: str = "model.onnx") -> Path:
    """Write a folder that looks like a model; nothing here loads it."""
    (folder / onnx).parent.mkdir(parents=True, exist_ok=True)
    (folder / onnx).write_bytes(b"graph" * 100)
    write_json(folder / "tokenizer.json", {})
    write_json(folder / "tokenizer_config.json", {"model_max_length": 512})
    write_json(folder / "config.json", {"hidden_size": 48})
    return folder


def test_a_plain_folder_is_mean_pooled_with_the_size_of_its_config(tmp_path: Path) -> None:
    model = read_model_directory(model_folder(tmp_path / "plain"))
    assert (model.name, model.onnx, model.dimension, model.pooling) == ("plain", "model.onnx", 48, "mean")
    assert (model.query_prompt, model.passage_prompt) == ("", "")
    assert (model.source, model.licence) == ("copied folder", "unknown")
    assert model.size == sum(path.stat().st_size for path in (tmp_path / "plain").iterdir())


@pytest.mark.parametrize(
    "onnx", ["model_optimized.onnx", "model_quantized.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx"]
)
def test_the_onnx_file_is_found_under_the_usual_names(tmp_path: Path, onnx: str) -> None:
    folder = model_folder(tmp_path / "model", onnx=onnx)
    assert is_model_directory(folder)
    assert read_model_directory(folder).onnx == onnx


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
def test_a_missing_file_is_named(tmp_path: Path, name: str) -> None:
    folder = model_folder(tmp_path / "model")
    (folder / name).unlink()
    with pytest.raises(Unavailable, match=f"'model' has no {name}") as caught:
        read_model_directory(folder)
    assert str(tmp_path) not in str(caught.value)


def test_without_any_dimension_the_config_is_named(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "model")
    (folder / "config.json").unlink()
    with pytest.raises(Unavailable, match=r"no config\.json with a hidden_size"):
        read_model_directory(folder)
    write_json(folder / "1_Pooling" / "config.json", MEAN)
    assert read_model_directory(folder).dimension == 48


@pytest.mark.parametrize(
    ("mode", "pooling"),
    [
        ("pooling_mode_cls_token", "cls"),
        ("pooling_mode_mean_tokens", "mean"),
        ("pooling_mode_lasttoken", "last"),
    ],
)
def test_pooling_follows_the_sentence_transformers_config(tmp_path: Path, mode: str, pooling: str) -> None:
    folder = model_folder(tmp_path / "model")
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 24, mode: True})
    model = read_model_directory(folder)
    assert (model.pooling, model.dimension) == (pooling, 24)


@pytest.mark.parametrize(
    "modes",
    [
        {},
        {"pooling_mode_max_tokens": True},
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True},
    ],
)
def test_pooling_that_is_not_supported_is_refused(tmp_path: Path, modes: dict[str, bool]) -> None:
    folder = model_folder(tmp_path / "model")
    write_json(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 24, **modes})
    with pytest.raises(Unavailable, match="pooling, not supported"):
        read_model_directory(folder)


def test_a_dense_layer_after_pooling_is_refused(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "model")
    (folder / "2_Dense").mkdir()
    with pytest.raises(Unavailable, match="Dense layer"):
        read_model_directory(folder)


def test_bge_models_pool_the_first_token_and_prompt_questions(tmp_path: Path) -> None:
    model = read_model_directory(model_folder(tmp_path / "bge-small-en-v1.5"))
    assert model.pooling == "cls"
    assert model.query_prompt.startswith("Represent this sentence")
    assert model.passage_prompt == ""


def test_e5_models_prompt_questions_and_passages(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "renamed")
    write_json(folder / "config.json", {"hidden_size": 48, "_name_or_path": "intfloat/e5-base-v2"})
    model = read_model_directory(folder)
    assert (model.query_prompt, model.passage_prompt) == ("query: ", "passage: ")


def test_prompts_of_the_folder_win_over_the_name(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "my-e5-small")
    write_json(folder / "config_sentence_transformers.json", {"prompts": {"query": "q: ", "document": "d: "}})
    model = read_model_directory(folder)
    assert (model.query_prompt, model.passage_prompt) == ("q: ", "d: ")
    write_json(folder / "wikimcp-model.json", {"query_prompt": "", "licence": "MIT", "source": "here"})
    model = read_model_directory(folder)
    assert (model.query_prompt, model.passage_prompt) == ("", "")
    assert (model.licence, model.source) == ("MIT", "here")


@pytest.mark.parametrize(
    "name",
    ["config.json", "1_Pooling/config.json", "wikimcp-model.json", "config_sentence_transformers.json"],
)
@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe"])
def test_a_damaged_description_is_named(tmp_path: Path, name: str, content: bytes) -> None:
    folder = model_folder(tmp_path / "model")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    with pytest.raises(Unavailable, match=name):
        read_model_directory(folder)


def test_the_fingerprint_follows_everything_that_shapes_vectors(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "model")
    prints = {read_model_directory(folder).fingerprint}
    (folder / "model.onnx").write_bytes(b"other" * 100)
    prints.add(read_model_directory(folder).fingerprint)
    write_json(folder / "tokenizer.json", {"other": 1})
    prints.add(read_model_directory(folder).fingerprint)
    write_json(folder / "wikimcp-model.json", {"query_prompt": "q: "})
    prints.add(read_model_directory(folder).fingerprint)
    write_json(
        folder / "1_Pooling" / "config.json", {"word_embedding_dimension": 48, "pooling_mode_cls_token": True}
    )
    prints.add(read_model_directory(folder).fingerprint)
    assert len(prints) == 5
    (folder / "README.md").write_text("notes change nothing")
    assert read_model_directory(folder).fingerprint in prints
