"""A vault whose hidden pages hold marker words in all that a page can hold, one page for each way of hiding."""

from __future__ import annotations

import os
from pathlib import Path

MARK = "zqx"
"""The beginning of every marker word; no public page, no tool and no message holds it."""

_FLAGS = {
    "draft": "draft: true",
    "one": "draft: '1'",
    "onelist": "draft: [yes]",
    "case": "DRAFT: On",
    "unreadable": "draft: maybe",
    "empty": "draft:",
    "publish": 'publish: "off"',
    "published": "published: no",
    "scheduled": "published: 2999-01-01",
    "public": "public: n",
    "status": "status: Embargoed",
    "internal": "status: [internal]",
    "review": "review_state: Needs Review",
    "state": "state: proposed",
    "twice": "status: draft\nstatus: final",
    "broken": "draft: true\nbroken: a: b",
    "odd": "draft:\u00a0true",
    "wide": "draft\uff1atrue",
    "label": "visibility: board",
    "labels": "visibility: [board, legal]",
}
HEADS = {
    "json": '{{"title": "{m}title",\n\n"draft": true}}\n',
    "toml": '+++\ntitle = "{m}title"\n\ndraft = true\n+++\n',
    "property": "title:: {m}title\npublic:: false\n\n",
    "second": "---\ntitle: {m}title\n---\n---\ndraft: true\n---\n",
    "late": "\n---\ntitle: {m}title\ndraft: true\n---\n",
    "allow": "---\ntitle: {m}title\n---\n[{{ALLOW view board}}]\n\n",
    "private": "---\ntitle: {m}title\n---\n",
}
WAYS = (*_FLAGS, *HEADS)
PRIVATE = f"{MARK}private-folder/"


def marker(way: str) -> str:
    """Return the beginning of the marker words of one way of hiding."""
    return f"{MARK}{way}"


def slug(way: str) -> str:
    """Return the slug of the page that is hidden in one way."""
    folder = PRIVATE if way == "private" else f"{MARK}folder/"
    return f"{folder}{marker(way)}name"


def hidden_pages() -> dict[str, str]:
    """Return the hidden pages by path."""
    return {f"{slug(way)}.md": _text(way) for way in WAYS}


def _text(way: str) -> str:
    m = marker(way)
    keys = (
        f"title: {m}title\naliases: [{m}alias]\ntags: [{m}tag, ops]\ncluster: {m}cluster\ntype: {m}type\n"
        f"author: {m}author\nid: {m}id\nsummary: {m}summary of pumps\nrelated: ['[[{m}related]]', '[[open]]']\n"
        f"relations: [{{type: {m}relation, target: open}}]\nsources: [{m}source]\n{m}key: {m}value\n"
        f"verified_by: {m}verifier\nupdated: 2030-01-01\n"
    )
    head = HEADS[way].format(m=m) if way in HEADS else f"---\n{keys}{_FLAGS[way]}\n---\n"
    return (
        f"{head}# {m}heading\n\nThe pump of {m}text is oiled. #{m}inline [[{m}missing]] [[open]] ^{m}block\n\n"
        f"## {m}deeper\n\n{m}field:: {m}inlinevalue\n\n![[{m}picture.png]] [{m}label](https://{m}.test/)\n"
    )


def public_pages() -> dict[str, str]:
    """Return the pages that everybody may see."""
    return {
        "open.md": "---\ntags: [ops]\ncluster: works\n---\n# Open\n\nThe pump is oiled in March. See [[mill]].\n",
        "mill.md": "---\ncluster: works\ntype: hub\n---\n# Mill\n\nThe mill grinds barley. See [[open]].\n",
        "notes/long.md": "# Long\n\n" + "A long text about sacks of barley and pumps. " * 30 + "\n",
    }


def write(vault: Path, pages: dict[str, str]) -> None:
    """Write pages into a vault, all with one time: two vaults are never written within one second for sure."""
    for name, text in pages.items():
        file = vault / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        os.utime(file, ns=(10**18, 10**18))
