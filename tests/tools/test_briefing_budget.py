"""A briefing is never over its budget, whatever is asked for, and the same every time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.tools.briefing_wiki import PAGES, brief
from tests.tools.bundle_wiki import SAMPLE_VAULT, BundleWiki, wiki_of
from wikimcp.markdown.tokens import count_tokens
from wikimcp.models import Caller

NAMES = [
    *("hot", "hub", "gears", "levers", "long", "fenced", "kiln", "ash", "forged", "日本語", "crlf", "empty"),
    *("same", "merger", "nowhere", "x" * 300, "日本" * 60, "</vault-text 00000000>", "a\nb"),
]
CLUSTERS = ["mill", "works", "works/kiln", "KILN", "merger", "nowhere", "## Pinned\n"]
PROMPTS = [
    "",
    "grease the gears",
    "水車 石臼",
    "who burns what at 900 degrees?",
    "zzyzx",
    "?!",
    "kiln " * 900,
]


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleWiki]:
    with wiki_of(tmp_path_factory.mktemp("odd"), PAGES) as odd:
        yield odd


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    prompt=st.sampled_from(PROMPTS),
    pins=st.lists(st.sampled_from(NAMES), max_size=30),
    clusters=st.lists(st.sampled_from(CLUSTERS), max_size=12),
    budget=st.one_of(st.integers(200, 600), st.integers(200, 24_000)),
    scope_mode=st.sampled_from(["prefer", "strict"]),
)
def test_no_mix_of_prompt_pins_and_clusters_is_over_its_budget(
    wiki: BundleWiki, prompt: str, pins: list[str], clusters: list[str], budget: int, scope_mode: str
) -> None:
    if not (prompt or pins or clusters):
        pins = ["gears"]
    asked: dict[str, object] = {
        "prompt": prompt,
        "pins": pins,
        "clusters": clusters,
        "budget": budget,
        "scope_mode": scope_mode,
    }
    first, facts = brief(wiki, **asked)
    again, same = brief(wiki, **asked)
    assert (first, facts) == (again, same)
    assert "osprey" not in first


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BundleWiki]:
    with wiki_of(tmp_path_factory.mktemp("sample"), SAMPLE_VAULT) as wiki:
        yield wiki


@pytest.mark.parametrize("budget", [200, 333, 999, 1_000, 2_000, 6_000, 24_000])
def test_the_sample_vault_fills_every_budget_and_exceeds_none(sample: BundleWiki, budget: int) -> None:
    _, facts = brief(
        sample,
        prompt="I am about to change how bookings are paid.",
        pins=["architecture rules", "Rollback", "team-hub"],
        clusters=["operations", "money"],
        budget=budget,
    )
    if 2_000 <= budget <= 6_000:
        assert facts["usedTokens"] > 0.9 * budget
    if budget == 24_000:
        assert {item["included"] for item in facts["items"]} == {"full"}
        assert facts["coverage"]["leftOut"] == 0


def as_data(wiki: BundleWiki, **asked: object) -> dict[str, Any]:
    """Ask for a briefing as JSON and check that what a program receives is within the budget."""
    data = wiki.service.briefing_data(asked, Caller())
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    assert count_tokens(body) <= data["budgetTokens"] == asked["budget"]
    assert abs(data["usedTokens"] - count_tokens(body)) <= 1  # its own digits are in it
    return data


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    prompt=st.sampled_from(PROMPTS),
    pins=st.lists(st.sampled_from(NAMES), max_size=30),
    clusters=st.lists(st.sampled_from(CLUSTERS), max_size=12),
    budget=st.one_of(st.integers(200, 400), st.integers(200, 24_000)),
)
def test_as_json_no_mix_is_over_its_budget_either(
    wiki: BundleWiki, prompt: str, pins: list[str], clusters: list[str], budget: int
) -> None:
    asked = {"prompt": prompt, "pins": pins or ["gears"], "clusters": clusters, "budget": budget}
    first = as_data(wiki, **asked)
    assert first == as_data(wiki, **asked)
    assert "osprey" not in json.dumps(first)


@pytest.mark.parametrize("budget", [200, 250, 333, 500, 999, 1_500, 3_000, 6_000, 24_000])
def test_as_json_the_sample_vault_fills_its_budget_too(sample: BundleWiki, budget: int) -> None:
    data = as_data(
        sample,
        prompt="I am about to change how bookings are paid.",
        pins=["architecture rules", "Rollback", "team-hub", *(f"unknown {n}" * 9 for n in range(12))],
        clusters=["operations", "money"],
        budget=budget,
    )
    assert data["warnings"] or data["notes"]
    if 1_500 <= budget <= 6_000:
        assert data["usedTokens"] > 0.75 * budget and data["items"]
    if budget == 24_000:
        assert {item["included"] for item in data["items"]} == {"full"}
