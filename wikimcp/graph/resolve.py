"""Resolving a link as written to the page it means, in the order that the vault contract fixes."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import unquote

from wikimcp.layers import Layered
from wikimcp.models import Link, LinkKind

_SUFFIX = re.compile(r"\.(md|markdown)$", re.IGNORECASE)
_PAGE_SUFFIX = re.compile(r"\.(md|markdown|org)$", re.IGNORECASE)
_UNSEEN = re.compile("[\u200b\u200e\u200f\u2060\u202a-\u202e\ufeff\u00ad]")
FOLDER_PAGES = ("index", "README", "_index", "readme")
_DASHES = re.compile(r"[\s_\-]+")


_TABLES = (
    *("path", "slug as path", "folded path", "folded slug"),
    *("stem", "folded stem", "alias", "slug", "title"),
)


class LinkTarget(Protocol):
    """What resolution needs to know of a page."""

    @property
    def path(self) -> str:
        """Path relative to the source root."""

    @property
    def slug(self) -> str:
        """The page's slug."""

    @property
    def title(self) -> str:
        """The page's title."""

    @property
    def title_explicit(self) -> bool:
        """Whether the title is given in the frontmatter: only then it is a link target."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Other names of the page."""

    @property
    def conflict_copy(self) -> bool:
        """Whether the file is a sync leftover, which is never a link target."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Where a link leads. ``slug`` is empty when nowhere; ``via`` says how it was found.

    ``via`` is one of path, folder, name, case, alias, slug, title, self, block, attachment or empty;
    ``candidates`` holds the slugs of equal rank when the choice among them was a fixed one.
    """

    slug: str = ""
    via: str = ""
    candidates: tuple[str, ...] = ()
    attachment: str = ""

    @property
    def ambiguous(self) -> bool:
        """Whether other pages had an equal claim."""
        return len(self.candidates) > 1


UNRESOLVED = Resolution()


def fold(name: str) -> str:
    """Fold a name for comparison: NFC and full case folding; what shows nothing does not count."""
    if not name.isascii():
        name = _UNSEEN.sub("", name).replace("\u00a0", " ")
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def slug_form(name: str) -> str:
    """Fold a name so that blanks, dashes and underscores are alike."""
    return _DASHES.sub("-", fold(name)).strip("-")


_Pages = tuple[LinkTarget, ...]  # in order of depth, then path
_Table = Layered[str, _Pages]


class LinkResolver:
    """Resolves links among a fixed set of pages, attachments and blocks; ``updated`` makes the next.

    ``blocks`` are the slugs of pages by the ids (lower case) of blocks in them; None when no page refers
    to a block, so that nobody had to gather them.
    """

    def __init__(
        self,
        pages: Iterable[LinkTarget],
        attachments: Iterable[str] = (),
        *,
        blocks: Mapping[str, str] | None = None,
    ) -> None:
        tables: dict[str, dict[str, list[LinkTarget]]] = {name: {} for name in _TABLES}
        for page in sorted((page for page in pages if not page.conflict_copy), key=_order):
            for table, key in _entries(page):
                tables[table].setdefault(key, []).append(page)
        self._take(
            {name: Layered({key: tuple(found) for key, found in t.items()}) for name, t in tables.items()}
        )
        self.blocks = blocks
        self._files = frozenset(attachments)
        self._file_names: dict[str, list[str]] = {}
        for path in sorted(self._files, key=lambda p: (p.count("/"), p)):
            self._file_names.setdefault(fold(path.rsplit("/", 1)[-1]), []).append(path)
        self._memo: dict[tuple[bool, str, str], Resolution] = {}

    def _take(self, tables: Mapping[str, _Table]) -> None:
        self._tables = tables
        self._paths, self._slugs_as_paths = tables["path"], tables["slug as path"]
        self._folded_paths, self._folded_slugs = tables["folded path"], tables["folded slug"]
        self._stems, self._folded_stems = tables["stem"], tables["folded stem"]
        self._aliases, self._slugs, self._titles = tables["alias"], tables["slug"], tables["title"]

    def updated(self, gone: Iterable[LinkTarget], come: Iterable[LinkTarget]) -> LinkResolver:
        """Return the resolver after some pages went and others came, of the same attachments and blocks."""
        changes: dict[str, dict[str, list[LinkTarget]]] = {name: {} for name in _TABLES}

        def pages_of(table: str, key: str) -> list[LinkTarget]:
            return changes[table].setdefault(key, list(self._tables[table].get(key, ())))

        for page in gone:
            for table, key in set(_entries(page)) if not page.conflict_copy else ():
                found = pages_of(table, key)
                found[:] = [other for other in found if other.path != page.path]
        for page in come:
            for table, key in _entries(page) if not page.conflict_copy else ():
                pages_of(table, key).append(page)
        after = copy(self)
        after._memo = {}
        after._take(
            {
                name: table.changed(
                    gone=(key for key, found in changes[name].items() if not found),
                    come=(
                        (key, tuple(sorted(found, key=_order)))
                        for key, found in changes[name].items()
                        if found
                    ),
                )
                for name, table in self._tables.items()
            }
        )
        return after

    def _exact(self, name: str) -> LinkTarget | None:
        """Return the page of exactly that path, without its suffix, or slug; paths come first."""
        found = self._paths.get(name) or self._slugs_as_paths.get(name)
        return found[0] if found else None

    def _folded(self, name: str) -> _Pages:
        """Return the pages of that path or slug with case folded; paths come first."""
        key = fold(name)
        return (*self._folded_paths.get(key, ()), *self._folded_slugs.get(key, ()))

    def resolve(self, link: Link, source: LinkTarget) -> Resolution:
        """Return where a link of ``source`` leads."""
        if link.kind is LinkKind.BLOCK:
            slug = (self.blocks or {}).get(link.target.lower(), "")
            return Resolution(slug, "block") if slug else UNRESOLVED
        if link.kind in (LinkKind.EXTERNAL, LinkKind.CITATION):
            return UNRESOLVED
        if not link.target:
            return Resolution(source.slug, "self") if link.fragment else UNRESOLVED
        folder = source.path.rpartition("/")[0]
        key = (link.kind is LinkKind.MARKDOWN, folder, link.target)
        found = self._memo.get(key)
        if found is None:
            found = self._memo[key] = self._find(*key)
        return found

    def _find(self, markdown: bool, folder: str, target: str) -> Resolution:
        name = _SUFFIX.sub("", target.strip())
        page = self._by_path(markdown, folder, name)
        found = page or self._by_name(folder, name)
        if found is UNRESOLVED and "%" in name and (decoded := unquote(name)) != name:
            return self._find(markdown, folder, decoded)
        if found is UNRESOLVED:
            found = self._attachment(folder, target.strip())
        if found is UNRESOLVED and (other := self._as_meant(markdown, folder, name)):
            return self._find(markdown, folder, other)
        return found

    def _as_meant(self, markdown: bool, folder: str, name: str) -> str:
        """Return another writing of a name that leads nowhere: slashes, no ``#``, a folder's page."""
        if "\\" in name:
            return name.replace("\\", "/")
        if len(name) > 1 and name.endswith("#"):
            return name[:-1]
        if not markdown:
            return ""
        inside = joined_path("" if name.startswith("/") else folder, name)
        for stem in FOLDER_PAGES if inside is not None else ():
            path = f"{inside}/{stem}" if inside else stem
            if path == name.lstrip("/"):
                continue
            if self._exact(path) or self._folded(path):
                return f"/{path}"
        return name.rstrip("/") if name.endswith("/") else ""  # a site's address of a page

    def _by_path(self, markdown: bool, folder: str, name: str) -> Resolution | None:
        """Resolve relative paths, paths from the root, and the same with case folded."""
        relative = name.startswith(("./", "../"))
        joined = joined_path(folder, name)
        tries = [joined] if relative else [joined, name] if markdown else [name]
        if name.startswith("/"):
            tries = [name.lstrip("/")]
        for bare in tries:
            if bare is None:
                return UNRESOLVED  # climbs out of the vault
            if (page := self._exact(bare)) is not None:
                return self._namesake(page, bare, folder) or Resolution(page.slug, "path")
        for bare in tries:
            if bare is not None and "/" in bare and (pages := self._folded(bare)):
                return _choose(pages, folder, "case")
        return UNRESOLVED if relative else None

    def _namesake(self, page: LinkTarget, name: str, folder: str) -> Resolution | None:
        """Choose among files of one name where a dialect names a page by that alone, as Dendron's vaults do.

        Each vault means its own note; only one of them can have the bare name as its slug.
        """
        if "/" in name or "/" not in page.path:
            return None
        alike = self._stems.get(name, ())
        return _choose(alike, folder, "name") if len(alike) > 1 and page in alike else None

    def at(self, bare: str) -> str:
        """Return the slug of the page at a path without its suffix; empty when there is none."""
        page = self._exact(bare)
        return page.slug if page is not None and without_suffix(page.path) == bare else ""

    def _by_name(self, folder: str, name: str) -> Resolution:
        stem = name.rsplit("/", 1)[-1]
        tables = ((self._stems, stem, "name"), (self._folded_stems, fold(stem), "case"))
        for table, key, via in tables:
            pages: Sequence[LinkTarget] = table.get(key, ())
            if "/" in name:
                ending = "/" + fold(name.lstrip("/"))
                pages = [p for p in pages if ("/" + fold(without_suffix(p.path))).endswith(ending)]
            if pages:
                return _choose(pages, folder, via)
        whole = ((self._aliases, fold(name), "alias"), (self._slugs, slug_form(name), "slug"))
        for table, key, via in (*whole, (self._titles, fold(name), "title")):
            if found := table.get(key):
                return _choose(found, folder, via)
        return UNRESOLVED

    def _attachment(self, folder: str, target: str) -> Resolution:
        for path in (joined_path(folder, target), target.lstrip("/")):
            if path and path in self._files:
                return Resolution(via="attachment", attachment=path)
        ending = "/" + fold(target.lstrip("/"))
        for path in self._file_names.get(fold(target.rsplit("/", 1)[-1]), ()):
            if f"/{fold(path)}".endswith(ending):
                return Resolution(via="attachment", attachment=path)
        return UNRESOLVED


def without_suffix(name: str) -> str:
    """Return a path or a target as written without the suffix of a page."""
    return _PAGE_SUFFIX.sub("", name)


def _order(page: LinkTarget) -> tuple[int, str]:
    return page.path.count("/"), page.path


def _entries(page: LinkTarget) -> Iterator[tuple[str, str]]:
    """Yield under which keys of which tables a page is found."""
    bare = without_suffix(page.path)
    stem = bare.rsplit("/", 1)[-1]
    yield "path", bare
    if page.slug != bare:  # a name that is no path, as some dialects give
        yield "slug as path", page.slug
    if page.path.lower().endswith(".org"):
        yield "slug as path", page.path
    names = [
        ("folded path", fold(bare)),
        ("stem", stem),
        ("folded stem", fold(stem)),
        ("slug", slug_form(stem)),
    ]
    if page.slug != bare:
        names.append(("folded slug", fold(page.slug)))
    names += (("alias", fold(alias)) for alias in page.aliases)
    if page.title_explicit:
        names.append(("title", fold(page.title)))
    yield from ((table, key) for table, key in names if key)


def _choose(pages: Sequence[LinkTarget], folder: str, via: str) -> Resolution:
    """Prefer the linking page's folder, then its top-level folder, then the shortest path."""
    if len(pages) == 1:
        return Resolution(pages[0].slug, via)
    here = [p for p in pages if p.path.rpartition("/")[0] == folder]
    top = folder.split("/", 1)[0]
    near = [p for p in pages if top and p.path.startswith(f"{top}/")]
    if len(here) == 1:
        return Resolution(here[0].slug, "folder" if via == "name" else via)
    pool = here or near or pages
    best = pool[0]
    equal = tuple(p.slug for p in pool if p.path.count("/") == best.path.count("/"))
    return Resolution(best.slug, via, equal if len(equal) > 1 else ())


def joined_path(folder: str, name: str) -> str | None:
    """Join a relative target to a folder of the vault; None when it climbs out of it."""
    parts = [part for part in folder.split("/") if part]
    for part in name.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
