"""Evidence for a question from the indexes: what assemble_bundle and retrieve_context start from."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from wikimcp.index.dense_state import NO_HITS
from wikimcp.index.names import fold
from wikimcp.index.view import PageRecord, Reading
from wikimcp.ports import LexicalHits, TokenEmbedder
from wikimcp.retrieval.relevance import (
    DENSE,
    LEXICAL,
    LEXICAL_LATE,
    SCORED_PAGES,
    STATIC,
    TRANSFORMER,
    Evidence,
    Scored,
    Weights,
    candidate_pages,
    score_sections,
)
from wikimcp.tools.contract import ToolContext

Mode = Literal["hybrid", "dense", "lexical"]
Question = Annotated[
    str,
    Field(
        min_length=1,
        max_length=20_000,
        description="The question or topic, in plain words; identifiers as written",
        examples=["How do we roll back a bad deploy?"],
    ),
]
_CHUNKS, _PAGES, _DENSE = 400, 200, 200
_PREPARED = 60  # pages whose sections are scored
_LONGEST_NAME = 200  # characters
_MISSING_SHARE = 0.1  # of the chunks may lack a vector; with more, what has one would be favoured
_FEW_MISSING = 32  # chunks: an edit, not a first build
_NO_IDS, _NO_SCORES = np.zeros(0, np.uint64), np.zeros(0, np.float32)
_NO_WORDS = LexicalHits(_NO_IDS, _NO_SCORES, _NO_IDS, _NO_SCORES, (), "")


@dataclass(frozen=True, slots=True)
class Found:
    """Scored sections for a question, with what the lists said. ``mode`` is the mode as run."""

    mode: Mode
    scored: Scored
    evidence: Evidence
    lexical: LexicalHits
    twins: dict[int, list[PageRecord]]

    @property
    def has_similarity(self) -> bool:
        """Whether cosines are among the evidence."""
        return self.evidence.cosine_of is not None


def gather(
    reading: Reading,
    query: str,
    context: ToolContext,
    *,
    mode: Mode = "hybrid",
    allowed: Collection[int] | None = None,
    more_pages: int = 0,
) -> Found:
    """Search by words and by meaning over the visible pages, or only over ``allowed`` revs.

    Without vectors a hybrid or dense question is answered by words, and a note says so. ``more_pages``
    are scored than usual (as many as the caller may not want to see).
    """
    run = _mode_as_run(reading, mode, context)
    hits = reading.lexical(query, limit=_CHUNKS, allowed=allowed)
    vector = reading.embed_query(query) if run != "lexical" else None
    if not hits.terms:
        context.note("the question has no words to search for")
        run, vector = "lexical", None  # what is like punctuation is noise
    elif vector is not None and not vector.any():
        context.note("searched by words only: the embedder knows no word of the question")
        run, vector = "lexical", None
    near = reading.dense_hits(vector, limit=_DENSE, allowed=allowed) if vector is not None else NO_HITS
    words = hits if run != "dense" else _NO_WORDS
    evidence = Evidence(
        unit=sum(term.weight for term in hits.terms),
        chunk_ids=words.chunk_ids,
        chunk_scores=words.chunk_scores,
        page_revs=words.page_revs[:_PAGES],
        page_scores=words.page_scores[:_PAGES],
        dense_ids=near.chunk_ids,
        dense_scores=near.cosines,
        cosine_of=partial(reading.cosines, vector) if vector is not None else None,
        late_of=reading.late(query) if run != "dense" else None,
    )
    weights = _weights(reading, run, evidence)
    pages, twins = _without_copies(reading, candidate_pages(evidence, weights))
    outlines = reading.outlines([page.rev for page in pages])
    scored = score_sections(
        evidence,
        weights,
        outlines,
        hubs=[page.rev for page in pages if fold(page.type) == "hub"],
        leftovers=[page.rev for page in pages if page.conflict_copy],
        named=_named(pages, query) if run != "dense" else [],
        limit=SCORED_PAGES + more_pages,
    )
    return Found(run, scored, evidence, hits, twins)


def _mode_as_run(reading: Reading, mode: Mode, context: ToolContext) -> Mode:
    if mode == "lexical":
        return mode
    if reading.dense is None:
        why = "no embedder is on" if context.index.dense == "off" else "vectors are still being made"
    else:
        rows = reading.view.chunk_rows(reading.dense)
        if rows.missing <= max(_MISSING_SHARE * rows.total, _FEW_MISSING):
            return mode
        why = f"vectors are still being made ({rows.total - rows.missing:,} of {rows.total:,})"
    context.note(f"searched by words only: {why}")
    return "lexical"


def _weights(reading: Reading, mode: Mode, evidence: Evidence) -> Weights:
    if mode == "dense":
        return DENSE
    if evidence.cosine_of is None:
        return LEXICAL if evidence.late_of is None else LEXICAL_LATE
    static = reading.dense is not None and isinstance(reading.dense.embedder, TokenEmbedder)
    return STATIC if static else TRANSFORMER


def _named(pages: Sequence[PageRecord], query: str) -> list[int]:
    """Return the revs of the pages whose title, alias or file name the whole question is."""
    name = fold(query.strip())
    if len(name) > _LONGEST_NAME:
        return []
    stem = name.removesuffix(".md")
    return [
        page.rev
        for page in pages
        if fold(page.title) == name
        or fold(page.slug.rsplit("/", 1)[-1]) == stem
        or any(fold(alias) == name for alias in page.aliases)
    ]


def _without_copies(
    reading: Reading, promising: Mapping[int, float]
) -> tuple[list[PageRecord], dict[int, list[PageRecord]]]:
    """Return the best pages by path, of equal files only the best; the others are its twins.

    Sync leftovers come after every other page.
    """
    known = reading.view.by_rev
    found = [(page, promise) for rev, promise in promising.items() if (page := known.get(rev)) is not None]
    found.sort(key=_path)
    leftover = np.array([page.conflict_copy for page, _ in found], np.bool_)
    promises = np.array([promise for _, promise in found])
    kept: dict[str, PageRecord] = {}
    twins: dict[int, list[PageRecord]] = {}
    for at in np.lexsort((-promises, leftover)).tolist():  # a stable order: equals stay by path
        page = found[at][0]
        first = kept.get(page.content_hash)
        if first is not None:
            twins.setdefault(first.rev, []).append(page)
        elif len(kept) < _PREPARED:
            kept[page.content_hash] = page
    return sorted(kept.values(), key=attrgetter("path")), twins


def _path(found: tuple[PageRecord, float]) -> str:
    return found[0].path
