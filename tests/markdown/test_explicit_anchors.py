"""Anchors that pages write out: where they are read, which part they name, and that links and tools know them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.vaults.dialects import put, served
from wikimcp.markdown.body import parse_body
from wikimcp.models import Caller

GUIDE = """# Guide

Lead <a id="lead"></a> text.

<a name="setup"></a>

## Set up

Words {: #para .note}

## Über uns {#über-uns}

<div class="box" id=box>

in a box

</div>

## Drawn {/* #drawn */}
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("## Title {#my-id}\n", {"my-id": "{#my-id}"}),
        ("## Title { #my-id .wide data-x=1 }\n", {"my-id": "{ #my-id"}),
        ("## Title {.wide #my-id}\n", {"my-id": "{.wide"}),
        ("## Title\n{: #my-id }\n\ntext\n", {"my-id": "{: #my-id"}),
        ("é <a id='x'></a> y\n", {"x": "<a id='x'>"}),
        ("<a name=x></a>\n\n# Next\n", {"x": "# Next"}),
        ("# One <a id=x></a>\n\n# Next\n", {"x": "<a id=x>"}),
        ('<p id="x">z</p>\n<a class="y" id="w"></a>\n', {"x": "<p id", "w": "<a class"}),
        ("<span title='a b' id=x>y</span>\n", {"x": "<span"}),
        ("`<a id=x>` and\n\n    <a id=y>\n\n```\n# A {#z}\n```\n", {}),
        ("<!-- <a id=x></a> -->\n\n%% {#z} %%\n", {}),
        ("{{#if a}} ${#1}$ {a} <a href=#x> <input name=y>\n", {}),
        ("one <a id=x></a> two <a id=x></a>\n", {"x": "<a id=x></a> two"}),
    ],
)
def test_an_anchor_is_what_the_page_writes_outside_of_code_and_comments(
    text: str, found: dict[str, str]
) -> None:
    anchors = {anchor.name: text[anchor.start :] for anchor in parse_body(text).anchors}
    assert list(anchors) == list(found)
    assert all(anchors[name].startswith(words) for name, words in found.items())


def test_a_heading_is_shown_without_its_anchor_and_headings_without_one_have_none() -> None:
    body = parse_body(GUIDE)
    assert [section.heading for section in body.sections] == ["Guide", "Set up", "Über uns", "Drawn"]
    assert [anchor.name for anchor in body.anchors] == ["lead", "setup", "para", "über-uns", "box", "drawn"]
    assert parse_body("# A\n\nb\n").anchors == ()


def test_links_to_anchors_lead_there_and_are_labelled(tmp_path: Path) -> None:
    links = " ".join(f"[x](guide.md#{name})" for name in ("setup", "lead", "set-up", "%C3%BCber-uns", "gone"))
    with served(put(tmp_path / "v", {"guide.md": GUIDE, "a.md": links})) as wiki:
        notes = wiki.call("get_page", slug="a")["diagnostics"]
        assert [(note["code"], note["message"]) for note in notes] == [
            ("missing_heading", "'guide.md#gone': guide has no such heading")
        ]
        (edge,) = [e for e in wiki.service.graph(Caller())["edges"] if e["relation"] == "links_to"]
        assert edge["metadata"]["missing_heading"] == "gone"
        assert edge["metadata"]["via_anchor"] == ["setup", "lead"]


@pytest.mark.parametrize(
    ("name", "heading", "path"),
    [
        ("guide#setup", "", ["Guide", "Set up"]),
        ("guide.md#box", "", ["Guide", "Über uns"]),
        ("guide", "#über-uns", ["Guide", "Über uns"]),
        ("guide", "drawn", ["Guide", "Drawn"]),
        ("Guide#Set up", "", ["Guide", "Set up"]),
        ("guide#lead", "", ["Guide"]),
    ],
)
def test_a_part_is_read_by_its_anchor(tmp_path: Path, name: str, heading: str, path: list[str]) -> None:
    with served(put(tmp_path / "v", {"guide.md": GUIDE, "C#.md": "# See\n"})) as wiki:
        (page,) = wiki.call("read_pages", slugs=[name], heading=heading)["pages"]
        assert page["citation"]["headingPath"] == path
        assert page["content"].startswith(f"{'#' * len(path)} {path[-1]}")


def test_a_part_that_is_not_there_is_told_and_the_page_found(tmp_path: Path) -> None:
    files = {"guide.md": GUIDE, "C#.md": "# See\n", "own.md": "---\ndraft: true\n---\n# O {#o}\n"}
    with served(put(tmp_path / "v", files)) as wiki:
        (page,) = wiki.call("read_pages", slugs=["guide#gone"])["pages"]
        assert page["error"].startswith("not_found: page guide has no heading 'gone'")
        answer = wiki.call("get_page", slug="guide#setup")
        assert answer["slug"] == "guide"
        assert answer["notes"] == ["guide#setup is the section 'Guide > Set up', lines 7-9"]
        assert "no heading" in wiki.call("get_page", slug="guide#gone")["notes"][0]
        assert wiki.call("get_page", slug="C#")["slug"] == "C#"
        first, second = wiki.call("read_pages", slugs=["guide#setup", "guide#box"])["pages"]
        assert first["citation"]["lines"] == [7, 9]
        assert second["citation"]["headingPath"] == ["Guide", "Über uns"]
        for name in ("own#o", "nothing#o"):
            (page,) = wiki.call("read_pages", slugs=[name])["pages"]
            assert page["error"].startswith(f"not_found: no page named '{name}'")
