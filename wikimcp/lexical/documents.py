"""A page as the documents of a lexical index: one of the whole page, one of each chunk.

Their fields hold tokens with blanks between them, so that the index itself has only to split. The
dear part is `analyzed`, which needs no index; `documents` puts together what it found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from wikimcp.lexical.vocabulary import Text, Vocabulary
from wikimcp.lexical.words import cjk_tokens, identifier_tokens, readable
from wikimcp.ports import AnalyzedPage, LexicalPage

Document = dict[str, Any]


class ChunkFields(NamedTuple):
    """A chunk in tokens: its headings, its text, identifiers of both, and CJK characters and pairs."""

    heads: Text
    text: Text
    identifiers: str
    cjk: str


class PageFields(NamedTuple):
    """A page in tokens: its names with one of each stop word it holds, summary and tags, its chunks."""

    names: str
    meta: str
    cjk: str
    chunks: tuple[ChunkFields, ...]


def analyzed(page: LexicalPage, vocabulary: Vocabulary) -> AnalyzedPage:
    """Return a page in tokens.

    Stop words count for nothing beside other words: but for ``exact`` of a chunk, whose tokens stand in
    order, fields go without them, and a page names each once, so that it is known how many pages hold it.
    """
    slug = page.path.rsplit(".", 1)[0]
    stops: set[str] = set()
    names = " . ".join((page.title, readable(slug), page.summary, *page.tags, *page.aliases, page.cluster))
    meta = " . ".join((page.summary, *page.tags, *page.aliases, page.cluster))
    named, about = vocabulary.text(names, stops), vocabulary.text(meta)
    chunks = []
    for chunk in page.chunks:
        path = chunk.heading_path[1:] if chunk.heading_path[:1] == (page.title,) else chunk.heading_path
        heads = [vocabulary.name(heading) for heading in (page.title, *path)]
        said = f"{slug} {' '.join(chunk.heading_path)} {chunk.text}"
        chunks.append(
            ChunkFields(
                heads=Text(" ".join([h.tokens for h in heads]), " ".join([h.stems for h in heads])),
                text=vocabulary.text(chunk.text, stops),
                identifiers=" ".join(identifier_tokens(said)),
                cjk=_cjk(" . ".join((slug, page.title, *path, meta, chunk.text))) if page.cjk else "",
            )
        )
    return AnalyzedPage(
        page.rev,
        PageFields(
            names=f"{named.stems} {vocabulary.stems_of(stops)}",
            meta=about.stems,
            cjk=_cjk("\n".join((names, *(chunk.text for chunk in page.chunks)))) if page.cjk else "",
            chunks=tuple(chunks),
        ),
    )


def documents(page: AnalyzedPage) -> tuple[Document, list[Document]]:
    """Return the fields of a whole page, and those of each chunk in the context of its page."""
    fields: PageFields = page.fields
    chunks = fields.chunks
    whole: Document = {
        "rev": page.rev,
        "all": " ".join([fields.names, *[chunk.text.stems for chunk in chunks]]),
        "exact": " ".join([chunk.text.tokens for chunk in chunks]),
        "cjk": fields.cjk,
    }
    return whole, _chunk_documents(page.rev, fields.meta, chunks)


def _chunk_documents(rev: int, meta: str, chunks: Sequence[ChunkFields]) -> list[Document]:
    return [
        {
            "rev": rev,
            "chunk": rev << 16 | ordinal,
            "heads": heads.stems,
            "meta": meta,
            "body": text.stems,
            "exact": f"{heads.tokens} {text.tokens}",
            "ident": identifiers,
            "cjk": cjk,
        }
        for ordinal, (heads, text, identifiers, cjk) in enumerate(chunks)
    ]


def _cjk(text: str) -> str:
    return " ".join(cjk_tokens(text))
