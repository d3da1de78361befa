"""The fastembed member: pooling, prompts, damage told apart, nothing imported or downloaded early."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from wikimcp.embedders.bert_onnx import mean_vectors
from wikimcp.embedders.fastembed import FastembedEmbedder
from wikimcp.errors import Unavailable

from .conftest import CONFIG, HIDDEN, POOLING, make_model, write_json

pytest.importorskip("fastembed", reason="fastembed is not installed")

TEXTS = ["how do i change my password", "the volcano covered the island in ash", "why is the database slow"]


@pytest.fixture
def model(tiny_model: Path, tmp_path: Path) -> Path:
    """Return a copy that a test may damage."""
    return Path(shutil.copytree(tiny_model, tmp_path / "tiny-bert"))


def test_mean_pooling_equals_the_mean_of_token_vectors(tiny_model: Path) -> None:
    expected = mean_vectors(tiny_model / "model.onnx", tiny_model / "tokenizer.json", TEXTS)
    assert np.abs(FastembedEmbedder(tiny_model).embed(TEXTS) - expected).max() < 1e-5


def test_cls_pooling_is_another_model(model: Path) -> None:
    mean = FastembedEmbedder(model)
    write_json(
        model / "1_Pooling" / "config.json",
        {"word_embedding_dimension": HIDDEN, "pooling_mode_cls_token": True},
    )
    cls = FastembedEmbedder(model)
    assert cls.name != mean.name
    assert (cls.embed(TEXTS) * mean.embed(TEXTS)).sum(axis=1).max() < 0.99


def test_prompts_are_put_before_questions_and_passages(model: Path) -> None:
    plain = FastembedEmbedder(model)
    write_json(model / "wikimcp-model.json", {"query_prompt": "query: ", "passage_prompt": "passage: "})
    prompted = FastembedEmbedder(model)
    assert np.array_equal(prompted.embed_query(TEXTS[0]), plain.embed(["query: " + TEXTS[0]])[0])
    assert np.array_equal(prompted.embed([TEXTS[0]]), plain.embed(["passage: " + TEXTS[0]]))
    assert not prompted.embed_query("").any()


def test_two_models_serve_side_by_side_in_one_process(tiny_model: Path, tmp_path: Path) -> None:
    other = make_model(tmp_path / "tiny-bert", seed=6)
    first, second, again = (FastembedEmbedder(path) for path in (tiny_model, other, tiny_model))
    assert first.name == again.name != second.name
    vectors = first.embed(TEXTS)
    assert (vectors * second.embed(TEXTS)).sum(axis=1).max() < 0.9
    assert np.array_equal(again.embed(TEXTS), vectors)


@pytest.mark.parametrize("threads", [1, 3, 64])
def test_the_number_of_threads_changes_no_bit(tiny_model: Path, threads: int) -> None:
    texts = [f"{text} {number}" for number in range(40) for text in TEXTS]
    vectors = FastembedEmbedder(tiny_model, threads=threads).embed(texts)
    assert np.array_equal(vectors, FastembedEmbedder(tiny_model).embed(texts))


@pytest.mark.parametrize("text", [" ", "\n\t", "\u3000"])
def test_blank_texts_have_zero_rows(tiny_model: Path, text: str) -> None:
    vectors = FastembedEmbedder(tiny_model).embed([text, TEXTS[0]])
    assert not vectors[0].any()
    assert vectors[1].any()


def test_a_dimension_that_the_model_does_not_have_is_an_error(model: Path) -> None:
    write_json(model / "1_Pooling" / "config.json", {**POOLING, "word_embedding_dimension": 48})
    embedder = FastembedEmbedder(model)
    assert embedder.dimension == 48
    with pytest.raises(Unavailable, match=rf"\({HIDDEN},\), its folder says 48"):
        embedder.embed(TEXTS)


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", [b"", b"{}", b"\xff" * 100])
def test_damaged_files_are_an_error_without_paths(model: Path, name: str, content: bytes) -> None:
    (model / name).write_bytes(content)
    embedder = FastembedEmbedder(model)
    for _ in range(2):
        with pytest.raises(Unavailable, match="'tiny-bert' cannot be loaded") as caught:
            embedder.embed(TEXTS)
        assert str(model.parent) not in str(caught.value)


def test_a_model_that_vanishes_before_its_first_text_is_an_error(model: Path) -> None:
    embedder = FastembedEmbedder(model)
    shutil.rmtree(model)
    with pytest.raises(Unavailable, match="cannot be loaded"):
        embedder.embed_query(TEXTS[0])


def test_a_folder_without_config_but_with_pooling_config_works(model: Path) -> None:
    expected = FastembedEmbedder(model).embed(TEXTS)
    (model / "config.json").unlink()
    assert np.array_equal(FastembedEmbedder(model).embed(TEXTS), expected)
    write_json(model / "config.json", CONFIG)


def test_without_the_package_it_says_what_to_install(
    tiny_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(Unavailable, match=r"not installed\. pip install 'fastembed>="):
        FastembedEmbedder(tiny_model)


def test_nothing_heavy_is_imported_before_the_first_text_nor_written_to_stdout(tiny_model: Path) -> None:
    code = (
        "import json, sys; from pathlib import Path\n"
        "from wikimcp.embedders.fastembed import FastembedEmbedder\n"
        "import wikimcp.embedders.resolve, wikimcp.embedders.hub, wikimcp.embedders.wheel\n"
        "embedder = FastembedEmbedder(Path(sys.argv[1]))\n"
        "heavy = ('fastembed', 'onnxruntime', 'onnx', 'tokenizers', 'huggingface_hub', 'wordllama')\n"
        "early = [name for name in heavy if name in sys.modules]\n"
        "shape = embedder.embed(['text']).shape\n"
        "print(json.dumps([early, list(shape), sorted(p.name for p in Path(sys.argv[1]).iterdir())]))\n"
    )
    before = sorted(path.name for path in tiny_model.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", code, str(tiny_model)], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [[], [1, HIDDEN], before]


def test_the_shared_int8_model_tells_related_texts_apart() -> None:
    shared = Path(__file__).parents[3] / "shared" / "models" / "all-MiniLM-L6-v2-int8"
    if not shared.is_dir():
        pytest.skip("the shared model is not here")
    embedder = FastembedEmbedder(shared)
    near, far = embedder.embed(["Steps to reset a forgotten password", "The volcano erupted"])
    question = embedder.embed_query("How do I change my password?")
    assert embedder.dimension == 384
    assert near @ question > 0.5 > 0.3 > far @ question
