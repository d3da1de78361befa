"""The transformer models known by name: what each is, where its files lie, and how it wants its texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wikimcp.errors import nearest


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that ``wikimcp models pull NAME`` brings.

    ``repository`` holds its ONNX export on the hub. The prompts are put before a question and a
    passage, as the model's card asks. ``megabytes`` is the size of the download.
    """

    name: str
    repository: str
    dimension: int
    megabytes: int
    licence: str
    summary: str
    query_prompt: str = ""
    passage_prompt: str = ""

    @property
    def folder(self) -> str:
        """The folder it is kept in: the last part of its name."""
        return folder_of(self.name)


DEFAULT_MODEL = "BAAI/bge-small-en-v1.5"

# In the order of preference where several are installed and none is named.
KNOWN_MODELS = (
    KnownModel(
        name=DEFAULT_MODEL,
        repository="Qdrant/bge-small-en-v1.5-onnx-Q",
        dimension=384,
        megabytes=67,
        licence="MIT",
        summary="English; the default",
        query_prompt="Represent this sentence for searching relevant passages: ",
    ),
    KnownModel(
        name="sentence-transformers/all-MiniLM-L6-v2",
        repository="Xenova/all-MiniLM-L6-v2",
        dimension=384,
        megabytes=24,
        licence="Apache-2.0",
        summary="English; the smallest; also from a package index (--from-index)",
    ),
    KnownModel(
        name="intfloat/multilingual-e5-small",
        repository="Xenova/multilingual-e5-small",
        dimension=384,
        megabytes=136,
        licence="MIT",
        summary="About 100 languages",
        query_prompt="query: ",
        passage_prompt="passage: ",
    ),
)


def folder_of(name: str) -> str:
    """Return the folder that a model of this name is kept in."""
    return name.rstrip("/").rsplit("/", 1)[-1]


def known_model(name: str) -> KnownModel | None:
    """Return the known model of that name, full (``BAAI/bge-small-en-v1.5``) or short, in any case."""
    wanted = name.casefold()
    for model in KNOWN_MODELS:
        if wanted in (model.name.casefold(), model.folder.casefold()):
            return model
    return None


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """Return a hint that names the nearest of ``names``, or all of them when none is near."""
    close = nearest(name, names)
    return f"Did you mean {close[0]}?" if close else f"Known: {', '.join(names)}."
