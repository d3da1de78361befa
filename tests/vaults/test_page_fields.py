"""The fields of a page, in all the forms that people write them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from wikimcp.markdown.identity import derived_id, readable_title
from wikimcp.models import ParsedPage
from wikimcp.vaults.detect import detect
from wikimcp.vaults.options import VaultOptions
from wikimcp.vaults.page_fields import cut_at_word

MakePage = Callable[..., ParsedPage]


@pytest.fixture
def page(tmp_path: Path) -> MakePage:
    def make(block: str = "", body: str = "Text.\n", name: str = "dir/page.md") -> ParsedPage:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"---\n{block}\n---\n{body}" if block else body, "utf-8")
        adapter = detect(tmp_path)
        return adapter.parse(adapter.read(name))

    return make


def test_all_fields_of_a_full_page(page: MakePage) -> None:
    block = """\
canonical_id: 01KQEKGD9ED8G0WM5GFWCK094R
title: "Pump: north"
summary: >
  What it does
  and why.
type: runbook
status: active
review_state: approved
tags: [ops, '#water', 2031, Ops]
aliases: [North pump, P-1]
cluster: [ops, plant/water]
related: ["[[Valve]]", Tank, "[[Pipe#x|the pipe]]"]
relations:
  - {type: Depends On, target: "[[Valve]]"}
  - {type: part-of, target: [Plant, Site]}
sources:
  - {id: s1, url: https://x.test}
  - https://y.test/a, b
updated_at: 2031-02-03 04:05:06
created: 2031-01-01
author: Ana
verified_at: 2031-02-01
verified_by: [Bo, Cy]
confidence: 0.9
audience: humans, agents
version: 7"""
    found = page(block, "# Other\n\nText #inline.\n")
    assert (found.path, found.slug) == ("dir/page.md", "dir/page")
    assert found.canonical_id == "01KQEKGD9ED8G0WM5GFWCK094R"
    assert (found.title, found.title_explicit) == ("Pump: north", True)
    assert found.summary == "What it does and why."
    assert (found.type, found.status, found.review_state) == ("runbook", "active", "approved")
    assert found.tags == ("ops", "water", "inline")
    assert found.aliases == ("North pump", "P-1")
    assert found.clusters == ("ops", "plant/water")
    assert found.related == ("Valve", "Tank", "Pipe")
    assert found.relations == (("depends_on", "Valve"), ("part_of", "Plant"), ("part_of", "Site"))
    assert found.source_refs == ("s1", "https://y.test/a, b")
    assert (found.updated_at, found.created) == ("2031-02-03T04:05:06", "2031-01-01")
    assert (found.author, found.verified_at, found.verified_by) == ("Ana", "2031-02-01", "Bo, Cy")
    assert (found.confidence, found.audience, found.fixed_version) == ("0.9", ("humans", "agents"), 7)
    assert (found.role, found.encoding, found.withheld, found.labels) == ("topic", "utf-8", "", frozenset())


@pytest.mark.parametrize(
    ("block", "field", "value"),
    [
        ("Tags: a b", "tags", ("a", "b")),
        ("tags: a, b c", "tags", ("a", "b c")),
        ("tag: '#a #b'", "tags", ("a", "b")),
        ("tags: {x: y}", "tags", ()),
        ("tags: [[a, b], c]", "tags", ("a", "b", "c")),
        ("alias: One", "aliases", ("One",)),
        ("aliases: One, Two", "aliases", ("One", "Two")),
        ("cluster: ops", "clusters", ("ops",)),
        ("clusters: /ops/, plant", "clusters", ("ops", "plant")),
        ("related: A, [[B, C]], [[D]]", "related", ("A", "B, C", "D")),
        ("related: {a: 1}", "related", ()),
        ("source_refs: [a, b]\nsources: c", "source_refs", ("a", "b")),
        ("source-refs: x", "source_refs", ("x",)),
        ("relations: {Depends on: [A, '[[B]]'], cites: C}", "relations", None),
        ("last_updated: 2031-02-03", "updated_at", "2031-02-03"),
        ("updated: 2031", "updated_at", "2031"),
        ("generated: {at: 2031-02-03T01:02:03Z}", "updated_at", "2031-02-03T01:02:03Z"),
        ("generated.at: 2031-02-03", "updated_at", "2031-02-03"),
        ("updated: 2030\nupdated_at: 2031", "updated_at", "2031"),
        ("date: 2031-02-03", "created", "2031-02-03"),
        ("authors: [A, B]", "author", "A, B"),
        ("title: [a, b]", "title", "a, b"),
        ("title: {a: b}", "title", "page"),
        ("title: ''", "title", "page"),
        ("TITLE: Big", "title", "Big"),
        ("version: '3'", "fixed_version", 3),
        ("version: 1.10", "fixed_version", 0),
        ("version: 0", "fixed_version", 0),
        ("version: -1", "fixed_version", 0),
        ("version: true", "fixed_version", 0),
        ("confidence: high", "confidence", "high"),
        ("description: D", "summary", "D"),
        ("summary: S\ndescription: D", "summary", "S"),
    ],
)
def test_fields_tolerate_the_forms_people_write(
    page: MakePage, block: str, field: str, value: object
) -> None:
    found = getattr(page(block), field)
    if field == "relations":
        value = (("depends_on", "A"), ("depends_on", "B"), ("cites", "C"))
    assert found == value


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("[{target: A}]", [("related_to", "A")]),
        ("[{type: 5, target: 6}]", [("related_to", "6")]),
        ("[{type: uses, page: A}, {predicate: Part Of, to: [A, '[[B]]']}]", [("uses", "A"), ("part_of", "A"), ("part_of", "B")]),
        ("[{type: uses}, text, 7, null, []]", []),
        ("[{uses: A}, {page: B}]", [("uses", "A"), ("page", "B")]),
    ],
)  # fmt: skip
def test_a_row_of_relations_states_no_relation_named_after_its_own_keys(
    page: MakePage, rows: str, expected: list[tuple[str, str]]
) -> None:
    assert list(page(f"relations: {rows}").relations) == expected


@pytest.mark.parametrize(
    ("value", "told"),
    [("'[[Acme GmbH]]'", False), ("['[[Acme]]', '[[Umbra]]']", False), ("'[[2031-02-03]]'", False), ("soon", True)],
)  # fmt: skip
def test_a_link_under_a_key_that_ends_like_a_date_is_no_unreadable_date(
    page: MakePage, value: str, told: bool
) -> None:
    codes = [found.code for found in page(f"works_at: {value}").diagnostics]
    assert ("date_unreadable" in codes) == told


@pytest.mark.parametrize(
    ("body", "name", "title"),
    [
        ("## Second\n\n# First\n", "x.md", "First"),
        ("text\n\n### Only\n", "x.md", "Only"),
        ("text\n", "dir/my-long_name.md", "my long name"),
        ("text\n", "DatabaseDesign.md", "Database Design"),
        ("text\n", "HTTPServer2Go.MD", "HTTP Server2 Go"),
        ("text\n", "v1.2 plan.markdown", "v1.2 plan"),
    ],
)
def test_a_title_is_found_where_none_is_given(page: MakePage, body: str, name: str, title: str) -> None:
    found = page("", body, name)
    assert (found.title, found.title_explicit) == (title, False)


def test_the_first_paragraph_is_the_summary_cut_at_a_word(page: MakePage) -> None:
    summary = page("", "# T\n\n" + "some *words* here " * 40 + "\n").summary
    assert 200 < len(summary) <= 240
    assert summary.endswith(("some…", "words…", "here…"))
    assert cut_at_word("x" * 300) == "x" * 239 + "…"
    assert cut_at_word("short") == "short"


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("index.md", "index"),
        ("Hot.md", "hot"),
        ("OVERVIEW.md", "overview"),
        ("dir/index.md", "topic"),
        ("x.md", "topic"),
    ],
)
def test_top_level_hub_pages_have_their_role(page: MakePage, name: str, role: str) -> None:
    assert page("", "Text.\n", name).role == role


def test_the_index_page_names_the_wiki(page: MakePage) -> None:
    index = page("title: Plant wiki", "All about the plant.\n", "index.md")
    assert (index.wiki_title, index.description) == ("Plant wiki", "All about the plant.")
    other = page("title: Else", "Text.\n", "other.md")
    assert (other.wiki_title, other.description) == ("", "")


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("canonical_id: A\nid: B", "A"),
        ("id: 42", "42"),
        ("object_id: X", "X"),
        ("id: ''\nobject_id: X", "X"),
        ("id: [1]", derived_id("dir/page")),
        ("title: x", derived_id("dir/page")),
    ],
)
def test_the_id_is_declared_or_derived_from_the_slug(page: MakePage, block: str, expected: str) -> None:
    assert page(block).canonical_id == expected


def test_a_derived_id_is_shaped_like_a_ulid_and_depends_on_vault_and_slug() -> None:
    ids = {derived_id(f"page {number}") for number in range(200)}
    assert len(ids) == 200
    assert all(len(value) == 26 and value[0] in "01234567" for value in ids)
    assert all(set(value) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ") for value in ids)
    assert derived_id("a") != derived_id("a", vault="v")


def test_readable_titles_never_get_lost() -> None:
    titles = {"--": "--", "a_b": "a b", "ADR-0042": "ADR 0042", "2031-02-03": "2031 02 03"}
    assert {stem: readable_title(stem) for stem in titles} == titles


def test_private_globs_withhold_whole_folders(tmp_path: Path) -> None:
    for name in ["hr/pay.md", "open.md"]:
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("Text.\n", "utf-8")
    adapter = detect(tmp_path, VaultOptions(private=("hr/",)))
    assert adapter.parse(adapter.read("hr/pay.md")).withheld == "private: by the settings"
    assert adapter.parse(adapter.read("open.md")).withheld == ""


def test_the_content_hash_is_of_the_bytes(page: MakePage, tmp_path: Path) -> None:
    found = page("", "a\r\nb\n", "crlf.md")
    data = (tmp_path / "crlf.md").read_bytes()
    assert found.content_hash == hashlib.sha256(data).hexdigest()[:16]


def test_frontmatter_is_json_whatever_its_keys(page: MakePage) -> None:
    found = page("1: a\ntrue: b\n~: c\n[x, y]: d\n2031-02-03: e\nn: {1.5: f}")
    assert json.loads(json.dumps(found.frontmatter, allow_nan=False)) == {
        "1": "a",
        "true": "b",
        "~": "c",
        "[x, y]": "d",
        "2031-02-03": "e",
        "n": {"1.5": "f"},
    }


def test_links_of_the_frontmatter_come_first(page: MakePage) -> None:
    found = page('up: "[[Parent]]"', "See [[Child]].\n")
    assert [(link.target, link.prop) for link in found.body.links] == [("Parent", "up"), ("Child", "")]
