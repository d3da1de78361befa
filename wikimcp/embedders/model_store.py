"""The models directory: which transformer models lie in it, which could, and whether one works.

Pulling is done by ``hub`` and ``wheel``; which embedder serves is decided by ``resolve``.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from wikimcp.embedders.catalog import KNOWN_MODELS, KnownModel, did_you_mean, folder_of, known_model
from wikimcp.embedders.fastembed import FastembedEmbedder
from wikimcp.embedders.model_directory import ModelDirectory, is_model_directory, read_model_directory
from wikimcp.errors import NotFound, SettingsError, Unavailable

RELATED = (
    ("How do I change my password?", "Steps to reset a forgotten password"),
    ("When does the next train leave?", "The timetable of departures from the station"),
    ("Why is the database slow?", "Queries take long because an index is missing"),
)
SPEED_TEXT = "The valve closes when the pressure in the tank rises above the limit set by the operator. " * 9
SPEED_TEXTS = 16


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model folder in the models directory; ``problem`` says why it cannot be used, if so."""

    name: str
    path: Path
    dimension: int
    size: int
    source: str
    licence: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ModelList:
    """What is there, and what ``wikimcp models pull`` would bring (in order of preference)."""

    installed: tuple[InstalledModel, ...]
    pullable: tuple[KnownModel, ...]


@dataclass(frozen=True, slots=True)
class ModelTrial:
    """How a model did: seconds to load, texts of 800 characters per second, mean cosines of pairs.

    ``sound`` is true when every question is nearest to its own answer.
    """

    embedder: str
    dimension: int
    load_seconds: float
    texts_per_second: float
    related: float
    unrelated: float
    sound: bool


def list_models(models_dir: Path) -> ModelList:
    """List installed and pullable models. A directory that is absent or unreadable holds none."""
    installed = tuple(_describe(path) for path in _model_folders(models_dir))
    names = {model.name.casefold() for model in installed}
    pullable = tuple(model for model in KNOWN_MODELS if model.folder.casefold() not in names)
    return ModelList(installed, pullable)


def find_model(models_dir: Path, model: str = "") -> Path | None:
    """Return the folder of a model, None when it is not there.

    ``model`` is a known or folder name or the absolute path of a folder; empty takes the preferred
    one of those that can be used. Raises SettingsError for a name that is neither installed, nor
    known, nor of the hub's form ``owner/name``, or for a path without a model.
    """
    if Path(model).expanduser().is_absolute():
        path = Path(model).expanduser()
        if not is_model_directory(path):
            raise SettingsError(f"the folder {path.name!r} holds no model", hint="It needs a model.onnx.")
        return path
    folders = _model_folders(models_dir)
    if not model:
        return min((path for path in folders if not _describe(path).problem), key=_preference, default=None)
    known = known_model(model)
    wanted = (known.folder if known else folder_of(model)).casefold()
    for path in folders:
        if path.name.casefold() == wanted:
            return path
    if known is None and "/" not in model:
        names = [path.name for path in folders] + [known.name for known in KNOWN_MODELS]
        raise SettingsError(f"there is no model {model!r}", hint=did_you_mean(model, names))
    return None


def try_model(models_dir: Path, model: str = "", *, threads: int = 2) -> ModelTrial:
    """Load a model, time it and check that it tells related texts from unrelated ones.

    Raises NotFound when there is no such model, SettingsError as ``find_model`` does, Unavailable
    when it cannot be loaded or run.
    """
    path = find_model(models_dir, model)
    if path is None:
        raise NotFound(
            f"no model {model!r} is installed" if model else "no model is installed",
            hint=f"wikimcp models pull {model}".rstrip() + ".",
        )
    return test_model(path, threads=threads)


def test_model(directory: Path, *, threads: int = 2) -> ModelTrial:
    """Try the model of one folder. Raises Unavailable when it cannot be loaded or run."""
    embedder = FastembedEmbedder(directory, threads=threads)
    started = time.perf_counter()
    embedder.embed(["load"])
    loaded = time.perf_counter()
    embedder.embed([SPEED_TEXT[:800]] * SPEED_TEXTS)
    finished = time.perf_counter()
    answers = embedder.embed([answer for _, answer in RELATED])
    cosines = [answers @ embedder.embed_query(question) for question, _ in RELATED]
    related = [float(own[place]) for place, own in enumerate(cosines)]
    unrelated = [
        float(own[other]) for place, own in enumerate(cosines) for other in range(len(own)) if other != place
    ]
    return ModelTrial(
        embedder=embedder.name,
        dimension=embedder.dimension,
        load_seconds=loaded - started,
        texts_per_second=SPEED_TEXTS / (finished - loaded),
        related=sum(related) / len(related),
        unrelated=sum(unrelated) / len(unrelated),
        sound=all(int(own.argmax()) == place for place, own in enumerate(cosines)),
    )


test_model.__test__ = False  # type: ignore[attr-defined]  # its name is the command's, not a test's


def _model_folders(models_dir: Path) -> list[Path]:
    """Return the model folders: the directory itself when it is one, else those in it, by name."""
    if is_model_directory(models_dir):
        return [models_dir]
    try:
        entries = sorted(models_dir.iterdir())
    except OSError:
        return []
    return [path for path in entries if not path.name.startswith(".") and is_model_directory(path)]


def _describe(path: Path) -> InstalledModel:
    try:
        found: ModelDirectory = read_model_directory(path)
    except Unavailable as error:
        return InstalledModel(path.name, path, 0, 0, "unknown", "unknown", problem=error.message)
    return InstalledModel(found.name, path, found.dimension, found.size, found.source, found.licence)


def _preference(path: Path) -> tuple[int, str]:
    for place, known in enumerate(KNOWN_MODELS):
        if path.name.casefold().startswith(known.folder.casefold()):
            return place, path.name
    return len(KNOWN_MODELS), path.name
