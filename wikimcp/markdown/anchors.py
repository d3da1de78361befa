"""The anchors of headings: what a link writes behind ``#``, in any of the usual ways."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

_NO_WORD = re.compile(r"[\W_]+")
_PUNCTUATION = re.compile(r"[^\w\s-]")
_NO_HEADING = re.compile(r"L\d+(?:-L?\d+)?|:~:.*|top")


def anchor(heading: str) -> str:
    """Fold a heading, or a fragment made of one in any of the usual ways, for comparison."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", heading).casefold())
    return _NO_WORD.sub("-", unicodedata.normalize("NFC", folded)).strip("-")


def numbered_anchors(headings: Iterable[str]) -> list[tuple[str, str]]:
    """Return the anchors of a page's headings in their order, of equal ones the second ending in ``-1``.

    Each heading has two: sites put a dash for punctuation (``v2-0``), or they leave it out as code hosts
    do (``v20``, ``whats-new``). A heading without a letter or digit has empty ones.
    """
    known = list(headings)
    dashed = _numbered(anchor(heading) for heading in known)
    joined = _numbered(anchor(_PUNCTUATION.sub("", heading)) for heading in known)
    return list(zip(dashed, joined, strict=True))


def may_name_heading(fragment: str) -> bool:
    """Say whether a fragment asks for a heading: lines, quoted words and the top of a page are none."""
    return not _NO_HEADING.fullmatch(fragment)


def _numbered(names: Iterable[str]) -> list[str]:
    seen: Counter[str] = Counter()
    found: list[str] = []
    for name in names:
        found.append(f"{name}-{seen[name]}" if name and seen[name] else name)
        seen[name] += 1
    return found
