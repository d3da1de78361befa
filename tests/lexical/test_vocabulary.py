"""Tokens and stems: each way to them gives the same as the index's own analyzers."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from wikimcp.lexical.tantivy import _plain, _stemmed, _vocabulary
from wikimcp.lexical.terms import is_content
from wikimcp.lexical.vocabulary import LONGEST, StemSets, ascii_first
from wikimcp.lexical.words import CJK_RUN, cjk_query_tokens, identifier_tokens, query_identifiers

_ASCII = st.text(st.characters(max_codepoint=127), max_size=200)
_ANY = st.one_of(_ASCII, st.text(max_size=60))
_SETS = StemSets()


@given(_ANY)
@example("a" * LONGEST + " b")
@example("a" * (LONGEST - 1) + " b")
@example("Snake_case, 3.14 and\x00a\x1fb~")
def test_the_quick_way_cuts_a_text_into_the_same_tokens(text: str) -> None:
    assert ascii_first(_plain().analyze)(text) == _plain().analyze(text)


@given(_ANY)
@example("the runners are running after a run")
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


@given(_ANY)
@example("see getUserName in src/api.py, C++ and the plain words")
def test_identifiers_are_the_same_however_often_a_word_was_seen(text: str) -> None:
    fresh = sorted(query_identifiers(text))
    assert sorted(identifier_tokens(text)) == sorted(identifier_tokens(text)) == fresh


def analyzed(text: str) -> list[str]:
    return [*_stemmed().analyze(CJK_RUN.sub(" ", text)), *cjk_query_tokens(text)]


@given(_ANY)
@example("running does ½ ⑴ ﬁne naïve\u3000設定 ファイル a\xa0b\x1fc")
@example("a" * LONGEST + " b " + "é" + "a" * LONGEST)
def test_the_stems_of_a_text_are_the_same_however_many_words_were_seen_before(text: str) -> None:
    assert _SETS.of(text, analyzed) == set(analyzed(text))
