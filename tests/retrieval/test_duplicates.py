"""Texts that say the same are told, and only those."""

from __future__ import annotations

import pytest

from tests.retrieval.scored_sections import scored_of
from wikimcp.retrieval.duplicates import near_duplicates, repeated, same_text

RULE = (
    "Close the intake valve before the pump is opened, wait for two minutes until the pressure has gone, "
    "then lock the switch with your own key and write the time into the log that hangs beside the door. "
    "Whoever opens it again checks first that nobody stands below, rings the bell twice, turns the wheel "
    "slowly to the left until it clicks, and stays at the gauge for as long as the needle moves at all."
)
NEARLY = RULE.replace("two minutes", "three minutes")
OTHER = "Lamps are trimmed every evening by the keeper who has the watch, and the wicks are cut at an angle."


def test_the_better_of_equal_texts_is_kept_and_the_others_named() -> None:
    scored = scored_of([1, 2, 3], score=[1.0, 3.0, 2.0], text_key=[7, 7, 8])
    mask, repeats = repeated(scored)
    assert mask.tolist() == [True, False, False]
    assert repeats == {1: [0]}


def test_equal_scores_keep_the_first() -> None:
    mask, repeats = repeated(scored_of([1, 2, 3], text_key=[7, 7, 7]))
    assert mask.tolist() == [False, True, True]
    assert repeats == {0: [1, 2]}


def test_short_texts_may_stand_twice() -> None:
    scored = scored_of([1, 2], text_key=[7, 7], text_cost=[40, 40])
    mask, repeats = repeated(scored)
    assert not mask.any()
    assert repeats == {}
    assert same_text(scored, [0]) == set()


def test_the_same_text_is_found_wherever_it_stands() -> None:
    scored = scored_of([1, 2, 3], text_key=[7, 8, 7])
    assert same_text(scored, [0]) == {0, 2}
    assert same_text(scored, []) == set()


def test_a_text_with_a_changed_word_on_another_page_is_a_repeat_of_the_earlier_one() -> None:
    assert near_duplicates([RULE, OTHER, NEARLY], [1, 2, 3]) == {2: 0}
    assert near_duplicates([NEARLY, OTHER, RULE], [1, 2, 3]) == {2: 0}


def test_like_texts_of_one_page_are_no_repeats() -> None:
    assert near_duplicates([RULE, NEARLY], [1, 1]) == {}


def test_different_texts_of_one_length_are_no_repeats() -> None:
    same_words = " ".join(reversed(RULE.split()))
    assert near_duplicates([RULE, same_words, OTHER], [1, 2, 3]) == {}


def test_a_part_of_a_text_is_no_repeat() -> None:
    assert near_duplicates([RULE, RULE[:120]], [1, 2]) == {}


def test_a_few_words_are_alike_by_chance() -> None:
    assert near_duplicates(["See the hub.", "See the hub."], [1, 2]) == {}


def test_letters_beyond_ascii_elsewhere_in_a_text_do_not_change_its_words() -> None:
    text = f"{RULE} In `snake_case`, C++ and 'quotes' IT_IS the same_thing-again, 3.14 times; \x1fa\tb."
    assert near_duplicates([text, f"{text} — ¶"], [1, 2]) == {1: 0}
    assert near_duplicates([text, text.replace("_", " ").replace("wait", "é")], [1, 2]) == {}


@pytest.mark.parametrize("end", ["。", "、そして戻る。"])
def test_scripts_without_blanks_are_compared_by_characters(end: str) -> None:
    text = "設定ファイルを直したあとで必ず値班に知らせること。次の巡検までに周報へ書き足すのを忘れない"
    text += "ように、毎晩当番が灯を確かめる"
    assert near_duplicates([f"{text}。", f"{text}{end}"], [1, 2]) == {1: 0}
    assert near_duplicates([text, text[::-1]], [1, 2]) == {}


def test_of_a_chain_only_repeats_of_what_stays_are_named() -> None:
    changed = [("minutes", "hours"), ("own", "old"), ("bell", "horn"), ("needle", "hand")]
    chain = [RULE]
    for old, new in changed:
        chain.append(chain[-1].replace(old, new))
    assert all(near_duplicates(pair, [1, 2]) for pair in zip(chain, chain[1:], strict=False))
    assert near_duplicates([chain[0], chain[-1]], [1, 2]) == {}
    found = near_duplicates(chain, range(5))
    assert found[1] == 0
    assert all(first not in found for first in found.values())
