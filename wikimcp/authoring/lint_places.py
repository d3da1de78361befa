"""Where in a file something stands: the exact line and column of a link, a key or a title."""

from __future__ import annotations

from functools import cached_property

from wikimcp.index.page_record import PageRecord
from wikimcp.markdown.frontmatter import Frontmatter, parse_frontmatter
from wikimcp.markdown.publication import fold_key
from wikimcp.markdown.tokens import LineIndex
from wikimcp.models import Link, Section

_UPDATED = ("updatedat", "lastupdated", "updated", "generated")
Place = tuple[int, int]
"""Line and column, both from 1; column 0 means the line as a whole."""


class Places:
    """The places in one page's text. Nothing of it is worked out before somebody asks."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = LineIndex(text)
        self._looked: dict[tuple[str, str], int] = {}

    @cached_property
    def front(self) -> Frontmatter:
        """The frontmatter of the page."""
        return parse_frontmatter(self.text)

    def at(self, offset: int) -> Place:
        """Return line and column of the character at ``offset``."""
        start = max(self.text.rfind("\n", 0, offset), self.text.rfind("\r", 0, offset)) + 1
        return self._lines.line(offset), offset - start + 1

    def of_link(self, link: Link) -> Place:
        """Return where a link stands.

        One in the frontmatter is known by its key only: it is looked for below that key, of equal ones
        the next with every call.
        """
        if link.start >= 0:
            return self.at(link.start)
        key = self._key(link.prop)
        if key < 0:
            return link.line or 1, 0
        asked = (link.prop, link.target)
        found = self._written(link.target, self._looked.get(asked, key))
        if found is None:
            return self._lines.line(key), 0
        start, end = found
        self._looked[asked] = end
        return self.at(start)

    def of_key(self, *keys: str) -> Place:
        """Return where the first of some frontmatter keys (folded) stands; line 1 when none does."""
        places = {fold_key(key): place for key, place in self.front.positions.items()}
        found = next((places[key] for key in keys if key in places), -1)
        return (self._lines.line(found), 0) if found >= 0 else (1, 0)

    def of_update(self) -> Place:
        """Return where the page says when it was updated."""
        return self.of_key(*_UPDATED)

    def of_title(self, page: PageRecord, sections: tuple[Section, ...]) -> Place:
        """Return where the title of the page stands: its key, else its first heading."""
        if page.title_explicit:
            return self.of_key("title")
        first = next((section for section in sections if section.heading), None)
        return (first.own.first_line, 0) if first else (1, 0)

    def _key(self, name: str) -> int:
        return self.front.positions.get(name, -1)

    def _written(self, target: str, start: int) -> tuple[int, int] | None:
        """Return where a link to a target opens in the frontmatter from ``start`` on, and where it ends."""
        found = [
            (place, place + len(mark) + len(target))
            for mark in ("[[", "](", "](<")
            if target and (place := self.text.find(f"{mark}{target}", start, self.front.body_start)) >= 0
        ]
        if not found:
            return None
        place, end = min(found)
        if self.text.startswith("]", place):
            place = max(self.text.rfind("[", start, place), start)
        return (place - 1 if self.text[place - 1] == "!" else place), end
