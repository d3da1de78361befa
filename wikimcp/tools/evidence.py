"""Evidence for a question from the indexes: what assemble_bundle and retrieve_context start from."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

from pydantic import Field

from wikimcp.index.dense_state import NO_HITS
from wikimcp.index.names import fold
from wikimcp.index.view import PageRecord, Reading
from wikimcp.ports import LexicalHits, TokenEmbedder
from wikimcp.retrieval.relevance import (
    DENSE,
    LEXICAL,
    LEXICAL_LATE,
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
) -> Found:
    """Search by words and by meaning over the visible pages, or only over ``allowed`` revs.

    Without vectors a hybrid or dense question is answered by words, and a note says so.
    """
    run = _mode_as_run(reading, mode, context)
    hits = reading.lexical(query, limit=_CHUNKS, allowed=allowed)
    vector = reading.embed_query(query) if run != "lexical" else None
    if vector is not None and not vector.any():
        vector = None  # nothing of the question is in the embedder's vocabulary
    near = reading.dense_hits(vector, limit=_DENSE, allowed=allowed) if vector is not None else NO_HITS
    evidence = Evidence(
        unit=sum(term.weight for term in hits.terms),
        chunk_ids=hits.chunk_ids,
        chunk_scores=hits.chunk_scores,
        page_revs=hits.page_revs[:_PAGES],
        page_scores=hits.page_scores[:_PAGES],
        dense_ids=near.chunk_ids,
        dense_scores=near.cosines,
        cosine_of=partial(reading.cosines, vector) if vector is not None else None,
        late_of=reading.late(query) if run != "dense" else None,
    )
    weights = _weights(reading, run, evidence)
    pages, twins = _without_copies(reading, candidate_pages(evidence, weights))
    hubs = [page.rev for page in pages if fold(page.type) == "hub"]
    scored = score_sections(evidence, weights, reading.outlines([page.rev for page in pages]), hubs=hubs)
    return Found(run, scored, evidence, hits, twins)


def _mode_as_run(reading: Reading, mode: Mode, context: ToolContext) -> Mode:
    if mode == "lexical" or reading.dense is not None:
        return mode
    state = context.index.dense
    why = "vectors are still being made" if state == "warming" else "no embedder is on"
    context.note(f"searched by words only: {why}")
    return "lexical"


def _weights(reading: Reading, mode: Mode, evidence: Evidence) -> Weights:
    if mode == "dense":
        return DENSE
    if evidence.cosine_of is None:
        return LEXICAL if evidence.late_of is None else LEXICAL_LATE
    static = reading.dense is not None and isinstance(reading.dense.embedder, TokenEmbedder)
    return STATIC if static else TRANSFORMER


def _without_copies(
    reading: Reading, revs: list[int]
) -> tuple[list[PageRecord], dict[int, list[PageRecord]]]:
    """Keep the best-ranked page of each content; the others are its twins. Sync leftovers come last."""
    pages = [page for rev in revs if (page := reading.page_by_rev(rev)) is not None]
    pages.sort(key=lambda page: page.conflict_copy)
    kept: dict[str, PageRecord] = {}
    twins: dict[int, list[PageRecord]] = {}
    for page in pages:
        first = kept.setdefault(page.content_hash, page)
        if first is not page:
            twins.setdefault(first.rev, []).append(page)
    return list(kept.values())[:_PREPARED], twins
