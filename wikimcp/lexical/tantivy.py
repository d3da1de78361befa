"""The tantivy member: two indexes, one of whole pages and one of chunks in the context of their page.

Queries are built term by term, never parsed, so any string is a query. The only importer of tantivy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import tantivy
from tantivy import Filter, Occur, Query, TextAnalyzerBuilder, Tokenizer

from wikimcp.lexical.documents import analyzed, documents
from wikimcp.lexical.segments import Segments
from wikimcp.lexical.statistics import Counted, Summed
from wikimcp.lexical.terms import Term, idf, is_content, remembered, translated, utf8
from wikimcp.lexical.vocabulary import LONGEST, Vocabulary
from wikimcp.lexical.words import CJK_RUN, STOP_WORDS, cjk_query_tokens, query_identifiers
from wikimcp.lexical.writers import Writers
from wikimcp.ports import AnalyzedPage, LexicalHits, LexicalPage, LexicalStatistics, LexicalTerm, PageAnalysis

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
_MOST_COUNTED = 5_000  # documents with a token that are counted one by one where some are deleted


class TantivyIndex:
    """A lexical index in one folder (``pages/`` and ``chunks/``)."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._schemas = {"pages": _page_schema(), "chunks": _chunk_schema()}
        self._open: dict[str, tantivy.Index] = {}
        with translated("opened"):
            for name, schema in self._schemas.items():
                path = folder / name
                path.mkdir(parents=True, exist_ok=True)
                index = tantivy.Index(schema, path=str(path))
                index.register_tokenizer(_TOKENS, _tokens())
                self._open[name] = index
        self._writers = Writers(folder, self._open)

    @property
    def analysis(self) -> PageAnalysis:
        """What makes of a page what ``write`` takes."""
        return analysis

    def write(
        self, *, generation: int, removed: Iterable[int], added: Iterable[AnalyzedPage], fresh: bool = False
    ) -> None:
        """Apply removals and additions and commit them as ``generation``.

        ``added`` may be lazy; ``removed`` is read after it. Raises StateError when another writer is
        active or the disk refuses; the last commit stands then, or the two parts tell different
        generations.
        """
        heaps = {"chunks": _BUILD_HEAP if fresh else _SMALL_HEAP, "pages": _SMALL_HEAP}
        with translated("written"):
            writers = self._writers.take(heaps)
            try:
                self._change(writers, generation, removed, added, fresh=fresh)
                self._writers.commit(writers)
            finally:
                writers.clear()  # of what was not committed nothing stays, and the library's lock is free

    def _change(
        self,
        writers: Mapping[str, Any],
        generation: int,
        removed: Iterable[int],
        added: Iterable[AnalyzedPage],
        *,
        fresh: bool,
    ) -> None:
        from_dict = tantivy.Document.from_dict
        chunks, pages = writers["chunks"], writers["pages"]
        if fresh:
            chunks.delete_all_documents()
            pages.delete_all_documents()
        for page in added:
            whole, parts = documents(page)
            pages.add_document(from_dict(whole, self._schemas["pages"]))
            for part in parts:
                chunks.add_document(from_dict(part, self._schemas["chunks"]))
        gone = list(dict.fromkeys(removed))
        for name, writer in writers.items():
            schema = self._schemas[name]
            for rev in (*gone, 0):
                writer.delete_documents_by_query(Query.term_query(schema, "rev", rev, "basic"))
            writer.add_document(from_dict({"rev": 0, _GENERATION: generation}, schema))

    def searcher(self) -> TantivySearcher:
        """Return a reader of the newest commit. Raises StateError when the index is unusable."""
        with translated("read"):
            totals = self._totals()
            while True:
                for index in self._open.values():
                    index.reload()
                searchers = {name: index.searcher() for name, index in self._open.items()}
                before, totals = totals, self._totals()
                if before == totals:  # else a merge has ended between the two looks
                    return TantivySearcher(searchers, self._schemas, totals)

    def _totals(self) -> dict[str, int]:
        return {name: Segments.read(self._folder / name).total for name in self._open}

    def waste(self) -> float:
        """Return which share of what is stored is deleted and stays until the index is made anew."""
        with translated("read"):
            return max(Segments.read(self._folder / name).waste for name in self._open)

    def close(self) -> None:
        """Let go of the files."""
        self._writers.close()
        self._open.clear()


class TantivySearcher:
    """A point-in-time reader of both indexes."""

    def __init__(
        self,
        searchers: dict[str, Any],
        schemas: dict[str, Any],
        totals: dict[str, int],
        *,
        statistics: LexicalStatistics | None = None,
    ) -> None:
        self._parts = searchers, schemas, totals
        self._pages, self._chunks = searchers["pages"], searchers["chunks"]
        self._page_schema, self._chunk_schema = schemas["pages"], schemas["chunks"]
        self._page_total, self._chunk_total = totals["pages"], totals["chunks"]
        self._stemmed, self._plain = _stemmed(), _plain()
        self._known: dict[tuple[str, str], tuple[int, float]] = {}
        self._chunk_idfs: dict[tuple[str, str], tuple[float, float]] = {}
        self._statistics = statistics or Counted(self, None)

    def statistics(self, among: frozenset[int] | None = None) -> LexicalStatistics:
        """Return what this reader counts, of pages with these revs only when given."""
        with translated("read"):
            return Counted(self, among)

    def under(self, statistics: Sequence[LexicalStatistics]) -> TantivySearcher:
        """Return this reader with scores and terms by the sums of ``statistics``."""
        return TantivySearcher(*self._parts, statistics=Summed(statistics))

    @cached_property
    def generation(self) -> int:
        """The generation of the commit; 0 when empty, -1 when the two indexes do not belong together."""
        found = set()
        with translated("read"):
            for searcher, schema in ((self._pages, self._page_schema), (self._chunks, self._chunk_schema)):
                hits = searcher.search(Query.term_query(schema, "rev", 0, "basic"), limit=1).hits
                found.add(searcher.fast_field_values(_GENERATION, [hits[0][1]])[0] if hits else 0)
        return int(found.pop()) if len(found) == 1 else -1

    def analyze(self, text: str) -> list[str]:
        """Return the stems of a text in order, CJK characters as pairs at the end."""
        text = utf8(text)
        stems: list[str] = self._stemmed.analyze(CJK_RUN.sub(" ", text))
        return [*stems, *cjk_query_tokens(text)]

    def search(self, query: str, *, limit: int, allowed: Collection[int] | None = None) -> LexicalHits:
        """Rank chunks and pages for any string; only pages in ``allowed`` (revs) when given.

        Raises StateError when the index cannot be read.
        """
        with translated("read"):
            return self._search(utf8(query), limit, allowed)

    def _search(self, query: str, limit: int, allowed: Collection[int] | None) -> LexicalHits:
        terms = self._terms(query)
        cjk = cjk_query_tokens(query)[:_MOST_TERMS]
        identifiers = sorted(set(query_identifiers(query)))[:_MOST_TERMS]
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
        query = utf8(query)
        with translated("read"):
            clauses = self._page_clauses(self._terms(query), cjk_query_tokens(query)[:_MOST_TERMS])
            if not clauses or (allowed is not None and not allowed):
                return 0
            found: Query = Query.boolean_query(clauses)
            if allowed is not None:
                among = Query.term_set_query(self._page_schema, "rev", list(allowed))
                found = Query.boolean_query([(Occur.Must, found), (Occur.Must, among)])
            return int(self._pages.search(found, limit=1, count=True).count)

    # The query as terms

    def _terms(self, query: str) -> list[Term]:
        """Return the distinct terms: content words, or stop words when there is nothing else."""
        text = CJK_RUN.sub(" ", query)
        found: dict[str, str] = {}
        for exact, stem in zip(self._plain.analyze(text), self._stemmed.analyze(text), strict=True):
            found.setdefault(stem, exact)
        content = {stem: exact for stem, exact in found.items() if is_content(exact)}
        chosen = content or ({} if cjk_query_tokens(query) else found)
        terms = []
        for stem, exact in chosen.items():
            pages, idf = self._frequency("all", stem)
            terms.append(Term(exact, exact, stem, pages, idf))
        if len(terms) > _MOST_TERMS:
            rarest = sorted(terms, key=lambda term: -term.idf)[:_MOST_TERMS]
            terms = [term for term in terms if term in rarest]
        return terms

    def _frequency(self, field: str, token: str) -> tuple[int, float]:
        """Return (pages, idf) of a token, counting live pages only: a withheld page leaves no trace."""

        def counted() -> tuple[int, float]:
            count = self._statistics.pages(field, token)
            return count, idf(count, self._statistics.page_count)

        return remembered(self._known, (field, token), counted)

    def documents(self, kind: str, among: frozenset[int] | None) -> int:
        """Return how many live pages (without the mark of the generation) or chunks (with it) there are."""
        searcher = self._parts[0][kind]
        if among is None:
            return max(0, int(searcher.num_docs) - (kind == "pages"))
        found = Query.term_set_query(self._parts[1][kind], "rev", list(among))
        return int(searcher.search(found, limit=1, count=True).count) if among else 0

    def documents_with(self, kind: str, field: str, token: str, among: frozenset[int] | None) -> float:
        """Return how many live documents hold a token; of very many an estimate."""
        searchers, schemas, totals = self._parts
        searcher, schema, total = searchers[kind], schemas[kind], totals[kind]
        if among is None and kind == "chunks":
            frequency = searcher.doc_freq(field, token)
            if searcher.num_docs == total or frequency > _MOST_COUNTED:
                return float(frequency * searcher.num_docs / total) if total else 0.0
        query = Query.term_query(schema, field, token, "freq")
        if among is not None:
            if not among:
                return 0
            only = Query.term_set_query(schema, "rev", list(among))
            query = Query.boolean_query([(Occur.Must, query), (Occur.Must, only)])
        return int(searcher.search(query, limit=1, count=True).count)

    def _chunk_idf(self, field: str, token: str) -> tuple[float, float]:
        """Return (idf among live chunks, idf that tantivy scores with, which counts deleted ones too)."""

        def counted() -> tuple[float, float]:
            live = idf(self._statistics.chunks(field, token), self._statistics.chunk_count)
            return live, idf(self._chunks.doc_freq(field, token), self._chunk_total)

        return remembered(self._chunk_idfs, (field, token), counted)

    def _page_boost(self, field: str, token: str) -> float:
        """Return what makes of tantivy's idf of a page token that among live pages."""
        counted = idf(self._pages.doc_freq(field, token), self._page_total)
        return self._frequency(field, token)[1] / counted

    def _content_terms(self, terms: Sequence[Term]) -> Iterator[LexicalTerm]:
        common = max(self._statistics.page_count, 1) * 0.5
        for term in terms:
            distinctive = is_content(term.exact) and term.pages < common
            yield LexicalTerm(term.surface, term.stem, term.pages, term.idf, distinctive)

    def _cjk_term(self, token: str) -> LexicalTerm:
        return LexicalTerm(token, token, *self._frequency("cjk", token), True)

    # The query as tantivy takes it

    def _chunk_clauses(
        self, query: str, terms: Sequence[Term], identifiers: Sequence[str], cjk: Sequence[str]
    ) -> list[tuple[Occur, Query]]:
        schema, searcher = self._chunk_schema, self._chunks
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
                counted = idf(frequency, self._chunk_total)
                scored.append(Query.boost_query(plain, weight * term.idf / counted))
            if scored:
                clauses.append((Occur.Should, Query.disjunction_max_query(scored, _TIE)))
                clauses.append(
                    (Occur.Should, Query.const_score_query(Query.boolean_query(present), _COORDINATION))
                )
        alone = len(identifiers) >= max(len(terms) - 1, 1)
        weight = _IDENTIFIER_ALONE_WEIGHT if alone else _IDENTIFIER_WEIGHT
        for token in identifiers:
            found = Query.term_query(schema, "ident", token, "freq")
            live, counted = self._chunk_idf("ident", token)
            clauses.append((Occur.Should, Query.boost_query(found, weight * live / counted)))
        for token in cjk:
            found = Query.term_query(schema, "cjk", token, "freq")
            live, counted = self._chunk_idf("cjk", token)
            clauses.append((Occur.Should, Query.boost_query(found, _CJK_WEIGHT * live / counted)))
            clauses.append((Occur.Should, Query.const_score_query(found, _COORDINATION)))
        clauses.extend(self._pairs(query))
        return clauses

    def _pairs(self, query: str) -> Iterator[tuple[Occur, Query]]:
        words = self._plain.analyze(CJK_RUN.sub(" ", query))
        for first, second in list(dict.fromkeys(zip(words, words[1:], strict=False)))[:_MOST_TERMS]:
            if first in STOP_WORDS and second in STOP_WORDS:
                continue
            phrase = Query.phrase_query(self._chunk_schema, "exact", [first, second], slop=1)
            both = [self._chunk_idf("exact", word) for word in (first, second)]
            live, counted = sum(idf for idf, _ in both), sum(idf for _, idf in both)
            yield Occur.Should, Query.boost_query(phrase, _PAIR_WEIGHT * live / counted)

    def _page_clauses(self, terms: Sequence[Term], cjk: Sequence[str]) -> list[tuple[Occur, Query]]:
        schema = self._page_schema
        clauses = []
        for term in terms:
            stem = Query.term_query(schema, "all", term.stem, "freq")
            clauses.append((Occur.Should, Query.boost_query(stem, self._page_boost("all", term.stem))))
            exact = Query.term_query(schema, "exact", term.exact, "freq")
            weight = _PAGE_EXACT_WEIGHT * self._page_boost("exact", term.exact)
            clauses.append((Occur.Should, Query.boost_query(exact, weight)))
        for token in cjk:
            found = Query.term_query(schema, "cjk", token, "freq")
            clauses.append((Occur.Should, Query.boost_query(found, self._page_boost("cjk", token))))
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


def analysis(page: LexicalPage) -> AnalyzedPage:
    """Return a page in the tokens and stems that the fields of both indexes hold."""
    return analyzed(page, _vocabulary())


@cache
def _vocabulary() -> Vocabulary:
    return Vocabulary(_plain().analyze, _stemmed().analyze)


def _folded() -> Any:  # noqa: ANN401 - tantivy ships no types
    builder = TextAnalyzerBuilder(Tokenizer.simple()).filter(Filter.remove_long(LONGEST))
    return builder.filter(Filter.lowercase()).filter(Filter.ascii_fold())


def _stemmed() -> Any:  # noqa: ANN401
    return _folded().filter(Filter.stemmer("English")).build()


def _plain() -> Any:  # noqa: ANN401
    return _folded().build()


def _tokens() -> Any:  # noqa: ANN401
    return TextAnalyzerBuilder(Tokenizer.whitespace()).build()


_TOKENS = "tokens"  # every field holds tokens already, with blanks between them


def _page_schema() -> Any:  # noqa: ANN401
    builder = _common_schema()
    builder.add_text_field("all", tokenizer_name=_TOKENS, index_option="freq")
    builder.add_text_field("exact", tokenizer_name=_TOKENS, index_option="freq")
    return builder.build()


def _chunk_schema() -> Any:  # noqa: ANN401
    builder = _common_schema()
    builder.add_unsigned_field("chunk", fast=True)
    for field in _CHUNK_WEIGHTS:
        builder.add_text_field(field, tokenizer_name=_TOKENS, index_option="freq")
    builder.add_text_field("exact", tokenizer_name=_TOKENS, index_option="position")
    builder.add_text_field("ident", tokenizer_name=_TOKENS, index_option="freq")
    return builder.build()


def _common_schema() -> Any:  # noqa: ANN401
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("rev", indexed=True, fast=True)
    builder.add_unsigned_field(_GENERATION, fast=True)
    builder.add_text_field("cjk", tokenizer_name=_TOKENS, index_option="freq")
    return builder
