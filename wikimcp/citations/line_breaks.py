"""Places in a text that stay what they are when its line ends are changed, as git and editors do.

They count CRLF as the one character that LF is. A text without CRLF has equal places in both forms.
"""

from __future__ import annotations

import re
from bisect import bisect_left

_CRLF = re.compile("\r\n")


class LineBreaks:
    """The CRLF of a text; characters of the text are changed into such places and back."""

    def __init__(self, text: str) -> None:
        self._ends = [found.start() for found in _CRLF.finditer(text)] if "\r" in text else []
        self._folded = [end - before for before, end in enumerate(self._ends)]

    def fold(self, place: tuple[int, int]) -> tuple[int, int]:
        """Return the place, in which CRLF counts as one, of a range of characters."""
        start, end = place
        return start - bisect_left(self._ends, start), end - bisect_left(self._ends, end)

    def unfold(self, place: tuple[int, int]) -> tuple[int, int]:
        """Return the range of characters at a place in which CRLF counts as one."""
        start, end = place
        return start + bisect_left(self._folded, start), end + bisect_left(self._folded, end)
