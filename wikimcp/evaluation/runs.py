"""Asking the questions: locate the right sections, ask for bundles, check what was cited."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from wikimcp.errors import WikimcpError
from wikimcp.evaluation import measures
from wikimcp.evaluation.measures import Place, Returned, Row
from wikimcp.evaluation.questions import Gold, Question
from wikimcp.markdown.body import parse_body
from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.markdown.tokens import count_tokens, span_sha256

LIMIT = 12


@dataclass(frozen=True, slots=True)
class Reply:
    """A tool's answer as an edge would give it: its text and its structured content."""

    text: str
    structured: Mapping[str, Any]


Ask = Callable[[str, Mapping[str, Any]], Reply]
"""Calls one tool. Raises WikimcpError as the service does."""


class Corpus:
    """The pages behind slugs and ids, each file read once.

    The tools must answer with ``file://`` addresses (the setting ``urls.file``).
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._lines: dict[str, list[str]] = {}
        self._pages: dict[str, Mapping[str, Any] | None] = {}

    def place(self, gold: Gold) -> Place | None:
        """Find a right section by its page's id and its heading path; None when there is no such page."""
        page = self._page("get_page_by_id", "id", gold.canonical_id)
        if page is None:
            return None
        wanted = _folded(gold.heading_path)
        text = "".join(self._file(page))
        for section in parse_body(text, parse_frontmatter(text).body_start).sections:
            if _folded(" > ".join(section.heading_path)) == wanted:
                return Place(str(page["slug"]), (section.own.first_line, section.own.last_line))
        return Place(str(page["slug"]), None)

    def verifies(self, citation: Mapping[str, Any]) -> bool:
        """Tell whether the cited lines of the file have the cited hash."""
        page = self._page("get_page", "slug", str(citation["slug"]))
        if page is None:
            return False
        first, last = citation["lines"]
        return span_sha256("".join(self._file(page)[first - 1 : last])) == str(citation["spanSha256"])

    def _page(self, tool: str, argument: str, name: str) -> Mapping[str, Any] | None:
        if name not in self._pages:
            try:
                self._pages[name] = self._ask(tool, {argument: name}).structured
            except WikimcpError:
                self._pages[name] = None
        return self._pages[name]

    def _file(self, page: Mapping[str, Any]) -> list[str]:
        """Return a page's lines with their ends; lines end at LF, CRLF and CR only."""
        url = str(page["url"])
        if url not in self._lines:
            text = Path(url2pathname(urlsplit(url).path)).read_bytes().decode("utf-8", "replace")
            self._lines[url] = re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$", text)
        return self._lines[url]


def ask_all(
    questions: Sequence[Question],
    ask: Ask,
    *,
    corpus: Corpus,
    places: Mapping[Gold, Place | None],
    mode: str,
    budgets: Sequence[int],
) -> Iterator[Row]:
    """Ask every question at every budget, in order."""
    for question in questions:
        yield _row(question, ask, corpus=corpus, places=places, mode=mode, budgets=budgets)


def _row(
    question: Question,
    ask: Ask,
    *,
    corpus: Corpus,
    places: Mapping[Gold, Place | None],
    mode: str,
    budgets: Sequence[int],
) -> Row:
    golds = [places[gold] for gold in question.golds]
    recall: dict[int, float] = {}
    tokens: dict[int, int] = {}
    for budget in sorted(budgets):
        asked = {"query": question.text, "mode": mode, "limit": LIMIT, "token_budget": budget}
        started = time.perf_counter()
        reply = ask("assemble_bundle", asked)
        seconds = time.perf_counter() - started
        sections = reply.structured["sections"]
        returned = [
            Returned(str(section["slug"]), (section["citation"]["lines"][0], section["citation"]["lines"][1]))
            for section in sections
        ]
        recall[budget] = measures.section_recall(golds, returned)
        tokens[budget] = count_tokens(reply.text)
    ranks = measures.page_ranks([place.slug for place in golds if place], returned)
    ranks += [None] * sum(place is None for place in golds)
    coverage = reply.structured["coverage"]
    return Row(
        question=question,
        recall=recall,
        tokens=tokens,
        first=measures.section_recall(golds, returned[: measures.FIRST_SECTIONS]),
        page_recall={cut: measures.page_recall(ranks, cut) for cut in measures.PAGE_CUTS},
        reciprocal_rank=measures.reciprocal_rank(ranks),
        seconds=seconds,
        confidence=str(coverage["confidence"]),
        top_similarity=float(coverage["topSimilarity"]),
        cited=len(sections),
        verified=sum(corpus.verifies(section["citation"]) for section in sections),
    )


def _folded(heading_path: str) -> str:
    """Fold a heading path for comparison: inline markup, case and runs of blanks do not count."""
    return " ".join(re.sub(r"[*_`~\\]", "", heading_path).casefold().split())
