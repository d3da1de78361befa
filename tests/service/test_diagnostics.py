"""Every file that is skipped, partial, odd or withheld is told with its path, reason and line."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vaults.dialects import Served, put, served
from wikimcp.cli import main
from wikimcp.models import Caller

OPERATOR = Caller(operator=True)
FILES = {
    "home.md": "# Home\n\n[[nowhere]] [[twin]] [[plan#Gone]] [[plan#The goal]] [[plan#^no]] [[plan#^yes]] [[secret]]\n",
    "plan.md": "# Plan\n\n## The goal\n\nReach it. ^yes\n",
    "a/twin.md": "one\n",
    "b/twin.md": "two\n",
    "one.md": "---\nid: SAME\n---\nfirst\n",
    "two.md": "---\nid: SAME\n---\nsecond\n",
    "broken.md": "---\ntitle: Retro: week\n---\nwords\n",
    "note.sync-conflict-20310203.md": "the other side\n",
    "large.md": "# Large\n\n" + "many words in a row\n\n" * 60_000,
    "secret.md": "---\ndraft: true\n---\nMarkerword\n",
    "keys.md": "GH-42 [[GH-42]] %% [[commented]] %% `[[code]]`\n",
}


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a vault that has one of each."""
    vault = put(tmp_path_factory.mktemp("odd") / "v", FILES)
    (vault / "legacy.md").write_bytes("Café crème à la carte\n".encode("cp1252"))
    (vault / "image.md").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    os.symlink("plan.md", vault / "other.md")
    os.symlink("missing.md", vault / "dangling.md")
    with served(vault, file_cap_bytes=2**20) as found:
        yield found


def codes(wiki: Served, slug: str) -> list[tuple[str, int | None]]:
    return [(row["code"], row.get("line")) for row in wiki.call("get_page", slug=slug)["diagnostics"]]


def test_an_anchor_as_a_link_writes_it_names_its_heading_everywhere(tmp_path: Path) -> None:
    setup = "# Setup\n\n## Before you start\n\nfirst\n\n## Install\n\nlinux\n\n## Install\n\nmac\n"
    links = "[a](setup.md#before-you-start) [b](setup.md#install) [c](setup.md#install-1) [d](setup.md#install-2)\n"
    with served(put(tmp_path / "v", {"setup.md": setup, "home.md": links})) as wiki:
        odd = wiki.call("get_page", slug="home")["diagnostics"]
        assert [row["message"] for row in odd] == ["'setup.md#install-2': setup has no such heading"]
        (edge,) = [row for row in wiki.service.graph(OPERATOR)["edges"] if row["relation"] == "links_to"]
        assert edge["metadata"]["missing_heading"] == "install-2"
        for anchor, line in (("before-you-start", 3), ("#install-1", 11)):
            (page,) = wiki.call("read_pages", slugs=["setup"], heading=anchor)["pages"]
            assert page["citation"]["lines"][0] == line


def test_an_anchor_may_leave_punctuation_out_as_code_hosts_do_or_put_a_dash(tmp_path: Path) -> None:
    setup = "# A\n\n## What's new? (v2.0)\n\n## foo.bar\n\n## foo/bar\n\n## Q & A\n\n## R&D -- do_it\n"
    there = "whats-new-v20 what-s-new-v2-0 foobar foobar-1 foo-bar-1 q--a rd----do_it top L3-L9 :~:text=new"
    links = " ".join(f"[x](setup.md#{name})" for name in [*there.split(), "foobar-2", "whatsnew"])
    with served(put(tmp_path / "v", {"setup.md": setup, "home.md": links})) as wiki:
        odd = [row["message"] for row in wiki.call("get_page", slug="home")["diagnostics"]]
        assert odd == [f"'setup.md#{name}': setup has no such heading" for name in ("foobar-2", "whatsnew")]
        (edge,) = [row for row in wiki.service.graph(OPERATOR)["edges"] if row["relation"] == "links_to"]
        assert edge["metadata"]["missing_heading"] == ["foobar-2", "whatsnew"]
        for anchor, line in (("whats-new-v20", 3), ("#foobar", 5), ("foobar-1", 7), ("#rd----do_it", 11)):
            (page,) = wiki.call("read_pages", slugs=["setup"], heading=anchor)["pages"]
            assert page["citation"]["lines"][0] == line


def test_a_page_tells_its_odd_links_with_their_lines(wiki: Served) -> None:
    assert codes(wiki, "home") == [
        ("unresolved_link", 3),
        ("ambiguous_link", 3),
        ("missing_heading", 3),
        ("missing_block", 3),
        ("unresolved_link", 3),
    ]
    rows = wiki.call("get_page", slug="home")["diagnostics"]
    assert "'twin' may be any of a/twin, b/twin; a/twin is taken" in [row["message"] for row in rows]
    assert codes(wiki, "keys") == []


def test_a_link_to_a_withheld_page_is_told_as_one_to_no_page(wiki: Served) -> None:
    rows = wiki.call("get_page", slug="home")["diagnostics"]
    told = {row["message"].replace("secret", "nowhere") for row in rows if row["code"] == "unresolved_link"}
    assert told == {"'nowhere' leads to no page"}


def test_pages_tell_what_is_odd_about_their_files(wiki: Served) -> None:
    assert codes(wiki, "broken") == [("frontmatter_invalid", 2)]
    assert codes(wiki, "one") == codes(wiki, "two") == [("duplicate_id", None)]
    assert codes(wiki, "legacy") == [("legacy_encoding", None)]
    assert codes(wiki, "large") == [("file_too_large", None)]
    assert codes(wiki, "note.sync-conflict-20310203") == [("conflict_copy", None)]


def test_the_operator_sees_every_file_with_its_reason(wiki: Served) -> None:
    status = wiki.service.status(OPERATOR)
    assert {row["path"]: row["code"] for row in status["skipped"]} == {
        "image.md": "binary",
        "other.md": "link_served_once",
        "dangling.md": "link_broken",
    }
    assert status["withheld"] == [{"path": "secret.md", "reason": "draft: true"}]
    assert {(row["path"], row["code"]) for row in status["diagnostics"]} == {
        ("broken.md", "frontmatter_invalid"),
        ("one.md", "duplicate_id"),
        ("two.md", "duplicate_id"),
        ("legacy.md", "legacy_encoding"),
        ("large.md", "file_too_large"),
        ("note.sync-conflict-20310203.md", "conflict_copy"),
    }
    links = status["links"]
    assert {code: (row["count"], row["pages"]) for code, row in links.items()} == {
        "ambiguous_link": (1, 1),
        "missing_block": (1, 1),
        "missing_heading": (1, 1),
        "unresolved_link": (2, 1),
    }
    assert links["missing_heading"]["examples"] == [{"path": "home.md", "line": 3, "target": "plan#Gone"}]
    json.dumps(status, allow_nan=False)


def test_others_see_counts_only(wiki: Served) -> None:
    status = wiki.service.status(Caller())
    assert not {"skipped", "withheld", "diagnostics", "links"} & set(status)
    assert "secret" not in json.dumps(status)


def test_the_tables_and_the_json_of_the_command_line_tell_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    vault = put(tmp_path / "v", {"a.md": "[[no]]\n" * 40, "b.md": "---\na: b: c\n---\n"})
    words = ["--vault", str(vault), "--state-dir", str(tmp_path / "s"), "--embedder", "none"]
    assert main(["status", "--json", *words]) == 0
    links = json.loads(capsys.readouterr().out)["links"]
    assert links["unresolved_link"]["count"] == 40
    assert len(links["unresolved_link"]["examples"]) == 10
    assert main(["status", *words]) == 0
    shown = capsys.readouterr().out
    assert "links.unresolved_link.examples" in shown
    assert "frontmatter_invalid" in shown
    main(["doctor", *words])
    checks = capsys.readouterr().out
    assert "40 links on 1 pages lead to no page, as a.md:1 no" in checks
    assert "1 frontmatter_invalid" in checks
    assert main(["page", "a", "--json", *words]) == 0
    rows = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [row["code"] for row in rows] == ["unresolved_link"] * 20 + ["more_odd_links"]
    assert rows[-1]["message"] == "20 more links are odd"
