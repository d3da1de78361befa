"""Which embedder serves, which grows behind it, and what the operator is told."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from wikimcp.embedders.fastembed import FastembedEmbedder
from wikimcp.embedders.resolve import plan_embedders
from wikimcp.embedders.wordllama import WordLlamaEmbedder
from wikimcp.errors import SettingsError

pytest.importorskip("fastembed", reason="fastembed is not installed")


@pytest.fixture
def models_dir(tiny_model: Path) -> Path:
    return tiny_model.parent


def test_auto_without_a_model_serves_wordllama_and_says_what_pulling_brings(tmp_path: Path) -> None:
    plan = plan_embedders("auto", models_dir=tmp_path / "missing")
    assert isinstance(plan.floor, WordLlamaEmbedder)
    assert plan.better is None
    assert plan.satisfied
    (note,) = plan.notes
    assert "wikimcp models pull." in note
    assert str(tmp_path) not in note


def test_auto_with_a_model_grows_it_behind_wordllama(models_dir: Path) -> None:
    plan = plan_embedders("auto", models_dir=models_dir)
    assert isinstance(plan.floor, WordLlamaEmbedder)
    assert isinstance(plan.better, FastembedEmbedder)
    assert (plan.notes, plan.satisfied) == ((), True)


def test_fastembed_with_a_model_grows_it_above_wordllama(models_dir: Path) -> None:
    plan = plan_embedders("fastembed", models_dir=models_dir, threads=1)
    assert isinstance(plan.floor, WordLlamaEmbedder)
    assert isinstance(plan.better, FastembedEmbedder)
    assert (plan.notes, plan.satisfied) == ((), True)


def test_fastembed_without_a_model_serves_wordllama_and_is_not_satisfied(tmp_path: Path) -> None:
    plan = plan_embedders("fastembed", models_dir=tmp_path)
    assert isinstance(plan.floor, WordLlamaEmbedder)
    assert not plan.satisfied
    assert "no transformer model" in plan.notes[0]


@pytest.mark.parametrize(("choice", "satisfied"), [("auto", True), ("fastembed", False)])
def test_without_the_package_the_note_says_what_to_install(
    models_dir: Path, monkeypatch: pytest.MonkeyPatch, choice: str, satisfied: bool
) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    plan = plan_embedders(choice, models_dir=models_dir)
    assert isinstance(plan.floor, WordLlamaEmbedder)
    assert (plan.better, plan.satisfied) == (None, satisfied)
    assert "pip install 'fastembed>=0.9,<0.10'" in plan.notes[0]


def test_a_damaged_model_is_named_and_not_served(tiny_model: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_model, tmp_path / "broken")
    (tmp_path / "broken" / "tokenizer.json").unlink()
    plan = plan_embedders("auto", models_dir=tmp_path, model="broken")
    assert plan.better is None
    assert "'broken' has no tokenizer.json" in plan.notes[0]
    assert plan_embedders("auto", models_dir=tmp_path).better is None


def test_wordllama_and_none_look_for_no_model(models_dir: Path) -> None:
    plan = plan_embedders("wordllama", models_dir=models_dir, model="no-such-model")
    assert isinstance(plan.floor, WordLlamaEmbedder)
    assert (plan.better, plan.notes) == (None, ())
    plan = plan_embedders("none", models_dir=models_dir)
    assert (plan.floor, plan.better, plan.satisfied) == (None, None, True)
    assert "embedder: none" in plan.notes[0]


def test_without_wordllama_a_transformer_serves_from_the_start(
    models_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    plan = plan_embedders("auto", models_dir=models_dir)
    assert isinstance(plan.floor, FastembedEmbedder)
    assert (plan.better, plan.satisfied) == (None, False)
    assert "pip install wordllama" in plan.notes[0]
    plan = plan_embedders("auto", models_dir=tmp_path)
    assert (plan.floor, plan.better, len(plan.notes)) == (None, None, 2)


def test_a_known_model_that_is_not_pulled_is_a_note(tmp_path: Path) -> None:
    for name in ("BAAI/bge-small-en-v1.5", "multilingual-e5-small", "someone/else"):
        plan = plan_embedders("auto", models_dir=tmp_path, model=name)
        assert f"wikimcp models pull {name}." in plan.notes[0]


@pytest.mark.parametrize(
    ("choice", "nearest"), [("wordlama", "wordllama"), ("Auto", "auto"), ("fast-embed", "fastembed")]
)
def test_an_unknown_embedder_names_the_nearest(tmp_path: Path, choice: str, nearest: str) -> None:
    with pytest.raises(SettingsError, match=f"Did you mean {nearest}"):
        plan_embedders(choice, models_dir=tmp_path)
    with pytest.raises(SettingsError, match="Known: auto, wordllama, fastembed, none"):
        plan_embedders("xyzzy", models_dir=tmp_path)


def test_an_unknown_model_name_names_the_nearest(models_dir: Path) -> None:
    with pytest.raises(SettingsError, match="Did you mean tiny-bert"):
        plan_embedders("auto", models_dir=models_dir, model="tiny-brt")
    with pytest.raises(SettingsError, match="holds no model"):
        plan_embedders("auto", models_dir=models_dir, model=str(models_dir / "nothing"))
