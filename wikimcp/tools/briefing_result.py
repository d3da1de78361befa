"""What a briefing is: items and sections as programs get them, and the blocks its text is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from wikimcp.retrieval.sizes import quarters
from wikimcp.tools.bundle_result import BundleSection
from wikimcp.tools.citing import CitationRow
from wikimcp.tools.contract import Markdown, Result, Wire
from wikimcp.tools.rendering import boundary, bounded

Origin = Literal["hot", "pin", "cluster"]
Included = Literal["full", "partial", "pointer"]

_ANY_MARK = "0" * 8  # as long as every boundary mark is


class BriefingItem(Wire):
    """A page of a briefing. ``content`` is its exact text: all of it, or the part that is shown.

    ``outline`` lists the headings of a page that is shown in part, and ``rest`` are the arguments of the
    read_pages call for what is not shown.
    """

    slug: str
    canonical_id: str
    title: str
    version: int
    summary: str | None = None
    origin: Origin
    cluster: str | None = None
    draft: bool | None = None
    included: Included
    citation: CitationRow | None = None
    outline: list[str] | None = None
    rest: dict[str, Any] | None = None
    content: str | None = None


class BriefingCoverage(Wire):
    """How well the briefing covers the prompt (absent without one), what it holds, and how to go deeper."""

    section_count: int = 0
    distinct_page_count: int = 0
    top_similarity: float | None = None
    confidence: Literal["strong", "partial", "weak", "unknown"] | None = None
    missing_terms: list[str] | None = None
    lifted_by: str | None = None
    full: int = 0
    partial: int = 0
    pointers: int = 0
    left_out: int = 0
    next: str = ""


class BriefingFacts(Wire):
    """The JSON form of a briefing; ``used_tokens`` is the size of its markdown form."""

    prompt: str | None = None
    sections: list[BundleSection]
    coverage: BriefingCoverage
    items: list[BriefingItem]
    warnings: list[str]
    notes: list[str]
    budget_tokens: int
    used_tokens: int
    index: dict[str, Any]


class Briefing(Markdown):
    """A briefing: its text for agents, and the same facts for programs, which are not on the wire of MCP."""

    facts: Annotated[BriefingFacts, Field(exclude=True)]


class BriefingData(Result):
    """A briefing as a JSON object, of which ``usedTokens`` is the size."""

    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of the text: lines of our own, then vault texts within bounds, each under a label of ours."""

    head: str
    texts: tuple[tuple[str, str], ...] = ()

    def render(self, mark: str) -> str:
        """Return the block with its closing blank line."""
        parts = [self.head]
        for label, text in self.texts:
            parts += [f"{label}\n" if label else "", bounded(text, mark), "\n"]
        return "".join((*parts, "\n"))

    @property
    def cost(self) -> int:
        """Quarters of a token that the block takes."""
        return quarters(self.render(_ANY_MARK))


def render_blocks(head: Block, blocks: Sequence[Block]) -> str:
    """Return the text of all blocks, their vault texts within marks that occur in none of them.

    The mark does not depend on ``head``, which tells the generation of the index.
    """
    mark = boundary(_words_of(blocks))
    return "".join(block.render(mark) for block in (head, *blocks)).rstrip("\n") + "\n"


def _words_of(blocks: Iterable[Block]) -> Iterable[str]:
    for block in blocks:
        yield block.head
        for _, text in block.texts:
            yield text
