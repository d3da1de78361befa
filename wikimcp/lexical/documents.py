"""A page as the documents of a lexical index: one of the whole page, one of each chunk.

Their fields hold tokens with blanks between them, so that the index itself has only to split. The
dear part is `analyzed`, which needs no index; `documents` puts together what it found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from wikimcp.lexical.identifiers import Identifiers
from wikimcp.lexical.vocabulary import Text, Vocabulary
from wikimcp.lexical.words import cjk_tokens, readable
from wikimcp.ports import AnalyzedPage, LexicalPage

Document = dict[str, Any]
ChunkFields = tuple[str, str, str, str, str]
"""A chunk in tokens: stems of its headings and of its text, tokens of both, identifiers of both, and CJK
characters and pairs. A plain tuple, as it goes from process to process."""


class PageFields(NamedTuple):
    """A page in tokens: what the whole page is found by, and what each chunk has.

    ``all`` are the stems of its names, one of each stop word it holds, and the stems of its chunks;
    ``exact`` the tokens of its chunks; ``meta`` the stems of summary and tags.
    """

    all: str
    exact: str
    cjk: str
    meta: str
    chunks: tuple[ChunkFields, ...]


def analyzed(page: LexicalPage, vocabulary: Vocabulary) -> AnalyzedPage:
    """Return a page in tokens.

    Stop words count for nothing beside other words: but for ``exact`` of a chunk, whose tokens stand in
    order, fields go without them, and a page names each once, so that it is known how many pages hold it.
    """
    slug = page.path.rsplit(".", 1)[0]
    stops: set[str] = set()
    about = " . ".join((page.summary, *page.tags, *page.aliases, page.cluster))
    names = f"{page.title} . {readable(slug)} . {about}"
    named, meta = vocabulary.text(names, stops), vocabulary.text(about).stems
    title, headings = (page.title,), _Headings(page.title, vocabulary)
    identifiers = vocabulary.identifiers
    pieces = _identifiers(page, slug, identifiers)
    chunks: list[ChunkFields] = []
    texts: list[Text] = []
    for chunk, held in zip(page.chunks, pieces, strict=True):
        path = chunk.heading_path
        below = path[1:] if path[:1] == title else path
        heads, text = headings.of(below), vocabulary.text(chunk.text, stops)
        texts.append(text)
        chunks.append(
            (
                heads.stems,
                text.stems,
                f"{heads.tokens} {text.tokens}",
                " ".join(identifiers.tokens(held)),
                _cjk(" . ".join((slug, page.title, *below, about, chunk.text))) if page.cjk else "",
            )
        )
    return AnalyzedPage(
        page.rev,
        PageFields(
            all=" ".join([named.stems, vocabulary.stems_of(stops), *[text.stems for text in texts]]),
            exact=" ".join([text.tokens for text in texts]),
            cjk=_cjk("\n".join((names, *(chunk.text for chunk in page.chunks)))) if page.cjk else "",
            meta=meta,
            chunks=tuple(chunks),
        ),
    )


def _identifiers(page: LexicalPage, slug: str, identifiers: Identifiers) -> list[set[str]]:
    """Return the pieces with identifiers of each chunk: of the slug, its headings and its text."""
    headings = dict.fromkeys(heading for chunk in page.chunks for heading in chunk.heading_path)
    found = identifiers.pieces([slug, *headings, *[chunk.text for chunk in page.chunks]])
    in_slug, in_headings = found[0], dict(zip(headings, found[1:], strict=False))
    within = found[1 + len(headings) :]
    for chunk, pieces in zip(page.chunks, within, strict=True):
        pieces.update(in_slug, *[in_headings[heading] for heading in chunk.heading_path])
    return within


class _Headings:
    """Heading paths of one page as they are indexed, its title before them; each is made of the one above."""

    def __init__(self, title: str, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._known: dict[tuple[str, ...], Text] = {(): vocabulary.name(title)}

    def of(self, path: tuple[str, ...]) -> Text:
        """Return the title and the headings of a path."""
        known = self._known
        found = known.get(path)
        if found is None:
            depth = len(path) - 1
            while path[:depth] not in known:
                depth -= 1
            found = known[path[:depth]]
            for end in range(depth, len(path)):
                last = self._vocabulary.name(path[end])
                found = Text(f"{found.tokens} {last.tokens}", f"{found.stems} {last.stems}")
                known[path[: end + 1]] = found
        return found


def documents(page: AnalyzedPage) -> tuple[Document, list[Document]]:
    """Return the fields of a whole page, and those of each chunk in the context of its page."""
    fields: PageFields = page.fields
    rev, meta = page.rev, fields.meta
    whole: Document = {"rev": rev, "all": fields.all, "exact": fields.exact} | _wide(fields.cjk)
    return whole, [
        {
            "rev": rev,
            "chunk": rev << 16 | ordinal,
            "heads": heads,
            "meta": meta,
            "body": body,
            "exact": exact,
            "ident": identifiers,
        }
        | _wide(cjk)
        for ordinal, (heads, body, exact, identifiers, cjk) in enumerate(fields.chunks)
    ]


def _wide(cjk: str) -> Document:
    return {"cjk": cjk} if cjk else {}


def _cjk(text: str) -> str:
    return " ".join(cjk_tokens(text))
