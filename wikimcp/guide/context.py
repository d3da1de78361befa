"""Progressive loading: as little of the wiki as a question needs, level by level, within a budget.

L0 is the hot page, L1 the index, L2 a cluster, L3 a page. Which levels a question gets is decided by its
form (see ``Kind``); loading stops when the words of the question stand in what L0 or L3 gave, for an index
only points. What was not loaded, and what no page says, is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import quote

from wikimcp.graph.mentions import MentionAutomaton, words_of
from wikimcp.guide.link_map import LinkMap, link_map, map_text
from wikimcp.guide.resources import cluster_text, hot_text, hub_page, index_text
from wikimcp.index.names import fold
from wikimcp.index.view import Cluster, PageRecord, Reading
from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.markdown.tokens import count_tokens

CAPS: Mapping[str, int] = {"L0": 500, "L1": 300, "L2": 300, "L3": 500, "graph": 700}
"""Tokens of one part of a level at most."""

CATALOG = "catalog"
"""The source of a part that was made of the catalog, for want of a page."""

_LEAST = 40  # tokens: a part that would be smaller is left out
_MOST_MISSING = 12
_FIRST = 3  # pages of a ranking
_RECENT = re.compile(
    r"\b(?:recent(?:ly)?|lately|latest|newest|today|yesterday|right now|currently|in progress|"
    r"(?:this|last|past) (?:week|month|few days)|what(?: has|'s)? (?:changed|new)|working on|open threads|"
    r"where (?:were|are) we)\b",
    re.IGNORECASE,
)
_EXPLORING = re.compile(
    r"\b(?:what (?:do|did) (?:we|you|i) (?:already )?know (?:about|of)|everything (?:we know )?about|"
    r"tell me (?:all |more )?about|explore|what (?:relates|connects) to|"
    r"(?:what|how) (?:is|are|does) .{1,80} (?:related|connected|relate|connect) to)\s+(?P<topic>.+)",
    re.IGNORECASE | re.DOTALL,
)


class Kind(StrEnum):
    """What a question asks for, which decides the levels that are loaded."""

    RECENT = "recent"
    NAMED = "named"
    DOMAIN = "domain"
    DEPTH = "depth"
    SEVERAL = "several"
    EXPLORE = "explore"


BUDGETS: Mapping[Kind, int] = {
    Kind.RECENT: 500,
    Kind.NAMED: 1_000,
    Kind.DOMAIN: 1_100,
    Kind.DEPTH: 1_500,
    Kind.EXPLORE: 1_500,
    Kind.SEVERAL: 2_500,
}
"""Tokens that are loaded at most, by the kind of the question."""

LEVELS: Mapping[Kind, str] = {
    Kind.RECENT: "L0",
    Kind.NAMED: "L0 + L3",
    Kind.DOMAIN: "L0 + L1 + L2",
    Kind.DEPTH: "L0 + L1 + L2 + L3",
    Kind.EXPLORE: "L0 + L1 + the link graph",
    Kind.SEVERAL: "L0 + L1 + an L2 and an L3 for each domain",
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """One part that was loaded. ``source`` is the page it is from (slug @ version), or ``catalog``.

    ``cut`` tells that the source holds more than was loaded.
    """

    level: str
    uri: str
    source: str
    tokens: int
    cut: bool
    text: str


@dataclass(frozen=True, slots=True)
class LoadedContext:
    """What was loaded for a question, and what is missing.

    ``why`` says how the kind was decided, ``stopped`` at which level the question was answered as far as
    words tell (empty: never). ``gaps`` are sentences; ``map`` is there for an exploring question.
    """

    question: str
    kind: Kind
    why: str
    budget: int
    loaded: tuple[Loaded, ...]
    stopped: str
    gaps: tuple[str, ...]
    map: LinkMap | None = None

    @property
    def tokens(self) -> int:
        """The tokens of all parts."""
        return sum(part.tokens for part in self.loaded)


@dataclass(frozen=True, slots=True)
class Decision:
    """How a question is taken: its kind and why, and the pages and clusters that it names."""

    kind: Kind
    why: str
    pages: tuple[PageRecord, ...] = ()
    clusters: tuple[Cluster, ...] = ()


Ranking = Callable[[Reading, str], Sequence[PageRecord]]
"""The pages that may help with a question, best first."""


def load_context(
    reading: Reading, question: str, *, ranking: Ranking, kind: Kind | None = None, budget: int = 0
) -> LoadedContext:
    """Load what a question needs; ``kind`` and ``budget`` (tokens) are decided by it unless given.

    Raises Stale when a page moved on while it was read.
    """
    ranked = [page for page in ranking(reading, question) if not page.conflict_copy]
    decided = decide(reading, question, ranked)
    if kind is not None:
        decided = Decision(kind, "as asked", decided.pages, decided.clusters)
    loading = _Loading(reading, question, budget or BUDGETS[decided.kind])
    found: LinkMap | None = None
    stopped = ""
    loading.hot()
    if decided.kind is not Kind.RECENT:
        if decided.kind is not Kind.NAMED and loading.answered():
            stopped = "L0"
        else:
            found = _load_levels(loading, decided, ranked)
            stopped = "L3" if loading.answered() and any(p.level == "L3" for p in loading.parts) else ""
    return LoadedContext(
        question=question,
        kind=decided.kind,
        why=decided.why,
        budget=loading.budget,
        loaded=tuple(loading.parts),
        stopped=stopped,
        gaps=tuple(loading.gaps()),
        map=found,
    )


def _load_levels(loading: _Loading, decided: Decision, ranked: Sequence[PageRecord]) -> LinkMap | None:
    """Load what comes after L0 for a kind of question; returns the link graph of an exploring one."""
    kind, reading = decided.kind, loading.reading
    if kind is Kind.NAMED:
        for page in decided.pages:
            loading.page(page)
        return None
    loading.index()
    if kind is Kind.EXPLORE:
        start = next(iter((*decided.pages, *ranked)), None)
        return loading.graph(start) if start is not None else None
    clusters = list(decided.clusters) or _clusters_of(reading, (*decided.pages, *ranked))
    clusters = clusters[: 2 if kind is Kind.SEVERAL else 1]
    for cluster in clusters:
        loading.cluster(cluster)
    if kind is Kind.DOMAIN:
        return None
    pages = list(dict.fromkeys((*decided.pages, *_best_of_each(clusters, ranked), *ranked[:2])))
    for page in pages[: 2 if kind is Kind.SEVERAL else 1]:
        loading.page(page)
        if loading.answered():
            break
    return None


def decide(reading: Reading, question: str, ranked: Sequence[PageRecord]) -> Decision:
    """Return the kind of a question, by its words and by the pages and clusters that it names.

    ``ranked`` are the pages that may help with it, best first: a page whose name is one plain word is named
    only when it is among the first of them, as that word may mean something else.
    """
    exploring = _EXPLORING.search(question)
    pages = _named_pages(reading, exploring["topic"] if exploring else question, ranked[:_FIRST])
    clusters = _named_clusters(reading, question, pages)
    if exploring is not None:
        return Decision(Kind.EXPLORE, "it asks what is known of a topic", pages, clusters)
    if len(clusters) > 1:
        names = ", ".join(cluster.name for cluster in clusters[:2])
        return Decision(Kind.SEVERAL, f"it speaks of several domains: {names}", pages, clusters)
    if pages:
        return Decision(Kind.NAMED, f"it names a page: {pages[0].slug}", pages[:1])
    if _RECENT.search(question):
        return Decision(Kind.RECENT, "it asks for recent work")
    if clusters:
        return Decision(Kind.DOMAIN, f"it names a domain: {clusters[0].name}", (), clusters)
    return Decision(Kind.DEPTH, "it names no page and no domain")


def _named_pages(reading: Reading, text: str, likely: Sequence[PageRecord]) -> tuple[PageRecord, ...]:
    """Return the pages whose title, alias or file name stands in a text as whole words, in its order."""
    names: dict[str, list[str]] = {}
    asked = set(words_of(text))
    for page in reading.pages:
        if page.conflict_copy or page.role != "topic":
            continue
        stem = page.slug.rpartition("/")[2]
        for name in dict.fromkeys(map(fold, (page.title, stem, *page.aliases))):
            words = words_of(name)
            if asked.issuperset(words) and (len(words) > 1 or page in likely):
                names.setdefault(name, []).append(page.slug)
    meanings = {" ".join(words_of(name)): slugs[0] for name, slugs in names.items() if len(set(slugs)) == 1}
    found = MentionAutomaton(meanings).find(words_of(text))
    named = (reading.page(slug) for slug in found)
    return tuple(page for page in named if page is not None)


def _named_clusters(reading: Reading, question: str, pages: Iterable[PageRecord]) -> tuple[Cluster, ...]:
    """Return the clusters that a question names, or that the pages it names belong to first."""
    words = words_of(question)
    said = " ".join(words)
    named = [
        cluster
        for cluster in reading.clusters.values()
        if (name := " ".join(words_of(cluster.name))) and re.search(rf"\b{re.escape(name)}\b", said)
    ]
    return tuple(dict.fromkeys((*named, *_clusters_of(reading, pages))))


def _clusters_of(reading: Reading, pages: Iterable[PageRecord]) -> list[Cluster]:
    clusters = reading.clusters
    found = (clusters.get(page.cluster or page.path.partition("/")[0]) for page in pages)
    return list(dict.fromkeys(cluster for cluster in found if cluster is not None))


def _best_of_each(clusters: Iterable[Cluster], ranked: Sequence[PageRecord]) -> list[PageRecord]:
    best = (next((page for page in ranked if page in cluster.members), None) for cluster in clusters)
    return [page for page in best if page is not None]


def _body(text: str) -> str:
    """Return a page without its frontmatter, which says nothing that a reader of it needs."""
    return text[parse_frontmatter(text).body_start :].lstrip("\r\n")


class _Loading:
    """One question's loading: the parts so far, and what is left of the budget."""

    def __init__(self, reading: Reading, question: str, budget: int) -> None:
        self.reading, self.question, self.budget = reading, question, budget
        self.parts: list[Loaded] = []
        self._notes: list[str] = []
        terms = reading.lexical(question, limit=1).terms
        self._unknown = [term.surface for term in terms if not term.pages]
        self._wanted = {term.stem: term.surface for term in terms if term.distinctive and term.pages}

    def hot(self) -> None:
        """Load L0."""
        page = hub_page(self.reading, "hot")
        text = _body(hot_text(self.reading)) if page else hot_text(self.reading)
        self._add("L0", "wiki://hot", text, page, lacking="there is no hot page; made of the newest pages")

    def index(self) -> None:
        """Load L1."""
        page = hub_page(self.reading, "index") or hub_page(self.reading, "overview")
        self._add(
            "L1", "wiki://index", index_text(self.reading), page, lacking="no index; made of the catalog"
        )

    def cluster(self, cluster: Cluster) -> None:
        """Load L2 of a cluster."""
        self._add("L2", f"wiki://cluster/{quote(cluster.name, safe='')}", cluster_text(cluster), None)

    def page(self, page: PageRecord) -> None:
        """Load L3 of a page: whole where it is short, else the sections that hold the question's words."""
        uri = f"wiki://page/{quote(page.slug, safe='')}"
        cap = min(CAPS["L3"], self._left())
        text = self.reading.text(page)
        whole = self.reading.shown(page, text, parse_frontmatter(text).body_start, len(text))
        shown = whole if count_tokens(whole) <= cap else self._best_sections(page, text, cap)
        self._add("L3", uri, shown, page, cut=shown is not whole)

    def graph(self, start: PageRecord) -> LinkMap:
        """Load the link graph around a page."""
        found = link_map(self.reading, start, tokens=min(CAPS["graph"], self._left()))
        uri = f"wiki://graph/{quote(start.slug, safe='')}"
        self._add("graph", uri, map_text(found), start, cut=bool(found.left_out))
        return found

    def answered(self) -> bool:
        """Whether every telling word of the question stands in what was loaded of pages at L0 and L3.

        A list made of the catalog points to answers, it holds none.
        """
        own = [part for part in self.parts if part.level in ("L0", "L3") and part.source != CATALOG]
        return bool(self._wanted) and not self._missing(own)

    def gaps(self) -> list[str]:
        """Return what is missing, as sentences."""
        told = list(self._notes)
        if self._unknown:
            told.append(f"no page holds: {', '.join(self._unknown[:_MOST_MISSING])}")
        if missing := self._missing(self.parts):
            told.append(f"in nothing that was loaded: {', '.join(missing[:_MOST_MISSING])}")
        return told

    def _missing(self, parts: Iterable[Loaded]) -> list[str]:
        held = set(self.reading.analyze("\n".join(part.text for part in parts)))
        return [surface for stem, surface in self._wanted.items() if stem not in held]

    def _left(self) -> int:
        return self.budget - sum(part.tokens for part in self.parts)

    def _add(
        self,
        level: str,
        uri: str,
        text: str,
        page: PageRecord | None,
        *,
        lacking: str = "",
        cut: bool = False,
    ) -> None:
        cap = min(CAPS[level], self._left())
        if cap < _LEAST:
            self._notes.append(f"left out for want of room: {level} {uri}")
            return
        shown = self._part(text, cap)
        source = f"{page.slug} @ {page.version}" if page is not None else CATALOG
        if lacking and page is None:
            self._notes.append(f"{level}: {lacking}")
        self.parts.append(Loaded(level, uri, source, count_tokens(shown), cut or shown != text, shown))

    def _part(self, text: str, cap: int) -> str:
        """Return a text within ``cap`` tokens: its first lines, and those that hold the question's words."""
        if count_tokens(text) <= cap:
            return text
        lines = text.splitlines()
        telling = [
            number
            for number, line in enumerate(lines)
            if number > 2 and line.strip() and self._wanted.keys() & set(self.reading.analyze(line))
        ]
        order = [*range(min(3, len(lines))), *telling, *range(3, len(lines))]
        kept: set[int] = set()
        room = cap - count_tokens("…\n")
        for number in order:
            cost = count_tokens(lines[number] + "\n")
            if number not in kept and cost <= room:
                kept.add(number)
                room -= cost
        return "".join(f"{lines[number]}\n" for number in sorted(kept)) + "…\n"

    def _best_sections(self, page: PageRecord, text: str, cap: int) -> str:
        """Return the page's own sections that hold most of the question's words, in their order."""
        parts: list[tuple[int, int, str]] = []
        for section in self.reading.sections(page):
            shown = self.reading.shown(page, text, section.own.start, section.own.end).strip()
            if shown:
                path = " ".join(section.heading_path)
                held = self._wanted.keys() & set(self.reading.analyze(f"{path}\n{shown}"))
                parts.append((-len(held), len(parts), shown))
        kept: list[tuple[int, str]] = []
        room = cap - count_tokens("…\n")
        for _, number, shown in sorted(parts):
            cost = count_tokens(f"{shown}\n\n")
            if cost <= room:
                kept.append((number, shown))
                room -= cost
        if not kept and parts:
            return self._part(min(parts)[2], cap)
        return "\n\n".join(shown for _, shown in sorted(kept)) + "\n…\n"
