"""The text channel: compact lines that hold the same facts as the structured one.

Text that comes from the vault is flattened to one line or stands between two marks whose token does
not occur in it, so that no note can end its own bounds or add lines to the answer.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from wikimcp.tools.contract import Result

# Controls, line and paragraph separators, marks that reorder text: nothing that may stand in a title.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_BLANKS = re.compile(r"\s+")
_LONE = re.compile("[\ud800-\udfff]")
_NOT_BARE = re.compile(f'[{_UNPRINTABLE.pattern[1:-1]};=,"|\\[\\]{{}}<>]')
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_FRAME = ("total", "returned", "nextCursor", "notes", "index")
_DEEPEST = 60


def flatten(text: str) -> str:
    """Return ``text`` as one line: controls and reordering marks become blanks, runs of blanks one."""
    if text.isascii() and text.isprintable() and "  " not in text:
        return text.strip()
    return _BLANKS.sub(" ", _UNPRINTABLE.sub(" ", plain(text))).strip()


def clip(text: str, longest: int) -> str:
    """Return at most ``longest`` characters of ``text``, marked with an ellipsis when it was cut."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def plain(text: str) -> str:
    """Return ``text`` with lone surrogates replaced, so that it can be sent as UTF-8."""
    return text if text.isascii() else _LONE.sub("\ufffd", text)


def json_safe(value: object, depth: int = 0) -> Any:  # noqa: ANN401 - any JSON value
    """Return ``value`` as JSON can hold it: keys and odd scalars as text, no NaN, no nulls in mappings."""
    if isinstance(value, str):
        return plain(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth < _DEEPEST:
        if isinstance(value, Mapping):
            items = ((plain(str(key)), json_safe(item, depth + 1)) for key, item in value.items())
            return {key: item for key, item in items if item is not None}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [json_safe(item, depth + 1) for item in value]
    return plain(str(value))


def compact_json(value: object) -> str:
    """Return the shortest JSON of ``value``, non-ASCII as it is."""
    return _COMPACT.encode(value)


def boundary(texts: Iterable[str], *, digits: int = 8) -> str:
    """Return a token of hex digits that occurs in none of ``texts``; the same for the same texts."""
    whole = "\n".join(texts)
    digest = hashlib.sha256(whole.encode("utf-8", "replace"))
    for number in count():
        digest.update(b"%d" % number)
        if (token := digest.hexdigest()[:digits]) not in whole:
            return token
    raise AssertionError  # count() has no end


def bounded(text: str, token: str) -> str:
    """Put vault text between its marks; the text is all between the two line breaks next to them."""
    return f"<vault-text {token}>\n{text}\n</vault-text {token}>"


def render_data(result: Result) -> str:
    """Render any result: a line for each fact, a line for each row of a list, within bounds."""
    return render_facts({key: value for key, value in result.wire().items() if key not in _FRAME})


def render_facts(facts: Mapping[str, Any]) -> str:
    """Render a mapping as it goes on the wire: as ``render_data`` does."""
    lines: list[str] = []
    for key, value in facts.items():
        if isinstance(value, list) and any(isinstance(item, dict) for item in value):
            lines.append(f"{key}:")
            lines.extend(f"- {row_line(item)}" for item in value)
        elif isinstance(value, dict):
            lines.append(f"{key}:")
            lines.extend(f"- {_value(name)}={_value(item)}" for name, item in value.items())
        else:
            lines.append(f"{key}={_value(value)}")
    text = "\n".join(lines)
    return bounded(text, boundary([text]))


def render_frame(result: Result) -> str:
    """Render what stands outside the bounds: counts and cursor, notes, and the index stamp."""
    data = result.wire()
    counts: dict[str, Any] = {key: data[key] for key in _FRAME[:3] if key in data}
    lines = [pairs(counts)] if counts else []
    lines.extend(f"note: {flatten(note)}" for note in result.notes)
    if result.index is not None:
        lines.append(f"index: {pairs(data['index'])}")
    return "\n".join(lines)


def row_line(row: Mapping[str, Any]) -> str:
    """Render one row: its first value bare, the others as ``key=value``."""
    (_, first), *rest = row.items()
    return "; ".join([_value(first), *[f"{key}={_value(value)}" for key, value in rest]])


def pairs(data: Mapping[str, Any]) -> str:
    """Render a flat mapping as ``key=value; key=value``."""
    return "; ".join(f"{key}={_value(value)}" for key, value in data.items())


def _value(value: object) -> str:
    """Bare where that is unambiguous, else JSON; always one line."""
    if isinstance(value, str):
        bare = value and not (value[0].isspace() or value[-1].isspace() or _NOT_BARE.search(value))
        return value if bare else _quoted(value)
    if type(value) is int:
        return str(value)
    if isinstance(value, list) and all(isinstance(item, (str, int, float)) for item in value):
        return ",".join(_value(item) for item in value) if value else "[]"
    return _quoted(value)


def json_line(value: object) -> str:
    """Return ``value`` as one line of JSON in which nothing can reorder or break the text around it."""
    return _quoted(value)


def _quoted(value: object) -> str:
    text = compact_json(value)
    return text if text.isascii() else _UNPRINTABLE.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text)
