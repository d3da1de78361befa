"""Pages that link to others: whom a change of a page may concern, one link away."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from urllib.parse import quote, unquote

from wikimcp.authoring.okf import link_target
from wikimcp.authoring.pages import Page
from wikimcp.authoring.regions import region_spans
from wikimcp.markdown.body import parse_body
from wikimcp.markdown.frontmatter import parse_frontmatter


def dependents(pages: Iterable[Page], of: Collection[str]) -> list[str]:
    """Return the pages that link to one of the pages ``of`` and are none of these themselves, sorted."""
    wanted = frozenset(of)
    if not wanted:
        return []
    names = {path.rpartition("/")[2] for path in wanted}
    return sorted(
        page.path
        for page in pages
        if page.path not in wanted and _names_one(page, names) and not wanted.isdisjoint(links_of(page))
    )


def _names_one(page: Page, names: Collection[str]) -> bool:
    """Say whether a page holds one of these file names at all, as a link to it must: escaped or not."""
    text = page.text.replace("\\", "") if "\\" in page.text else page.text
    text = unquote(text) if "%" in text else text
    return any(name in text for name in names)


def links_of(page: Page) -> set[str]:
    """Return where the links of a page lead, relative to the wiki; those of generated parts do not count."""
    if "](" not in page.text:
        return set()
    generated = region_spans(page.text)
    body = parse_body(page.text, parse_frontmatter(page.text).body_start)
    return {
        target
        for link in body.links
        if not any(start <= link.start < end for start, end in generated)
        and (target := link_target(page.path, quote(link.target))) is not None
    }
