"""What the agent already has: citation uris and span hashes, found again among the candidates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np

from wikimcp.index.view import Reading
from wikimcp.markdown.tokens import span_sha256
from wikimcp.retrieval.relevance import Scored
from wikimcp.tools.contract import ToolContext
from wikimcp.tools.rendering import clip, flatten

_HASH = re.compile(r"[0-9a-f]{16,64}")
_LONGEST_RUN = 12  # sections that a returned span may hold


@dataclass(frozen=True, slots=True)
class Exclusion:
    """One thing the agent has: a span by the start of its hash, or all below a heading of a page."""

    canonical_id: str
    heading_path: tuple[str, ...]
    hash_start: str


def read_exclusions(texts: Sequence[str], context: ToolContext) -> list[Exclusion]:
    """Read uris and hashes; what is neither is noted."""
    found = []
    for text in texts:
        exclusion = _read(text.strip())
        if exclusion is None:
            context.note(
                f"exclude takes citation uris and span hashes; '{clip(flatten(text), 60)}' is neither"
            )
        else:
            found.append(exclusion)
    return found


def _read(text: str) -> Exclusion | None:
    if _HASH.fullmatch(text.lower()):
        return Exclusion("", (), text.lower())
    if not text.startswith("cite://"):
        return None
    try:
        parts = urlsplit(text)
    except ValueError:
        return None
    # The id stands where a host would: taken from the text, since hosts are folded to lower case.
    path = text.removeprefix("cite://").partition("?")[0].partition("#")[0]
    canonical_id, *headings = [unquote(part) for part in path.split("/")]
    hashes = parse_qs(parts.query).get("h", [""])
    if not canonical_id:
        return None
    return Exclusion(canonical_id, tuple(headings), hashes[0].lower())


def excluded_sections(reading: Reading, scored: Scored, exclusions: Sequence[Exclusion]) -> list[int]:
    """Return the positions of the scored sections that the agent already has."""
    found: set[int] = set()
    for rev in np.unique(scored.rev).tolist():
        page = reading.page_by_rev(rev)
        if page is None:
            continue
        mine = [e for e in exclusions if e.canonical_id in ("", page.canonical_id)]
        if mine:
            found.update(_on_page(reading, scored, rev, mine))
    return sorted(found)


def _on_page(reading: Reading, scored: Scored, rev: int, exclusions: Sequence[Exclusion]) -> set[int]:
    positions = np.flatnonzero(scored.rev == rev)
    page = reading.page_by_rev(rev)
    assert page is not None
    text, sections = reading.text(page), reading.sections(page)
    hashes = tuple(e.hash_start for e in exclusions if e.hash_start)
    found: set[int] = set()
    for exclusion in exclusions:
        if not exclusion.hash_start:  # a heading without a hash: all below it
            below = exclusion.heading_path
            found.update(
                int(at)
                for at in positions
                if sections[int(scored.section[at])].heading_path[: len(below)] == below
            )
    if not hashes:
        return found
    for first in range(len(positions)):
        for last in range(first + 1, min(first + _LONGEST_RUN, len(positions)) + 1):
            start = sections[int(scored.section[positions[first]])].own.start
            end = sections[int(scored.section[positions[last - 1]])].own.end
            if span_sha256(text[start:end]).startswith(hashes):
                found.update(int(at) for at in positions[first:last])
    return found
