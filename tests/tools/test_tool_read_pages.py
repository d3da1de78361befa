"""read_pages: exact text, sections, outlines, fair shares, errors in their place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.tools.small_wiki import SmallWiki
from wikimcp.errors import BadArgument
from wikimcp.index.stale import Stale
from wikimcp.markdown.tokens import count_tokens, span_sha256
from wikimcp.tools.rendering import boundary, compact_json

BACKUP = (
    "---\ntitle: Backup\n---\nIntro.\n\n# Backup\n\nHow we do it.\n\n## Nightly\n\nAt two.\n\n"
    "### Notes\n\nOne.\n\n## Restore\n\nRun it.\n\n### Notes\n\nTwo.\n\n## Restore\n\nAgain.\n"
)


@pytest.fixture
def wiki(tmp_path: Path) -> SmallWiki:
    wiki = SmallWiki(tmp_path)
    wiki.add("ops/backup.md", BACKUP, aliases=("bk",), version=3)
    wiki.add("ops/empty.md", "")
    wiki.add("x/plan.md", "X\n", title="Plan")
    wiki.add("y/plan.md", "Y\n", title="Plan")
    return wiki


def read(wiki: SmallWiki, *slugs: str, **arguments: object) -> list[dict[str, Any]]:
    pages: list[dict[str, Any]] = wiki.data("read_pages", slugs=list(slugs), **arguments)["pages"]
    return pages


def read_all(wiki: SmallWiki, slug: str, **arguments: object) -> list[dict[str, Any]]:
    """Follow the cursor of one page to its end."""
    parts = read(wiki, slug, **arguments)
    while cursor := parts[-1].get("nextCursor"):
        assert parts[-1]["truncated"] is True
        parts += read(wiki, slug, **{**arguments, "cursor": cursor})
    assert parts[-1]["truncated"] is False
    return parts


def test_a_page_is_its_file_exactly_with_its_citation(wiki: SmallWiki) -> None:
    [page] = read(wiki, "ops/backup")
    record = wiki.records["ops/backup.md"]
    assert page["content"] == BACKUP
    assert (page["slug"], page["title"], page["version"]) == ("ops/backup", "Backup", 3)
    assert (page["contentHash"], page["canonicalId"]) == (record.content_hash, record.canonical_id)
    assert page["truncated"] is False
    assert page["citation"] == {
        "handle": "ops/backup @ 3",
        "uri": f"cite://{record.canonical_id}?v=3&h={span_sha256(BACKUP)[:16]}",
        "slug": "ops/backup",
        "version": 3,
        "canonicalId": record.canonical_id,
        "headingPath": [],
        "lines": [1, BACKUP.count("\n")],
        "spanSha256": span_sha256(BACKUP),
    }


def test_an_empty_page_is_read_too(wiki: SmallWiki) -> None:
    [page] = read(wiki, "ops/empty")
    assert (page["content"], page["truncated"]) == ("", False)


def test_pages_keep_their_order_and_come_once_under_any_of_their_names(wiki: SmallWiki) -> None:
    pages = read(wiki, "bk", "x/plan", "ops/backup.md", "BACKUP", "x/plan.md")
    assert [page["slug"] for page in pages] == ["ops/backup", "x/plan"]


def test_missing_and_ambiguous_names_are_errors_in_their_place(wiki: SmallWiki) -> None:
    missing, good, double = read(wiki, "bakup", "x/plan", "Plan")
    assert missing["slug"] == "bakup"
    assert missing["error"].startswith("not_found: ")
    assert set(missing) == {"slug", "error"}
    assert good["content"] == "X\n"
    assert double["error"].startswith("ambiguous: ")
    assert "x/plan" in double["error"]
    assert "y/plan" in double["error"]


def test_a_withheld_page_is_missing_in_the_same_words(wiki: SmallWiki) -> None:
    before = read(wiki, "merger")
    wiki.add("merger.md", "# Merger\n", withheld="draft: true")
    assert read(wiki, "merger") == before


@pytest.mark.parametrize(
    "name",
    ["../outside.md", "a/../../outside.md", "..\\outside.md", "%2e%2e%2foutside.md", "%252e%252e/outside.md"]
    + ["/etc/passwd", "C:\\outside.md", "\\\\host\\share\\x.md", "n.md\x00.txt", "file:///etc/passwd"],
)
def test_a_name_that_leaves_the_vault_is_just_not_found(wiki: SmallWiki, name: str) -> None:
    (wiki.root.parent / "outside.md").write_text("secret")
    [page] = read(wiki, name)
    assert page["error"].startswith("not_found: no page named ")
    assert "secret" not in page["error"]
    assert str(wiki.root) not in page["error"]


def test_a_file_that_changed_since_it_was_indexed_is_for_the_service_to_refresh(wiki: SmallWiki) -> None:
    (wiki.root / "ops/backup.md").write_text("changed")
    with pytest.raises(Stale):
        read(wiki, "ops/backup")
    (wiki.root / "ops/backup.md").unlink()
    with pytest.raises(Stale):
        read(wiki, "ops/backup")


# Sections


@pytest.mark.parametrize(
    ("heading", "content"),
    [
        ("Nightly", "## Nightly\n\nAt two.\n\n### Notes\n\nOne.\n\n"),
        ("nightly", "## Nightly\n\nAt two.\n\n### Notes\n\nOne.\n\n"),
        ("## Nightly", "## Nightly\n\nAt two.\n\n### Notes\n\nOne.\n\n"),
        ("Nightly > Notes", "### Notes\n\nOne.\n\n"),
        ("Nightly#Notes", "### Notes\n\nOne.\n\n"),
        ("Backup/Nightly/Notes", "### Notes\n\nOne.\n\n"),
        ("Restore > Notes", "### Notes\n\nTwo.\n\n"),
        ("Restore (2)", "## Restore\n\nAgain.\n"),
        ("Backup > Restore [2]", "## Restore\n\nAgain.\n"),
        ("Restore (1)", "## Restore\n\nRun it.\n\n### Notes\n\nTwo.\n\n"),
        ("Backup", BACKUP[BACKUP.index("# Backup") :]),
        ("  ", BACKUP),
    ],
)
def test_a_heading_gives_its_whole_section(wiki: SmallWiki, heading: str, content: str) -> None:
    [page] = read(wiki, "ops/backup", heading=heading)
    assert page["content"] == content
    first = BACKUP[: BACKUP.rindex(content)].count("\n") + 1
    assert page["citation"]["lines"] == [first, first + content.count("\n") - 1]
    assert page["citation"]["spanSha256"] == span_sha256(content)


def test_the_citation_of_a_section_names_its_path(wiki: SmallWiki) -> None:
    [page] = read(wiki, "ops/backup", heading="Nightly > Notes")
    assert page["citation"]["headingPath"] == ["Backup", "Nightly", "Notes"]
    assert "/Backup/Nightly/Notes?v=3&h=" in page["citation"]["uri"]


def test_an_unknown_heading_names_the_nearest(wiki: SmallWiki) -> None:
    [page] = read(wiki, "ops/backup", heading="Nigtly")
    assert page["error"] == "not_found: page ops/backup has no heading 'Nigtly'. Nearest: 'Nightly'."


def test_a_heading_near_none_points_to_the_outline(wiki: SmallWiki) -> None:
    [page] = read(wiki, "ops/backup", heading="日本")
    assert page["error"].endswith('format="outline" lists its headings.')


def test_a_heading_of_several_sections_lists_them(wiki: SmallWiki) -> None:
    [page] = read(wiki, "ops/backup", heading="Restore")
    assert page["error"].startswith("ambiguous: heading 'Restore' names 2 sections of page ops/backup: ")
    assert "'Backup > Restore' line 18; 'Backup > Restore (2)' line 26" in page["error"]


def test_a_heading_that_itself_holds_a_separator_is_found(wiki: SmallWiki) -> None:
    wiki.add("odd.md", "# A > B\n\none\n\n# On/Off\n\ntwo\n\n# C# notes\n\nthree\n\n# Part (2)\n\nfour\n")
    contents = [
        read(wiki, "odd", heading=name)[0]["content"] for name in ("A > B", "On/Off", "c# notes", "Part (2)")
    ]
    assert [content.split("\n\n")[1].strip() for content in contents] == ["one", "two", "three", "four"]


def test_a_top_heading_wins_over_a_deeper_one_of_the_same_name(wiki: SmallWiki) -> None:
    wiki.add("same.md", "# Notes\n\ntop\n\n# Plan\n\n## Notes\n\ndeep\n")
    assert read(wiki, "same", heading="Notes")[0]["content"] == "# Notes\n\ntop\n\n"
    assert read(wiki, "same", heading="Plan > Notes")[0]["content"] == "## Notes\n\ndeep\n"


def test_a_section_is_read_from_every_page_that_has_it(wiki: SmallWiki) -> None:
    good, bad = read(wiki, "ops/backup", "x/plan", heading="Nightly")
    assert good["content"].startswith("## Nightly")
    assert bad["slug"] == "x/plan"
    assert bad["error"].startswith("not_found: page x/plan has no heading 'Nightly'")


def test_a_long_section_is_given_part_by_part_with_its_size(wiki: SmallWiki) -> None:
    section = "## Long\n\n" + "".join(f"{number} {'word ' * 60}\n\n" for number in range(300))
    wiki.add("long.md", f"# Top\n\nbefore\n\n{section}## Next\n\nafter\n")
    parts = read_all(wiki, "long", heading="Long")
    assert len(parts) > 2
    assert "".join(part["content"] for part in parts) == section
    assert parts[0]["totalChars"] == len(section)
    assert all(part["citation"]["headingPath"] == ["Top", "Long"] for part in parts)


# Parts of long pages


LONG_PAGES = {
    "paragraphs": "# Long\n\n" + "".join(f"Paragraph {number}. {'word ' * 50}\n\n" for number in range(400)),
    "crlf": "\ufeff# Long\r\n\r\n" + "".join(f"Line {number}\r\n" for number in range(8_000)),
    "cr": "# Long\r" + "".join(f"Line {number}\r" for number in range(8_000)),
    "one line": "word " * 18_000,
    "no blank": "x" * 90_000,
    "cjk": "# 設定\n\n" + "".join(f"設定ファイルを直した{number}。\n\n" for number in range(3_000)),
    "quotes": '"\\"\n' * 15_000,
    "fences": "".join(f"Text {number}\n\n```py\n{'x = 1' * 300}\n```\n\n" for number in range(60)),
    "table": "| a | b |\n|---|---|\n" + "".join(f"| {number} | {'cell ' * 8} |\n" for number in range(2_000)),
    "combining": "a\u0301" * 30_000,
    "separators": "a\u2028b\x0cc\x85d " * 9_000,
}


@pytest.mark.parametrize("kind", LONG_PAGES)
def test_the_parts_of_a_page_join_to_the_file_exactly(wiki: SmallWiki, kind: str) -> None:
    text = LONG_PAGES[kind]
    wiki.add("long.md", text)
    parts = read_all(wiki, "long")
    assert len(parts) > 1
    assert "".join(part["content"] for part in parts) == text
    assert all(part["citation"]["spanSha256"] == span_sha256(part["content"]) for part in parts)
    assert {part["totalChars"] for part in parts[:-1]} == {len(text)}


@pytest.mark.parametrize("kind", ["paragraphs", "cjk", "crlf"])
def test_a_part_uses_the_room_it_has(wiki: SmallWiki, kind: str) -> None:
    wiki.add("long.md", LONG_PAGES[kind])
    for part in read_all(wiki, "long")[:-1]:
        assert count_tokens(compact_json(part["content"])) > 7_000


def test_the_text_channel_holds_the_same_parts(wiki: SmallWiki) -> None:
    text = LONG_PAGES["crlf"]
    wiki.add("long.md", text)
    read_so_far, cursor = "", ""
    while True:
        answer = wiki.ask("read_pages", slugs=["long"], cursor=cursor)
        assert answer.structured is not None
        page = answer.structured["pages"][0]
        token = boundary([page["content"]])
        read_so_far += answer.text.split(f"<vault-text {token}>\n")[1].split(f"\n</vault-text {token}>")[0]
        cursor = page.get("nextCursor", "")
        if not cursor:
            break
        assert f"nextCursor={cursor}" in answer.text
    assert read_so_far == text


def test_a_large_page_among_twenty_is_truncated_and_the_others_are_whole(wiki: SmallWiki) -> None:
    slugs = [f"n{number:02d}" for number in range(20)]
    for slug in slugs:
        wiki.add(f"{slug}.md", f"# {slug}\n\n{'word ' * 40}\n")
    wiki.add("n02.md", "# n02\n\n" + "".join(f"Line {number} {'word ' * 20}\n\n" for number in range(18_000)))
    assert (wiki.root / "n02.md").stat().st_size > 2_000_000
    pages = read(wiki, *slugs)
    assert [page["slug"] for page in pages] == slugs
    assert [page["slug"] for page in pages if page["truncated"]] == ["n02"]
    assert pages[2]["nextCursor"]
    assert pages[2]["content"]
    assert all(page["content"].endswith("word \n") for page in pages if page["slug"] != "n02")


def test_long_pages_share_the_room_fairly(wiki: SmallWiki) -> None:
    slugs = [f"n{number:02d}" for number in range(10)]
    for slug in slugs:
        wiki.add(f"{slug}.md", f"# {slug}\n\n" + "".join(f"Line {n} of the page\n" for n in range(2_000)))
    sizes = [count_tokens(compact_json(page["content"])) for page in read(wiki, *slugs)]
    assert len(sizes) == 10
    assert max(sizes) < 1.3 * min(sizes)
    assert sum(sizes) > 6_500


@pytest.mark.parametrize("cap", [700, 1_500, 4_000, 20_000])
def test_any_cap_is_obeyed_and_the_parts_still_join(wiki: SmallWiki, cap: int) -> None:
    text = LONG_PAGES["paragraphs"][:60_000]
    wiki.add("long.md", text)
    found, cursor = "", ""
    for _ in range(2_000):
        answer = wiki.ask("read_pages", slugs=["long"], cap=cap, cursor=cursor)
        assert answer.structured is not None
        page = answer.structured["pages"][0]
        found += page["content"]
        cursor = page.get("nextCursor", "")
        if not cursor:
            break
    assert found == text


def test_pages_that_do_not_fit_at_all_are_named(wiki: SmallWiki) -> None:
    slugs = [f"n{number:02d}" for number in range(20)]
    for slug in slugs:
        wiki.add(f"{slug}.md", f"# {slug}\n\n{'word ' * 400}\n")
    data = wiki.data("read_pages", slugs=slugs, cap=1_200)
    shown = [page["slug"] for page in data["pages"]]
    assert 0 < len(shown) < 20
    assert data["notes"] == [
        f"left out by the size cap: {', '.join(slugs[len(shown) :])}; call again with these slugs"
    ]


def test_a_cursor_goes_on_with_its_page_and_leaves_the_others_out(wiki: SmallWiki) -> None:
    wiki.add("long.md", LONG_PAGES["paragraphs"])
    cursor = read(wiki, "long", "x/plan")[0]["nextCursor"]
    data = wiki.data("read_pages", slugs=["x/plan", "long"], cursor=cursor)
    assert [page["slug"] for page in data["pages"]] == ["long"]
    assert data["notes"] == ["the cursor goes on with long; the other pages were left out"]


@pytest.mark.parametrize(
    "change",
    [
        {"slugs": ["x/plan"]},
        {"slugs": ["absent"]},
        {"heading": "Long"},
        {"format": "outline"},
        {"cursor": "2"},
    ]
    + [{"cursor": "0"}, {"cursor": "-1"}, {"cursor": 10**9}],
)
def test_a_cursor_of_something_else_is_refused_plainly(wiki: SmallWiki, change: dict[str, Any]) -> None:
    wiki.add("long.md", LONG_PAGES["paragraphs"])
    cursor = read(wiki, "long")[0]["nextCursor"]
    with pytest.raises(BadArgument, match="cursor expired or wrong"):
        wiki.call("read_pages", {"slugs": ["long"], "cursor": cursor, **change})


def test_a_cursor_expires_when_the_index_moves(wiki: SmallWiki) -> None:
    wiki.add("long.md", LONG_PAGES["paragraphs"])
    cursor = read(wiki, "long")[0]["nextCursor"]
    wiki.generation += 1
    with pytest.raises(BadArgument, match="cursor expired: the index has changed"):
        read(wiki, "long", cursor=cursor)


def test_a_page_that_was_not_read_whole_is_noted(wiki: SmallWiki) -> None:
    wiki.add("bad.md", "# Bad\n", partial=True)
    assert wiki.data("read_pages", slugs=["bad"])["notes"] == [
        "bad could not be read whole or cleanly: get_page names the reason"
    ]


# Outlines


def test_an_outline_lists_headings_with_lines_and_sizes(wiki: SmallWiki) -> None:
    [page] = read(wiki, "ops/backup", format="outline")
    assert "content" not in page
    assert [(row["level"], row["heading"]) for row in page["outline"]] == [
        (1, "Backup"),
        (2, "Nightly"),
        (3, "Notes"),
        (2, "Restore"),
        (3, "Notes"),
        (2, "Restore"),
    ]
    nightly = page["outline"][1]
    assert nightly["lines"] == [10, 17]
    assert nightly["tokens"] == count_tokens("## Nightly\n\nAt two.\n\n### Notes\n\nOne.\n\n")


def test_an_outline_of_a_section_is_its_subtree(wiki: SmallWiki) -> None:
    [page] = read(wiki, "ops/backup", format="outline", heading="Nightly")
    assert [row["heading"] for row in page["outline"]] == ["Nightly", "Notes"]


def test_a_page_without_headings_has_an_empty_outline(wiki: SmallWiki) -> None:
    [page] = read(wiki, "x/plan", format="outline")
    assert (page["outline"], page["truncated"]) == ([], False)


@pytest.mark.parametrize("cap", [600, 8_000])
def test_a_long_outline_is_given_part_by_part(wiki: SmallWiki, cap: int) -> None:
    wiki.add("long.md", "".join(f"# Heading {number}\n\ntext\n\n" for number in range(1_500)))
    headings: list[str] = []
    cursor = ""
    for _ in range(1_500):
        data = wiki.data("read_pages", slugs=["long"], format="outline", cap=cap, cursor=cursor)
        headings += [row["heading"] for row in data["pages"][0]["outline"]]
        cursor = data["pages"][0].get("nextCursor", "")
        if not cursor:
            break
    assert headings == [f"Heading {number}" for number in range(1_500)]
