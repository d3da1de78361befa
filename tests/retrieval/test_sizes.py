"""Quarter tokens add up to the very tokens that everything else counts."""

from __future__ import annotations

import json
from urllib.parse import quote

from hypothesis import given
from hypothesis import strategies as st

from wikimcp.markdown.tokens import count_tokens
from wikimcp.retrieval.sizes import QUARTERS, json_quarters, path_cost, quarters, text_cost, whole_tokens

texts = st.text(alphabet=st.sampled_from('ab \\"\n\r\té\u2028設定한글🦊'), max_size=60)


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(texts)
def test_the_quarters_of_a_text_are_its_tokens_before_rounding(text: str) -> None:
    assert whole_tokens(quarters(text)) == count_tokens(text)


@given(st.lists(texts, max_size=6))
def test_the_quarters_of_parts_add_up_to_those_of_the_whole(parts: list[str]) -> None:
    assert sum(map(quarters, parts)) == quarters("".join(parts))


@given(st.dictionaries(texts, st.lists(texts, max_size=3), max_size=4))
def test_json_is_counted_as_it_leaves(value: dict[str, list[str]]) -> None:
    assert whole_tokens(json_quarters(value)) == count_tokens(compact(value))


@given(texts)
def test_the_cost_of_a_text_is_what_it_adds_to_a_json_string(text: str) -> None:
    assert quarters(compact({"text": f"x{text}"})) - quarters(compact({"text": "x"})) == text_cost(text)


@given(st.lists(texts, min_size=1, max_size=5))
def test_the_cost_of_a_heading_path_covers_two_lists_and_the_uri(path: list[str]) -> None:
    uri = "".join(f"/{quote(part, safe='')}" for part in path)
    sent = {"headingPath": path, "citation": {"headingPath": path, "uri": uri}}
    empty = {"headingPath": [], "citation": {"headingPath": [], "uri": ""}}
    added = json_quarters(sent) - json_quarters(empty)
    assert added <= path_cost(path) <= added + QUARTERS


def test_a_lone_surrogate_does_not_break_the_count() -> None:
    assert path_cost(["a\ud800b"]) > 0
    assert text_cost("a\ud800b") == 3
