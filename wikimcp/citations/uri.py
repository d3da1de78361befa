"""The ``cite://`` form of a citation: made, and read back.

``cite://<id>[/<heading>...][?v=<version>&h=<span hash>[&c=<from>-<to>]]``: segments percent-encoded, ``h``
the first 16 hex of the span's hash. ``c`` (characters of the file, end exclusive, CRLF counted as one) is
there only for a span that heading and hash do not name by themselves: a part of a long section, or one of
several equal headings.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

HASH_DIGITS = 16
SCHEME = "cite://"

_HASH = re.compile(r"[0-9a-f]{16,64}")
_VERSION = re.compile(r"[1-9][0-9]{0,8}")
_PLACE = re.compile(r"([0-9]{1,10})-([0-9]{1,10})")
_LONE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class CiteUri:
    """What a uri names; ``version`` 0, ``hash_start`` empty and ``place`` None where it does not say."""

    canonical_id: str
    heading_path: tuple[str, ...] = ()
    version: int = 0
    hash_start: str = ""
    place: tuple[int, int] | None = None


def make_cite_uri(
    canonical_id: str,
    heading_path: Sequence[str],
    *,
    version: int,
    span_sha256: str,
    place: tuple[int, int] | None = None,
) -> str:
    """Return the uri of a span by its hash (hex); ``place`` is told only where it is given."""
    segments = "/".join(quote(sendable(part), safe="") for part in (canonical_id, *heading_path))
    where = "" if place is None else f"&c={place[0]}-{place[1]}"
    return f"{SCHEME}{segments}?v={version}&h={span_sha256[:HASH_DIGITS]}{where}"


def parse_cite_uri(text: str) -> CiteUri | None:
    """Read a uri; None when it is none, or holds a version, hash or place that cannot be one.

    Other parameters and a ``#fragment`` are passed over.
    """
    if text[: len(SCHEME)].lower() != SCHEME:
        return None
    # The id stands where a host would: taken from the text, since hosts are folded to lower case.
    path, _, query = text[len(SCHEME) :].partition("#")[0].partition("?")
    canonical_id, *headings = [unquote(part) for part in path.split("/")]
    if not canonical_id or any(mark in path for mark in "[]<>"):  # these stand percent-encoded in a uri
        return None
    given: dict[str, str] = {}
    for part in query.replace("&amp;", "&").split("&"):
        name, _, value = part.partition("=")
        given.setdefault(name, unquote(value))
    version, hash_start, where = given.get("v", ""), given.get("h", "").lower(), given.get("c", "")
    found = _PLACE.fullmatch(where)
    if (
        (version and not _VERSION.fullmatch(version))
        or (hash_start and not _HASH.fullmatch(hash_start))
        or (where and not found)
    ):
        return None
    place = (int(found[1]), int(found[2])) if found else None
    return CiteUri(canonical_id, tuple(headings), int(version or 0), hash_start, place)


def sendable(text: str) -> str:
    """Return a text as it goes on the wire: lone surrogates replaced."""
    return text if text.isascii() else _LONE.sub("\ufffd", text)
