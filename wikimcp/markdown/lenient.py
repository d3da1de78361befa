"""What can still be read of a frontmatter block that is no YAML: entries that stand alone, and signs.

A sign is anything that looks like a publication key, wherever it stands: it is what fails closed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from typing import Any
from unicodedata import category, normalize

from wikimcp.markdown.yaml_values import YamlFault, load_yaml

MAX_ENTRIES = 500
MAX_ENTRY = 16 * 1024

_TOP_LINE = re.compile(r"^(?!-)[^\s#\]}>|][^\n]*$", re.MULTILINE)
_KEY = re.compile(
    r"""(?P<quote>["']?)(?P<key>[^\s:"'#{\[][^:"'\n]{0,79}?)(?P=quote)[ \t]*:(?:[ \t]+|(?=\n)|\Z)"""
)
_ITEM = re.compile(r"^[ \t]*-[ \t]*(\S.*?)[ \t]*$", re.MULTILINE)
_QUOTES = {'"': re.compile('"'), "'": re.compile(r"(?<!\w)'|'(?!\w)")}
"""Quotes by their sign; a single one between letters is an apostrophe."""
_COMMENT = re.compile(r"(?:^|[ \t])#.*\Z")

MAX_SIGNS = 1_000

KEY_NAMES = r"draft|publish|published|public|status|review[-_ \t]?state|state|visibility"
"""The keys that say who may read a page, as an expression for all their spellings but case."""
_STEMS = ("draft", "publi", "stat", "visib")
_SIGN = re.compile(
    rf"""(?<![\w-])["']?({KEY_NAMES})["']?[ \t]*(?:::?|=|\uff1a)[ \t]*([^\n]*)""", re.IGNORECASE
)
_BARE_SIGN = re.compile(
    rf"""[ \t"'*>?-]*({KEY_NAMES})(?![\w-])["']?(?:[ \t>-]+([^\s:=]+))?[ \t]*\Z""", re.IGNORECASE
)
_WINDOW = 512


@dataclass(frozen=True, slots=True)
class LenientEntry:
    """One top-level entry read by itself; ``clean`` says that it was YAML when taken alone."""

    key: str
    value: Any
    start: int
    end: int
    clean: bool


@dataclass(frozen=True, slots=True)
class Sign:
    """Something like a publication key: its name, the rest of its line, and where it stands."""

    key: str
    value: str
    index: int


def read_entries(block: str) -> tuple[LenientEntry, ...]:
    """Read each ``key: value`` at the left margin by itself, with the lines that belong to it."""
    block = line_feeds(block)
    starts = [match.start() for match in islice(_TOP_LINE.finditer(block), MAX_ENTRIES + 1)]
    if len(starts) <= MAX_ENTRIES:
        starts.append(len(block))
    entries = []
    for start, end in pairwise(starts):
        entry = _read_entry(block, start, min(end, start + MAX_ENTRY))
        if entry is not None:
            entries.append(entry)
    return tuple(entries)


def looks_like_keys(block: str) -> bool:
    """Say whether at least half of the lines at the left margin are ``key:`` lines with one-word keys."""
    lines = [match.group() for match in _TOP_LINE.finditer(line_feeds(block[:MAX_ENTRY]))]
    keys = [line for line in lines if (match := _KEY.match(line)) and " " not in match["key"]]
    return bool(keys) and 2 * len(keys) >= len(lines)


def find_signs(block: str) -> list[Sign]:
    """Return the signs of publication keys: ``key: value``, ``key = value``, ``{key: value}``, ``key value``.

    At most ``MAX_SIGNS`` are read; when there are more, the last one is unreadable.
    """
    block = line_feeds(block)
    if not block.isascii():
        folded, places = _fold(block)
        return [Sign(sign.key, sign.value, places[sign.index]) for sign in _signs(folded)]
    return _signs(block)


def _fold(block: str) -> tuple[str, list[int]]:
    """Return a block without differences of width and what shows nothing, and where each character stood."""
    kept: list[str] = []
    places: list[int] = []
    for place, character in enumerate(block):
        if not character.isascii():
            if category(character) == "Cf":
                continue
            character = normalize("NFKC", character)
        kept.append(character)
        places.extend([place] * len(character))
    return "".join(kept), places


def _signs(block: str) -> list[Sign]:
    signs: dict[int, Sign] = {}
    for number, position in enumerate(_stem_positions(block)):
        line_start = block.rfind("\n", max(position - _WINDOW, 0), position) + 1 or max(position - _WINDOW, 0)
        line_end = block.find("\n", position, position + _WINDOW)
        line = block[line_start : line_end if line_end >= 0 else position + _WINDOW]
        for sign in _line_signs(line, line_start):
            signs.setdefault(sign.index, sign)
        if number > 5 * MAX_SIGNS or len(signs) > MAX_SIGNS:
            return [*signs.values(), Sign("draft", "unreadable: too many publication keys", position)]
    return list(signs.values())


def line_feeds(text: str) -> str:
    """Return a text of the same length whose lines all end in LF (CRLF becomes blank and LF)."""
    return text.replace("\r\n", " \n").replace("\r", "\n") if "\r" in text else text


def _stem_positions(block: str) -> Iterator[int]:
    """Yield where a publication key may stand; a plain search, as a block may be megabytes of anything."""
    lowered = block.lower()
    if len(lowered) != len(block):
        yield from (match.start() for match in re.finditer("|".join(_STEMS), block, re.IGNORECASE))
        return
    for stem in _STEMS:
        position = lowered.find(stem)
        while position >= 0:
            yield position
            position = lowered.find(stem, position + 1)


def _line_signs(line: str, start: int) -> Iterator[Sign]:
    if line.lstrip().startswith("#"):
        return
    for match in _SIGN.finditer(line):
        value = _COMMENT.sub("", match[2])
        inside = "{" in line[: match.start()]
        yield Sign(match[1], re.split(r"[,}]", value)[0] if inside else value, start + match.start(1))
    bare = _BARE_SIGN.match(line)
    if bare is not None:
        yield Sign(bare[1], bare[2] or "", start + bare.start(1))


def _read_entry(block: str, start: int, end: int) -> LenientEntry | None:
    text = block[start:end]
    match = _KEY.match(text)
    if match is None:
        return None
    try:
        document = load_yaml(text)
    except YamlFault:
        return LenientEntry(match["key"], _raw_value(text[match.end() :]), start, end, clean=False)
    if len(document.entries) != 1:
        return LenientEntry(match["key"], _raw_value(text[match.end() :]), start, end, clean=False)
    entry = document.entries[0]
    return LenientEntry(entry.key, entry.value, start, end, clean=True)


def _raw_value(text: str) -> Any:  # noqa: ANN401 - text or a list of texts
    """Take a value that is no YAML as text: one line, several joined, or the items of a list."""
    first, _, rest = text.partition("\n")
    if not first.strip() and _ITEM.search(rest):
        return [_unquote(item) for item in _ITEM.findall(rest)]
    return _unquote(" ".join(line.strip() for line in (first, *rest.split("\n")) if line.strip()))


def _unquote(text: str, *, layers: int = 3) -> str:
    """Return a value without the quotes around it, and without one that has no partner."""
    text = text.strip()
    for quote, pattern in _QUOTES.items():
        places = [match.start() for match in pattern.finditer(text)]
        opens, closes = text.startswith(quote), text.endswith(quote) and len(text) > 1
        if not places or not (opens or closes):
            continue
        odd = len(places) % 2 == 1
        # A quote behind a letter closes what was opened before it.
        inner_closes = len(places) > 2 and not text[places[1] - 1].isspace() and places[1] > 1
        if opens and closes and not odd:
            return text if inner_closes or not layers else _unquote(text[1:-1], layers=layers - 1)
        if odd and opens and not (closes and inner_closes):
            return text[1:].strip()
        if odd and closes and quote == '"':  # a single one may be an apostrophe
            return text[:-1].strip()
    return text
