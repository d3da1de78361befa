"""The link graph of a set of visible pages: who links to whom, and how often one is linked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from wikimcp.graph.resolve import LinkResolver, LinkTarget, Resolution
from wikimcp.models import Link


class LinkGraph:
    """Resolved links between pages, by slug.

    Links in comments do not count, nor do a page's links to itself. ``outgoing`` is in order of
    first mention, ``incoming`` sorted by slug.
    """

    def __init__(
        self,
        resolver: LinkResolver,
        outgoing: dict[str, tuple[str, ...]],
        incoming: dict[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.resolver = resolver
        self.outgoing = outgoing
        self.incoming = _turned(outgoing) if incoming is None else incoming

    @classmethod
    def build(
        cls,
        pages: Sequence[LinkTarget],
        links_of: Callable[[LinkTarget], Iterable[Link]],
        *,
        attachments: Iterable[str] = (),
        blocks: Mapping[str, str] | None = None,
    ) -> LinkGraph:
        """Resolve every link of every page; ``blocks`` are the pages of block ids, where any is linked."""
        resolver = LinkResolver(pages, attachments, blocks=blocks)
        return cls(resolver, {page.slug: linked(resolver, page, links_of(page)) for page in pages})

    def updated(self, edited: Mapping[LinkTarget, Iterable[Link]]) -> LinkGraph:
        """Return the graph after edits of pages that changed no name: only their own links differ."""
        fresh = {page.slug: linked(self.resolver, page, links) for page, links in edited.items()}
        incoming = dict(self.incoming)
        for slug, targets in fresh.items():
            before = set(self.outgoing.get(slug, ()))
            for target in before.symmetric_difference(targets):
                sources = set(incoming.pop(target, ())) ^ {slug}
                if sources:
                    incoming[target] = tuple(sorted(sources))
        return LinkGraph(self.resolver, {**self.outgoing, **fresh}, incoming)

    def in_degree(self, slug: str) -> int:
        """Return how many other pages link to a page."""
        return len(self.incoming.get(slug, ()))

    def resolve(self, link: Link, source: LinkTarget) -> Resolution:
        """Return where a link leads."""
        return self.resolver.resolve(link, source)


def _turned(outgoing: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    incoming: dict[str, list[str]] = {}
    for slug in sorted(outgoing):
        for target in outgoing[slug]:
            incoming.setdefault(target, []).append(slug)
    return {target: tuple(sources) for target, sources in incoming.items()}


def linked(resolver: LinkResolver, page: LinkTarget, links: Iterable[Link]) -> tuple[str, ...]:
    """Return the other pages that a page's links lead to, in order of first mention."""
    found = dict.fromkeys(
        resolution.slug
        for link in links
        if not link.in_comment and (resolution := resolver.resolve(link, page)).slug
    )
    found.pop(page.slug, None)
    return tuple(found)


def same_names(before: LinkTarget, after: LinkTarget) -> bool:
    """Whether an edit left a page's names as they were, so that no other page's links can change."""
    return _names(before) == _names(after)


def _names(page: LinkTarget) -> tuple[object, ...]:
    title = page.title if page.title_explicit else None
    return page.path, page.slug, title, page.aliases, page.conflict_copy
