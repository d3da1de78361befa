"""Where nodes are named in running text: whole words, case folded, found in one pass over each chunk.

The automaton is a trie over words. A pass looks at each word once and follows at most as many words as
the longest name has, so it is linear in the length of the text. Who reads the texts is the index's matter.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

SHORTEST_NAME = 3
"""Letters that a name needs to be looked for (two of a script that is written without blanks)."""

MOST_NODES_IN_CHUNK = 24
"""Nodes of one chunk that are paired with each other; a chunk that lists more says little of pairs."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(f"[{_CJK}]|[^\\W_{_CJK}]+")
_MOST_WORDS = 12
_END = ""  # no word: the key under which a trie keeps the node that a name means
_STOP_WORDS = """
    the and for with from this that these those are was not but you all any can has have its our out how
    why who what when where which index home readme notes note overview page pages todo draft misc other
    general introduction summary about contents hot log new one two use used more most also see list
    data time way work
"""
_STOP = frozenset(_STOP_WORDS.split())


def words_of(text: str) -> list[str]:
    """Return the folded words of a text in order; each character of a script without blanks is one."""
    return _WORD.findall(unicodedata.normalize("NFC", text).casefold())


@dataclass(frozen=True, slots=True)
class ChunkMentions:
    """What one chunk names: node ids with how often, in order of first mention."""

    ordinal: int
    nodes: tuple[tuple[str, int], ...]


def meanings_of(names: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the node that each name means, by its words joined by blanks.

    Names that say nothing are left out; one that several nodes have means none of them: it is empty.
    """
    found: dict[str, str] = {}
    for name, ids in names.items():
        if len(ids) != 1 or not _is_telling(name):
            continue
        words = words_of(name)
        if words and len(words) <= _MOST_WORDS:
            key = " ".join(words)
            found[key] = "" if found.get(key, ids[0]) != ids[0] else ids[0]
    return found


class MentionAutomaton:
    """Finds names of nodes in texts, by what they mean (``meanings_of``)."""

    def __init__(self, meanings: Mapping[str, str]) -> None:
        self._root: dict[str, Any] = {}
        for name, node in meanings.items():
            at = self._root
            for word in name.split(" "):
                at = at.setdefault(word, {})
            at[_END] = node

    def find(self, words: Sequence[str]) -> Counter[str]:
        """Return how often the words of a text (``words_of``) name each node.

        Of names that overlap it is the longest at the first place.
        """
        found: Counter[str] = Counter()
        root, count, taken = self._root, len(words), 0
        for at in [place for place, word in enumerate(words) if word in root]:
            if at < taken:
                continue
            state = root[words[at]]
            node, end, look = state.get(_END, ""), at + 1, at + 1
            while look < count and (state := state.get(words[look])) is not None:
                look += 1
                if _END in state:
                    node, end = state[_END], look
            if node:
                found[node] += 1
                taken = end
        return found


def _is_telling(name: str) -> bool:
    """Say whether a name is long and special enough to be looked for in running text."""
    letters = sum(character.isalnum() for character in name)
    shortest = 2 if re.search(f"[{_CJK}]", name) else SHORTEST_NAME
    return letters >= shortest and name not in _STOP and not name.replace("-", "").isdigit()


class Mentions:
    """All mentions of one state of the graph: by page, by node, and of pairs within one chunk."""

    def __init__(self, by_page: Mapping[str, Sequence[ChunkMentions]], *, complete: bool = True) -> None:
        self.by_page = by_page
        self.complete = complete

    @cached_property
    def _places(self) -> Mapping[str, Sequence[tuple[str, ChunkMentions]]]:
        places: dict[str, list[tuple[str, ChunkMentions]]] = {}
        for slug, chunks in self.by_page.items():
            for chunk in chunks:
                for node, _ in chunk.nodes:
                    places.setdefault(node, []).append((slug, chunk))
        return places

    def chunks_of(self, node_id: str) -> Sequence[tuple[str, int]]:
        """Return (slug, chunk ordinal) of every chunk that names a node."""
        return [(slug, chunk.ordinal) for slug, chunk in self._places.get(node_id, ())]

    def pages_of(self, node_id: str) -> Counter[str]:
        """Return how often each page names a node, its own page left out."""
        counts: Counter[str] = Counter()
        for slug, chunk in self._places.get(node_id, ()):
            if node_id != f"page:{slug}":
                counts[slug] += dict(chunk.nodes)[node_id]
        return counts

    def named_by(self, slug: str) -> Counter[str]:
        """Return how often a page names each node, itself left out."""
        counts: Counter[str] = Counter()
        for chunk in self.by_page.get(slug, ()):
            for node, count in chunk.nodes:
                if node != f"page:{slug}":
                    counts[node] += count
        return counts

    def co_mentioned(self, node_id: str) -> Counter[str]:
        """Return in how many chunks each other node stands beside a node."""
        counts: Counter[str] = Counter()
        for _, chunk in self._places.get(node_id, ()):
            beside = [node for node, _ in chunk.nodes[:MOST_NODES_IN_CHUNK]]
            if node_id in beside:
                counts.update(node for node in beside if node != node_id)
        return counts

    @cached_property
    def mention_edges(self) -> int:
        """How many ``mentions`` edges there are: pairs of a page and another node that it names."""
        return sum(len(self.named_by(slug)) for slug in self.by_page)

    @cached_property
    def co_mention_edges(self) -> int:
        """How many pairs of nodes stand in one chunk somewhere."""
        return len(self.pairs())

    def pairs(self, most: int | None = None) -> Collection[tuple[str, str]]:
        """Return the pairs of nodes that stand in one chunk somewhere, each once; those of the first pages.

        Of each pair the id that sorts first stands first.
        """
        pairs: dict[tuple[str, str], None] = {}
        for chunks in self.by_page.values():
            for chunk in chunks:
                beside = sorted(node for node, _ in chunk.nodes[:MOST_NODES_IN_CHUNK])
                pairs.update(dict.fromkeys((a, b) for at, a in enumerate(beside) for b in beside[at + 1 :]))
            if most is not None and len(pairs) >= most:
                return list(pairs)[:most]
        return pairs.keys()


def mentions_in(automaton: MentionAutomaton, chunks: Iterable[Sequence[str]]) -> tuple[ChunkMentions, ...]:
    """Return the mentions in the words of the chunks of one page, chunks that name nothing left out."""
    found = ((ordinal, automaton.find(words)) for ordinal, words in enumerate(chunks))
    return tuple(ChunkMentions(ordinal, tuple(counts.items())) for ordinal, counts in found if counts)
