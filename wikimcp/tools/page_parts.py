"""Sharing a token budget between texts, and finding where a text may be cut.

A cut is at a block border where one is near, else at a line, a blank or a character, in this order;
never within CRLF or within a character and its combining marks, and only within a code fence that
is larger than the part itself.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence

from wikimcp.markdown.tokens import count_tokens
from wikimcp.tools.rendering import compact_json

_CHARACTERS_PER_TOKEN = 4  # the most that one token ever stands for
_LINE_END = re.compile(r"\r\n|\r|\n")
_FENCE = re.compile(r"`{3,}|~{3,}")
_BEFORE_FENCE = " \t>-*+.)0123456789"  # quotes and list marks may stand before a fence
_JOINERS = "\u200d\ufe0e\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"


def wire_tokens(text: str) -> int:
    """Return the tokens of a text as it stands in JSON, where line breaks and quotes are escaped."""
    return count_tokens(compact_json(text))


def tokens_up_to(text: str, start: int, end: int, most: int) -> int:
    """Return the JSON tokens of ``text[start:end]``, or more than ``most`` without counting the rest."""
    head = text[start : min(end, start + _CHARACTERS_PER_TOKEN * most + 8)]
    return wire_tokens(head)


def share(budget: int, wants: Sequence[int]) -> list[int]:
    """Divide ``budget`` fairly: small wants are met whole, the others share what is left equally."""
    granted = [0] * len(wants)
    left = max(0, budget)
    order = sorted(range(len(wants)), key=lambda at: wants[at])
    for done, at in enumerate(order):
        granted[at] = min(wants[at], left // (len(wants) - done))
        left -= granted[at]
    return granted


def cut_at(text: str, start: int, end: int, *, tokens: int, borders: Sequence[int], outside: int = 0) -> int:
    """Return where a part of ``text[start:end]`` of at most ``tokens`` JSON tokens ends.

    ``borders`` are known block borders of the text, ascending; ``outside`` is a place at or before
    ``start`` that is in no code fence. The result is above ``start`` even if one character is over
    the budget, so that paging always goes on.
    """
    if start >= end or tokens_up_to(text, start, end, tokens) <= tokens:
        return end
    reach = _CHARACTERS_PER_TOKEN * tokens + 8
    furthest = _furthest(text, start, min(end, start + reach), tokens)
    half = start + (furthest - start) // 2
    fences = _fences(text, min(outside, start), min(end, furthest + reach))
    blocks = borders[bisect_right(borders, start) : bisect_right(borders, furthest)]
    lines = [at for at in _line_ends(text, start, furthest) if not _joined(text, at)]
    best_block = _last_outside(fences, blocks, default=start)
    if best_block > half:
        return best_block
    best_line = max(best_block, _last_outside(fences, lines, default=start))
    if best_line > half or (best_line > start and _rest_fits(text, best_line, furthest, end, fences, tokens)):
        return best_line
    if lines:
        return lines[-1]
    return _between_characters(text, start, _after_blank(text, half, furthest))


def _furthest(text: str, start: int, upper: int, tokens: int) -> int:
    """Bisect the longest part that is within the budget."""
    low, high = start, upper
    while low < high:
        middle = (low + high + 1) // 2
        if wire_tokens(text[start:middle]) <= tokens:
            low = middle
        else:
            high = middle - 1
    return low


def _line_ends(text: str, start: int, end: int) -> list[int]:
    return [found.end() for found in _LINE_END.finditer(text, start, end)]


def _last_outside(fences: Sequence[tuple[int, int]], places: Sequence[int], *, default: int) -> int:
    """Return the last of ``places`` (ascending) that is in none of the fences."""
    for at in reversed(places):
        if _fence_around(fences, at) is None:
            return at
    return default


def _fence_around(fences: Sequence[tuple[int, int]], at: int) -> tuple[int, int] | None:
    nearest = bisect_right(fences, (at, -1)) - 1
    if nearest >= 0 and fences[nearest][0] < at < fences[nearest][1]:
        return fences[nearest]
    return None


def _rest_fits(
    text: str, at: int, furthest: int, end: int, fences: Sequence[tuple[int, int]], tokens: int
) -> bool:
    """Whether the fence or line that is in the way would be whole in the next part, if cut before it."""
    fence = _fence_around(fences, furthest)
    if fence is not None:
        closed = fence[1]
    else:
        line = _LINE_END.search(text, furthest, end)
        closed = line.end() if line else end
    return tokens_up_to(text, at, min(closed, end), tokens) <= tokens


def _fences(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the code fences from ``start``, which is in none, as (start of first line, end of last)."""
    fences: list[tuple[int, int]] = []
    opened, mark = -1, ""
    for found in _FENCE.finditer(text, start, end):
        line = max(text.rfind("\n", start, found.start()), text.rfind("\r", start, found.start())) + 1
        line = max(line, start)
        if text[line : found.start()].strip(_BEFORE_FENCE):
            continue
        line_end = _LINE_END.search(text, found.end(), end)
        rest = text[found.end() : line_end.start() if line_end else end]
        fence = found[0]
        if opened < 0:
            if fence[0] == "~" or "`" not in rest:
                opened, mark = line, fence
        elif fence[0] == mark[0] and len(fence) >= len(mark) and not rest.strip():
            fences.append((opened, found.end()))
            opened = -1
    if opened >= 0:
        fences.append((opened, end + 1))
    return fences


def _after_blank(text: str, half: int, furthest: int) -> int:
    blank = max(text.rfind(" ", half, furthest), text.rfind("\t", half, furthest))
    return blank + 1 if blank >= 0 else furthest


def _between_characters(text: str, start: int, at: int) -> int:
    """Move a cut back from within CRLF or before a combining mark; forward when nothing is left."""
    wanted = at
    while at > start and _joined(text, at):
        at -= 1
    if at > start:
        return at
    at = max(wanted, start + 1)
    while at < len(text) and _joined(text, at):
        at += 1
    return at


def _joined(text: str, at: int) -> bool:
    if at <= 0 or at >= len(text):
        return False
    before, after = text[at - 1], text[at]
    if before == "\r" and after == "\n":
        return True
    return after in _JOINERS or before == "\u200d" or unicodedata.combining(after) != 0
