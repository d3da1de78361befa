"""Names that are made from a page itself: its derived id, and a title read off its file name."""

from __future__ import annotations

import hashlib
import re

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [first + second for first in _CROCKFORD for second in _CROCKFORD]
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def derived_id(slug: str, *, vault: str = "") -> str:
    """Return the id of a page that declares none: 26 characters shaped like a ULID.

    The first 128 bits of SHA-256 over vault and slug in Crockford's base 32, so the same page has the
    same id on every machine.
    """
    digest = hashlib.sha256(f"{vault}\0{slug}".encode("utf-8", "surrogateescape")).digest()
    number = int.from_bytes(digest[:16], "big")
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def readable_title(stem: str) -> str:
    """Return a file's stem as a title: separators and CamelCase become blanks."""
    words = " ".join(stem.replace("_", " ").replace("-", " ").split())
    if not words:
        return stem
    return words if " " in words else _CAMEL.sub(" ", words)
