"""get_page, get_page_by_id, list_metadata_values, list_clusters, list_tags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tools.small_wiki import SmallWiki
from wikimcp.errors import Ambiguous, NotFound
from wikimcp.models import Diagnostic
from wikimcp.tools.rendering import compact_json

ID = "01TESTTESTTESTTEST00000001"


@pytest.fixture
def wiki(tmp_path: Path) -> SmallWiki:
    wiki = SmallWiki(tmp_path)
    wiki.add(
        "ops/Nightly Backup.md",
        "# Backup\n\nText.\n",
        title="Nightly\nBackup",
        summary="How.",
        type="runbook",
        status="active",
        review_state="accepted",
        tags=("ops", "db"),
        aliases=("bk",),
        clusters=("platform/db", "storage"),
        author="Ana",
        created="2025-01-01",
        verified_at="2026-01-01",
        verified_by="Bo",
        version=4,
        frontmatter={
            "title": "Nightly\nBackup",
            "tags": ["ops", "db", "ops"],
            "n": 1.10,
            "ok": True,
            "none": None,
        },
        diagnostics=[
            Diagnostic("yaml", "a colon in the title", 2),
            Diagnostic("encoding", "one byte was replaced"),
        ],
        links=("ops/hub", "merger"),
        body={
            "related": ("ops/hub",),
            "relations": (("depends_on", "ops/hub"),),
            "source_refs": ("https://x.test/a",),
            "confidence": "high",
            "audience": ("sre",),
        },
    )
    wiki.add(
        "ops/hub.md",
        type="hub",
        tags=("ops",),
        clusters=("platform",),
        links=("ops/Nightly Backup",),
        frontmatter={"type": "hub", "Tags": "x", "ok": "true", "deep": {"a": [1, None]}},
    )
    wiki.add("x/plan.md", title="Plan", frontmatter={"tags": "solo", "n": 1})
    wiki.add("y/plan.md", title="Plan", links=("ops/hub",), updated_at="2026-05-01T00:00:00+00:00")
    wiki.add("merger.md", withheld="draft", tags=("ops", "merger"), clusters=("secret",), links=("ops/hub",))
    wiki.frontmatter["merger"] = {"tags": ["merger"], "secret": "4411"}
    return wiki


def test_get_page_gives_every_field(wiki: SmallWiki) -> None:
    data = wiki.data("get_page", slug="bk")
    del data["notes"], data["index"], data["contentHash"], data["size"]
    assert data == {
        "slug": "ops/Nightly Backup",
        "title": "Nightly Backup",
        "path": "ops/Nightly Backup.md",
        "url": "ops/Nightly Backup.md",
        "canonicalId": ID,
        "idDerived": False,
        "version": 4,
        "summary": "How.",
        "role": "topic",
        "type": "runbook",
        "status": "active",
        "reviewState": "accepted",
        "cluster": "platform/db",
        "clusters": ["platform/db", "storage"],
        "updatedAt": "2026-03-01T00:00:00+00:00",
        "created": "2025-01-01",
        "author": "Ana",
        "verifiedAt": "2026-01-01",
        "verifiedBy": "Bo",
        "confidence": "high",
        "audience": ["sre"],
        "encoding": "utf-8",
        "sectionCount": 2,
        "backlinkCount": 1,
        "outlinkCount": 1,
        "tags": ["ops", "db"],
        "aliases": ["bk"],
        "related": ["ops/hub"],
        "relations": [{"type": "depends_on", "target": "ops/hub"}],
        "sourceRefs": ["https://x.test/a"],
        "diagnostics": [
            {"code": "yaml", "message": "a colon in the title", "line": 2},
            {"code": "encoding", "message": "one byte was replaced"},
        ],
        "frontmatter": {"title": "Nightly\nBackup", "tags": ["ops", "db", "ops"], "n": 1.1, "ok": True},
    }


def test_a_file_url_is_given_only_where_the_setting_allows_it(wiki: SmallWiki) -> None:
    answer = wiki.call("get_page", {"slug": "bk"}, allow_file_urls=True)
    assert answer.structured is not None
    assert answer.structured["url"] == (wiki.root / "ops/Nightly Backup.md").as_uri()
    assert answer.structured["url"].endswith("/ops/Nightly%20Backup.md")
    assert str(wiki.root) not in wiki.ask("get_page", slug="bk").text


def test_get_page_errors_name_the_nearest_or_the_candidates(wiki: SmallWiki) -> None:
    with pytest.raises(NotFound, match="Nearest: ops/hub"):
        wiki.ask("get_page", slug="ops/hubb")
    with pytest.raises(Ambiguous, match="x/plan .*y/plan"):
        wiki.ask("get_page", slug="Plan")


@pytest.mark.parametrize(
    ("tool", "argument", "name"), [("get_page", "slug", "merger"), ("get_page_by_id", "id", "5")]
)
def test_a_withheld_page_is_missing_in_the_same_words(
    wiki: SmallWiki, tool: str, argument: str, name: str
) -> None:
    name = f"{ID[:-1]}{name}" if tool == "get_page_by_id" else name
    with pytest.raises(NotFound) as withheld:
        wiki.call(tool, {argument: name})
    del wiki.records["merger.md"]
    with pytest.raises(NotFound) as missing:
        wiki.call(tool, {argument: name})
    assert str(withheld.value) == str(missing.value)


def test_hostile_frontmatter_is_left_out_whole_and_named(wiki: SmallWiki) -> None:
    hostile = {"big": "x" * 200_000, "title": "Kept", "list": list(range(50_000)), "k" * 5_000: 1}
    wiki.add("big.md", frontmatter=hostile)
    data = wiki.data("get_page", slug="big")
    assert data["frontmatter"] == {"title": "Kept"}
    assert data["notes"][0].startswith("frontmatter values too long to show: big, list, kkk")


def test_many_fields_are_cut_to_the_cap_and_the_page_still_described(wiki: SmallWiki) -> None:
    wiki.add(
        "many.md",
        frontmatter={f"key {number}": "value " * 10 for number in range(5_000)},
        tags=tuple(f"tag {number}" for number in range(3_000)),
        aliases=tuple(f"alias {number}" for number in range(3_000)),
        diagnostics=[Diagnostic("odd", "something", line) for line in range(1, 3_000)],
    )
    data = wiki.data("get_page", slug="many")
    assert data["slug"] == "many"
    assert data["frontmatter"] == {}
    assert data["diagnostics"] == []
    assert any(note.startswith("frontmatter: 5000 of 5000 left out") for note in data["notes"])
    assert any(note.startswith("tags: ") for note in data["notes"])


def test_odd_values_of_frontmatter_are_fit_for_json(wiki: SmallWiki) -> None:
    wiki.add("odd.md", frontmatter={"nan": float("nan"), "lone": "\ud800", "list": [None, {"a": None}]})
    data = wiki.data("get_page", slug="odd")
    assert data["frontmatter"] == {"nan": "nan", "lone": "\ufffd", "list": [None, {}]}
    compact_json(data).encode()


# get_page_by_id


@pytest.mark.parametrize("given", [ID, ID.lower(), f" {ID} "])
def test_an_id_gives_its_page(wiki: SmallWiki, given: str) -> None:
    by_id, by_name = wiki.data("get_page_by_id", id=given), wiki.data("get_page", slug="bk")
    assert by_id == by_name


def test_an_id_that_moved_is_resolved_and_said_so(wiki: SmallWiki) -> None:
    wiki.moved["OLDID"] = "ops/hub"
    data = wiki.data("get_page_by_id", id="OLDID")
    assert data["slug"] == "ops/hub"
    assert data["notes"] == [f"id OLDID moved: the page is now ops/hub with id {data['canonicalId']}"]


def test_an_unknown_id_names_ids_that_begin_like_it(wiki: SmallWiki) -> None:
    with pytest.raises(NotFound, match=f"no page has the id '{ID[:-1]}9'. Nearest: .*{ID[:-1]}4"):
        wiki.ask("get_page_by_id", id=f"{ID[:-1]}9")
    with pytest.raises(NotFound, match="list_pages and get_page show names and ids"):
        wiki.ask("get_page_by_id", id="zzz")


def test_a_name_given_as_an_id_is_told_apart(wiki: SmallWiki) -> None:
    with pytest.raises(NotFound, match=f"That is a name of page ops/Nightly Backup, whose id is {ID}"):
        wiki.ask("get_page_by_id", id="bk")


# list_metadata_values


def counts(data: dict[str, Any]) -> list[tuple[str, int]]:
    return [(row["value"], row["count"]) for row in data["values"]]


def test_without_a_field_the_keys_are_counted(wiki: SmallWiki) -> None:
    data = wiki.data("list_metadata_values")
    assert counts(data) == [
        ("n", 2),
        ("ok", 2),
        ("tags", 2),
        ("Tags", 1),
        ("deep", 1),
        ("none", 1),
        ("title", 1),
        ("type", 1),
    ]
    assert data["pageCount"] == 3
    assert "field" not in data


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("tags", [("db", 1), ("ops", 1), ("solo", 1)]),
        ("Tags", [("x", 1)]),
        ("n", [("1", 1), ("1.1", 1)]),
        ("ok", [("true", 2)]),
        ("none", [("(empty)", 1)]),
        ("deep", [('{"a":[1,null]}', 1)]),
        ("TITLE", [("Nightly Backup", 1)]),
    ],
)
def test_values_are_counted_by_page_each_element_of_a_list(
    wiki: SmallWiki, field: str, expected: list[tuple[str, int]]
) -> None:
    data = wiki.data("list_metadata_values", field=field)
    assert counts(data) == expected
    assert data["pageCount"] == sum(count for _, count in expected) - (1 if field == "tags" else 0)


def test_values_come_by_count_then_value(wiki: SmallWiki) -> None:
    for number in range(6):
        wiki.add(f"n{number}.md", frontmatter={"level": "b" if number < 2 else "a" if number < 4 else "c"})
    assert counts(wiki.data("list_metadata_values", field="level")) == [("a", 2), ("b", 2), ("c", 2)]


def test_an_unknown_field_names_the_nearest(wiki: SmallWiki) -> None:
    data = wiki.data("list_metadata_values", field="titel")
    assert (data["values"], data["pageCount"], data["field"]) == ([], 0, "titel")
    assert data["notes"] == ["no visible page has field 'titel'; nearest: 'title'"]


def test_an_over_long_value_is_shown_shortened(wiki: SmallWiki) -> None:
    wiki.add("long.md", frontmatter={"abstract": "word " * 1_000})
    data = wiki.data("list_metadata_values", field="abstract")
    assert len(data["values"][0]["value"]) <= 300
    assert data["notes"] == ["values over 300 characters are shown shortened"]


def test_withheld_pages_count_nowhere(wiki: SmallWiki) -> None:
    for name in ("list_metadata_values", "list_tags", "list_clusters", "list_pages"):
        assert "merger" not in wiki.ask(name).text
        assert "secret" not in wiki.ask(name).text
    assert wiki.data("list_metadata_values", field="secret")["values"] == []


# list_clusters, list_tags


def test_clusters_come_by_name_with_hub_parent_and_counts(wiki: SmallWiki) -> None:
    assert wiki.data("list_clusters")["clusters"] == [
        {"name": "platform", "pageCount": 2, "hub": "ops/hub", "updatedAt": "2026-03-01T00:00:00+00:00"},
        {
            "name": "platform/db",
            "pageCount": 1,
            "parent": "platform",
            "updatedAt": "2026-03-01T00:00:00+00:00",
        },
        {"name": "storage", "pageCount": 1, "updatedAt": "2026-03-01T00:00:00+00:00"},
    ]


def test_tags_come_by_count_with_their_most_linked_pages(wiki: SmallWiki) -> None:
    assert wiki.data("list_tags")["tags"] == [
        {"tag": "ops", "count": 2, "topPages": ["ops/hub", "ops/Nightly Backup"]},
        {"tag": "db", "count": 1, "topPages": ["ops/Nightly Backup"]},
    ]
    assert [row["tag"] for row in wiki.data("list_tags", min_pages=2)["tags"]] == ["ops"]


def test_a_tag_shows_three_pages_at_most(wiki: SmallWiki) -> None:
    for number in range(9):
        wiki.add(f"n{number}.md", tags=("many",), links=() if number else ("n5",))
    row = next(row for row in wiki.data("list_tags")["tags"] if row["tag"] == "many")
    assert (row["count"], row["topPages"]) == (9, ["n5", "n0", "n1"])


def test_a_wiki_without_clusters_or_tags_says_so(tmp_path: Path) -> None:
    wiki = SmallWiki(tmp_path)
    wiki.add("a.md")
    assert wiki.data("list_clusters")["notes"] == [
        "this wiki has no clusters; list_tags and list_pages show what there is"
    ]
    assert wiki.data("list_tags")["notes"] == ["this wiki has no tags"]
    wiki.add("b.md", tags=("t",))
    assert wiki.data("list_tags", min_pages=2)["notes"] == ["no tag is on 2 pages or more"]
