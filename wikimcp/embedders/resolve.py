"""Chooses the embedder to serve with and the better one to grow behind it, and says why."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from wikimcp.embedders.catalog import did_you_mean
from wikimcp.embedders.fastembed import INSTALL_HINT, MISSING_PACKAGE, FastembedEmbedder, installed
from wikimcp.embedders.model_store import find_model
from wikimcp.embedders.wordllama import WordLlamaEmbedder
from wikimcp.errors import SettingsError, Unavailable
from wikimcp.ports import Embedder

CHOICES = ("auto", "wordllama", "fastembed", "none")
GAIN = "Questions that avoid a page's words are answered better with one."


@dataclass(frozen=True, slots=True)
class EmbedderPlan:
    """What serves: ``floor`` at once; ``better``, if any, takes over when its vectors are complete.

    No ``floor`` means no vectors: search is lexical. ``notes`` are sentences for status and doctor:
    what is missing and what to do about it. ``satisfied`` is false when something other than what
    was asked for serves.
    """

    floor: Embedder | None
    better: Embedder | None = None
    notes: tuple[str, ...] = ()
    satisfied: bool = True


def plan_embedders(choice: str, *, models_dir: Path, model: str = "", threads: int = 2) -> EmbedderPlan:
    """Turn the embedder settings into parts. Loads no model and never fails for a missing one.

    ``auto`` serves wordllama and grows a transformer where one is installed. ``fastembed`` does the
    same (nobody waits for the vectors, and the words of both are compared by wordllama's table), but
    without a transformer the plan is not satisfied: an answer that says so is better than none.
    ``none`` is no embedder at all. ``model`` is as in ``model_store.find_model``; empty takes the
    preferred one. Raises SettingsError for an unknown embedder or model name.
    """
    if choice not in CHOICES:
        raise SettingsError(f"the embedder {choice!r} is unknown", hint=did_you_mean(choice, CHOICES))
    if choice == "none":
        return EmbedderPlan(None, notes=("vectors are off (embedder: none)",))
    if choice == "wordllama":
        return _with_wordllama(None, (), satisfied=True)
    transformer, note = _transformer(models_dir, model, threads)
    satisfied = choice == "auto" or transformer is not None
    return _with_wordllama(transformer, (note,) if note else (), satisfied=satisfied)


def _with_wordllama(better: Embedder | None, notes: tuple[str, ...], *, satisfied: bool) -> EmbedderPlan:
    """Put wordllama below ``better``; where its files are gone, the better one serves from the start."""
    try:
        return EmbedderPlan(WordLlamaEmbedder(), better, notes, satisfied)
    except Unavailable as error:
        return EmbedderPlan(better, None, (_sentence(error), *notes), satisfied=False)


def _transformer(models_dir: Path, model: str, threads: int) -> tuple[Embedder | None, str]:
    """Return the transformer, or None and why not. Raises SettingsError for an unknown model name."""
    path = find_model(models_dir, model)
    if not installed():
        return None, f"{MISSING_PACKAGE}: {INSTALL_HINT}. {GAIN}"
    if path is None:
        what = f"the model {model} is not" if model else "no transformer model is"
        return None, f"{what} in the models directory: wikimcp models pull {model}".rstrip() + f". {GAIN}"
    try:
        return FastembedEmbedder(path, threads=threads), ""
    except Unavailable as error:
        return None, _sentence(error)


def _sentence(error: Unavailable) -> str:
    return f"{error.message}: {error.hint}" if error.hint else error.message
