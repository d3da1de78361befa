"""The Foam fixture: found by a workspace's recommendation, ignored files, link reference definitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vaults.dialects import FIXTURES, fixture_copy, pages_of, served
from wikimcp.vaults.dialect_files import parse_jsonc


def test_its_pages_are_all_but_those_foam_ignores() -> None:
    pages = pages_of(FIXTURES / "foam")
    assert set(pages) == {"inbox", "todo", "garden/bee-keeping", "garden/wages"}
    assert [slug for slug, page in pages.items() if page.withheld] == ["garden/wages"]
    assert pages["garden/bee-keeping"].aliases == ("apiary", "hives")
    assert pages["todo"].tags == ("list", "garden/bees")
    assert pages["todo"].type == "checklist"


def test_its_links_lead_where_foam_leads_them(tmp_path: Path) -> None:
    with served(fixture_copy("foam", tmp_path)) as wiki:
        assert wiki.resolved("inbox") == [
            ("bee-keeping", "garden/bee-keeping"),
            ("Todo", "todo"),
            ("todo.md", "todo"),
        ]
        assert wiki.resolved("garden/bee-keeping") == [("inbox", "inbox")]
        assert wiki.found("bees swarm in May")[0] == "garden/bee-keeping"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, /* x */ "b": [1, 2,],} // end', {"a": 1, "b": [1, 2]}),
        ('{"a": "http://x/*y*/,]"}', {"a": "http://x/*y*/,]"}),
        ('["\\"//no comment\\"",]', ['"//no comment"']),
        ('["it\'s", "o\'clock" /* \' */]', ["it's", "o'clock"]),
        ("// only\n[]", []),
    ],
)
def test_json_may_hold_comments_and_trailing_commas(text: str, value: object) -> None:
    assert parse_jsonc(text) == value


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a": 1 "b"}', "[,]]"])
def test_json_that_is_none_is_told(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_jsonc(text)
