"""The tantivy member: two indexes, one of whole pages and one of chunks in the context of their page.

Queries are built term by term, never parsed, so any string is a query. The only importer of tantivy.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tantivy
from tantivy import Filter, Occur, Query, TextAnalyzerBuilder, Tokenizer

from wikimcp.errors import StateError
from wikimcp.lexical.words import (
    CJK_RUN,
    STOP_WORDS,
    cjk_query_tokens,
    cjk_tokens,
    identifier_tokens,
    readable,
)
from wikimcp.ports import LexicalHits, LexicalPage, LexicalTerm

# Weights of a term's fields in a chunk, found on the eval; every field scores with the idf that the
# term has among pages, so that a rare heading does not count more than a rare word.
_CHUNK_WEIGHTS = {"heads": 1.0, "meta": 0.7, "body": 1.1}
_EXACT_WEIGHT = 1.2
_PAGE_EXACT_WEIGHT = 0.5
_TIE = 0.1  # share of a term's other fields beside its best one
_COORDINATION = 2.5  # for each term that is there at all
_IDENTIFIER_WEIGHT = 1.0
_IDENTIFIER_ALONE_WEIGHT = 4.0  # when the query is an identifier and little else
_PAIR_WEIGHT = 0.35
_CJK_WEIGHT = 1.0
_MOST_TERMS = 24
_MOST_FILTER_TERMS = 3_000  # allowed pages given to tantivy; above, hits are filtered afterwards
_SMALL_HEAP = 15_000_000
_BUILD_HEAP = 50_000_000
_GENERATION = "generation"


@dataclass(frozen=True, slots=True)
class _Term:
    surface: str
    exact: str
    stem: str
    pages: int
    idf: float


class TantivyIndex:
    """A lexical index in one folder (``pages/`` and ``chunks/``)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._schemas = {"pages": _page_schema(), "chunks": _chunk_schema()}
        self._open: dict[str, tantivy.Index] = {}
        try:
            for name, schema in self._schemas.items():
                path = folder / name
                path.mkdir(parents=True, exist_ok=True)
                index = tantivy.Index(schema, path=str(path))
                for analyzer, build in _ANALYZERS.items():
                    index.register_tokenizer(analyzer, build())
                self._open[name] = index
        except (ValueError, OSError) as error:
            raise StateError(f"the lexical index cannot be opened ({_first_line(error)})") from error

    def write(
        self, *, generation: int, removed: Iterable[int], added: Iterable[LexicalPage], fresh: bool = False
    ) -> None:
        """Apply removals and additions and commit them as ``generation``.

        ``added`` may be lazy; ``removed`` is read after it. Raises StateError when another writer is
        active or the disk refuses; the last commit stands then.
        """
        heap = _BUILD_HEAP if fresh else _SMALL_HEAP
        from_dict = tantivy.Document.from_dict
        try:
            chunks = self._open["chunks"].writer(heap, 1)
            pages = self._open["pages"].writer(_SMALL_HEAP, 1)
            if fresh:
                chunks.delete_all_documents()
                pages.delete_all_documents()
            for page in added:
                pages.add_document(from_dict(_page_document(page), self._schemas["pages"]))
                for document in _chunk_documents(page):
                    chunks.add_document(from_dict(document, self._schemas["chunks"]))
            gone = list(dict.fromkeys(removed))
            for writer, schema in ((chunks, "chunks"), (pages, "pages")):
                for rev in gone:
                    writer.delete_documents_by_query(
                        Query.term_query(self._schemas[schema], "rev", rev, "basic")
                    )
                writer.delete_documents_by_query(Query.term_query(self._schemas[schema], "rev", 0, "basic"))
                writer.add_document(from_dict({"rev": 0, _GENERATION: generation}, self._schemas[schema]))
            for writer in (chunks, pages):
                writer.commit()
            if fresh:
                chunks.wait_merging_threads()
                pages.wait_merging_threads()
        except (ValueError, OSError) as error:
            raise StateError(f"the lexical index cannot be written ({_first_line(error)})") from error

    def searcher(self) -> TantivySearcher:
        """Return a reader of the newest commit. Raises StateError when the index is unusable."""
        try:
            for index in self._open.values():
                index.reload()
            return TantivySearcher(
                {name: index.searcher() for name, index in self._open.items()}, self._schemas
            )
        except (ValueError, OSError) as error:
            raise StateError(f"the lexical index cannot be read ({_first_line(error)})") from error

    def close(self) -> None:
        """Let go of the files."""
        self._open.clear()


class TantivySearcher:
    """A point-in-time reader of both indexes."""

    def __init__(self, searchers: dict[str, Any], schemas: dict[str, Any]) -> None:
        self._pages, self._chunks = searchers["pages"], searchers["chunks"]
        self._page_schema, self._chunk_schema = schemas["pages"], schemas["chunks"]
        self._stemmed, self._plain = _stemmed(), _plain()
        self._known: dict[str, tuple[int, float]] = {}

    @cached_property
    def generation(self) -> int:
        """The generation of the commit; 0 when empty, -1 when the two indexes do not belong together."""
        found = set()
        for searcher, schema in ((self._pages, self._page_schema), (self._chunks, self._chunk_schema)):
            hits = searcher.search(Query.term_query(schema, "rev", 0, "basic"), limit=1).hits
            found.add(searcher.fast_field_values(_GENERATION, [hits[0][1]])[0] if hits else 0)
        return int(found.pop()) if len(found) == 1 else -1

    def analyze(self, text: str) -> list[str]:
        """Return the stems of a text in order, CJK characters as pairs at the end."""
        stems: list[str] = self._stemmed.analyze(CJK_RUN.sub(" ", text))
        return [*stems, *cjk_query_tokens(text)]

    def search(self, query: str, *, limit: int, allowed: Collection[int] | None = None) -> LexicalHits:
        """Rank chunks and pages for any string; only pages in ``allowed`` (revs) when given."""
        terms = self._terms(query)
        cjk = cjk_query_tokens(query)[:_MOST_TERMS]
        identifiers = list(dict.fromkeys(identifier_tokens(query)))[:_MOST_TERMS]
        chunk_ids, chunk_scores = self._run(
            self._chunks,
            self._chunk_schema,
            self._chunk_clauses(query, terms, identifiers, cjk),
            "chunk",
            limit,
            allowed,
        )
        page_revs, page_scores = self._run(
            self._pages, self._page_schema, self._page_clauses(terms, cjk), "rev", limit, allowed
        )
        known = [*self._content_terms(terms), *(self._cjk_term(token) for token in cjk)]
        return LexicalHits(
            chunk_ids=chunk_ids,
            chunk_scores=chunk_scores,
            page_revs=page_revs,
            page_scores=page_scores,
            terms=tuple(known),
            interpreted_as=" ".join(term.surface for term in known),
        )

    def count_pages(self, query: str, *, allowed: Collection[int] | None = None) -> int:
        """Return how many pages hold at least one term of the query."""
        clauses = self._page_clauses(self._terms(query), cjk_query_tokens(query)[:_MOST_TERMS])
        if not clauses or (allowed is not None and not allowed):
            return 0
        found: Query = Query.boolean_query(clauses)
        if allowed is not None:
            among = Query.term_set_query(self._page_schema, "rev", list(allowed))
            found = Query.boolean_query([(Occur.Must, found), (Occur.Must, among)])
        return int(self._pages.search(found, limit=1, count=True).count)

    # The query as terms

    def _terms(self, query: str) -> list[_Term]:
        """Return the distinct terms: content words, or stop words when there is nothing else."""
        text = CJK_RUN.sub(" ", query)
        found: dict[str, str] = {}
        for exact, stem in zip(self._plain.analyze(text), self._stemmed.analyze(text), strict=True):
            found.setdefault(stem, exact)
        content = {stem: exact for stem, exact in found.items() if _is_content(exact)}
        chosen = content or ({} if cjk_query_tokens(query) else found)
        terms = []
        for stem, exact in chosen.items():
            pages, idf = self._frequency("all", stem)
            terms.append(_Term(exact, exact, stem, pages, idf))
        if len(terms) > _MOST_TERMS:
            rarest = sorted(terms, key=lambda term: -term.idf)[:_MOST_TERMS]
            terms = [term for term in terms if term in rarest]
        return terms

    def _frequency(self, field: str, token: str) -> tuple[int, float]:
        """Return (pages, idf) of a token, counting live pages only: a withheld page leaves no trace."""
        key = f"{field}\0{token}"
        found = self._known.get(key)
        if found is None:
            query = Query.term_query(self._page_schema, field, token, "freq")
            count = self._pages.search(query, limit=1, count=True).count
            found = self._known[key] = (count, _idf(count, self._pages.num_docs))
            if len(self._known) > 20_000:
                self._known.clear()
        return found

    def _content_terms(self, terms: Sequence[_Term]) -> Iterator[LexicalTerm]:
        common = max(self._pages.num_docs, 1) * 0.5
        for term in terms:
            distinctive = _is_content(term.exact) and term.pages < common
            yield LexicalTerm(term.surface, term.stem, term.pages, term.idf, distinctive)

    def _cjk_term(self, token: str) -> LexicalTerm:
        pages, idf = self._frequency("cjk", token)
        return LexicalTerm(token, token, pages, idf, True)

    # The query as tantivy takes it

    def _chunk_clauses(
        self, query: str, terms: Sequence[_Term], identifiers: Sequence[str], cjk: Sequence[str]
    ) -> list[tuple[Occur, Query]]:
        schema, searcher = self._chunk_schema, self._chunks
        total = searcher.num_docs
        clauses: list[tuple[Occur, Query]] = []
        for term in terms:
            fields = [(field, term.stem, weight) for field, weight in _CHUNK_WEIGHTS.items()]
            fields.append(("exact", term.exact, _EXACT_WEIGHT))
            scored, present = [], []
            for field, token, weight in fields:
                frequency = searcher.doc_freq(field, token)
                if not frequency:
                    continue
                plain = Query.term_query(schema, field, token, "freq")
                present.append((Occur.Should, plain))
                scored.append(Query.boost_query(plain, weight * term.idf / _idf(frequency, total)))
            if scored:
                clauses.append((Occur.Should, Query.disjunction_max_query(scored, _TIE)))
                clauses.append(
                    (Occur.Should, Query.const_score_query(Query.boolean_query(present), _COORDINATION))
                )
        alone = len(identifiers) >= max(len(terms) - 1, 1)
        weight = _IDENTIFIER_ALONE_WEIGHT if alone else _IDENTIFIER_WEIGHT
        for token in identifiers:
            found = Query.term_query(schema, "ident", token, "freq")
            clauses.append((Occur.Should, Query.boost_query(found, weight)))
        for token in cjk:
            found = Query.term_query(schema, "cjk", token, "freq")
            clauses.append((Occur.Should, Query.boost_query(found, _CJK_WEIGHT)))
            clauses.append((Occur.Should, Query.const_score_query(found, _COORDINATION)))
        clauses.extend(self._pairs(query))
        return clauses

    def _pairs(self, query: str) -> Iterator[tuple[Occur, Query]]:
        words = self._plain.analyze(CJK_RUN.sub(" ", query))
        for first, second in list(dict.fromkeys(zip(words, words[1:], strict=False)))[:_MOST_TERMS]:
            if first in STOP_WORDS and second in STOP_WORDS:
                continue
            phrase = Query.phrase_query(self._chunk_schema, "exact", [first, second], slop=1)
            yield Occur.Should, Query.boost_query(phrase, _PAIR_WEIGHT)

    def _page_clauses(self, terms: Sequence[_Term], cjk: Sequence[str]) -> list[tuple[Occur, Query]]:
        schema = self._page_schema
        clauses = []
        for term in terms:
            clauses.append((Occur.Should, Query.term_query(schema, "all", term.stem, "freq")))
            exact = Query.term_query(schema, "exact", term.exact, "freq")
            clauses.append((Occur.Should, Query.boost_query(exact, _PAGE_EXACT_WEIGHT)))
        clauses += [(Occur.Should, Query.term_query(schema, "cjk", token, "freq")) for token in cjk]
        return clauses

    def _run(
        self,
        searcher: Any,  # noqa: ANN401 - tantivy ships no types
        schema: Any,  # noqa: ANN401
        clauses: list[tuple[Occur, Query]],
        field: str,
        limit: int,
        allowed: Collection[int] | None,
    ) -> tuple[Any, Any]:
        """Return (values of ``field``, scores) of the best ``limit`` hits; filters starve nothing."""
        query = Query.boolean_query(clauses) if clauses else Query.empty_query()
        if allowed is not None and not allowed:
            query = Query.empty_query()
        elif allowed is not None and len(allowed) <= _MOST_FILTER_TERMS:
            among = Query.term_set_query(schema, "rev", list(allowed))
            query = Query.boolean_query(
                [(Occur.Must, query), (Occur.Must, Query.const_score_query(among, 0.0))]
            )
            allowed = None
        wanted = limit
        while True:
            hits = searcher.search(query, limit=wanted, count=False).hits
            addresses = [address for _, address in hits]
            values = np.array(searcher.fast_field_values(field, addresses), np.uint64)
            scores = np.array([score for score, _ in hits], np.float32)
            if allowed is not None:
                revs = values >> np.uint64(16) if field == "chunk" else values
                keep = np.isin(revs, np.fromiter(allowed, np.uint64, len(allowed)))
                values, scores = values[keep], scores[keep]
            if len(values) >= limit or len(hits) < wanted:
                return values[:limit], scores[:limit]
            wanted *= 4


def _page_document(page: LexicalPage) -> dict[str, Any]:
    names = (page.title, readable(_slug(page)), page.summary, *page.tags, *page.aliases, page.cluster)
    body = "\n".join(chunk.text for chunk in page.chunks)
    document: dict[str, Any] = {"rev": page.rev, "all": f"{' . '.join(names)} . {body}", "exact": body}
    if page.cjk:
        document["cjk"] = " ".join(cjk_tokens(document["all"]))
    return document


def _chunk_documents(page: LexicalPage) -> Iterator[dict[str, Any]]:
    meta = " . ".join((page.summary, *page.tags, *page.aliases, page.cluster))
    slug = _slug(page)
    first = page.rev << 16
    for ordinal, chunk in enumerate(page.chunks):
        path = chunk.heading_path[1:] if chunk.heading_path[:1] == (page.title,) else chunk.heading_path
        heads = " . ".join((page.title, *path))
        document: dict[str, Any] = {
            "rev": page.rev,
            "chunk": first | ordinal,
            "heads": heads,
            "meta": meta,
            "body": chunk.text,
            "exact": f"{heads} . {chunk.text}",
        }
        if chunk.identifiers:
            document["ident"] = chunk.identifiers
        if page.cjk:
            document["cjk"] = " ".join(cjk_tokens(f"{slug} {heads} {meta} {chunk.text}"))
        yield document


def _slug(page: LexicalPage) -> str:
    return page.path.rsplit(".", 1)[0]


def _is_content(word: str) -> bool:
    """Single letters are noise but for the names of languages; digits count."""
    return word not in STOP_WORDS and (len(word) > 1 or word.isdigit() or word in "cr")


def _idf(frequency: int, total: int) -> float:
    """BM25's inverse document frequency, as Lucene and tantivy compute it."""
    return math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))


def _stemmed() -> Any:  # noqa: ANN401 - tantivy ships no types
    builder = (
        TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(60)).filter(Filter.lowercase())
    )
    return builder.filter(Filter.ascii_fold()).filter(Filter.stemmer("English")).build()


def _plain() -> Any:  # noqa: ANN401
    builder = (
        TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(60)).filter(Filter.lowercase())
    )
    return builder.filter(Filter.ascii_fold()).build()


def _tokens() -> Any:  # noqa: ANN401
    return (
        TextAnalyzerBuilder(Tokenizer.whitespace())
        .filter(Filter.lowercase())
        .filter(Filter.ascii_fold())
        .build()
    )


_ANALYZERS = {"stemmed": _stemmed, "plain": _plain, "tokens": _tokens}


def _page_schema() -> Any:  # noqa: ANN401
    builder = _common_schema()
    builder.add_text_field("all", tokenizer_name="stemmed", index_option="freq")
    builder.add_text_field("exact", tokenizer_name="plain", index_option="freq")
    return builder.build()


def _chunk_schema() -> Any:  # noqa: ANN401
    builder = _common_schema()
    builder.add_unsigned_field("chunk", fast=True)
    for field in _CHUNK_WEIGHTS:
        builder.add_text_field(field, tokenizer_name="stemmed", index_option="freq")
    builder.add_text_field("exact", tokenizer_name="plain", index_option="position")
    builder.add_text_field("ident", tokenizer_name="tokens", index_option="freq")
    return builder.build()


def _common_schema() -> Any:  # noqa: ANN401
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("rev", indexed=True, fast=True)
    builder.add_unsigned_field(_GENERATION, fast=True)
    builder.add_text_field("cjk", tokenizer_name="tokens", index_option="freq")
    return builder


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error) else type(error).__name__
