"""The anchors of headings: what a link writes behind ``#``, in any of the usual ways."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

_NO_WORD = re.compile(r"[\W_]+")


def anchor(heading: str) -> str:
    """Fold a heading, or a fragment made of one in any of the usual ways, for comparison."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", heading).casefold())
    return _NO_WORD.sub("-", unicodedata.normalize("NFC", folded)).strip("-")


def numbered_anchors(headings: Iterable[str]) -> list[str]:
    """Return the anchors of a page's headings in their order: of equal ones the second ends in ``-1``.

    A heading without a letter or digit has an empty one.
    """
    seen: Counter[str] = Counter()
    found: list[str] = []
    for heading in headings:
        name = anchor(heading)
        found.append(f"{name}-{seen[name]}" if name and seen[name] else name)
        seen[name] += 1
    return found
