"""Faults of dates that are none and of titles that broken frontmatter leaves: as their writers meant them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vaults.dialects import only_page, put, served
from wikimcp.triples.terms import date_literal, moment_literal


@pytest.mark.parametrize(
    ("block", "created", "verified"),
    [
        ("created: 2024-13-45", "", ""),
        ("created: 2024-13-45\ndate: 2031-02-03", "2031-02-03", ""),
        ("created: 3 March 2031\nverified_at: soon", "2031-03-03", ""),
        ("date: 2031-02-03 04:05:06\nverified_at: 2031-2-3", "2031-02-03T04:05:06", "2031-02-03"),
    ],
)
def test_a_field_of_a_date_holds_a_date_or_nothing(
    tmp_path: Path, block: str, created: str, verified: str
) -> None:
    page = only_page(put(tmp_path / "v", {"a.md": f"---\n{block}\n---\nx\n"}))
    assert (page.created, page.verified_at) == (created, verified)


def test_what_is_no_date_is_kept_as_written_and_passed_on_as_none(tmp_path: Path) -> None:
    text = "---\ncreated: 2024-13-45\nverified_at: 2031-02-31\ndue: 2031-02-30\nformat: x\nstate_at: true\n---\nx\n"
    with served(put(tmp_path / "v", {"a.md": text})) as wiki:
        page = wiki.call("get_page", slug="a")
        assert page["frontmatter"]["created"] == "2024-13-45"
        assert "created" not in page and "verifiedAt" not in page
        noted = [(note["line"], note["message"].split("'")[1]) for note in page["diagnostics"]]
        assert noted == [(2, "created"), (3, "verified_at"), (4, "due")]
        assert wiki.call("list_pages_by_filter", verified=True)["pages"] == []
        rows = wiki.call("sparql_query", query="SELECT ?p ?o { ?s ?p ?o FILTER(isLiteral(?o)) }", limit=200)
        assert "2024-13-45" in str(rows)
        typed = wiki.call(
            "sparql_query",
            query="SELECT ?o { ?s ?p ?o FILTER(datatype(?o) = xsd:date || datatype(?o) = xsd:dateTime) }",
        )
        assert all(day not in str(typed["rows"]) for day in ("2024-13-45", "2031-02-31", "2031-02-30"))


@pytest.mark.parametrize("day", ["2031-02-29", "2031-04-31", "2031-13-01", "2031-02-30T04:05:06Z"])
def test_a_day_that_there_is_not_is_no_typed_literal(day: str) -> None:
    assert date_literal(day) == moment_literal(day) == f'"{day}"'
    assert date_literal("2032-02-29").endswith("#date>")
    assert moment_literal("2031-01-31").endswith("#dateTime>")


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ('"Retro: week', "Retro: week"),
        ('Retro: week 12"', "Retro: week 12"),
        ("'Tis: a plan", "Tis: a plan"),
        ('"The "best" plan"', 'The "best" plan'),
        ('"Oak" and: elm', '"Oak" and: elm'),
        ('"Oak": "elm"', '"Oak": "elm"'),
        ("Ana's: plan", "Ana's: plan"),
        ("The dogs: owners'", "The dogs: owners'"),
        ('"Ana\'s: "plan"', 'Ana\'s: "plan"'),
        ('"Oak" and: elm"', '"Oak" and: elm'),
        ("'It's: a plan'", "It's: a plan"),
        ('"a": "b": "c"', '"a": "b": "c"'),
        ('": x', ": x"),
        ('""Oak: elm""', "Oak: elm"),
    ],
)
def test_a_title_out_of_a_broken_block_has_no_odd_quotes(tmp_path: Path, written: str, title: str) -> None:
    page = only_page(put(tmp_path / "v", {"a.md": f"---\ntitle: {written}\nbad: [\n---\nx\n"}))
    assert page.title == title
