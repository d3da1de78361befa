"""The token budget holds in both channels, whatever the vault and the question are made of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tools.bundle_wiki import (
    SAMPLE_VAULT,
    BundleWiki,
    check_bundle,
    larger_channel,
    structured,
    wiki_of,
)
from wikimcp.markdown.tokens import count_tokens
from wikimcp.retrieval.sizes import json_quarters, whole_tokens

WORDS = [
    *(
        "pump",
        "valve",
        "巡检",
        "周报",
        "設定ファイル",
        "Überlauf",
        "насос",
        "\\path\\to",
        '"quoted"',
        "**b**",
        "#tag",
    ),
    *(
        "[[Link]]",
        "café",
        "ADR-0042",
        "👩\u200d🔧",
        "e\u0301",
        "\u2028",
        '{"a":1}',
        "<vault-text>",
        "</vault-text>",
    ),
]
NAMES = {
    "plain": "pump",
    "deep": "/".join(["a folder of some length"] * 20 + ["pump"]),
    "long": "p" * 200,
    "cjk": f"目录/{'長い名前' * 15}",
    "odd": 'q "uote; x=y [k]\\back',
    "lines": "new\nline \u2028 pump",
}
HEADINGS = {
    "plain": "Setup of the pump",
    "long": "Pump and valve " * 40,
    "cjk": "巡检结果" * 20,
    "quotes": 'He said "no" \\ and "yes" ' * 6,
    "none": "",
}


def words(count: int, seed: int) -> str:
    return " ".join(WORDS[(seed * 7 + at * at + at) % len(WORDS)] for at in range(count))


def body(kind: str, seed: int) -> str:
    match kind:
        case "escapes":
            return '\\"\\\n"quoted"\n' * (20 + seed * 40)
        case "cjk":
            return "巡检结果写进周报，然后通知值班。" * (5 + seed * 30)
        case "fence":
            return "```\n" + f"{words(5, seed)}\n" * (10 + seed * 100) + "```"
        case "line":
            return words(40 + seed * 900, seed)
        case "table":
            return "| pump | valve |\n|---|---|\n" + '| "a" | \\b |\n' * (5 + seed * 60)
        case _:
            return "\n\n".join(words(30, seed + at) for at in range(1 + seed))


def build(pages: list[tuple[str, str, str, int, str]]) -> dict[str, str]:
    built: dict[str, str] = {}
    for number, (name, heading, kind, seed, end) in enumerate(pages):
        parts = [f"---\ntitle: {'Pump ' * (1 + seed * 9)}{number}\n---\n"]
        for part in range(1 + seed % 3):
            title = HEADINGS[heading].strip()
            parts.append(f"{'#' * (part + 1)} {title} {part}\n\n" if title else "")
            parts.append(f"{body(kind, seed)}\n\n")
        built[f"{NAMES[name]}-{number}.md"] = "".join(parts).replace("\n", end)
    return built


PAGES = st.lists(
    st.tuples(
        st.sampled_from(sorted(NAMES)),
        st.sampled_from(sorted(HEADINGS)),
        st.sampled_from(["escapes", "cjk", "fence", "line", "table", "prose"]),
        st.integers(0, 5),
        st.sampled_from(["\n", "\r\n"]),
    ),
    min_size=1,
    max_size=8,
)
BUDGETS = st.one_of(st.integers(500, 24_000), st.sampled_from([500, 501, 640, 800, 1_000]))
QUERIES = st.one_of(
    st.sampled_from(["pump valve", "巡检 周报", 'the "quoted" \\path', "ADR-0042", "zorp " * 300, "насос"]),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join).map(lambda text: f"pump {text}"),
)
EXTRAS = st.fixed_dictionaries(
    {},
    optional={
        "exclude": st.lists(st.text("xyz:/ ", min_size=1, max_size=80), max_size=40),
        "tags": st.lists(st.text("abc", min_size=1, max_size=80), max_size=10),
        "cluster": st.text("abc ", min_size=1, max_size=200),
        "limit": st.integers(1, 30),
        "mode": st.sampled_from(["hybrid", "dense", "lexical"]),
    },
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
@given(pages=PAGES, asks=st.lists(st.tuples(QUERIES, BUDGETS, EXTRAS), min_size=3, max_size=6))
def test_no_answer_is_over_its_budget(
    tmp_path_factory: pytest.TempPathFactory,
    pages: list[tuple[str, str, str, int, str]],
    asks: list[tuple[str, int, dict[str, object]]],
) -> None:
    with wiki_of(tmp_path_factory.mktemp("any"), build(pages)) as wiki:
        for query, token_budget, extra in asks:
            wiki.bundle(query, token_budget=token_budget, **extra)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleWiki]:
    with wiki_of(tmp_path_factory.mktemp("sample"), SAMPLE_VAULT) as wiki:
        yield wiki


@pytest.mark.parametrize("token_budget", [700, 1_000, 2_000, 4_000, 6_000])
def test_a_budget_is_used_where_there_is_enough_to_say(sample: BundleWiki, token_budget: int) -> None:
    used = [
        larger_channel(sample.call("assemble_bundle", query=query, token_budget=token_budget, limit=30))
        for query in ("How do we roll back a bad deploy?", "seat hold expiry", "who is on call at night")
    ]
    assert min(used) > 0.8 * token_budget
    assert sum(used) / len(used) > 0.9 * token_budget


def test_a_larger_budget_never_returns_less(sample: BundleWiki) -> None:
    sizes = []
    for token_budget in (500, 1_000, 2_000, 4_000, 8_000, 16_000):
        data = sample.bundle("How do we roll back a bad deploy?", token_budget=token_budget, limit=30)
        sizes.append(sum(count_tokens(section["text"]) for section in data["sections"]))
    assert sizes == sorted(sizes)


def test_the_smallest_budget_still_returns_a_section(sample: BundleWiki) -> None:
    for query in ("HBR-4012", "How do we roll back a bad deploy?", "引き継ぎメモには何を書きますか"):
        assert sample.bundle(query, token_budget=500)["sections"]


def test_the_text_is_never_larger_than_the_structured_content(sample: BundleWiki) -> None:
    for query in ("seat hold expiry", "引き継ぎメモには何を書きますか", "Сверка платежей"):
        for token_budget in (500, 6_000):
            answer = sample.call("assemble_bundle", query=query, token_budget=token_budget)
            assert count_tokens(answer.text) <= whole_tokens(json_quarters(structured(answer)))


@pytest.mark.parametrize(
    "flood",
    [
        {"exclude": [f"nonsense {number}" for number in range(900)]},
        {"tags": [f"no such tag {number} {'x' * 60}" for number in range(200)]},
        {"cluster": "nowhere " * 400, "type": "nothing " * 400, "path_prefix": "no/" * 900},
        {"limit": 10**30, "token_budget": "500", "mode": "hybrid"},
    ],
)
@pytest.mark.parametrize("token_budget", [500, 24_000])
def test_notes_cannot_flood_the_answer(
    sample: BundleWiki, flood: dict[str, object], token_budget: int
) -> None:
    asked = {"query": "pump " * 3_000, "token_budget": token_budget, **flood}
    answer = sample.call("assemble_bundle", **asked)
    data = check_bundle(sample, answer, token_budget=int(str(asked["token_budget"])))
    assert data["notes"]


def test_notes_that_were_left_out_are_counted(sample: BundleWiki) -> None:
    tags = [f"no such tag {number} {'x' * 60}" for number in range(200)]
    notes = sample.bundle("pump", tags=tags, token_budget=2_000)["notes"]
    assert "no visible page has tag 'no such tag 0" in notes[0]
    assert any(note.endswith("more notes were left out") for note in notes)


@pytest.mark.parametrize("token_budget", [500, 700])
def test_long_words_leave_room_for_a_section(tmp_path: Path, token_budget: int) -> None:
    words = [f"{chr(97 + number) * 45}{number}" for number in range(24)]
    flags = {"coverage.strong_similarity": 1.0, "coverage.partial_similarity": 1.0}
    page = f"# Pump\n\nOil it. {' '.join(words[:12])}\n"
    with wiki_of(tmp_path, {"a.md": page, "b.md": "# B\n\nNo.\n", "c.md": "# C\n\n.\n"}, flags=flags) as wiki:
        known = wiki.bundle(" ".join(words[:12]), token_budget=token_budget)
        unknown = wiki.bundle(f"pump {' '.join(words[12:])}", token_budget=token_budget)
    for data in (known, unknown):
        assert data["sections"][0]["slug"] == "a"
    assert known["coverage"]["liftedBy"].startswith("one section holds every distinctive term: aaa")
    assert count_tokens(known["coverage"]["liftedBy"]) <= token_budget // 16
    assert 1 <= len(unknown["coverage"]["missingTerms"]) < 12


def test_a_question_in_wide_script_is_shown_within_its_share(sample: BundleWiki) -> None:
    data = sample.bundle("引き継ぎメモには何を書きますか" * 200, token_budget=500)
    assert data["query"].endswith("…")
    assert count_tokens(data["query"]) <= 500 // 16
