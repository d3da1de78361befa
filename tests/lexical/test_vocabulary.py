"""Tokens and stems: each way to them gives the same as the index's own analyzers."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from wikimcp.lexical.identifiers import Identifiers
from wikimcp.lexical.tantivy import _plain, _stemmed, _vocabulary
from wikimcp.lexical.terms import is_content
from wikimcp.lexical.vocabulary import LONGEST, Flat, StemSets, forget_words
from wikimcp.lexical.words import CJK_RUN, cjk_query_tokens, query_identifiers

_ASCII = st.text(st.characters(max_codepoint=127), max_size=200)
# Dashes and quotes beyond ASCII are most of what a text has of it; letters and digits of scripts are the rest.
_BEYOND = st.text("ab Z9.-_\u2014\u2019\xa0\xb2é\u0301ßﬃⅧ٣漢", max_size=80)
_ANY = st.one_of(_ASCII, _BEYOND, st.text(max_size=60))
_SETS = StemSets()


@given(_ANY)
@example("a" * LONGEST + " b")
@example("a" * (LONGEST - 1) + " b")
@example("Snake_case, 3.14 and\x00a\x1fb~")
@example("well—it’s “so” → 5² of Ⅷ")
def test_the_quick_way_cuts_a_text_into_the_same_tokens(text: str) -> None:
    flat = Flat(_plain().analyze).of(text)
    if flat is None:  # left to the analyzer, as words of other letters are
        assert not text.isascii()
        return
    assert [token for token in flat.split() if len(token) < LONGEST] == _plain().analyze(text)


def test_dashes_and_quotes_do_not_keep_a_text_from_the_quick_way() -> None:
    assert Flat(_plain().analyze).of("Well—it’s “so”") == "well it s  so "


@given(_ANY)
@example("the runners are running after a run")
@example(f"the {'a' * LONGEST} runs")
def test_a_text_holds_its_tokens_in_order_and_the_stems_of_its_content_words(text: str) -> None:
    stops: set[str] = set()
    found = _vocabulary().text(text, stops)
    tokens = _plain().analyze(text)
    assert found.tokens.split() == " ".join(tokens).split()
    assert found.stems.split() == [
        stem for token, stem in zip(tokens, _stemmed().analyze(text), strict=True) if is_content(token)
    ]
    assert stops == {token for token in tokens if not is_content(token)}


@given(st.lists(_ANY, min_size=1, max_size=4))
def test_names_side_by_side_are_the_tokens_of_both(names: list[str]) -> None:
    vocabulary = _vocabulary()
    apart = [vocabulary.name(name) for name in names]
    together = vocabulary.text(" . ".join(names))
    assert " ".join(name.tokens for name in apart).split() == together.tokens.split()
    assert " ".join(name.stems for name in apart).split() == together.stems.split()


_IDENTIFIED = (
    "see getUserName in src/api.py, C++ and the plain words; APIs v2 ADR-7 user-2 x_y a٣ ٣a é9 _é x²3"
)


@given(_ANY)
@example(_IDENTIFIED)
@example("a.b\xa0getName\u3000plain")
def test_the_identifiers_of_a_text_are_those_that_its_words_have_one_by_one(text: str) -> None:
    identifiers = Identifiers()
    fresh = sorted(query_identifiers(text))
    for _ in range(2):  # however often a word was seen
        (pieces,) = identifiers.pieces([text])
        assert sorted(identifiers.tokens(pieces)) == fresh


@given(st.lists(_ANY, max_size=6))
@example(["", _IDENTIFIED, "", "x1", "plain", "x1 y"])
def test_each_of_several_texts_has_its_own_identifiers(texts: list[str]) -> None:
    identifiers = Identifiers()
    found = [sorted(identifiers.tokens(pieces)) for pieces in identifiers.pieces(texts)]
    assert found == [sorted(query_identifiers(text)) for text in texts]


def analyzed(text: str) -> list[str]:
    return [*_stemmed().analyze(CJK_RUN.sub(" ", text)), *cjk_query_tokens(text)]


@given(_ANY)
@example("running does ½ ⑴ ﬁne naïve\u3000設定 ファイル a\xa0b\x1fc")
@example("a" * LONGEST + " b " + "é" + "a" * LONGEST)
def test_the_stems_of_a_text_are_the_same_however_many_words_were_seen_before(text: str) -> None:
    assert _SETS.of(text, analyzed) == set(analyzed(text))


@given(_ANY)
@example(f"{_IDENTIFIED} the running of it")
def test_a_text_is_the_same_after_all_words_were_forgotten(text: str) -> None:
    vocabulary = _vocabulary()
    before = vocabulary.text(text), vocabulary.identifiers.pieces([text])
    forget_words()
    stops: set[str] = set()
    again: set[str] = set()
    assert (vocabulary.text(text, stops), vocabulary.identifiers.pieces([text])) == before
    vocabulary.text(text, again)
    assert stops == again
