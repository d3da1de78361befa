"""Heads: read with patience, rendered so that they read back the same, edited without touching the rest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikimcp.authoring.okf import (
    Generated,
    Source,
    body_of,
    link_target,
    read_head,
    relative_link,
    render_page,
    set_fields,
)
from wikimcp.errors import WikiError
from wikimcp.markdown.frontmatter import parse_frontmatter

PAGE = """\
---
# written by hand
type: Module   # the kind
title: Token service
x-team: { lead: ana, since: 2024-1-3 }   # unknown, and oddly spaced
updated: 2026-05-04 09:30:00 +0200

# what it rests on
sources:
- id: jwt
  resource: ../../src/jwt.py
  usage_count: 5000

tags:
  - auth   # the team
custom: |
  keeps
    its form

generated: {by: human:ana, at: 2026-05-04T09:30:00Z}
---

# Token service
"""


def test_a_head_is_read_with_what_it_has() -> None:
    head = read_head(PAGE)
    assert (head.type, head.title, head.tags) == ("Module", "Token service", ("auth",))
    assert head.sources == (Source("../../src/jwt.py", "jwt"),)
    assert head.generated == Generated("human:ana", "2026-05-04T09:30:00Z")
    assert head.data["custom"] == "keeps\n  its form\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no head",
        "---\ntype: [\n---\n",
        "---\n- a\n---\n",
        "---\nsources: 3\ngenerated: x\ntags: {a: 1}\n---\n",
    ],
)
def test_a_head_that_is_no_use_is_empty_and_raises_nothing(text: str) -> None:
    assert read_head(text).generated is None


def test_an_edit_touches_the_lines_of_its_key_alone() -> None:
    edited = set_fields(
        PAGE,
        {
            "title": "Tokens: what they are",
            "generated": {"by": "wikimcp/1.0", "at": "2026-11-30T08:00:00+00:00"},
        },
    )
    assert edited == PAGE.replace("title: Token service", 'title: "Tokens: what they are"').replace(
        "generated: {by: human:ana, at: 2026-05-04T09:30:00Z}",
        "generated: { by: wikimcp/1.0, at: 2026-11-30T08:00:00+00:00 }",
    )


def test_setting_what_is_there_changes_no_byte_and_none_removes() -> None:
    assert set_fields(PAGE, {"title": "Token service", "tags": ["auth"]}) == PAGE
    assert set_fields(PAGE, {"missing": None}) == PAGE
    assert set_fields(PAGE, {"custom": None}) == PAGE.replace("custom: |\n  keeps\n    its form\n", "")
    replaced = set_fields(PAGE, {"sources": [{"id": "a", "resource": "a.py"}]})
    assert replaced == PAGE.replace(
        "sources:\n- id: jwt\n  resource: ../../src/jwt.py\n  usage_count: 5000\n",
        "sources:\n  - id: a\n    resource: a.py\n",
    )


def test_line_ends_and_the_byte_order_mark_stay() -> None:
    page = "\ufeff" + PAGE.replace("\n", "\r\n")
    edited = set_fields(page, {"title": "New", "status": "proposed"})
    assert edited.startswith("\ufeff---\r\n")
    assert "\n" not in edited.replace("\r\n", "")
    assert "title: New\r\n" in edited and "status: proposed\r\n---\r\n" in edited


def test_a_page_without_a_head_gets_one_and_an_empty_one_is_filled() -> None:
    assert set_fields("# Text\n", {"type": "Concept"}) == "---\ntype: Concept\n---\n\n# Text\n"
    assert set_fields("---\n---\n# Text\n", {"type": "Concept"}) == "---\ntype: Concept\n---\n# Text\n"


@pytest.mark.parametrize(
    "text",
    [
        "---\na: [\n---\n",
        "---\n{a: 1, b: 2}\n---\n",
        "---\na: 1\na: 2\n---\n",
        "---\n- a\n---\n",
        "---\na: 1\n",
    ],
)
def test_a_head_that_cannot_be_edited_safely_is_an_error(text: str) -> None:
    with pytest.raises(WikiError):
        set_fields(text, {"a": "x", "b": "y"})


_TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=40)
_SCALAR = st.one_of(_TEXT, st.booleans(), st.integers(-(10**6), 10**6))
_VALUE: st.SearchStrategy[Any] = st.one_of(
    _SCALAR,
    st.lists(_SCALAR, max_size=4),
    st.lists(
        st.fixed_dictionaries({"id": _TEXT.filter(bool), "resource": _TEXT.filter(bool)}),
        min_size=1,
        max_size=3,
    ),
    st.fixed_dictionaries({"by": _TEXT, "at": _TEXT}),
)


@given(_VALUE)
def test_whatever_is_rendered_reads_back_the_same_and_leaves_the_rest(value: Any) -> None:
    for text in (
        render_page({"type": "X", "field": value}, "Body."),
        set_fields(PAGE, {"field": value, "title": "T"}),
    ):
        found = parse_frontmatter(text)
        assert found.diagnostics == ()
        assert found.data["field"] == value
    assert body_of(set_fields(PAGE, {"field": value})) == body_of(PAGE)


def test_links_are_relative_encoded_and_read_back() -> None:
    assert relative_link("concepts/a.md", "entities/b c (x).md") == "../entities/b%20c%20%28x%29.md"
    assert link_target("concepts/a.md", "../entities/b%20c%20%28x%29.md#h") == "entities/b c (x).md"
    assert link_target("concepts/a.md", "/index.md") == "index.md"
    assert link_target("concepts/a.md", "../../src/x.py") == "../src/x.py"
    assert link_target("concepts/a.md", "https://example.org/x") is None
