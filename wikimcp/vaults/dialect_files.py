"""A dialect's own settings: bounded reading of small files, JSON with comments, comments cut out of scripts.

What the settings mean is the dialect's matter. Nothing here is ever run or evaluated.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from wikimcp.errors import NotFound
from wikimcp.vaults.opening import Bounds, read_file

MOST_BYTES = 2**20

_SCRIPT_TOKEN = re.compile(
    r"""(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)"""
    r"|//[^\n]*|/\*.*?(?:\*/|\Z)",
    re.DOTALL,
)
_TRAILING_COMMA = re.compile(r"""("(?:\\.|[^"\\\n])*")|,(?=\s*[\]}])""")
_STRING = re.compile(r""""((?:\\.|[^"\\\n])*)"|'((?:\\.|[^'\\\n])*)'|`((?:\\.|[^`\\])*)`""")
_ESCAPE = re.compile(r"\\(.)")


def read_settings(root: Path, name: str) -> str | None:
    """Return the text of a settings file below a vault's root; None when there is no such file.

    Raises OSError when it is there but cannot be read, or leads out of the vault.
    """
    try:
        file = read_file(Bounds.of(root), name, cap=MOST_BYTES)
    except FileNotFoundError:
        return None
    except NotFound as error:
        raise OSError(f"{name} leads out of the vault") from error
    return file.data.decode("utf-8-sig", "replace")


class UnreadableRules(Exception):
    """A dialect's settings may hide pages, and cannot be read; the message says which and why."""


def json_texts(text: str, key: str, *, file: str) -> list[str]:
    """Return the texts under a key of JSON, also where the JSON is broken somewhere else.

    A single text is a list of one; of a mapping the keys count that are not switched off. Raises
    UnreadableRules when the texts cannot be told, or when the file may be cut before them.
    """
    try:
        settings = parse_jsonc(text)
    except ValueError:
        return _texts_of_broken(text, key, file)
    value = settings.get(key) if isinstance(settings, dict) else None
    if value is None:
        return []
    if isinstance(value, dict):
        value = [name for name, on in value.items() if on is not False]
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str | int) and not isinstance(item, bool) for item in items):
        raise UnreadableRules(f"{key!r} in {file} is no list of texts")
    return [str(item) for item in items if item != ""]


def _texts_of_broken(text: str, key: str, file: str) -> list[str]:
    """Return the texts under a key of JSON that is broken, if their list is whole."""
    if key not in text:
        if text.rstrip().endswith("}"):
            return []
        raise UnreadableRules(f"{file} is cut short or no JSON")
    lists = re.findall(
        rf"""["']{re.escape(key)}["']\s*:\s*\[((?:[^\]"]|"(?:\\.|[^"\\\n])*")*)\]""",
        without_script_comments(text),
    )
    if len(lists) != text.count(key) or not all(map(is_plain_list, lists)):
        raise UnreadableRules(f"{file} is no JSON")
    return [item for found in lists for item in script_strings(found) if item]


def is_plain_list(inner: str) -> bool:
    """Say whether what stands between brackets is nothing but string literals and commas."""
    return not _STRING.sub("", inner).strip(" \t\r\n,")


def inner_folder(root: Path, name: str, trusted: tuple[str, ...] = ()) -> bool:
    """Say whether a vault has a folder of that name that lies inside of it, or where links may lead."""
    folder = root / name
    return folder.is_dir() and Bounds.of(root, trusted).hold(os.path.realpath(folder))


def parse_jsonc(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Parse JSON that may hold comments and trailing commas. Raises ValueError."""
    plain = _TRAILING_COMMA.sub(lambda match: match[1] or "", without_script_comments(text))
    try:
        return json.loads(plain)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def without_script_comments(text: str) -> str:
    """Return a script (or JSON) without its ``//`` and ``/* */`` comments; texts stay as they are."""
    return _SCRIPT_TOKEN.sub(lambda match: match["text"] or " ", text)


def script_strings(text: str) -> list[str]:
    """Return the values of the string literals in a piece of script, in order."""
    return [
        _ESCAPE.sub(r"\1", next(part for part in match.groups() if part is not None))
        for match in _STRING.finditer(text)
    ]
