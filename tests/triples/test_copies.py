"""A data set as a file: another start goes on from it, and a damaged one is no hindrance."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.index.live_wiki import until
from tests.triples.small_store import LINKS, WAYS, Pages, cells, store_of, way_name
from wikimcp.triples.copies import body_of, body_parts, head_of, read_copy, write_copy

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
            pages.place.write_bytes(whole.replace(b"triples 1", b"triples 0"))
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
    assert body_parts(body_of(parts, b"lines")) == (parts, b"lines")
    with pytest.raises(ValueError, match="no body"):
        body_parts(b"nothing")


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
