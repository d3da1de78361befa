"""The link graph of a set of visible pages: who links to whom, and how often one is linked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

from wikimcp.graph.hints import ANY, link_hints, page_hints
from wikimcp.graph.resolve import LinkResolver, LinkTarget, Resolution
from wikimcp.layers import Layered
from wikimcp.models import Link

T = TypeVar("T", bound=LinkTarget)


class LinkGraph:
    """Resolved links between pages, by slug.

    Links in comments do not count, nor do a page's links to itself. ``outgoing`` is in order of
    first mention, ``incoming`` sorted by slug. ``linking`` are pages by the hints of their links, and
    perhaps some that linked so once.
    """

    def __init__(
        self,
        resolver: LinkResolver,
        outgoing: Layered[str, tuple[str, ...]],
        incoming: Layered[str, tuple[str, ...]],
        linking: Layered[str, tuple[str, ...]],
    ) -> None:
        self.resolver = resolver
        self.outgoing = outgoing
        self.incoming = incoming
        self._linking = linking

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
        outgoing: dict[str, tuple[str, ...]] = {}
        linking: dict[str, list[str]] = {}
        for page in pages:
            links = links_of(page)
            outgoing[page.slug] = linked(resolver, page, links)
            for hint in _hints(links):
                linking.setdefault(hint, []).append(page.slug)
        kept = {hint: tuple(slugs) for hint, slugs in linking.items()}
        return cls(resolver, Layered(outgoing), Layered(_turned(outgoing)), Layered(kept))

    def concerned(self, changed: Iterable[LinkTarget]) -> set[str]:
        """Return the pages whose links may lead elsewhere when pages come, go or change their names.

        By slug; pages that are gone, or that linked so only once, may be among them.
        """
        hints = {ANY, *chain.from_iterable(map(page_hints, changed))}
        return {slug for hint in hints for slug in self._linking.get(hint, ())}

    def updated(
        self,
        edited: Mapping[T, Iterable[Link]],
        *,
        gone: Sequence[LinkTarget] = (),
        come: Sequence[LinkTarget] = (),
    ) -> LinkGraph:
        """Return the graph after edits.

        ``edited`` are the pages with other links, or whose links may lead elsewhere, as they are now.
        ``gone`` and ``come`` are pages before and after a change of names, those of ``come`` edited too.
        """
        resolver = self.resolver.updated(gone, come) if gone or come else self.resolver
        fresh = {page.slug: linked(resolver, page, links) for page, links in edited.items()}
        lost = {page.slug for page in gone} - {page.slug for page in come}
        incoming: dict[str, set[str]] = {}
        for slug in (*fresh, *lost):
            before = set(self.outgoing.get(slug, ()))
            for target in before.symmetric_difference(fresh.get(slug, ())):
                if target not in incoming:
                    incoming[target] = set(self.incoming.get(target, ()))
                incoming[target] ^= {slug}
        linking: dict[str, set[str]] = {}
        for page, links in edited.items():
            for hint in _hints(links):
                if page.slug not in (known := self._linking.get(hint, ())):
                    linking.setdefault(hint, set(known)).add(page.slug)
        return LinkGraph(
            resolver,
            self.outgoing.changed(gone=lost, come=fresh.items()),
            self.incoming.changed(
                gone=(target for target, sources in incoming.items() if not sources),
                come=((target, tuple(sorted(sources))) for target, sources in incoming.items() if sources),
            ),
            self._linking.changed(come=((hint, tuple(sorted(slugs))) for hint, slugs in linking.items())),
        )

    def in_degree(self, slug: str) -> int:
        """Return how many other pages link to a page."""
        return len(self.incoming.get(slug, ()))

    def resolve(self, link: Link, source: LinkTarget) -> Resolution:
        """Return where a link leads."""
        return self.resolver.resolve(link, source)


def _hints(links: Iterable[Link]) -> set[str]:
    return set(chain.from_iterable(link_hints(link) for link in links if not link.in_comment))


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
