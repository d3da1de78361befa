"""From one file to what the index stores of it. Runs in this process or in a parse worker."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from wikimcp.errors import WikimcpError
from wikimcp.index.page_record import PageRecord, Row
from wikimcp.index.records import body_row, record_of
from wikimcp.lexical.words import has_cjk
from wikimcp.markdown.tokens import visible_text
from wikimcp.models import Diagnostic, FileStamp, ParsedPage
from wikimcp.ports import (
    AnalyzedPage,
    FileContent,
    LexicalChunk,
    LexicalPage,
    PageAnalysis,
    VaultAdapter,
)
from wikimcp.retrieval.embedding_text import chunk_key, contextual_text
from wikimcp.retrieval.traits import section_traits

log = logging.getLogger("wikimcp.index")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A page ready to be stored: rev 0 everywhere and version 0 unless the frontmatter fixes one."""

    record: PageRecord
    body: Row
    lexical: AnalyzedPage
    declared_id: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that cannot be served, and why. ``gone``: it vanished between the walk and the read.

    ``stamp`` is that of a file which need not be read again until it changes.
    """

    path: str
    diagnostic: Diagnostic
    gone: bool = False
    stamp: FileStamp | None = None


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A page with all but its words worked out."""

    record: PageRecord
    body: Row
    lexical: LexicalPage
    declared_id: str
    stamp: FileStamp


def prepare(adapter: VaultAdapter, path: str, *, analyze: PageAnalysis) -> Prepared | Skipped:
    """Read and parse one file. One bad file costs one file: whatever goes wrong is a Skipped."""
    return prepare_batch(adapter, (path,), analyze=analyze)[0]


def prepare_batch(
    adapter: VaultAdapter, paths: Sequence[str], *, analyze: PageAnalysis
) -> list[Prepared | Skipped]:
    """Read and parse some files, in their order, each as ``prepare`` does.

    First all are parsed, then their words are worked out: each of the two has what it needs at hand, and
    drives it out of the processor's caches for the other.
    """
    parsed = [_parsed(adapter, path) for path in paths]
    return [item if isinstance(item, Skipped) else _prepared(item, analyze) for item in parsed]


def _parsed(adapter: VaultAdapter, path: str) -> _Parsed | Skipped:
    try:
        content = adapter.read(path)
    except FileNotFoundError:
        return Skipped(path, Diagnostic("gone", "the file is not there any more"), gone=True)
    except WikimcpError as error:
        return Skipped(path, Diagnostic("refused", error.message))
    except OSError as error:
        return Skipped(path, Diagnostic("unreadable", f"the file cannot be read ({error.strerror})"))
    if content.encoding == "binary":
        why = next(iter(content.diagnostics), Diagnostic("binary", "not a text file"))
        return Skipped(path, why, stamp=content.stamp)
    try:
        return _read(adapter, content)
    except Exception:
        return _failed(content.stamp)


def _prepared(parsed: _Parsed, analyze: PageAnalysis) -> Prepared | Skipped:
    try:
        words = analyze(parsed.lexical)
    except Exception:
        return _failed(parsed.stamp)
    return Prepared(parsed.record, parsed.body, words, parsed.declared_id)


def _failed(stamp: FileStamp) -> Skipped:
    """Note the exception that is being handled; the file is left until it changes."""
    log.exception("parsing %s failed", stamp.path)
    why = Diagnostic("unparsed", "reading this file failed; the server's log holds the details")
    return Skipped(stamp.path, why, stamp=stamp)


def _read(adapter: VaultAdapter, content: FileContent) -> _Parsed:
    page = adapter.parse(content)
    updated_at = page.updated_at or iso_time(content.stamp.mtime_ns)
    record = record_of(page, rev=0, version=page.fixed_version, stamp=content.stamp, updated_at=updated_at)
    texts = chunk_texts(page, content.text)
    keys = b"".join(
        chunk_key(
            contextual_text(
                title=page.title, cluster=record.cluster, heading_path=path, summary=page.summary, text=text
            )
        )
        for path, text in texts
    )
    return _Parsed(
        record=record,
        body=body_row(0, page, traits=_traits(page, content.text), chunk_keys=keys),
        lexical=lexical_page(page, record, texts),
        declared_id="" if record.id_derived else page.canonical_id,
        stamp=content.stamp,
    )


def chunk_texts(page: ParsedPage, text: str) -> list[tuple[tuple[str, ...], str]]:
    """Return (heading path, text without what is hidden) of each chunk of a page."""
    sections, hidden = page.body.sections, page.body.hidden
    return [
        (sections[c.section].heading_path, visible_text(text, c.start, c.end, hidden=hidden))
        for c in page.body.chunks
    ]


def _traits(page: ParsedPage, text: str) -> bytes:
    numbers = array("q")
    comments = page.body.comments
    for section in page.body.sections:
        own = text[section.own.start : section.own.end]
        if comments:  # as it is returned: a section of nothing but comments costs and says nothing
            own = visible_text(text, section.own.start, section.own.end, hidden=comments).strip()
        numbers.extend(section_traits(own, section.level, section.heading_path))
    return numbers.tobytes()


def lexical_page(
    page: ParsedPage, record: PageRecord, texts: Sequence[tuple[tuple[str, ...], str]]
) -> LexicalPage:
    """Return what of a page is searched by words."""
    names = (page.path, page.title, page.summary, *page.tags, *page.aliases, record.cluster)
    return LexicalPage(
        rev=0,
        path=page.path,
        title=page.title,
        summary=page.summary,
        cluster=record.cluster,
        tags=page.tags,
        aliases=page.aliases,
        headings=tuple(section.heading for section in page.body.sections if section.heading_path),
        chunks=tuple(LexicalChunk(path, text) for path, text in texts),
        cjk=has_cjk(" ".join(names)) or any(has_cjk(text) for _, text in texts),
    )


def iso_time(mtime_ns: int) -> str:
    """Return a file time as ISO 8601 with offset, to the second, in UTC."""
    try:
        return datetime.fromtimestamp(mtime_ns // 1_000_000_000, UTC).isoformat()
    except (OverflowError, ValueError, OSError):
        return "1970-01-01T00:00:00+00:00"


def changed(old: PageRecord, new: FileStamp) -> bool:
    """Whether a file's stamp differs from the one its record was made from."""
    return (old.mtime_ns, old.size, old.inode) != (new.mtime_ns, new.size, new.inode)
