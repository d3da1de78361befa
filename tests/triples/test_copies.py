"""A data set as a file: another start goes on from it, and a damaged one is no hindrance."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.index.live_wiki import until
from tests.triples.small_store import LINKS, WAYS, Pages, cells, store_of, way_name
from wikimcp.triples import frames
from wikimcp.triples.copies import body_of, body_parts, head_of, read_copy, write_copy
from wikimcp.triples.data_set import DataSet
from wikimcp.triples.gate import plan_query
from wikimcp.triples.pyoxigraph import PyoxigraphEngine
from wikimcp.triples.rdflib import parse
from wikimcp.triples.running import answer_of
from wikimcp.triples.terms import DCTERMS, RDF

TITLES = "SELECT ?t { ?p dcterms:title ?t }"
EVERYTHING = "SELECT ?s ?p ?o { ?s ?p ?o }"
Way = tuple[str, bool]


def kept(way: Way, pages: Pages) -> None:
    """Ask once and leave at once; the copy of the data is there in a moment."""
    assert pages.place is not None
    place, mark = pages.place, pages.mark
    with store_of(way[0], forks=way[1]) as store:
        store.query(TITLES, pages, limit=9)
    until(lambda: (copy := read_copy(place)) is not None and copy.mark == mark, "the copy is there")


@pytest.mark.parametrize("way", WAYS, ids=way_name)
def test_another_start_reads_the_copy_and_asks_for_nothing(way: Way, tmp_path: Path) -> None:
    pages = Pages(place=tmp_path / "triples")
    kept(way, pages)
    pages.asked.clear()
    with store_of(way[0], forks=way[1]) as store, store_of(way[0]) as other:
        found = store.query(EVERYTHING, pages, limit=1_000)
        assert pages.asked == []
        assert found.rows == other.query(EVERYTHING, Pages(), limit=1_000).rows
    assert pages.place is not None and pages.place.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("way", WAYS, ids=way_name)
def test_what_changed_since_the_copy_is_sent(way: Way, tmp_path: Path) -> None:
    pages = Pages(place=tmp_path / "triples")
    kept(way, pages)
    pages.asked.clear()
    pages.titles["Valve"] = "The valve"
    del pages.links["Lone"]
    with store_of(way[0], forks=way[1]) as store, store_of(way[0]) as other:
        found = store.query(EVERYTHING, pages, limit=1_000)
        assert pages.asked == ["urn:wikimcp:page:Valve"]
        assert (
            found.rows == other.query(EVERYTHING, Pages("new", pages.links, pages.titles), limit=1_000).rows
        )
    kept(way, pages)
    pages.asked.clear()
    with store_of(way[0], forks=way[1]) as store:
        assert ("The valve",) in cells(store.query(TITLES, pages, limit=9))
        assert pages.asked == [], "the copy followed"


@pytest.mark.parametrize("forks", [True, False])
@pytest.mark.parametrize("damage", ["cut", "garbage", "another format", "body", "lines"])
def test_a_damaged_copy_is_made_anew(damage: str, forks: bool, tmp_path: Path) -> None:
    pages = Pages(place=tmp_path / "triples")
    assert pages.place is not None
    way = ("pyoxigraph", forks)
    kept(way, pages)
    whole, head = pages.place.read_bytes(), head_of(pages.mark, pages.signatures)
    match damage:
        case "cut":
            pages.place.write_bytes(whole[: len(whole) // 3])
        case "garbage":
            pages.place.write_bytes(b"\0" * 400)
        case "another format":
            pages.place.write_bytes(whole.replace(b"triples 2", b"triples 1"))
        case "body":
            pages.place.write_bytes(whole[:-40] + bytes(byte ^ 255 for byte in whole[-40:]))
        case "lines":
            assert write_copy(pages.place, head, body_of({}, b"<a> <b"))
    pages.asked.clear()
    with store_of(*way[:1], forks=forks) as store:
        assert len(cells(store.query(TITLES, pages, limit=9))) == len(LINKS)
        assert len(pages.asked) == len(LINKS) + 1
    kept(way, pages)


def test_what_a_body_is_made_of_comes_back() -> None:
    parts = {"a": b"<x:1> <x:2> <x:3> .\n", "b": b""}
    assert body_parts(body_of(parts, b"lines")) == (parts, b"lines", None)
    with pytest.raises(ValueError, match="no body"):
        body_parts(b"nothing")


SECTION = b"<urn:wikimcp:section:a:0>"


def test_what_is_said_of_sections_stands_apart_with_all_its_predicates_and_classes() -> None:
    page = b'<urn:wikimcp:page:a> <x:title> "<urn:wikimcp:section:a:0> <x:no> <x:1> ." .\n'
    typed = SECTION + f" <{RDF}type> <x:Section> .\n".encode()
    level = SECTION + b' <x:level> "1" .\n'
    kept, lines, waiting = body_parts(body_of({}, b"".join((typed, page, level))))
    assert (kept, lines) == ({}, page)
    assert waiting is not None
    assert sorted(waiting.lines().splitlines(keepends=True)) == sorted((level, typed))
    assert waiting.reach == {("x:level", ""), (f"{RDF}type", "x:Section")}


@pytest.mark.parametrize("way", WAYS[::2], ids=way_name)
def test_what_a_copy_loads_later_is_missing_in_no_answer(way: Way, tmp_path: Path) -> None:
    """Each query is the first of a worker that has loaded a copy."""
    pages = Pages(place=tmp_path / "triples")
    kept(way, pages)
    with store_of(way[0]) as other:
        for text in TOUCHING_SECTIONS:
            with store_of(way[0], forks=way[1]) as store:
                found = store.query(text, pages, limit=1_000)
                assert found == other.query(text, Pages(), limit=1_000), text
                assert found.rows or found.truth or found.turtle


TOUCHING_SECTIONS = (
    EVERYTHING,
    "SELECT ?h { ?s wm:heading ?h }",
    "SELECT (COUNT(*) AS ?n) { ?s dcterms:isPartOf <urn:wikimcp:page:Mill> }",
    "SELECT ?x ?y { ?x wm:linksTo* ?y }",
    "SELECT ?x ?y { ?x wm:linksTo? ?y }",
    "SELECT ?x { ?x !wm:linksTo ?y }",
    "SELECT ?x { ?x (wm:title|^dcterms:isPartOf)/wm:heading ?h }".replace("wm:title", "dcterms:title"),
    "ASK { <urn:wikimcp:section:Mill:0> ?p ?o }",
    "SELECT ?p { ?p a wm:Page FILTER EXISTS { ?s dcterms:isPartOf ?p } }",
    "SELECT ?p { ?p a wm:Page MINUS { ?p a wm:Hub } OPTIONAL { { SELECT ?s ?p { ?s ?of ?p } } } }",
    "CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }",
    "DESCRIBE <urn:wikimcp:section:Mill:0>",
    "SELECT ?p ?x { ?p a wm:Page BIND(EXISTS { OPTIONAL { ?p a ?k } { ?s ^dcterms:isPartOf/a ?q } } AS ?x) }",
    "SELECT ?p { ?p a wm:Page FILTER(1 = 2 || EXISTS { { { ?p a ?k . ?s wm:heading ?h } UNION {} } }) }",
    "SELECT ?p { ?p a wm:Page FILTER EXISTS { { SELECT ?p { ?s wm:heading ?h ; ?q ?p } } } }",
    "SELECT ?s { ?s wm:heading+ ?h }",
    "SELECT ?t { ?s a ?t }",
)


@pytest.mark.parametrize(
    "modifier",
    [
        "} ORDER BY (EXISTS { ?s dcterms:isPartOf|wm:linksTo ?p })",
        "} ORDER BY (EXISTS { ?s dcterms:isPartOf ?p })",
        "} GROUP BY ?p HAVING (EXISTS { ?s dcterms:isPartOf ?p })",
    ],
)
def test_patterns_within_modifiers_count_too(modifier: str) -> None:
    plan = plan_query(
        f"SELECT ?p {{ ?p a wm:Page {modifier}", parse, has_term=lambda _: True, terms=frozenset
    )
    assert plan.reach is None or (f"{DCTERMS}isPartOf", "") in plan.reach


@pytest.mark.parametrize(
    "text",
    [
        TITLES,
        "ASK { ?s a wm:Page }",
        "SELECT ?p { ?p a wm:Page FILTER NOT EXISTS { ?q wm:linksTo+ ?p } }",
        "SELECT (COUNT(*) AS ?n) { ?p wm:linksTo/dcterms:title ?t }",
    ],
)
def test_what_touches_no_section_is_answered_before_they_are_loaded(text: str, tmp_path: Path) -> None:
    pages = Pages(place=tmp_path / "triples")
    kept(WAYS[0], pages)
    assert pages.place is not None
    copy = read_copy(pages.place)
    assert copy is not None
    _, lines, waiting = body_parts(copy.body)
    data = DataSet(PyoxigraphEngine())
    assert data.change(frames.LOAD, copy.body) and not data.settled
    request = {"text": text, "limit": 9, "most_bytes": 10_000}
    before = answer_of(data, request, parse)
    assert "error" not in before and b"section:" not in lines and waiting is not None
    assert answer_of(data, {**request, "text": EVERYTHING}, parse) == {"error": "not_loaded"}
    data.settle()
    data.plans.clear()
    assert answer_of(data, request, parse) == before
    assert len(answer_of(data, {**request, "text": EVERYTHING, "limit": 900}, parse)["rows"]) > 50


def test_a_disk_that_refuses_and_a_writer_that_is_at_it_are_no_trouble(tmp_path: Path) -> None:
    assert not write_copy(tmp_path / "nowhere" / "triples", b"", b"")
    (tmp_path / "triples.new").touch()
    assert not write_copy(tmp_path / "triples", head_of("m", {}), body_of({}, b""))
    assert not (tmp_path / "triples").exists()
    (tmp_path / "triples.new").unlink()
    assert write_copy(tmp_path / "triples", head_of("m", {"k": "v"}), body_of({}, b""))
    found = read_copy(tmp_path / "triples")
    assert found is not None and (found.mark, found.signatures) == ("m", {"k": "v"})
    with store_of() as store:
        assert len(store.query(TITLES, Pages(place=tmp_path / "no" / "triples"), limit=9).rows) == len(LINKS)


def test_a_store_is_made_ready_only_where_somebody_asked_before(tmp_path: Path) -> None:
    pages = Pages(place=tmp_path / "triples")
    with store_of() as store:
        assert not store.prepare(pages) and store.worker_pid is None
    kept(("pyoxigraph", True), pages)
    pages.asked.clear()
    with store_of() as store:
        assert store.prepare(pages) and store.worker_pid is not None
        assert len(store.query(TITLES, pages, limit=9).rows) == len(LINKS)
        assert pages.asked == [] and not store.prepare(pages)


def test_a_copy_of_what_is_quite_another_wiki_by_now_is_not_taken_apart(tmp_path: Path) -> None:
    pages = Pages(place=tmp_path / "triples")
    kept(("pyoxigraph", True), pages)
    pages.asked.clear()
    for slug in list(LINKS)[:4]:
        pages.titles[slug] = f"New {slug}"
    with store_of() as store, store_of() as other:
        found = store.query(EVERYTHING, pages, limit=1_000)
        assert len(pages.asked) == len(LINKS) + 1, "all of it is sent"
        assert found.rows == other.query(EVERYTHING, Pages(titles=pages.titles), limit=1_000).rows
    kept(("pyoxigraph", True), pages)
