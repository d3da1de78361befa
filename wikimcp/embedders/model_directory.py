"""A transformer model as a folder of files: what must lie in it, and how its vectors are made.

Reads only small files; nothing here loads a model or needs fastembed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from wikimcp.embedders.catalog import known_model
from wikimcp.embedders.weights import fingerprint
from wikimcp.errors import Unavailable

Pooling = Literal["cls", "mean", "last"]

NOTE = "wikimcp-model.json"  # source, licence and prompts, written when a model is pulled
ONNX_FILES = (
    "model.onnx",
    "model_optimized.onnx",
    "model_quantized.onnx",
    "onnx/model_optimized.onnx",
    "onnx/model_quantized.onnx",
    "onnx/model.onnx",
)
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json")
CONFIG = "config.json"
POOLING_CONFIG = "1_Pooling/config.json"
PROMPT_CONFIG = "config_sentence_transformers.json"
POOLING_MODES: dict[str, Pooling] = {
    "pooling_mode_cls_token": "cls",  # nosec B105 # no password: the way a model pools
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
}


@dataclass(frozen=True, slots=True)
class ModelDirectory:
    """A complete model folder. ``onnx`` is relative to ``path``, ``size`` counts all bytes in it."""

    path: Path
    onnx: str
    dimension: int
    pooling: Pooling
    query_prompt: str
    passage_prompt: str
    source: str
    licence: str
    size: int
    fingerprint: str

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name


def is_model_directory(path: Path) -> bool:
    """Tell whether a folder means to be a model: it holds an ONNX file under a usual name."""
    return any((path / name).is_file() for name in ONNX_FILES)


def read_model_directory(path: Path) -> ModelDirectory:
    """Read what a model folder says of itself.

    Pooling and dimension follow sentence-transformers' ``1_Pooling/config.json``, else
    ``config.json`` with mean pooling (cls for bge models). Raises Unavailable that names the file
    which is missing, unreadable or asks for what is not supported.
    """
    path = path.absolute()
    onnx = next((name for name in ONNX_FILES if (path / name).is_file()), None)
    if onnx is None:
        raise _unusable(path, f"has no {ONNX_FILES[0]}")
    for name in TOKENIZER_FILES:
        if not (path / name).is_file():
            raise _unusable(path, f"has no {name}")
    if any(path.glob("*_Dense")):
        raise _unusable(path, "has a Dense layer after pooling, which is not supported")
    note = _read_json(path, NOTE) or {}
    query_prompt, passage_prompt = _prompts(path, note)
    pooling = _pooling(path)
    files = [path / name for name in (onnx, *TOKENIZER_FILES)]
    try:
        print_of = fingerprint(files, also=f"{pooling}\n{query_prompt}\n{passage_prompt}")
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    except OSError as error:
        raise _unusable(path, "cannot be read") from error
    return ModelDirectory(
        path=path,
        onnx=onnx,
        dimension=_dimension(path),
        pooling=pooling,
        query_prompt=query_prompt,
        passage_prompt=passage_prompt,
        source=str(note.get("source", "copied folder")),
        licence=str(note.get("licence", "unknown")),
        size=size,
        fingerprint=print_of,
    )


def _pooling(path: Path) -> Pooling:
    config = _read_json(path, POOLING_CONFIG)
    if config is None:
        return "cls" if "bge" in _identity(path) else "mean"
    asked = sorted(key for key, value in config.items() if key.startswith("pooling_mode_") and value is True)
    if len(asked) == 1 and asked[0] in POOLING_MODES:
        return POOLING_MODES[asked[0]]
    raise _unusable(path, f"asks in {POOLING_CONFIG} for {' + '.join(asked) or 'no'} pooling, not supported")


def _dimension(path: Path) -> int:
    pooling, config = _read_json(path, POOLING_CONFIG) or {}, _read_json(path, CONFIG) or {}
    for value in (pooling.get("word_embedding_dimension"), config.get("hidden_size"), config.get("dim")):
        if isinstance(value, int) and value > 0:
            return value
    raise _unusable(path, f"has no {CONFIG} with a hidden_size, nor a {POOLING_CONFIG}")


def _prompts(path: Path, note: dict[str, Any]) -> tuple[str, str]:
    """Return what is put before a question and before a passage."""
    if "query_prompt" in note or "passage_prompt" in note:
        return str(note.get("query_prompt", "")), str(note.get("passage_prompt", ""))
    prompts = (_read_json(path, PROMPT_CONFIG) or {}).get("prompts")
    if isinstance(prompts, dict) and prompts:
        passage = prompts.get("passage", prompts.get("document", ""))
        return str(prompts.get("query", "")), str(passage)
    known = known_model(path.name)
    if known is not None:
        return known.query_prompt, known.passage_prompt
    return ("query: ", "passage: ") if "e5-" in _identity(path) else ("", "")


def _identity(path: Path) -> str:
    """Return the names that hint at the model's family, in lower case."""
    return f"{path.name} {(_read_json(path, CONFIG) or {}).get('_name_or_path', '')}".lower()


def _read_json(path: Path, name: str) -> dict[str, Any] | None:
    """Return a JSON object of the folder, None when there is no such file."""
    try:
        value = json.loads((path / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unusable(path, f"has a {name} that cannot be read") from error
    if not isinstance(value, dict):
        raise _unusable(path, f"has a {name} that is not a JSON object")
    return value


def _unusable(path: Path, reason: str) -> Unavailable:
    return Unavailable(
        f"the model {path.name!r} {reason}",
        hint="Copy the whole model folder again, or: wikimcp models pull.",
    )
