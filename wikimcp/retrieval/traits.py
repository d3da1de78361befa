"""What a section is like, apart from any question: what it costs in an answer, whether it says anything."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from wikimcp.retrieval.sizes import path_cost, text_cost

Numbers = NDArray[np.int64]

_LINK_LINE = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?:\*\*)?(?:\[[^\]]*\]\([^)]*\)|\[\[)")
_FIELDS = 6  # level, text cost, path cost, percent of lines that are links, characters, identity of the text
_SAYS_LITTLE = 60  # characters of a body that says the same only together with its heading


@dataclass(frozen=True, slots=True)
class Outline:
    """Arrays over the sections of one page, in file order, and over its chunks.

    ``text_cost`` and ``path_cost`` are what the section's own text and its heading path take in an
    answer, in quarter tokens (sizes.py); ``link_share`` is 0..1; ``text_keys`` are equal where the
    texts are; ``chunk_section`` gives the section of each chunk, ``chunk_start`` and ``chunk_end``
    its characters.
    """

    level: Numbers
    text_cost: Numbers
    path_cost: Numbers
    link_share: NDArray[np.float32]
    characters: Numbers
    text_keys: Numbers
    chunk_section: Numbers
    chunk_start: Numbers
    chunk_end: Numbers

    def __len__(self) -> int:
        return len(self.level)


def section_traits(text: str, level: int, heading_path: Sequence[str]) -> tuple[int, ...]:
    """Return the stored numbers of one section from its own text."""
    body = text.split("\n", 1)[1] if level and "\n" in text else "" if level else text
    lines = [line for line in body.split("\n") if line and not line.isspace()]
    characters = sum(map(len, lines))
    linked = "](" in body or "[[" in body
    links = len(list(filter(_LINK_LINE.match, lines))) if linked else 0
    # Two sections of equal wording under headings of another depth are still the same text.
    said = body if characters >= _SAYS_LITTLE else text
    identity = blake2b(" ".join(said.split()).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return (
        level,
        text_cost(text),
        path_cost(heading_path),
        round(100 * links / len(lines)) if lines else 0,
        characters,
        int.from_bytes(identity, "little", signed=True),
    )


def outline(traits: bytes, chunks: bytes) -> Outline:
    """Rebuild a page's outline from the cells of the catalog."""
    rows = np.frombuffer(traits, np.int64).reshape(-1, _FIELDS)
    triples = np.frombuffer(chunks, np.int32).reshape(-1, 3).astype(np.int64)
    return Outline(
        level=rows[:, 0],
        text_cost=rows[:, 1],
        path_cost=rows[:, 2],
        link_share=(rows[:, 3] / 100).astype(np.float32),
        characters=rows[:, 4],
        text_keys=rows[:, 5],
        chunk_section=triples[:, 0],
        chunk_start=triples[:, 1],
        chunk_end=triples[:, 2],
    )
