"""What the agent already has: citation uris and span hashes, found again among the candidates.

A hash stands for a returned span: neighbouring sections, or some chunks of a long one. Whichever it
was, its sections are found by making the hashes of all spans that could have been returned.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from wikimcp.citations.uri import parse_cite_uri
from wikimcp.index.view import PageRecord, Reading
from wikimcp.markdown.tokens import normalise_span
from wikimcp.retrieval.duplicates import same_text
from wikimcp.retrieval.relevance import Scored
from wikimcp.tools.contract import ToolContext
from wikimcp.tools.rendering import clip, flatten, plain

_HASH = re.compile(r"[0-9a-f]{16,64}")


@dataclass(frozen=True, slots=True)
class Exclusion:
    """One thing the agent has: a span by the start of its hash, or all below a heading of a page."""

    canonical_id: str
    heading_path: tuple[str, ...]
    hash_start: str


def read_exclusions(texts: Sequence[str], context: ToolContext) -> list[Exclusion]:
    """Read uris and hashes; what is neither is noted."""
    found: list[Exclusion] = []
    wrong: list[str] = []
    for text in texts:
        exclusion = _read(text.strip())
        if exclusion is None:
            wrong.append(clip(flatten(text), 60))
        else:
            found.append(exclusion)
    if wrong:
        more = f" and {len(wrong) - 1} more are" if len(wrong) > 1 else " is"
        context.note(f"exclude takes citation uris and span hashes; '{wrong[0]}'{more} neither")
    return found


def _read(text: str) -> Exclusion | None:
    if _HASH.fullmatch(text.lower()):
        return Exclusion("", (), text.lower())
    uri = parse_cite_uri(text)
    return None if uri is None else Exclusion(uri.canonical_id, uri.heading_path, uri.hash_start)


def excluded_sections(reading: Reading, scored: Scored, exclusions: Sequence[Exclusion]) -> list[int]:
    """Return the positions of the scored sections that the agent already has, wherever their text stands.

    Raises Stale when a page moved on.
    """
    found: set[int] = set()
    # A uri names the page to look at; a hash alone, or one whose page is not here, may be anywhere.
    elsewhere = {e.hash_start for e in exclusions if e.hash_start}
    pages = {rev: page for rev in np.unique(scored.rev).tolist() if (page := reading.page_by_rev(rev))}
    for rev, page in pages.items():
        mine = [e for e in exclusions if e.canonical_id == plain(page.canonical_id)]
        found.update(_below_headings(reading, scored, rev, [e for e in mine if not e.hash_start]))
        if hashes := {e.hash_start for e in mine if e.hash_start}:
            for at, hash_start in _with_hash(reading, scored, page, hashes):
                found.update(at)
                elsewhere.discard(hash_start)
    for page in pages.values() if elsewhere else ():
        for at, _ in _with_hash(reading, scored, page, elsewhere):
            found.update(at)
    return sorted(found | same_text(scored, found))


def _below_headings(
    reading: Reading, scored: Scored, rev: int, exclusions: Sequence[Exclusion]
) -> Iterator[int]:
    """Yield the sections below the headings that a uri without a hash names."""
    if not exclusions:
        return
    page = reading.page_by_rev(rev)
    assert page is not None
    sections = reading.sections(page)
    for at in np.flatnonzero(scored.rev == rev).tolist():
        path = tuple(map(plain, sections[int(scored.section[at])].heading_path))
        if any(path[: len(e.heading_path)] == e.heading_path for e in exclusions):
            yield at


def _with_hash(
    reading: Reading, scored: Scored, page: PageRecord, hashes: set[str]
) -> Iterator[tuple[range, str]]:
    """Yield the sections of every span of a page that has one of the hashes, with that hash."""
    text, sections = reading.text(page), reading.sections(page)
    first_at = int(np.flatnonzero(scored.rev == page.rev)[0])
    own = [text[s.own.start : s.own.end] for s in sections]
    for first, last, found in _hashed_runs(own, [s.level for s in sections], hashes):
        yield range(first_at + first, first_at + last), found
    shape = reading.outlines([page.rev])[page.rev]
    for section in range(len(sections)):
        chunks = np.flatnonzero(shape.chunk_section == section).tolist()
        if len(chunks) > 1:
            parts = [text[shape.chunk_start[at] : shape.chunk_end[at]] for at in chunks]
            for _, _, found in _hashed_runs(parts, [0] * len(parts), hashes):
                yield range(first_at + section, first_at + section + 1), found


def _hashed_runs(
    pieces: Sequence[str], levels: Sequence[int], hashes: set[str]
) -> Iterator[tuple[int, int, str]]:
    """Yield (first, last exclusive, hash) of the runs of ``pieces`` whose span hash begins with one.

    A run ends where a level above its first begins. The digest grows with the run, so that long runs
    cost no more than their text.
    """
    normal = [normalise_span(piece).encode("utf-8", "surrogatepass") for piece in pieces]
    apart = [True, *(a[-1:].isspace() or b[:1].isspace() for a, b in zip(pieces, pieces[1:], strict=False))]
    starts = {hash_start[:16]: hash_start for hash_start in hashes}
    for first in range(len(pieces)):
        digest = hashlib.sha256()
        for last in range(first, len(pieces)):
            if levels[last] < levels[first]:
                break
            digest.update(b" " + normal[last] if last > first and apart[last] else normal[last])
            hexadecimal = digest.hexdigest()
            hash_start = starts.get(hexadecimal[:16])
            if hash_start is not None and hexadecimal.startswith(hash_start):
                yield first, last + 1, hash_start
