"""The models directory: what is listed, found and tried."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from wikimcp.embedders import model_store
from wikimcp.embedders.catalog import KNOWN_MODELS
from wikimcp.embedders.model_store import find_model, list_models, try_model
from wikimcp.errors import NotFound, SettingsError, Unavailable

from .conftest import HIDDEN, write_json


def test_an_absent_directory_holds_nothing_and_lists_what_can_be_pulled(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    for place in (tmp_path / "missing", tmp_path / "file", tmp_path):
        found = list_models(place)
        assert found.installed == ()
        assert found.pullable == KNOWN_MODELS


def test_installed_models_are_described_and_no_longer_pullable(tiny_model: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_model, tmp_path / "all-MiniLM-L6-v2")
    write_json(
        tmp_path / "all-MiniLM-L6-v2" / "wikimcp-model.json", {"source": "here", "licence": "Apache-2.0"}
    )
    shutil.copytree(tiny_model, tmp_path / ".pull-unfinished")
    (tmp_path / "notes").mkdir()
    found = list_models(tmp_path)
    (model,) = found.installed
    assert (model.name, model.dimension, model.source, model.licence) == (
        *("all-MiniLM-L6-v2", HIDDEN),
        *("here", "Apache-2.0"),
    )
    assert model.size > 10_000
    assert model.problem == ""
    assert [known.name for known in found.pullable] == [
        known.name for known in KNOWN_MODELS if known.folder != "all-MiniLM-L6-v2"
    ]


def test_a_broken_model_is_listed_with_its_problem_and_hides_no_other(
    tiny_model: Path, tmp_path: Path
) -> None:
    shutil.copytree(tiny_model, tmp_path / "whole")
    shutil.copytree(tiny_model, tmp_path / "broken")
    (tmp_path / "broken" / "config.json").write_text("{")
    (tmp_path / "broken" / "1_Pooling" / "config.json").unlink()
    problems = {model.name: model.problem for model in list_models(tmp_path).installed}
    assert problems["whole"] == ""
    assert "config.json that cannot be read" in problems["broken"]
    assert find_model(tmp_path) == tmp_path / "whole"
    assert find_model(tmp_path, "broken") == tmp_path / "broken"


def test_the_models_directory_may_be_a_model_itself(tiny_model: Path) -> None:
    assert [model.name for model in list_models(tiny_model).installed] == ["tiny-bert"]
    assert find_model(tiny_model) == tiny_model
    assert find_model(tiny_model, "tiny-bert") == tiny_model


def test_known_models_are_preferred_and_found_by_full_or_short_name(tiny_model: Path, tmp_path: Path) -> None:
    for name in ("aaa", "multilingual-e5-small", "all-MiniLM-L6-v2-int8", "other"):
        shutil.copytree(tiny_model, tmp_path / name)
    assert find_model(tmp_path) == tmp_path / "all-MiniLM-L6-v2-int8"
    assert find_model(tmp_path, "intfloat/multilingual-e5-small") == tmp_path / "multilingual-e5-small"
    assert find_model(tmp_path, "MULTILINGUAL-E5-small") == tmp_path / "multilingual-e5-small"
    assert find_model(tmp_path, "someone/other") == tmp_path / "other"
    assert find_model(tmp_path, str(tmp_path / "aaa")) == tmp_path / "aaa"
    assert find_model(tmp_path, "BAAI/bge-small-en-v1.5") is None


@pytest.mark.parametrize("name", ["..", "../tiny-bert", "../../etc", "owner/..", "a/../tiny-bert/.."])
def test_a_name_never_leads_out_of_the_directory(tiny_model: Path, tmp_path: Path, name: str) -> None:
    shutil.copytree(tiny_model, tmp_path / "tiny-bert")
    (tmp_path / "inner").mkdir()
    try:
        found = find_model(tmp_path / "inner", name)
    except SettingsError:
        found = None
    assert found is None


def test_trying_a_model_reports_dimension_speed_and_that_untrained_is_not_sound(tiny_model: Path) -> None:
    pytest.importorskip("fastembed", reason="fastembed is not installed")
    trial = try_model(tiny_model.parent)
    assert trial.dimension == HIDDEN
    assert trial.embedder.startswith("fastembed-tiny-bert-")
    assert trial.texts_per_second > 0
    assert trial.load_seconds > 0
    assert trial.related > trial.unrelated
    assert not trial.sound
    assert model_store.test_model(tiny_model).related == pytest.approx(trial.related)


def test_a_trained_model_is_sound() -> None:
    pytest.importorskip("fastembed", reason="fastembed is not installed")
    shared = Path(__file__).parents[3] / "shared" / "models"
    if not shared.is_dir():
        pytest.skip("the shared model is not here")
    assert try_model(shared).sound


def test_trying_what_is_not_there_says_what_to_pull(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"no model is installed\. wikimcp models pull\."):
        try_model(tmp_path)
    with pytest.raises(NotFound, match=r"wikimcp models pull someone/else\."):
        try_model(tmp_path, "someone/else")


def test_trying_a_damaged_model_is_an_error(tiny_model: Path, tmp_path: Path) -> None:
    pytest.importorskip("fastembed", reason="fastembed is not installed")
    shutil.copytree(tiny_model, tmp_path / "damaged")
    (tmp_path / "damaged" / "model.onnx").write_bytes(b"no graph")
    with pytest.raises(Unavailable, match="'damaged' cannot be loaded"):
        try_model(tmp_path)
