"""Finding the section that a caller names: by heading, by a path of headings, by number when they repeat."""

from __future__ import annotations

import re
from collections.abc import Sequence

from wikimcp.errors import Ambiguous, NotFound, nearest
from wikimcp.index.names import fold
from wikimcp.markdown.anchors import anchor, numbered_anchors
from wikimcp.models import Anchor, Section
from wikimcp.tools.rendering import clip, flatten

_SEPARATORS = (" > ", "#", ">", "/")
_NUMBERED = re.compile(r"(.*\S)\s*(?:\((\d{1,6})\)|\[(\d{1,6})\])\s*", re.DOTALL)
_MOST_CANDIDATES = 8


def find_section(
    sections: Sequence[Section], name: str, page: str, *, anchors: Sequence[Anchor] = ()
) -> Section:
    """Return the one section of page ``page`` that ``name`` means.

    ``name`` is a heading, or the last headings of its path (``Parent > Kid`` or ``Parent#Kid``);
    ``(2)`` after it is the second of equal paths. What none of this means may be the anchor that a link
    writes: one of ``anchors``, which the page itself names, or ``#install-1``. Raises NotFound with the
    nearest headings, Ambiguous with the candidates.
    """
    named = [section for section in sections if section.heading_path]
    wanted = name.strip()
    for text, number in _readings(wanted):
        found = _matching(named, text)
        if number:
            found = [section for section in found if section.duplicate == number]
        if len(found) == 1:
            return found[0]
        if found:
            raise _ambiguous(found, wanted, page)
    if (linked := _by_anchor(sections, wanted, anchors)) is not None:
        return linked
    near = nearest(wanted[:120], list(dict.fromkeys(section.heading for section in named)))
    listed = ", ".join(f"'{_shown(heading)}'" for heading in near)
    raise NotFound(
        f"page {page} has no heading '{_shown(wanted)}'",
        hint=f"Nearest: {listed}." if listed else 'format="outline" lists its headings.',
    )


def _readings(name: str) -> list[tuple[str, int]]:
    """Return the name as it stands, then with a number at its end taken as which of several."""
    spellings = list(dict.fromkeys((name, name.lstrip("#").strip())))
    numbered = [found for spelling in spellings if (found := _NUMBERED.fullmatch(spelling))]
    return [
        *((spelling, 0) for spelling in spellings),
        *((found[1], int(found[2] or found[3])) for found in numbered),
    ]


def _matching(sections: Sequence[Section], name: str) -> list[Section]:
    """Exact spelling before folded; a whole path before the end of one; a heading before a split path."""
    for parts in _splits(name):
        for spell in (str, fold):
            wanted = tuple(spell(part) for part in parts)
            ending = [s for s in sections if tuple(map(spell, s.heading_path[-len(wanted) :])) == wanted]
            whole = [s for s in ending if len(s.heading_path) == len(wanted)]
            if whole or ending:
                return whole or ending
    return _joined(sections, name)


def _by_anchor(sections: Sequence[Section], name: str, written: Sequence[Anchor]) -> Section | None:
    """Return the section that a link means by ``#install``, or by ``#install-1`` where two are alike.

    An anchor that the page itself writes comes first: the innermost section that holds it is meant.
    """
    fragment = name.rpartition("#")[2].strip()
    wanted = anchor(fragment)
    if not wanted:
        return None
    for spell in (str, anchor):
        place = next((mark.start for mark in written if spell(mark.name) == spell(fragment)), None)
        if place is not None:
            holding = [section for section in sections if section.own.start <= place < section.own.end]
            return holding[-1] if holding else None
    anchors = numbered_anchors(section.heading for section in sections)
    for way in (0, 1):
        for section, known in zip(sections, anchors, strict=True):
            if known[way] == wanted:
                return section
    return None


def _joined(sections: Sequence[Section], name: str) -> list[Section]:
    """Return the sections whose headings hold a separator themselves: their paths are joined, not split."""
    for spell in (_spaced, lambda text: fold(_spaced(text))):
        wanted = spell(name)
        ending = [
            (section, depth)
            for section in sections
            for depth in range(2, len(section.heading_path) + 1)
            if wanted in {spell(mark.join(section.heading_path[-depth:])) for mark in _SEPARATORS}
        ]
        if ending:
            whole = [section for section, depth in ending if depth == len(section.heading_path)]
            return whole or [section for section, _ in ending]
    return []


def _spaced(text: str) -> str:
    """Return a text whose separators all stand alike: what is written around them does not count."""
    return re.sub(r"\s*>\s*", " > ", " ".join(text.split()))


def _splits(name: str) -> list[tuple[str, ...]]:
    splits: list[tuple[str, ...]] = [(name,)]
    for separator in _SEPARATORS:
        parts = tuple(part.strip() for part in name.split(separator) if part.strip())
        if len(parts) > 1 and parts not in splits:
            splits.append(parts)
    return splits


def _ambiguous(found: Sequence[Section], wanted: str, page: str) -> Ambiguous:
    candidates = [_candidate(section) for section in found]
    shown = "; ".join(candidates[:_MOST_CANDIDATES])
    more = f" and {len(found) - _MOST_CANDIDATES} more" if len(found) > _MOST_CANDIDATES else ""
    return Ambiguous(
        f"heading '{_shown(wanted)}' names {len(found)} sections of page {page}: {shown}{more}",
        candidates=candidates,
        hint="Give the path, and the number in brackets where one is shown.",
    )


def _candidate(section: Section) -> str:
    path = " > ".join(clip(flatten(heading), 60) for heading in section.heading_path)
    number = f" ({section.duplicate})" if section.duplicate > 1 else ""
    return f"'{path}{number}' line {section.own.first_line}"


def _shown(text: str) -> str:
    return clip(flatten(text), 80)
