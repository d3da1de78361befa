"""Labels, dates and directives; the value forms of flags are tested with the fault cases."""

from __future__ import annotations

from datetime import date

import pytest

from wikimcp.markdown.body import read_body
from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.markdown.publication import Verdict, find_directives, fold_key, judge

TODAY = date(2031, 2, 3)


def verdict(block: str, body: str = "") -> Verdict:
    flags = parse_frontmatter(f"---\n{block}\n---\n").flags
    return judge(flags, read_body(body).directives, today=TODAY)


@pytest.mark.parametrize(
    ("block", "labels"),
    [
        ("visibility: Team", {"team"}),
        ("visibility: [team, 'Ops ']", {"team", "ops"}),
        ("visibility: team, ops", {"team", "ops"}),
        ("Visibility:\n  - a\n  - b", {"a", "b"}),
        ("visibility: 7", {"7"}),
        ("visibility: private", {"private"}),
        ("visibility: everyone", set()),
        ("visibility: [public, team]", set()),
        ("visibility: [a, b]\nvisibility: [b, c]", {"b"}),
    ],
)
def test_visibility_restricts_to_labels(block: str, labels: set[str]) -> None:
    found = verdict(block)
    assert found.labels == labels
    assert not found.withheld


@pytest.mark.parametrize(
    "block", ["visibility:", "visibility: {a: b}", "visibility: a\nvisibility: b", "visibility: ''"]
)
def test_unreadable_or_contradictory_visibility_withholds(block: str) -> None:
    assert verdict(block).withheld


@pytest.mark.parametrize(
    ("body", "labels"),
    [
        ("[{ALLOW view A,B}]", {"a", "b"}),
        ("text [{allow VIEW  Team One , b }] text", {"team one", "b"}),
        ("[{ALLOW edit,view A}]", {"a"}),
        ("[{ALLOW view A}] [{ALLOW view B}]", {"a", "b"}),
        ("[{ALLOW view A}] [{ALLOW view All}]", set()),
        ("[{ALLOW edit Admin}]()[{ALLOW view All}]()", set()),
        ("[{ALLOW edit A}]", set()),
        ("`[{ALLOW view A}]`", set()),
        ("```\n[{ALLOW view A}]\n```", set()),
        ("[[{ALLOW view A}]", set()),
        ("the rule [ALLOW view A]", set()),
    ],
)
def test_allow_directives_in_text_restrict_like_labels(body: str, labels: set[str]) -> None:
    found = verdict("a: 1", body)
    assert found.labels == labels
    assert not found.withheld


@pytest.mark.parametrize("body", ["[{ALLOW view}]", "[{DENY view A}]", "[{ALLOW view , }]"])
def test_directives_that_cannot_be_granted_withhold(body: str) -> None:
    assert verdict("a: 1", body).withheld


def test_labels_and_directives_must_both_be_satisfied() -> None:
    assert verdict("visibility: [a, b]", "[{ALLOW view B,C}]").labels == {"b"}
    assert verdict("visibility: a", "[{ALLOW view B}]").withheld


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("2031-02-03", True),
        ("2031-02-04", False),
        ("2031/01/30 10:00", True),
        ("2030", True),
        ("2099", False),
    ],
)
def test_a_date_of_publication_counts_from_that_day(value: str, shown: bool) -> None:
    assert bool(verdict(f"published: {value}").withheld) is not shown


def test_a_date_is_no_answer_to_draft() -> None:
    assert verdict("draft: 2031-02-03").withheld == "draft: unreadable"


def test_an_unreadable_flag_is_explained_with_its_line() -> None:
    (note,) = verdict("title: x\ndraft: maybe").diagnostics
    assert (note.code, note.line) == ("publication_unreadable", 3)


def test_keys_fold_case_width_and_separators() -> None:
    assert {
        fold_key(key) for key in ["review_state", "Review-State", "review state", "ＲｅｖｉｅｗＳｔａｔｅ"]
    } == {"reviewstate"}


def test_a_directive_is_found_in_time_linear_in_the_text() -> None:
    assert find_directives("[{ALLOW " * 100_000) == []


@pytest.mark.parametrize("length", [20_000, 60_000, 300_000])
@pytest.mark.parametrize(
    "line",
    [
        "draft: true",
        "review-state: needs-review",
        'Review State: "needs review"',
        "'publish': false\r",
        "status: Draft",
    ],
)
def test_a_key_alone_on_its_line_withholds_however_far_down_a_broken_block_it_stands(
    line: str, length: int
) -> None:
    head = f'---\n"\n<% x %>\n!!x\nlong: {"x" * length}\n{line}\ntitle: x\n---\n---\ndraft: false\n'
    assert judge(parse_frontmatter(head).flags, read_body("").directives, today=TODAY).withheld
