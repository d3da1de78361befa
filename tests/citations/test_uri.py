"""A cite:// uri says again what it was made of, and nothing that cannot be is taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikimcp.citations.uri import CiteUri, make_cite_uri, parse_cite_uri

HASH = "0123456789abcdef" * 4
_texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30)


@given(
    _texts,
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), max_size=4),
    st.integers(1, 999_999_999),
    st.none() | st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)),
)
def test_a_uri_says_what_it_was_made_of(
    canonical_id: str, path: list[str], version: int, place: tuple[int, int] | None
) -> None:
    uri = make_cite_uri(canonical_id, path, version=version, span_sha256=HASH, place=place)
    assert uri.isascii() and not any(mark in uri for mark in ' "<>()\n')
    assert parse_cite_uri(uri) == CiteUri(canonical_id, tuple(path), version, HASH[:16], place)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cite://X", CiteUri("X")),
        ("CITE://X/A%2FB/C?v=3", CiteUri("X", ("A/B", "C"), 3)),
        (f"cite://X?h={HASH}", CiteUri("X", (), 0, HASH)),
        (f"cite://X?h={HASH[:16].upper()}&amp;v=2", CiteUri("X", (), 2, HASH[:16])),
        ("cite://X/Caf%C3%A9?later=1#part", CiteUri("X", ("Café",))),
        ("cite://Mixed-Case_id", CiteUri("Mixed-Case_id")),
    ],
)
def test_other_spellings_are_read_as_meant(text: str, expected: CiteUri) -> None:
    assert parse_cite_uri(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("cite://[x", "cite://X/<b>", "", "cite://", "cite:X", "cite:///A", "http://X", "X"),
        *("cite://X?v=0", "cite://X?v=-1", "cite://X?v=1.5", "cite://X?v=latest"),
        *("cite://X?h=0123", "cite://X?h=0123456789abcdeg", f"cite://X?h={HASH}0"),
        *("cite://X?c=3", "cite://X?c=a-b", "cite://X?c=-1-2"),
    ],
)
def test_what_cannot_be_a_uri_is_none(text: str) -> None:
    assert parse_cite_uri(text) is None
