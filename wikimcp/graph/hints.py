"""Which links a page may be the target of: both share a hint, whatever the way from one to the other.

A page that comes, goes or is renamed can change where a link leads only if they share a hint; the other links
need not be looked at. So a hint is coarse: the last part of a name, with blanks, dashes, underscores and case
alike. Two names that resolution takes for equal in any of its steps have the same one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote

from wikimcp.graph.resolve import FOLDER_PAGES, LinkTarget, fold, slug_form, without_suffix
from wikimcp.models import Link, LinkKind

ANY = ""
"""The hint of what may lead anywhere: a folder by dots, the root. Every change of names may concern it."""

_FOLDER_PAGES = frozenset(map(fold, FOLDER_PAGES))
_UNRESOLVED = (LinkKind.EXTERNAL, LinkKind.CITATION, LinkKind.BLOCK)


def hint(name: str) -> str:
    """Return the hint of one name or path."""
    last = slug_form(name).rstrip("/").rpartition("/")[2].strip("-")
    return ANY if last in (".", "..") else last


def link_hints(link: Link) -> frozenset[str]:
    """Return the hints of a link: one for each way in which its target may be read."""
    return frozenset() if link.kind in _UNRESOLVED or not link.target else _target_hints(link.target)


@lru_cache(maxsize=65_536)
def _target_hints(target: str) -> frozenset[str]:
    found: set[str] = set()
    pending = [target]
    while pending:
        name = pending.pop().strip()
        if name not in found:
            found.add(name)
            pending.append(without_suffix(name))
            pending += (unquote(name), name.replace("\\", "/"), name.removesuffix("#"), name.rstrip("/"))
    return frozenset(map(hint, found))


def page_hints(page: LinkTarget) -> Iterator[str]:
    """Yield the hints of the names by which links find a page."""
    if page.conflict_copy:
        return
    for path in {without_suffix(page.path), page.path, page.slug}:
        yield hint(path)
        folder, _, stem = path.rpartition("/")
        if fold(stem) in _FOLDER_PAGES:  # a link to the folder finds it
            yield hint(folder)
    yield from map(hint, page.aliases)
    if page.title_explicit:
        yield hint(page.title)
