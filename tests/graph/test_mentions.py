"""Mentions: whole words, folded case, the longest name first, nothing of names that say nothing."""

from __future__ import annotations

from itertools import combinations

import pytest

from wikimcp.graph.mentions import (
    ChunkMentions,
    MentionAutomaton,
    Mentions,
    meanings_of,
    mentions_in,
    words_of,
)

NAMES = {
    "postgresql": ["page:pg"],
    "postgresql failover": ["page:failover"],
    "ana ruiz": ["page:ana"],
    "node.js": ["page:node"],
    "東京": ["page:tokyo"],
    "go": ["page:go"],
    "index": ["page:index"],
    "2031-02": ["page:date"],
    "mercury": ["page:planet", "page:metal"],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("POSTGRESQL and PostgreSQL.", {"page:pg": 2}),
        ("After a PostgreSQL\n failover we wait.", {"page:failover": 1}),
        ("A PostgreSQL fail", {"page:pg": 1}),
        ("MyPostgreSQL and postgresqls", {}),
        ("Ana, Ruiz; Ana Ruiz's plan; Ana", {"page:ana": 2}),
        ("Written in Node.js", {"page:node": 1}),
        ("彼は東京都に住む", {"page:tokyo": 1}),
        ("Go to the index of 2031-02", {}),
        ("Mercury is near", {}),
        ("", {}),
    ],
)
def test_names_are_found_as_whole_words(text: str, expected: dict[str, int]) -> None:
    assert dict(MentionAutomaton(meanings_of(NAMES)).find(words_of(text))) == expected


def test_a_text_made_to_be_slow_is_passed_over_once() -> None:
    names = {f"{'a ' * length}b{length}": [f"page:{length}"] for length in range(1, 12)}
    assert not MentionAutomaton(meanings_of(names)).find(words_of("a " * 200_000))


def test_mentions_are_counted_by_page_and_a_page_does_not_mention_itself() -> None:
    automaton = MentionAutomaton({"alpha": "page:a", "beta": "page:b", "gamma": "page:c"})
    texts = {"a": ["alpha beta beta", "gamma"], "b": ["alpha"], "c": ["nothing here", "alpha gamma beta"]}
    mentions = Mentions(
        {slug: mentions_in(automaton, map(words_of, chunks)) for slug, chunks in texts.items()}
    )
    assert mentions.pages_of("page:a") == {"b": 1, "c": 1}
    assert mentions.named_by("a") == {"page:b": 2, "page:c": 1}
    assert mentions.chunks_of("page:c") == [("a", 1), ("c", 1)]
    assert mentions.co_mentioned("page:b") == {"page:a": 2, "page:c": 1}
    assert (mentions.mention_edges, mentions.co_mention_edges) == (5, 3)


def test_pairs_are_counted_as_plain_counting_does() -> None:
    by_page = {
        "p": (ChunkMentions(0, (("x", 1), ("y", 3), ("z", 1))), ChunkMentions(1, (("y", 1), ("z", 1)))),
        "q": (ChunkMentions(0, (("x", 1), ("z", 2))),),
    }
    mentions = Mentions(by_page)
    expected: dict[tuple[str, str], int] = {}
    for chunks in by_page.values():
        for chunk in chunks:
            for pair in combinations(sorted(node for node, _ in chunk.nodes), 2):
                expected[pair] = expected.get(pair, 0) + 1
    for (one, other), count in expected.items():
        assert mentions.co_mentioned(one)[other] == mentions.co_mentioned(other)[one] == count
    assert mentions.co_mention_edges == len(expected)
