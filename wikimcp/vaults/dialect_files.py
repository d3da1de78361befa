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
