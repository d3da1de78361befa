"""What must hold of every page, whatever its file held: spans, chunks, links, values that are JSON.

Each check yields sentences that say what does not hold; a page without any is right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from wikimcp.index.page_record import page_from_row, page_row
from wikimcp.index.prepare import Prepared, Skipped
from wikimcp.index.records import body_from_row
from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.markdown.outliner import page_properties
from wikimcp.markdown.tokens import LineIndex, span_sha256
from wikimcp.models import Chunk, Diagnostic, ParsedPage, Section, Span
from wikimcp.ports import FileContent

_LINE = re.compile("[^\r\n]*(?:\r\n|\n|\r|\\Z)")
_LINK_STARTS = ("[", "!", "<", "(", "#", "@")
_ORG_STARTS = (*_LINK_STARTS, "http")
_HEX = re.compile("[0-9a-f]{64}")


def page_faults(page: ParsedPage, last_line: int) -> Iterator[str]:
    """Yield what is wrong with the values of a page: no JSON, a name that is empty, a diagnostic."""
    for name in ("slug", "title", "canonical_id", "path"):
        if not getattr(page, name).strip():
            yield f"the {name} is empty"
    try:
        json.dumps(page, default=_plain, allow_nan=False, ensure_ascii=False).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        yield f"the page is no JSON: {type(error).__name__}: {str(error)[:200]}"
    for found in (*page.diagnostics, *page.body.diagnostics):
        yield from _diagnostic_faults(found, last_line)


def body_faults(text: str, page: ParsedPage, *, dialect: str) -> Iterator[str]:
    """Yield what is wrong with the sections, chunks and links of a page that was parsed from a text."""
    lines = LineIndex(text)
    starts = [match.start() for match in _LINE.finditer(text)]
    yield from _section_faults(text, page, lines, starts, _body_start(text, page, dialect))
    yield from _chunk_faults(text, page)
    yield from _link_faults(text, page, lines)
    yield from _hidden_faults(text, page)


def record_faults(prepared: Prepared | Skipped, content: FileContent) -> Iterator[str]:
    """Yield what is wrong with the rows that the index would store of a file."""
    if isinstance(prepared, Skipped):
        if content.encoding != "binary":
            yield f"the file is skipped as {prepared.diagnostic.code}: {prepared.diagnostic.message}"
        return
    record = prepared.record
    if page_from_row(page_row(record)) != record and _fields(page_from_row(page_row(record))) != _fields(
        record
    ):
        yield "the record is another one when it is read from its row"
    for cell in (*page_row(record), *prepared.body):
        if isinstance(cell, str):
            yield from _text_faults("a cell of the index", cell)
        elif isinstance(cell, int) and not -(2**63) <= cell < 2**63:
            yield f"{cell} does not fit into a cell of the index"
    body = body_from_row(prepared.body)
    if len(body.sections) != record.section_count or len(body.chunks) != record.chunk_count:
        yield "the stored body has another number of sections or chunks"
    for chunk in prepared.lexical.fields.chunks:
        for tokens in chunk:
            yield from _text_faults("the tokens of a chunk", tokens)


def _fields(record: object) -> list[object]:
    return [getattr(record, name) for name in type(record).__dataclass_fields__]  # type: ignore[attr-defined]


def _plain(value: Any) -> Any:  # noqa: ANN401 - what json asks about
    if isinstance(value, frozenset):
        return sorted(value)
    return [getattr(value, name) for name in value.__dataclass_fields__]


def _section_faults(
    text: str, page: ParsedPage, lines: LineIndex, starts: list[int], at: int
) -> Iterator[str]:
    sections = page.body.sections
    open_above: list[Section] = []
    counted: dict[tuple[str, ...], int] = {}
    if [section.ordinal for section in sections] != list(range(len(sections))):
        yield "the sections are not numbered in order"
    for number, section in enumerate(sections):
        where = f"section {number}"
        for name, span in (("own", section.own), ("subtree", section.subtree)):
            yield from _span_faults(f"the {name} span of {where}", text, span, lines, starts)
        if section.own.start != section.subtree.start or section.own.end > section.subtree.end:
            yield f"{where} does not lie in its subtree"
        if text[at : section.own.start].strip():
            yield f"text before {where} belongs to no section"
        at = section.own.end
        while open_above and open_above[-1].level >= section.level:
            open_above.pop()
        for above in open_above:
            if above.level and not above.subtree.start < section.subtree.start < section.subtree.end <= (
                above.subtree.end
            ):
                yield f"{where} does not nest in the section above it"
        above_path = open_above[-1].heading_path if open_above else ()
        if section.level and section.heading_path[:-1] != above_path:
            yield f"the heading path of {where} does not follow that of the section above it"
        open_above.append(section)
        counted[section.heading_path] = counted.get(section.heading_path, 0) + 1
        if section.duplicate != counted[section.heading_path]:
            yield f"{where} counts its duplicates wrongly"
    if text[at:].strip():
        yield "text behind the last section belongs to none"


def _body_start(text: str, page: ParsedPage, dialect: str) -> int:
    """Return where the text begins that must be in sections: behind frontmatter and page properties."""
    if page.path.lower().endswith(".org"):
        return page.body.sections[0].own.start if page.body.sections else len(text)
    start = parse_frontmatter(text, partial=page.partial).body_start
    return page_properties(text, start)[1] if dialect == "logseq" else start


def _span_faults(name: str, text: str, span: Span, lines: LineIndex, starts: list[int]) -> Iterator[str]:
    if not 0 <= span.start < span.end <= len(text):
        yield f"{name} leaves the text"
        return
    sliced = text[span.start : span.end]
    if not sliced.strip():
        yield f"{name} is blank"
    first, last = lines.line(span.start), lines.line(span.end - 1)
    if (first, last) != (span.first_line, span.last_line):
        yield f"{name} says lines {span.first_line} to {span.last_line}, not {first} to {last}"
        return
    end_of_last = starts[last] if last < len(starts) else len(text)
    if span.end != end_of_last:
        yield f"{name} does not end with its line"
    if _HEX.fullmatch(span_sha256(sliced)) is None:
        yield f"{name} has no hash"


def _chunk_faults(text: str, page: ParsedPage) -> Iterator[str]:
    by_section: dict[int, list[Chunk]] = {}
    for number, chunk in enumerate(page.body.chunks):
        if chunk.ordinal != number:
            yield f"chunk {number} says it is {chunk.ordinal}"
        by_section.setdefault(chunk.section, []).append(chunk)
    if set(by_section) - {section.ordinal for section in page.body.sections}:
        yield "a chunk belongs to no section"
    for section in page.body.sections:
        at = section.own.start
        for chunk in by_section.get(section.ordinal, ()):
            if not at == chunk.start < chunk.end <= section.own.end:
                yield f"chunk {chunk.ordinal} does not tile section {section.ordinal}"
            at = chunk.end
        if at != section.own.end:
            yield f"the chunks of section {section.ordinal} do not reach its end"


def _link_faults(text: str, page: ParsedPage, lines: LineIndex) -> Iterator[str]:
    at = -1
    starts = _ORG_STARTS if page.path.lower().endswith(".org") else _LINK_STARTS
    for number, link in enumerate(page.body.links):
        if link.start == -1:
            if not link.prop and link.line:
                yield f"link {number} has a line but no place"
            continue
        if not 0 <= link.start < len(text):
            yield f"link {number} starts outside of the text"
        elif link.line != lines.line(link.start) and not link.prop:
            yield f"link {number} says line {link.line}, not {lines.line(link.start)}"
        elif not link.prop and not text.startswith(starts, link.start):
            yield f"link {number} starts at {text[link.start : link.start + 10]!r}"
        if link.start < at and not link.prop:
            yield f"link {number} is out of order"
        at = max(at, link.start) if not link.prop else at
        if not link.target and not link.fragment:
            yield f"link {number} leads nowhere"


def _hidden_faults(text: str, page: ParsedPage) -> Iterator[str]:
    at = 0
    for start, end in page.body.hidden:
        if not at <= start < end <= len(text):
            yield f"the hidden range {start} to {end} overlaps or leaves the text"
        at = end


def _diagnostic_faults(found: Diagnostic, last_line: int) -> Iterator[str]:
    if not found.code or not found.message:
        yield "a diagnostic says nothing"
    if not 0 <= found.line <= last_line:
        yield f"the diagnostic {found.code} names line {found.line} of {last_line}"
    if len(found.message) > 2_000:
        yield f"the diagnostic {found.code} is {len(found.message):,} characters long"


def _text_faults(name: str, text: str) -> Iterator[str]:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        yield f"{name} is no UTF-8: {str(error)[:200]}"
