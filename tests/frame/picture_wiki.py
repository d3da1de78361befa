"""A wiki whose names are all that could break out of a page, and the page that is written of it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

VOID = frozenset(("meta", "input", "link", "br", "img", "hr"))
NAMES = {
    "closing": "</script><script>document.title='broken'</script>",
    "comment": "<!-- <script> half a comment",
    "quotes": "\"double\" 'single' `back` ${data} \\u003c \\",
    "image": "<img src=x onerror=\"document.title='broken'\">",
    "hebrew": "שלום עולם \u202eright to left\u202c",
    "arabic": "مرحبا بالعالم",
    "emoji": "👩‍🚀 Space 🧪 Café ﬁnal",
    "blank": "{{script}} {{data}} {{title}}",
    "separators": "one\u2028two\u2029three\u0085four",
}
HOSTILE = {
    "index.md": "---\ntitle: '</title><script>document.title=1</script> & more'\n---\n# Index\n\n[[closing]]\n",
    **{
        f"{name}.md": "---\n"
        + "\n".join(
            f"{key}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in {
                "title": title,
                "summary": f"About {title}",
                "cluster": title,
                "type": title,
                "tags": [title],
            }.items()
        )
        + f"\n---\n# Page\n\n[[index]] [[Missing {title.replace('[', '').replace('|', '')}]]\n"
        for name, title in NAMES.items()
    },
    "graph/graph.json": json.dumps(
        {
            "nodes": [{"id": "entity:</script>", "name": "</script><b>", "type": "<i>"}],
            "edges": [{"from": "closing", "to": "emoji", "type": "a</script>b", "provenance": "ai-inferred"}],
        }
    ),
}
HILLS = {
    "index.md": "---\ntitle: The hills\ncluster: maps\n---\n# The hills\n\n[[mill]] [[river]] [[weir]]\n",
    "mill.md": "---\ncluster: water\ntype: place\nsummary: Where corn is ground.\ntags: [old]\nuses: ['[[river]]']\n---\n"
    "# Mill\n\nBy the [[river]], see [[Nowhere]].\n",
    "river.md": "---\ncluster: water\n---\n# River\n\nTo the [[weir]].\n",
    "weir.md": "---\ncluster: water\n---\n# Weir\n\n[The sea](https://example.org/sea).\n",
    "hermit.md": "---\ncluster: caves\n---\n# Hermit\n\nAlone.\n",
    "secret.md": "---\ndraft: true\ncluster: vaulted\n---\n# Secret treasure\n\n[[mill]]\n",
}


def write_vault(folder: Path, pages: dict[str, str]) -> None:
    """Write the files of a vault."""
    for name, text in pages.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def flat(title: str) -> str:
    """Return a title as it is shown: on one line, nothing in it turns the order of what follows."""
    return " ".join(re.sub("[\u202a-\u202e]", " ", title).split())


class Read(HTMLParser):
    """The elements of a page with their attributes and texts; every element is closed in its turn."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: dict[str, list[str]] = {}
        self.faults: list[str] = []
        self.feed(page)
        self.close()
        self.faults += [f"<{name}> is never closed" for name in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Note the end of an element."""
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        """Note a text."""
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def handle_comment(self, data: str) -> None:
        """Note a fault: a page of ours has no comments."""
        self.faults.append("a comment")


def data_of(page: str) -> dict[str, Any]:
    """Return the data that a page holds."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data
