"""Member ``fastembed``: a transformer in ONNX from a local folder, run by fastembed. Never downloads.

fastembed is imported at the first text, in this file only. It is handed the folder itself, which
skips all of its own looking for models.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING

import numpy as np

from wikimcp.embedders.model_directory import ModelDirectory, read_model_directory
from wikimcp.errors import Unavailable
from wikimcp.ports import Vectors

if TYPE_CHECKING:
    from fastembed import TextEmbedding

THRESHOLDS = (0.55, 0.42)  # cosines for strong and partial coverage

MISSING_PACKAGE = "fastembed is not installed"
INSTALL_HINT = "pip install 'fastembed>=0.9,<0.10'"

log = logging.getLogger(__name__)
_registry_lock = Lock()
_registered: set[str] = set()


def installed() -> bool:
    """Tell whether the fastembed package is there, without importing it."""
    return find_spec("fastembed") is not None


class FastembedEmbedder:
    """Embedder over one model folder; the model is loaded at the first text.

    Texts are run one by one, ``threads`` of them at the same time, each on one thread: no padding, a
    third of the memory, half the processor time of batches on a threaded session (whose threads
    spin while they wait for each other), and a text's vector never depends on its neighbours, as it
    would in a batch of a dynamically quantised model. Safe to call from several threads.
    """

    thresholds = THRESHOLDS

    def __init__(self, directory: Path, *, threads: int = 2) -> None:
        """Read the folder's description. Raises Unavailable without fastembed or with a file missing."""
        if not installed():
            raise Unavailable(MISSING_PACKAGE, hint=INSTALL_HINT)
        self._model = read_model_directory(directory)
        self._threads = threads
        self._lock = Lock()
        self._session: TextEmbedding | None = None
        self.dimension = self._model.dimension
        short = re.sub(r"[^\w.-]+", "_", self._model.name)
        self.name = f"fastembed-{short}-{self.dimension}-{self._model.fingerprint}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return float32 ``(len(texts), dimension)`` of length 1; a blank text has a zero row.

        Raises Unavailable when the model cannot be loaded or run, or makes vectors of another
        dimension than its folder says.
        """
        return self._embed(texts, prompt=self._model.passage_prompt)

    def embed_query(self, text: str) -> Vectors:
        """Return float32 ``(dimension,)`` for a question, with the prompt that the model wants."""
        vector: Vectors = self._embed([text], prompt=self._model.query_prompt)[0]
        return vector

    def _embed(self, texts: Sequence[str], *, prompt: str) -> Vectors:
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        filled = [place for place, text in enumerate(texts) if text.strip()]
        if not filled:
            return vectors
        session = self._load()

        def run(place: int) -> None:
            text = _encodable(prompt + texts[place])
            vectors[place] = next(iter(session.embed([text])))

        try:
            _for_each(filled, run, workers=self._threads)
        except Exception as error:  # onnxruntime raises classes of its own, not exported
            raise self._failed("cannot be run", error) from error
        return vectors

    def _load(self) -> TextEmbedding:
        if self._session is None:
            with self._lock:
                if self._session is None:
                    self._session = self._open()
        return self._session

    def _open(self) -> TextEmbedding:
        from fastembed import TextEmbedding

        try:
            session = TextEmbedding(
                _register(self._model),
                cache_dir=str(self._model.path),
                threads=1,
                providers=["CPUExecutionProvider"],
                specific_model_path=str(self._model.path),
            )
            width = next(iter(session.embed(["width"]))).shape
        except Exception as error:  # fastembed, onnxruntime and tokenizers each raise their own
            raise self._failed("cannot be loaded", error) from error
        if width != (self.dimension,):
            raise Unavailable(
                f"the model {self._model.name!r} makes vectors of shape {width}, "
                f"its folder says {self.dimension}",
                hint="Correct the hidden_size in its config.json, or: wikimcp models pull.",
            )
        return session

    def _failed(self, what: str, error: Exception) -> Unavailable:
        log.warning("model %s %s: %s", self._model.path, what, error)
        return Unavailable(
            f"the model {self._model.name!r} {what} ({type(error).__name__})",
            hint=f"wikimcp models test {self._model.name}; then pull or copy it again.",
        )


def _register(model: ModelDirectory) -> str:
    """Make the folder known to fastembed under a name of its own, once per process."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    pooling = {"cls": PoolingType.CLS, "mean": PoolingType.MEAN, "last": PoolingType.LAST_TOKEN}
    name = f"wikimcp/{model.name}-{model.fingerprint}"
    with _registry_lock:
        if name not in _registered:
            TextEmbedding.add_custom_model(
                model=name,
                pooling=pooling[model.pooling],
                normalization=True,
                sources=ModelSource(hf=name),  # required, never used: the folder is given
                dim=model.dimension,
                model_file=model.onnx,
            )
            _registered.add(name)
    return name


def _for_each(items: Sequence[int], run: Callable[[int], None], *, workers: int) -> None:
    """Call ``run`` on every item, from this thread and ``workers - 1`` others; raise the first error.

    The others are daemons and hold one item at a time, so that they never keep a process alive.
    """
    queue, lock, errors = iter(items), Lock(), list[Exception]()

    def work() -> None:
        while not errors:
            with lock:
                item = next(queue, None)
            if item is None:
                return
            try:
                run(item)
            except Exception as error:  # carried over to the calling thread
                errors.append(error)

    helpers = [Thread(target=work, daemon=True) for _ in range(min(workers, len(items)) - 1)]
    for helper in helpers:
        helper.start()
    work()
    for helper in helpers:
        helper.join()
    if errors:
        raise errors[0]


def _encodable(text: str) -> str:
    """Replace lone surrogates, which the tokenizer refuses."""
    return text.encode("utf-8", "replace").decode()
