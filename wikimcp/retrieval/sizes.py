"""Sizes of texts as an answer sends them, in quarters of a token.

The token estimate (markdown/tokens.py) is one for a CJK character and one for four others, rounded up
once. In quarters nothing is rounded, so an answer is exactly as large as the sum of its parts.
"""

from __future__ import annotations

import json
import string
from collections.abc import Sequence
from functools import lru_cache
from json.encoder import encode_basestring

from wikimcp.markdown.tokens import CJK

QUARTERS = 4
"""Quarters in one token."""

_UNRESERVED = (string.ascii_letters + string.digits + "_.-~").encode()
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def quarters(text: str) -> int:
    """Return the quarters of a text as it is."""
    return len(text) if text.isascii() else len(text) + (QUARTERS - 1) * len(CJK.findall(text))


def json_quarters(value: object) -> int:
    """Return the quarters of a value as compact JSON, non-ASCII as it is."""
    return quarters(_encode(value))


def whole_tokens(size: int) -> int:
    """Return the tokens that so many quarters count for."""
    return -(-size // QUARTERS)


def text_cost(text: str) -> int:
    """Return the quarters of a text inside a JSON string: escapes counted, quotes not."""
    return quarters(encode_basestring(text)) - 2


def path_cost(heading_path: Sequence[str]) -> int:
    """Return the quarters of a heading path in one cited section: two lists and part of its uri."""
    return sum(map(_heading_cost, heading_path))


@lru_cache(maxsize=16_384)
def name_cost(name: str) -> int:
    """Return ``text_cost`` of a title or slug, which is asked for again and again."""
    return text_cost(name)


@lru_cache(maxsize=16_384)
def _heading_cost(heading: str) -> int:
    """Return the quarters of one heading of a path; those of a page's title are asked for again and again."""
    encoded = heading.encode("utf-8", "replace")
    escaped = len(encoded.translate(None, _UNRESERVED))  # three characters each in a uri
    return 2 * (text_cost(heading) + 3) + len(encoded) + 2 * escaped + 1
