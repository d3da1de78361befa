"""A vault read by plain Python: what its pages say, computed from the files without anything of the package.

Links are read from the tokens of another markdown parser and resolved by the names of files, aliases and titles.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

_WIKILINK = re.compile(r"\[\[([^\[\]|#]*)(?:#[^\[\]|]*)?(?:\|[^\[\]]*)?\]\]")
_INLINE_TAG = re.compile(r"(?<![^\s(,])#(?=[\w/\-]*[^\W\d_])([\w\-/]+)")
_DASHES = re.compile(r"[\s_\-]+")


@dataclass
class PlainPage:
    """One file: its slug, frontmatter, tags and clusters as written, and the targets of its links."""

    slug: str
    front: Mapping[str, Any]
    targets: list[str] = field(default_factory=list)
    inline_tags: list[str] = field(default_factory=list)

    @property
    def tags(self) -> set[str]:
        """Tags, folded; one of digits alone is none."""
        tags = (*_listed(self.front.get("tags")), *self.inline_tags)
        return {tag.casefold() for tag in tags if not re.fullmatch(r"[\d\-_/]+", tag)}

    @property
    def clusters(self) -> list[str]:
        """Clusters, each once."""
        return list(dict.fromkeys(_listed(self.front.get("cluster"))))

    @property
    def has_summary(self) -> bool:
        """Whether the frontmatter has a summary."""
        return bool(self.front.get("summary") or self.front.get("description"))


class PlainVault:
    """All pages of a folder by slug, drafts left out, and who links to whom."""

    def __init__(self, root: Path, *, without: str = "\0") -> None:
        self.pages = {
            page.slug: page
            for file in sorted(root.rglob("*.md"))
            if not file.relative_to(root).as_posix().startswith(without)
            and (page := _read(file, root)) is not None
        }
        self._names = _names(self.pages)
        self.links: dict[str, set[str]] = {
            slug: {to for target in page.targets if (to := self.resolve(target)) and to != slug}
            for slug, page in self.pages.items()
        }

    def resolve(self, target: str) -> str | None:
        """Return the slug that a link leads to."""
        name = re.sub(r"\.(md|markdown)$", "", unquote(target.strip()), flags=re.IGNORECASE)
        stem = name.rsplit("/", 1)[-1]
        for key in (name, stem.casefold(), _DASHES.sub("-", stem.casefold()).strip("-")):
            if key in self._names:
                return self._names[key]
        return None

    def in_degrees(self) -> Counter[str]:
        """Count for each page the other pages that link to it."""
        return Counter(to for targets in self.links.values() for to in targets)


def _names(pages: Mapping[str, PlainPage]) -> dict[str, str]:
    names: dict[str, str] = {}
    for forms in (
        lambda slug, page: [slug],
        lambda slug, page: [slug.rsplit("/", 1)[-1].casefold()],
        lambda slug, page: [alias.casefold() for alias in _listed(page.front.get("aliases"))],
        lambda slug, page: [_DASHES.sub("-", slug.rsplit("/", 1)[-1].casefold())],
        lambda slug, page: [str(page.front.get("title", "")).casefold()],
    ):
        for slug, page in pages.items():
            for name in forms(slug, page):
                names.setdefault(name, slug)
    return names


def _listed(value: object) -> list[str]:
    if isinstance(value, str):
        value = value.split(",")
    items = value if isinstance(value, list) else []
    return [str(item).strip() for item in items if item is not None and str(item).strip()]


def _read(file: Path, root: Path) -> PlainPage | None:
    text = file.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    front: dict[str, Any] = {}
    if text.startswith("---\n") and (end := text.find("\n---", 4)) > 0:
        front = yaml.load(text[4:end], Loader=yaml.CSafeLoader) or {}
        text = text[text.find("\n", end + 1) + 1 :]
    if front.get("draft") is True or front.get("status") == "draft" or front.get("publish") is False:
        return None
    page = PlainPage(str(file.relative_to(root)).removesuffix(".md"), front)
    for value in _strings(front):
        page.targets += [match[1] for match in _WIKILINK.finditer(value)]
    for token in _inlines(MarkdownIt("commonmark").enable("table").parse(text)):
        plain = ""
        for child in token.children or ():
            if child.type == "link_open":
                page.targets.append(str(child.attrGet("href") or "").partition("#")[0])
            plain += child.content if child.type == "text" else "\n" if "break" in child.type else " "
        page.targets += [match[1] for match in _WIKILINK.finditer(plain)]
        page.inline_tags += _INLINE_TAG.findall(plain)
    page.targets = [target for target in page.targets if target and ":" not in target]
    return page


def _inlines(tokens: list[Token]) -> Iterator[Token]:
    return (token for token in tokens if token.type == "inline")


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
