"""Filters and listings: what meets them, how values fold, and what is said of unknown ones."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests.tools.small_wiki import SmallWiki
from wikimcp.errors import BadArgument
from wikimcp.tools.contract import ToolContext
from wikimcp.tools.filters import PageFilter, select
from wikimcp.tools.list_pages import ListPagesParams, run
from wikimcp.tools.times import instant

NOW = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def wiki(tmp_path: Path) -> SmallWiki:
    wiki = SmallWiki(tmp_path)
    wiki.add(
        "ops/backup.md",
        type="Runbook",
        status="active",
        clusters=("platform/DB",),
        tags=("Ops", "db/postgres"),
        author="Ana, Bo",
        updated_at="2026-05-31T23:30:00+00:00",
        verified_at="2026-01-01",
    )
    wiki.add(
        "ops/restore.md",
        type="runbook",
        status="review",
        clusters=("platform",),
        tags=("ops",),
        author="Ána",
        updated_at="2026-06-01T01:00:00+02:00",
        verified_by="Bo",
    )
    wiki.add(
        "Notes/Straße.md", title="a note", clusters=("platform-x",), updated_at="2025-01-01T00:00:00+00:00"
    )
    wiki.add("zebra.md", title="Zebra", type="hub", clusters=("animals", "platform"), updated_at="")
    return wiki


def chosen(wiki: SmallWiki, **criteria: object) -> tuple[list[str], list[str]]:
    context = ToolContext(now=NOW)
    wanted: dict[str, Any] = dict(criteria)
    pages = select(wiki.reading(), PageFilter(**wanted), context)
    return [page.path for page in pages], context.notes


@pytest.mark.parametrize(
    ("criteria", "paths"),
    [
        ({}, ["Notes/Straße.md", "ops/backup.md", "ops/restore.md", "zebra.md"]),
        ({"cluster": "platform"}, ["ops/backup.md", "ops/restore.md", "zebra.md"]),
        ({"cluster": " PLATFORM/ "}, ["ops/backup.md", "ops/restore.md", "zebra.md"]),
        ({"cluster": "platform/db"}, ["ops/backup.md"]),
        ({"cluster": "animals"}, ["zebra.md"]),
        ({"tags": ("OPS",)}, ["ops/backup.md", "ops/restore.md"]),
        ({"tags": ("#ops", "db")}, ["ops/backup.md"]),
        ({"tags": ("db/postgres",)}, ["ops/backup.md"]),
        ({"type": "RUNBOOK"}, ["ops/backup.md", "ops/restore.md"]),
        ({"status": "Active"}, ["ops/backup.md"]),
        ({"author": "bo"}, ["ops/backup.md"]),
        ({"author": "ana, bo"}, ["ops/backup.md"]),
        ({"author": "ÁNA"}, ["ops/restore.md"]),
        ({"path_prefix": "ops/"}, ["ops/backup.md", "ops/restore.md"]),
        ({"path_prefix": "/ops/b"}, ["ops/backup.md"]),
        ({"path_prefix": "OPS\\re"}, ["ops/restore.md"]),
        ({"path_prefix": "notes/STRASSE"}, ["Notes/Straße.md"]),
        ({"verified": True}, ["ops/backup.md", "ops/restore.md"]),
        ({"verified": False}, ["Notes/Straße.md", "zebra.md"]),
        ({"modified_after": "2026-06-01"}, []),
        ({"modified_after": "2026-05-31"}, ["ops/backup.md", "ops/restore.md"]),
        ({"modified_after": "2026-05-31T23:00:00Z"}, ["ops/backup.md", "ops/restore.md"]),
        ({"modified_after": "2026-05-31T23:00:01Z"}, ["ops/backup.md"]),
        ({"modified_after": "2026-06-01T01:00:00+02:00"}, ["ops/backup.md", "ops/restore.md"]),
        ({"modified_before": "2026"}, ["Notes/Straße.md"]),
        ({"modified_before": "2026-06"}, ["Notes/Straße.md", "ops/backup.md", "ops/restore.md"]),
        ({"modified_before": "2026-05-31T23:30:00"}, ["Notes/Straße.md", "ops/restore.md"]),
        ({"stale_days": 1}, ["Notes/Straße.md"]),
        ({"stale_days": 1, "modified_after": "2020"}, ["Notes/Straße.md"]),
        ({"stale_days": 36_500}, []),
        ({"cluster": "platform", "type": "hub"}, ["zebra.md"]),
    ],
)
def test_pages_meet_all_criteria(wiki: SmallWiki, criteria: dict[str, Any], paths: list[str]) -> None:
    found, notes = chosen(wiki, **criteria)
    assert found == paths
    assert notes == []


@pytest.mark.parametrize(
    ("criteria", "note"),
    [
        ({"cluster": "platfrom"}, "no visible page has cluster 'platfrom'; nearest: 'platform'"),
        ({"tags": ("oops",)}, "no visible page has tag 'oops'; nearest: 'Ops'"),
        ({"type": "runbok"}, "no visible page has type 'runbok'; nearest: 'Runbook'"),
        ({"status": "actve"}, "no visible page has status 'actve'; nearest: 'active'"),
        ({"author": "zzzzzz"}, "no visible page has author 'zzzzzz'"),
        ({"path_prefix": "opps/"}, "no visible page has path_prefix 'opps/'; nearest: 'ops/'"),
        ({"path_prefix": "../outside"}, "no visible page has path_prefix '../outside'"),
    ],
)
def test_unknown_values_are_noted_with_the_nearest(
    wiki: SmallWiki, criteria: dict[str, Any], note: str
) -> None:
    found, notes = chosen(wiki, **criteria)
    assert found == []
    assert [known for known in notes if known.startswith(note)]


def test_a_withheld_page_lends_no_name_to_a_note(wiki: SmallWiki) -> None:
    before = chosen(wiki, cluster="merge", type="secrt", tags=("merge",))
    wiki.add("m.md", clusters=("merger",), type="secret", tags=("merger",), withheld="draft", author="Zoe")
    assert chosen(wiki, cluster="merge", type="secrt", tags=("merge",)) == before
    assert not any("merger" in note or "secret" in note for note in before[1])


def test_times_in_the_wrong_order_are_noted(wiki: SmallWiki) -> None:
    found, notes = chosen(wiki, modified_after="2026-02-01", modified_before="2026-01-01")
    assert found == []
    assert notes == ["the time to start from is not before the time to end at, so no page can match"]


@pytest.mark.parametrize(
    "wrong", ["yesterday", "2026-13-01", "2026-02-30", "31.01.2026", "10**9", "\x00", "x" * 4_000]
)
def test_a_time_that_cannot_be_read_is_an_error_with_an_example(wiki: SmallWiki, wrong: str) -> None:
    with pytest.raises(BadArgument, match="modified_after must be a date or an ISO 8601 time, got") as raised:
        chosen(wiki, modified_after=wrong)
    assert 'Example: modified_after="2026-01-31"' in str(raised.value)
    assert len(str(raised.value)) < 1_000


def test_an_error_names_the_argument_as_the_caller_knows_it(wiki: SmallWiki) -> None:
    with pytest.raises(BadArgument, match="updated_since must be a date .* Example: updated_since="):
        wiki.ask("list_pages_by_filter", updated_since="soon")


@pytest.mark.parametrize("edge", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "0001-01-01"])
def test_the_ends_of_the_calendar_are_times(edge: str) -> None:
    assert instant(edge) is not None


def test_many_names_are_searched_for_the_nearest_too(tmp_path: Path) -> None:
    wiki = SmallWiki(tmp_path)
    for number in range(5_000):
        wiki.index(f"p{number}.md", "", tags=(f"label-{number:05d}", "incident"))
    assert chosen(wiki, tags=("incidnt",))[1][0].startswith(
        "no visible page has tag 'incidnt'; nearest: 'incident'"
    )


def slugs(data: dict[str, Any]) -> list[str]:
    return [row["slug"] for row in data["pages"]]


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("path", ["Notes/Straße", "ops/backup", "ops/restore", "zebra"]),
        ("title", ["Notes/Straße", "ops/backup", "ops/restore", "zebra"]),
        ("updated", ["ops/backup", "ops/restore", "Notes/Straße", "zebra"]),
    ],
)
def test_lists_are_sorted_with_ties_by_path(wiki: SmallWiki, sort: str, order: list[str]) -> None:
    assert slugs(wiki.data("list_pages", sort=sort)) == order
    assert slugs(wiki.data("list_pages_by_filter", sort=sort)) == order


def test_title_order_folds_case(tmp_path: Path) -> None:
    wiki = SmallWiki(tmp_path)
    for path, title in (("a.md", "zoo"), ("b.md", "Ape"), ("c.md", "bee"), ("d.md", "BEE")):
        wiki.add(path, title=title)
    assert slugs(wiki.data("list_pages", sort="title")) == ["b", "c", "d", "a"]


def test_list_pages_passes_every_filter_on(wiki: SmallWiki) -> None:
    arguments: dict[str, Any] = {
        "cluster": "platform",
        "tags": ["ops"],
        "type": "runbook",
        "author": "bo",
        "modified_after": "2026-05-01",
        "modified_before": "2026-07-01",
    }
    assert slugs(wiki.data("list_pages", **arguments)) == ["ops/backup"]


def test_list_pages_by_filter_passes_every_filter_on(wiki: SmallWiki) -> None:
    arguments: dict[str, Any] = {
        "type": "runbook",
        "cluster": "platform",
        "tag": "ops",
        "status": "active",
        "updated_since": "2026-05-01",
        "verified": "true",
    }
    assert slugs(wiki.data("list_pages_by_filter", **arguments)) == ["ops/backup"]


def test_stale_days_counts_back_from_now(wiki: SmallWiki) -> None:
    answer = wiki.call("list_pages_by_filter", {"stale_days": 365}, now=datetime(2026, 12, 1, tzinfo=UTC))
    assert answer.structured is not None
    assert slugs(dict(answer.structured)) == ["Notes/Straße"]


def test_an_empty_list_says_what_to_do_next(wiki: SmallWiki) -> None:
    data = wiki.data("list_pages", type="hub", tags=["ops"])
    assert (data["total"], data["returned"], data["pages"]) == (0, 0, [])
    assert data["notes"] == [
        "no page matches; list_clusters, list_tags and list_metadata_values show what there is"
    ]


def test_rows_carry_the_facts_of_their_page_and_leave_out_what_is_not_there(wiki: SmallWiki) -> None:
    rows = {row["slug"]: row for row in wiki.data("list_pages")["pages"]}
    assert rows["ops/backup"] == {
        "slug": "ops/backup",
        "title": "Backup",
        "type": "Runbook",
        "status": "active",
        "cluster": "platform/DB",
        "tags": ["Ops", "db/postgres"],
        "author": "Ana, Bo",
        "updatedAt": "2026-05-31T23:30:00+00:00",
        "verifiedAt": "2026-01-01",
        "version": 1,
    }
    assert rows["zebra"] == {
        "slug": "zebra",
        "title": "Zebra",
        "type": "hub",
        "cluster": "animals",
        "version": 1,
    }


def test_a_page_with_a_hundred_tags_has_a_short_row_and_a_note(tmp_path: Path) -> None:
    wiki = SmallWiki(tmp_path)
    wiki.add("p.md", tags=tuple(f"t{number}" for number in range(100)))
    data = wiki.data("list_pages")
    assert len(data["pages"][0]["tags"]) == 20
    assert data["notes"] == ["rows show at most 20 tags; get_page lists all"]


def test_the_pages_of_an_answer_are_noted_for_the_check_against_the_disk(wiki: SmallWiki) -> None:
    reading = wiki.reading()
    run(reading, ListPagesParams(limit=2), ToolContext())
    assert set(reading.touched) == {"Notes/Straße.md", "ops/backup.md"}
