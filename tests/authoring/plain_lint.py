"""Counts what lint counts, from the files alone: regular expressions and a table of names, nothing of ours.

It knows less than lint does and is meant for vaults in plain markdown: links in running text, one folder
of names, frontmatter in YAML.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

_HEAD = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*\n", re.DOTALL)
_FENCE = re.compile(
    r"^([ ]{0,3})(```+|~~~+)[^\n]*\n.*?(?:^[ ]{0,3}\2[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_QUIET = re.compile(r"<!--.*?-->|%%.*?%%|(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_WIKI = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_MARKDOWN = re.compile(
    r"(?<!\\)\[(?:[^\[\]\n]|\[[^\[\]\n]*\])*\]\("
    r"\s*(?:<([^<>\n]*)>|([^()\s<>]+(?:\([^()\s]*\)[^()\s<>]*)*))(?:\s+\"[^\"]*\")?\s*\)"
)
_STANDING = {
    "index",
    "_index",
    "readme",
    "home",
    "log",
    "schema",
    "changelog",
    "hot",
    "overview",
    "quickstart",
    "critical_facts",
}
_WITHHELD = {
    "draft",
    "proposed",
    "needs_review",
    "blocked",
    "unpublished",
    "private",
    "hidden",
    "embargoed",
    "confidential",
    "internal",
    "withheld",
}


@dataclass
class Page:
    """One file: its frontmatter, and its body with code and comments blanked."""

    path: str
    text: str
    head: dict[str, Any]
    body: str
    links: list[tuple[str, int]] = field(default_factory=list)

    @property
    def stem(self) -> str:
        return self.path.rpartition("/")[2].removesuffix(".md")

    @property
    def standing(self) -> bool:
        top_only = (
            self.stem.lower() in {"hot", "overview", "quickstart", "critical_facts"} and "/" in self.path
        )
        return self.stem.lower() in _STANDING and not top_only

    @property
    def title(self) -> str:
        found = re.search(r"^# +(.+?)\s*$", self.body, re.MULTILINE)
        return str(self.head.get("title") or (found[1] if found else self.stem))


def _fold(heading: str) -> str:
    return re.sub(r"[\W_]+", "-", heading.casefold()).strip("-")


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def read_pages(root: Path, left_out: tuple[str, ...] = ()) -> list[Page]:
    """Read every page that everybody may see."""
    pages = []
    for file in sorted(root.rglob("*.md")):
        path = file.relative_to(root).as_posix()
        if any(part.startswith(".") for part in path.split("/")) or path.startswith(left_out):
            continue
        text = file.read_text("utf-8").replace("\r\n", "\n")
        match = _HEAD.match(text)
        head = yaml.safe_load(match[1]) if match else {}
        head = head if isinstance(head, dict) else {}
        if (
            head.get("draft") is True
            or head.get("publish") is False
            or str(head.get("status", "")).lower() in _WITHHELD
        ):
            continue
        kept = (_blank(match) + text[match.end() :]) if match else text
        body = _QUIET.sub(_blank, _FENCE.sub(_blank, kept))
        page = Page(path, text, head, body)
        for pattern in (_WIKI, _MARKDOWN):
            for found in pattern.finditer(body):
                written = next(group for group in found.groups() if group is not None)
                line = body.count("\n", 0, found.start()) + 1
                page.links.append((written.partition("|")[0].rstrip("\\").strip(), line))
        for value in head.values():
            for item in value if isinstance(value, list) else [value]:
                for found in _WIKI.finditer(str(item)):
                    line = next(n for n, row in enumerate(text.split("\n"), 1) if found[0] in row and n > 1)
                    page.links.append((found[1].partition("|")[0].strip(), line))
        pages.append(page)
    return pages


class PlainLint:
    """The counts of one vault."""

    def __init__(self, root: Path, *, now: datetime, stale_days: int, left_out: tuple[str, ...] = ()) -> None:
        self.root, self.now, self.days = root, now, stale_days
        self.pages = read_pages(root, left_out)
        self.names: dict[str, str] = {}
        for page in sorted(self.pages, key=lambda page: page.path.count("/")):
            aliases = page.head.get("aliases") or []
            aliases = aliases if isinstance(aliases, list) else [aliases]
            bare = page.path.removesuffix(".md")
            title = [page.head["title"]] if page.head.get("title") else []
            for name in (bare, page.stem, *aliases, *title):
                self.names.setdefault(str(name).casefold(), page.path)
        self.files = {
            file.relative_to(root).as_posix().casefold() for file in root.rglob("*") if file.is_file()
        }
        self.out: dict[str, set[str]] = {page.path: set() for page in self.pages}
        self.broken: list[tuple[str, int]] = []
        self.headings_missing: list[tuple[str, int]] = []
        self.asked: dict[str, set[str]] = {}
        self.links = 0
        for page in self.pages:
            for target, line in page.links:
                self._follow(page, target, line)

    def _follow(self, page: Page, target: str, line: int) -> None:
        if re.match(r"[a-z][a-z0-9+.-]+:|//", target, re.IGNORECASE) or ("@" in target and "/" not in target):
            return
        self.links += 1
        name, _, heading = unquote(target).partition("#")
        found = page.path if not name else self._resolve(page, name)
        if found is None:
            if not re.fullmatch(r"#\d+|GH-\d+|[A-Z][A-Z0-9]+-\d+", target):
                self.broken.append((page.path, line))
                self.asked.setdefault(name.casefold(), set()).add(page.path)
            return
        if found in self.out and found != page.path:
            self.out[page.path].add(found)
        if heading and found in self.out and not self._has(found, heading):
            self.headings_missing.append((page.path, line))

    def _resolve(self, page: Page, name: str) -> str | None:
        wanted = name.strip().removesuffix(".md").casefold()
        folder = page.path.rpartition("/")[0].casefold()
        parts: list[str] = []
        for part in f"{folder}/{wanted}".strip("/").split("/"):
            parts = parts[:-1] if part == ".." else [*parts, part] if part != "." else parts
        joined = "/".join(parts)
        for key in (joined, wanted.lstrip("/"), wanted.rpartition("/")[2] if "/" not in wanted else wanted):
            if key in self.names:
                return self.names[key]
        for key in (joined, name.strip().casefold().lstrip("/")):
            if key in self.files:
                return f"file:{key}"
        dashed = re.sub(r"[\s_-]+", "-", wanted)
        slugs = {re.sub(r"[\s_-]+", "-", page.stem.casefold()): page.path for page in self.pages}
        if dashed in slugs:
            return slugs[dashed]
        files = [
            file for file in self.files if f"/{file}".endswith("/" + name.strip().casefold().lstrip("/"))
        ]
        return f"file:{files[0]}" if files and "." in name else None

    def _has(self, path: str, heading: str) -> bool:
        page = next(page for page in self.pages if page.path == path)
        if heading.startswith("^"):
            return heading in page.body
        rows = re.findall(r"^#{1,6} +(.+?)\s*#*$", page.text, re.MULTILINE)
        plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)|[*_`]", r"\1", row) for row in rows]
        bare = [re.sub(r"[^\w\s-]", "", row) for row in plain]  # as code hosts write anchors
        return _fold(heading.rpartition("#")[2]) in map(_fold, plain + bare)

    def counts(self) -> dict[str, int]:
        """Return the counts under the keys of a report."""
        topics = [page for page in self.pages if not page.standing]
        linked = {target for targets in self.out.values() for target in targets}
        titles = Counter(" ".join(page.title.casefold().split()) for page in topics)
        filled = Counter(
            key for page in topics for key, value in page.head.items() if value not in (None, "", [], {})
        )
        usual = [key for key, count in filled.items() if len(topics) >= 10 and count >= 0.9 * len(topics)]
        return {
            "broken_links": len(self.broken),
            "missing_headings": len(self.headings_missing),
            "orphans": sum(page.path not in linked for page in topics),
            "isolated": sum(not self.out[page.path] for page in topics),
            "gaps": sum(len(pages) > 1 for pages in self.asked.values()),
            "duplicates": sum(count - 1 for count in titles.values()),
            "stale": sum(self._old(page) for page in topics),
            "missing_frontmatter": sum(
                any(page.head.get(key) in (None, "", [], {}) for key in usual) for page in topics
            ),
        }

    def _old(self, page: Page) -> bool:
        written = next(
            (page.head[key] for key in ("updated_at", "last_updated", "updated") if page.head.get(key)), None
        )
        if written is None:
            at = (self.root / page.path).stat().st_mtime
        else:
            at = datetime.fromisoformat(str(written)).replace(tzinfo=self.now.tzinfo).timestamp()
        return self.now.timestamp() - at > self.days * 86_400
