"""What assemble_bundle returns, and how it reads as text."""

from __future__ import annotations

from typing import Literal

from wikimcp.tools.citing import CitationRow
from wikimcp.tools.contract import Result, Wire
from wikimcp.tools.evidence import Mode
from wikimcp.tools.rendering import boundary, bounded, pairs, row_line


class Ranks(Wire):
    """Where the section stands in each list, from 1; absent when it is not in it."""

    schema_in_full = False

    bm25: int | None = None
    dense: int | None = None


class BundleSection(Wire):
    """One contiguous span of a page. ``truncated``: its section is longer than what is shown."""

    slug: str
    title: str
    heading_path: list[str]
    text: str
    truncated: bool
    score: float
    ranks: Ranks
    citation: CitationRow


class CoverageRow(Wire):
    """How well the sections cover the question; ``top_similarity`` is a raw cosine, -1 for none."""

    section_count: int
    distinct_page_count: int
    top_similarity: float
    confidence: Literal["strong", "partial", "weak", "unknown"]
    missing_terms: list[str]
    lifted_by: str | None = None
    next: str | None = None


class Omitted(Wire):
    """A section that did not fit."""

    slug: str
    heading: str


class Bundle(Result):
    """Cited sections for a question, best first. Each text appears once."""

    query: str
    mode: Mode
    sections: list[BundleSection]
    coverage: CoverageRow
    omitted: list[Omitted]


def render_bundle(bundle: Bundle) -> str:
    """Render coverage first, then each section with its citation before its text."""
    coverage = bundle.coverage.wire()
    mark = boundary([section.text for section in bundle.sections])
    lines = [f"{pairs({'query': bundle.query, 'mode': bundle.mode})}", f"coverage: {pairs(coverage)}"]
    for number, section in enumerate(bundle.sections, start=1):
        citation = section.citation
        facts = {
            "handle": citation.handle,
            "title": section.title,
            "heading": " > ".join(section.heading_path),
            "lines": f"{citation.lines[0]}-{citation.lines[1]}",
            "score": section.score,
            **section.ranks.wire(),
            **({"truncated": True} if section.truncated else {}),
            "uri": citation.uri,
            "sha256": citation.span_sha256,
        }
        lines.append(f"[{number}] {row_line(facts)}")
        lines.append(bounded(section.text, mark))
    if bundle.omitted:
        lines += ["omitted:", *(f"- {row_line(item.wire())}" for item in bundle.omitted)]
    return "\n".join(lines)
