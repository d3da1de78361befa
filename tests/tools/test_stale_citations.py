"""list_stale_citations over a live vault: what is cited in pages, pinned at first sight, and checked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.index.live_wiki import LiveWiki
from wikimcp.errors import BadArgument, NotFound
from wikimcp.markdown.tokens import span_sha256
from wikimcp.models import Caller

PUMP = "---\nid: 01PUMP\n---\n# Pump\n\nThe pump runs at night.\n\n## Valves\n\nThe valve closes at 40 C.\n"
NOTE = (
    "# Note\n\n"
    'We know [when](cite://01PUMP/Pump/Valves "closes at 40 C"), and [how](cite://01PUMP/Pump?v=7).\n\n'
    '`[no](cite://01PUMP "not in code")` <!-- [no](cite://01PUMP "nor in comments") -->\n\n'
    "```\n[no](cite://01PUMP)\n```\n"
)


@pytest.fixture
def wiki(tmp_path: Path) -> Iterator[LiveWiki]:
    made = LiveWiki(tmp_path, watch=False)
    made.write("pump.md", PUMP)
    made.write("note.md", NOTE)
    yield made
    made.stop()


def stale(wiki: LiveWiki, **asked: Any) -> list[tuple[str, str, str]]:
    rows = wiki.call("list_stale_citations", **asked)["citations"]
    return [(row["source"], row["cited"].removeprefix("cite://01PUMP"), row["status"]) for row in rows]


def verify(wiki: LiveWiki, *texts: str, **asked: Any) -> list[dict[str, Any]]:
    rows = wiki.call("list_stale_citations", verify=list(texts), **asked)["verified"]
    assert isinstance(rows, list)
    return rows


def test_citations_are_read_from_text_and_not_from_code_or_comments(wiki: LiveWiki) -> None:
    answer = wiki.call("list_stale_citations")
    assert (answer["checked"], answer["counts"], answer["citations"]) == (2, {"current": 2}, [])


def test_an_edit_makes_stale_what_it_touched_and_nothing_else(wiki: LiveWiki) -> None:
    wiki.call("list_stale_citations")
    wiki.write("pump.md", PUMP.replace("40 C", "45 C"))
    [row] = wiki.call("list_stale_citations")["citations"]
    assert (row["source"], row["line"], row["status"], row["reason"]) == ("note", 3, "stale", "no such span")
    assert (row["target"], row["headingPath"], row["span"]) == ("pump", ["Pump", "Valves"], "closes at 40 C")
    assert (row["claim"], row["pinnedVersion"], row["currentVersion"]) == ("when", 1, 2)
    assert "closes at 45" in row["nearest"]["text"] and row["nearest"]["similarity"] > 0.8
    assert "movedTo" not in row


def test_a_page_that_was_cited_whole_has_no_nearest_passage(wiki: LiveWiki) -> None:
    """Its introduction, which is its own text, is not what was cited; of a section without others it is."""
    text = PUMP.partition("---\n# ")[2]
    whole = span_sha256(f"# {text}")[:16]
    valves = span_sha256(text[text.index("## Valves") :])[:16]
    cited = [f"cite://01PUMP/Pump?h={whole}", f"cite://01PUMP/Pump/Valves?h={valves}"]
    assert [row["status"] for row in verify(wiki, *cited)] == ["current", "current"]
    wiki.write("pump.md", PUMP.replace("40 C", "45 C"))
    page, section = verify(wiki, *cited)
    assert (page["status"], section["status"]) == ("stale", "stale")
    assert "nearest" not in page and "closes at 45 C" in section["nearest"]["text"]


def test_a_moved_span_and_a_moved_page_are_told_with_their_new_place(wiki: LiveWiki) -> None:
    wiki.write("pump.md", PUMP.replace("## Valves", "## Lids"))
    [row] = wiki.call("list_stale_citations")["citations"]
    assert (row["status"], row["movedTo"]["headingPath"]) == ("moved", ["Pump", "Lids"])
    assert row["movedTo"]["lines"] == [10, 10]
    assert verify(wiki, row["movedTo"]["uri"])[0]["status"] == "current"
    wiki.write("pump.md", PUMP.replace("id: 01PUMP", "title: Pump"))
    assert [row[2] for row in stale(wiki)] == ["moved", "moved"]


def test_filters_choose_by_page_direction_and_verdict(wiki: LiveWiki) -> None:
    wiki.write("other.md", "# Other\n\n[x](cite://01PUMP/Gone) and [y](cite://NONE).\n")
    every = [("other", "/Gone", "stale"), ("other", "cite://NONE", "target_missing")]
    assert (
        stale(wiki) == stale(wiki, page="other") == stale(wiki, page="other", direction="outbound") == every
    )
    assert stale(wiki, page="pump", direction="inbound") == every[:1]
    assert stale(wiki, page="pump", direction="outbound") == []
    assert stale(wiki, status="target_missing") == every[1:]
    assert stale(wiki, page="note") == []
    first = wiki.call("list_stale_citations", limit=1)
    assert first["total"] == 2 and first["returned"] == 1
    rest = wiki.call("list_stale_citations", limit=1, cursor=first["nextCursor"])
    assert [rows["citations"][0]["target"] for rows in (first, rest)] == ["pump", "NONE"]
    with pytest.raises(NotFound):
        wiki.call("list_stale_citations", page="none")
    with pytest.raises(BadArgument):
        wiki.call("list_stale_citations", cursor="x")


def test_the_version_at_first_sight_stays_pinned(wiki: LiveWiki) -> None:
    wiki.call("list_stale_citations")
    for degrees in (41, 42):
        wiki.write("pump.md", PUMP.replace("40", str(degrees)))
        wiki.call("list_pages")
    wiki.write("late.md", "# Late\n\n[x](cite://01PUMP/Pump/Valves 'closes at 40 C')\n")
    pinned = {"note": 1, "late": 3}
    assert {
        row["source"]: row["pinnedVersion"] for row in wiki.call("list_stale_citations")["citations"]
    } == pinned
    wiki.service.rebuild()
    (wiki.vault / "note.md").rename(wiki.vault / "moved.md")
    wiki.call("list_stale_citations")
    wiki.stop()
    wiki.write("moved.md", "A new first line.\n\n" + NOTE)
    pinned = {"moved": 1, "late": 3}
    assert {
        row["source"]: row["pinnedVersion"] for row in wiki.call("list_stale_citations")["citations"]
    } == pinned


def test_a_citation_of_a_page_that_comes_later_is_pinned_then(wiki: LiveWiki) -> None:
    wiki.write("early.md", "# Early\n\n[x](cite://01LATER 'soon')\n")
    [row] = wiki.call("list_stale_citations")["citations"]
    assert row["status"] == "target_missing" and "pinnedVersion" not in row
    wiki.write("later.md", "---\nid: 01LATER\n---\nIt comes soon.\n")
    assert stale(wiki) == []
    wiki.write("later.md", "---\nid: 01LATER\n---\nIt is here.\n")
    [row] = wiki.call("list_stale_citations")["citations"]
    assert (row["status"], row["pinnedVersion"], row["currentVersion"]) == ("stale", 1, 2)


def test_what_is_no_citation_or_of_nothing_gets_a_verdict_too(wiki: LiveWiki) -> None:
    given = ["nonsense", "cite://NONE/A", "cite://01PUMP?h=12", "none @ 1", "{", '{"uri": 3}', "file:../x#L1"]
    assert {row["status"] for row in verify(wiki, *given)} == {"target_missing"}
    assert "citation uri" in verify(wiki, "nonsense")[0]["reason"]
    with pytest.raises(BadArgument, match="50"):
        verify(wiki, *(f"pump @ {number}" for number in range(1, 52)))


def test_handles_objects_and_links_are_verified_as_given(wiki: LiveWiki) -> None:
    [page] = wiki.call("read_pages", slugs=["pump"], heading="Valves")["pages"]
    cited = page["citation"]
    link = '[when](cite://01PUMP/Pump/Valves "closes at 40 C")'
    given = [cited["uri"], cited["handle"], json.dumps(cited), link, "pump @ 1, lines 8-10", "pump @ 1 L3"]
    assert [row["status"] for row in verify(wiki, *given)] == ["current"] * len(given)
    wrong = [
        "pump @ 2",
        "pump @ 1 lines 8-99",
        json.dumps({**cited, "lines": [90, 99]}),
        json.dumps({**cited, "spanSha256": "0" * 64}),
        json.dumps({**cited, "uri": cited["uri"].partition("?")[0], "spanSha256": "0" * 64}),
        link.replace("40 C", "50 C"),
    ]
    rows = verify(wiki, *wrong)
    assert "current" not in {row["status"] for row in rows}
    assert all("movedTo" not in row for row in rows)
    assert [row["reason"].partition(":")[0] for row in rows[:3]] == ["no such version"] + ["no such span"] * 2


def test_a_handle_follows_a_renamed_page_and_outlives_new_versions(wiki: LiveWiki) -> None:
    handle = wiki.call("read_pages", slugs=["pump"])["pages"][0]["citation"]["handle"]
    wiki.write("pump.md", PUMP + "\nMore.\n")
    assert verify(wiki, handle)[0]["status"] == "current"
    (wiki.vault / "pump.md").rename(wiki.vault / "engine.md")
    [row] = verify(wiki, handle)
    assert (row["status"], row["target"], row["movedTo"]["slug"]) == ("moved", "engine", "engine")
    (wiki.vault / "engine.md").unlink()
    assert verify(wiki, handle)[0]["status"] == "target_missing"


def test_footnotes_keyed_to_sources_are_citations(wiki: LiveWiki) -> None:
    wiki.write(
        "foot.md",
        "---\nsources:\n  - id: s1\n    page: '[[pump]]'\n    quote: runs at night\n"
        "  - id: s2\n    url: cite://01PUMP/Pump/Gone\n  - id: s3\n    url: https://example.org\n---\n"
        "# Foot\n\nIt is loud. The pump runs at night[^s1]. So it is[^s2][^s3] and[^other].\n\n"
        "[^s1]: See there.\n[^other]: No source.\n",
    )
    answer = wiki.call("list_stale_citations", page="foot")
    assert answer["counts"] == {"current": 1, "stale": 1}
    assert "1 citations of what lies outside of the vault were not checked" in answer["notes"]
    [row] = answer["citations"]
    assert (row["cited"], row["claim"], row["line"]) == ("cite://01PUMP/Pump/Gone", "So it is", 13)
    wiki.write("pump.md", PUMP.replace("night", "noon"))
    rows = wiki.call("list_stale_citations", page="foot")["citations"]
    assert [(row["status"], row["claim"]) for row in rows] == [
        ("stale", "The pump runs at night"),
        ("stale", "So it is"),
    ]


def test_source_anchors_are_checked_below_the_source_roots_alone(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False, **{"citations.source_roots": ["../src", "."]})
    source = tmp_path / "src" / "app.py"
    source.parent.mkdir()
    source.write_text("one\ntwo\nthree\nfour\n")
    wiki.write("secret.md", "---\ndraft: true\n---\nkestrel\n")
    wiki.write(
        "code.md", "# Code\n\n[two](file:app.py#L2-L3) [q](file:app.py#L1 'one') [s](file:secret.md#L4)\n"
    )
    try:
        [row] = wiki.call("list_stale_citations")["citations"]
        assert (row["status"], row["reason"], row["target"]) == (
            "target_missing",
            "file missing",
            "secret.md",
        )
        source.write_text("zero\none\ntwo\nthree\nfour\n")
        rows = wiki.call("list_stale_citations", status="moved")["citations"]
        assert [(row["movedTo"]["lines"], row["movedTo"]["uri"]) for row in rows] == [
            ([3, 4], "file:app.py#L3-L4"),
            ([2, 2], "file:app.py#L2"),
        ]
        source.write_text("zero\none\ntwo\n3\nfour\n")
        assert [row["reason"] for row in wiki.call("list_stale_citations", status="stale")["citations"]] == [
            "changed"
        ]
        told = json.dumps(wiki.call("list_stale_citations"))
        assert str(tmp_path) not in told and "kestrel" not in told
        source.unlink()
        assert len(wiki.call("list_stale_citations", status="target_missing")["citations"]) == 3
    finally:
        wiki.stop()


def test_without_source_roots_an_anchor_says_so(wiki: LiveWiki) -> None:
    wiki.write("code.md", "# Code\n\n[two](file:note.txt#L2)\n")
    assert (
        wiki.call("list_stale_citations")["citations"][0]["reason"] == "file missing: no source roots are set"
    )


def test_a_withheld_page_is_a_missing_one_from_and_to(wiki: LiveWiki) -> None:
    secret = "---\nid: 01SECRET\ndraft: true\n---\n# Secret\n\nKestrel. [x](cite://01PUMP/Gone)\n"
    wiki.write("secret.md", secret)
    wiki.write(
        "to.md", "# To\n\n[x](cite://01SECRET/Secret 'Kestrel') [x](cite://01NOBODY/Secret 'Kestrel')\n"
    )
    answer = wiki.call("list_stale_citations")
    hidden, nobody = answer["citations"]
    assert answer["checked"] == 4 and answer["counts"] == {"current": 2, "target_missing": 2}
    assert {**hidden, "cited": "", "target": ""} == {**nobody, "cited": "", "target": ""}
    digest = span_sha256("# Secret\n\nKestrel. [x](cite://01PUMP/Gone)")[:16]
    rows = verify(
        wiki, "secret @ 1", "nobody @ 1", f"cite://01SECRET/Secret?v=1&h={digest}", include_drafts=True
    )
    assert [(row["status"], row["reason"]) for row in rows] == [("target_missing", "no such page")] * 3
    wiki.write("secret.md", secret.replace("draft: true", "draft: false"))
    assert [row[0] for row in stale(wiki)] == ["secret", "to"]
    wiki.write("secret.md", secret.replace("draft: true", "visibility: board"))
    board = Caller(labels=frozenset({"board"}))
    assert wiki.call("list_stale_citations", board)["counts"] == {
        "current": 3,
        "stale": 1,
        "target_missing": 1,
    }
    assert wiki.call("list_stale_citations")["counts"] == {"current": 2, "target_missing": 2}


def test_both_channels_tell_the_same(wiki: LiveWiki) -> None:
    wiki.write("pump.md", PUMP.replace("40 C", "45 C"))
    answer = wiki.service.call("list_stale_citations", {"verify": ["pump @ 9"], "page": "note"}, Caller())
    assert answer.structured is not None
    for row in (*answer.structured["citations"], *answer.structured["verified"]):
        for fact in (row["status"], row["reason"], row["target"]):
            assert fact in answer.text
    assert "closes at 45" in answer.text
