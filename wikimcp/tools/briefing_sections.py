"""The sections of a briefing that its prompt brings in: tight ones, each at most once, best first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wikimcp.index.view import Reading
from wikimcp.retrieval.duplicates import near_duplicates, repeated
from wikimcp.retrieval.selection import Run, probabilities
from wikimcp.retrieval.sizes import QUARTERS
from wikimcp.tools.briefing_pages import Item, demoted_span
from wikimcp.tools.briefing_result import Block
from wikimcp.tools.bundle_spans import Room, Span, cut_span
from wikimcp.tools.citing import citation_uri
from wikimcp.tools.evidence import Found
from wikimcp.tools.page_rows import title_of
from wikimcp.tools.rendering import clip, flatten, pairs

MOST_SECTIONS = 12
_LONGEST = 400 * QUARTERS  # a longer section is cut around its best passage
_LONGEST_SHARE = 0.6  # of the room that one section may take
_SHORTEST = 30 * QUARTERS
_LONGEST_PATH = 200  # characters
_MOST_TRIED = 2 * MOST_SECTIONS  # the likeliest; what stands further down is not worth its room


@dataclass(frozen=True, slots=True)
class Picked:
    """A section as it will stand in the briefing."""

    span: Span
    block: Block
    cost: int

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line in its file."""
        return self.span.citation.lines

    def held_by(self, items: Sequence[Item]) -> bool:
        """Whether a page of the briefing already shows it."""
        return any(item.holds(self.span.page.rev, self.lines) for item in items)


class PromptSections:
    """Sections for a prompt in the order to try them, those of pages in ``first`` before all others."""

    def __init__(
        self, reading: Reading, found: Found, *, first: Collection[int], room: int, uris: bool
    ) -> None:
        self._reading = reading
        self._scored = found.scored
        self._uris = uris
        self._longest = max(min(_LONGEST, int(room * _LONGEST_SHARE)), _SHORTEST)
        self._probability = probabilities(found.scored)
        self._order = self._in_order(first)
        self._made: dict[int, Picked] = {}

    def _in_order(self, first: Collection[int]) -> list[int]:
        scored, belief = self._scored, self._probability
        repeats, _ = repeated(scored)
        belief[repeats] = 0.0
        best = np.argsort(-belief, kind="stable")[:_MOST_TRIED].tolist()
        worth = [at for at in best if belief[at] > 0]
        return sorted(worth, key=lambda at: int(scored.rev[at]) not in first)

    @property
    def any(self) -> bool:
        """Whether there is a section worth showing."""
        return bool(self._order)

    def pick(self, room: int, items: Sequence[Item] = ()) -> tuple[list[Picked], list[Picked]]:
        """Return the sections that fit ``room`` quarters, and those that ``items`` already show.

        One that does not fit is skipped, not the end. Raises Stale when a page moved on.
        """
        picked: list[Picked] = []
        held: list[Picked] = []
        for at in self._order:
            section = self._section(at)
            if section.held_by(items):
                held.append(section)
            elif len(picked) == MOST_SECTIONS:
                continue
            elif section.cost <= room and not _repeats(section, picked):
                picked.append(section)
                room -= section.cost
        return picked, held

    def _section(self, at: int) -> Picked:
        made = self._made.get(at)
        if made is None:
            run = Run(at, at + 1, float(self._probability[at]))
            span = cut_span(self._reading, self._scored, run, room=Room(self._longest, self._longest))
            block = self._block(span)
            made = self._made[at] = Picked(span, block, block.cost)
        return made

    def _block(self, span: Span) -> Block:
        citation, page = span.citation, span.page
        facts: dict[str, object] = {"title": title_of(page)}
        if path := " > ".join(map(flatten, span.heading_path)):
            facts["heading"] = clip(path, _LONGEST_PATH)
        facts["lines"] = f"{citation.lines[0]}-{citation.lines[1]}"
        if span.truncated:
            facts["truncated"] = True
        if page.withheld:
            facts["draft"] = True
        if self._uris:
            facts["uri"] = citation_uri(citation)
        return Block(f"### {flatten(citation.handle)}\n{pairs(facts)}\n", (("", self._shown(span)),))

    def _shown(self, span: Span) -> str:
        """Return the text of a span with its heading set deeper."""
        section = self._reading.sections(span.page)[int(self._scored.section[span.run.first])]
        if span.start > section.own.start:
            return span.text  # cut out of its section: the heading is not there
        own = replace(section.own, start=0, end=len(span.text))
        return demoted_span(span.page, span.text, (0, len(span.text)), [replace(section, own=own)])


def _repeats(section: Picked, picked: Sequence[Picked]) -> bool:
    """Whether a section says nearly the same as one of another page that is in already."""
    texts = [*(other.span.text for other in picked), section.span.text]
    revs = [*(other.span.page.rev for other in picked), section.span.page.rev]
    return len(picked) in near_duplicates(texts, revs)
