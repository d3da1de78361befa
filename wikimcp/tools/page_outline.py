"""The outline of a page: its headings with level, lines and size, so that a reader picks a section."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Self

from wikimcp.markdown.tokens import count_tokens
from wikimcp.models import Section
from wikimcp.tools.contract import Wire
from wikimcp.tools.rendering import clip, compact_json, flatten

_LONGEST_HEADING = 300


class OutlineRow(Wire):
    """One heading; ``lines`` and ``tokens`` are those of the section with all below it."""

    level: int
    heading: str
    lines: list[int]
    tokens: int

    @classmethod
    def of(cls, section: Section, text: str) -> Self:
        """Make the row of a section of ``text``."""
        span = section.subtree
        return cls(
            level=section.level,
            heading=clip(flatten(section.heading), _LONGEST_HEADING),
            lines=[span.first_line, span.last_line],
            tokens=count_tokens(text[span.start : span.end]),
        )

    def wire_tokens(self) -> int:
        """Return the size of the row in a JSON list."""
        return count_tokens(f"{compact_json(self.wire())},")


def headings_within(sections: Iterable[Section], start: int, end: int) -> list[Section]:
    """Return the sections with a heading that lie in characters ``[start, end)``, in file order."""
    return [section for section in sections if section.heading_path and start <= section.own.start < end]


def rows_up_to(sections: Sequence[Section], text: str, tokens: int) -> tuple[list[OutlineRow], int]:
    """Return the rows of the first sections that are within ``tokens`` as JSON, and their size."""
    rows: list[OutlineRow] = []
    used = 0
    for section in sections:
        row = OutlineRow.of(section, text)
        size = row.wire_tokens()
        if used + size > tokens:
            break
        rows.append(row)
        used += size
    return rows, used


def render_outline(rows: Iterable[OutlineRow]) -> str:
    """Render headings one a line, as markdown would write them, with lines and size."""
    return "\n".join(
        f"{'#' * row.level} {row.heading} [lines {row.lines[0]}-{row.lines[1]}; {row.tokens} tokens]"
        for row in rows
    )
