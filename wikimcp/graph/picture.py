"""A graph as one page to look at: HTML that holds its style, its script and its data and loads nothing.

What the page shows is the caller's matter; here it is put together so that no text in it is taken for markup.
"""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

_SCRIPTS = ("layout.js", "canvas.js", "page.js")
_BLANK = re.compile(r"\{\{(\w+)\}\}")
_LONE = re.compile(r"[\ud800-\udfff]")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")
_IN_SCRIPT = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}
_MARKUP = re.compile("[<>&\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Picture:
    """A page with a graph, and how many nodes and edges it holds."""

    html: str
    nodes: int
    edges: int


def picture_html(title: str, data: Mapping[str, Any]) -> str:
    """Return the page; ``data`` is what its script reads, in the form that `guide.pictures` describes.

    Style and script are allowed by their hashes alone (Content Security Policy, level 3) and nothing may be
    loaded: even a text that got out of its place could not run or fetch anything.
    """
    style, script = _part("page.css"), "\n".join(_part(name) for name in _SCRIPTS)
    parts = {
        "title": html.escape(one_line(title) or "Wiki graph"),
        "policy": "default-src 'none'; "
        f"style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'",
        "style": style,
        "script": script,
        "data": _script_json(data),
    }
    # In one pass: a page of the wiki may well hold the name of a blank.
    return _BLANK.sub(lambda blank: parts[blank[1]], _part("page.html"))


def one_line(text: str) -> str:
    """Return ``text`` as one line, with blanks for controls and for marks that turn the order of others."""
    return " ".join(_UNPRINTABLE.sub(" ", text).split())


def is_picture(beginning: bytes) -> bool:
    """Tell whether a file that begins so (its first kilobyte is enough) is a page of this module."""
    mark = _part("page.html").partition("<meta http-equiv")[0].encode()
    return beginning.replace(b"\r\n", b"\n").startswith(mark)


def _script_json(data: Mapping[str, Any]) -> str:
    """Return JSON that can stand in a script element: no character of it can end or open an element."""
    text = _LONE.sub("\ufffd", json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    return _MARKUP.sub(lambda found: _IN_SCRIPT[found[0]], text)


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def _part(name: str) -> str:
    return (files("wikimcp.graph") / "picture_parts" / name).read_text(encoding="utf-8")
