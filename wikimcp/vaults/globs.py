"""Path patterns in the manner of .gitignore, joined into one regular expression that cannot run away.

Patterns come with a vault, from whoever wrote it. So they are matched by an engine whose time grows with
the length of pattern and path alone, whatever the two are: one that never tracks back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache

from pydantic_core import SchemaError, SchemaValidator, core_schema

from wikimcp.errors import SettingsError

MOST_EXPRESSION = 1 << 18
"""Characters of a regular expression at most: what it costs to read one grows with them."""


class PathPattern:
    """A regular expression for paths, without backtracking and so without look-around. Picklable.

    ``fold``: case does not count. Raises ValueError for what this engine cannot read or hold.
    """

    __slots__ = ("_arguments", "_validator")

    def __init__(self, expression: str, *, fold: bool = False) -> None:
        if len(expression) > MOST_EXPRESSION:
            raise ValueError("too long a pattern")
        flags = "si" if fold else "s"
        try:
            self._validator = SchemaValidator(
                core_schema.str_schema(pattern=f"(?{flags}:\\A(?:{expression}))", regex_engine="rust-regex")
            )
        except SchemaError as error:
            raise ValueError("no pattern that can be matched without backtracking") from error
        self._arguments = (expression, fold)

    def match(self, path: str) -> bool:
        """Say whether the beginning of a path matches."""
        return self._validator.isinstance_python(path)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle what it was made of."""
        return _unpickled, self._arguments


def _unpickled(expression: str, fold: bool) -> PathPattern:
    return PathPattern(expression, fold=fold)


def literal(text: str, *, fold: bool = False) -> PathPattern:
    """Return the pattern of paths that begin with a text."""
    return PathPattern(_escaped(text), fold=fold)


def compile_globs(patterns: Iterable[str]) -> PathPattern | None:
    """Return a pattern that matches every path below or equal to what the globs name; None for no globs.

    A glob without a slash (but for one at its end) matches a name at any depth, any other from the
    root. ``*`` and ``?`` stay within a name, ``**`` spans folders; case counts. Matching is done with
    ``match`` on paths relative to the root. Raises SettingsError for more than can be matched.
    """
    parts = [part for pattern in patterns if (part := _expression(pattern.strip()))]
    try:
        return _compiled("|".join(parts)) if parts else None
    except ValueError:
        raise SettingsError(
            "the globs are too many or too long to be matched", hint="Name folders instead of their files."
        ) from None


@lru_cache(maxsize=32)
def _compiled(expression: str) -> PathPattern:
    return PathPattern(expression)


def rebase_globs(patterns: Iterable[str], folder: str) -> Iterator[str]:
    """Yield globs as they are, and those that lead into ``folder`` also as seen from there.

    So a glob may be written from the vault's root or from the folder its pages lie in.
    """
    for pattern in patterns:
        yield pattern
        first, slash, rest = pattern.strip().replace("\\", "/").removeprefix("./").lstrip("/").partition("/")
        if folder and first != "**" and slash and fnmatchcase(folder, first):
            yield f"/{rest}" if rest.strip("/") else "*"
        elif folder and not slash and fnmatchcase(folder, first):
            yield "*"


def _expression(pattern: str) -> str:
    pattern = pattern.replace("\\", "/").removeprefix("./")
    names = pattern.strip("/")
    if not names or pattern.startswith("#"):
        return ""
    anchored = "/" in pattern.rstrip("/")
    if names.endswith("/**"):
        names = names[:-3]
    prefix = "" if anchored else r"(?:[^/]+/)*"
    return f"(?:{prefix}{_translate(names)}(?:/|\\z))"


def _translate(names: str) -> str:
    result = []
    for part in re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]/]+\])", names):
        if part == "**/":
            result.append(r"(?:[^/]+/)*")
        elif part == "**":
            result.append(".*")
        elif part == "*":
            result.append("[^/]*")
        elif part == "?":
            result.append("[^/]")
        elif re.fullmatch(r"\[[^\]/]+\]", part):
            result.append(_class(part[1:-1].replace("\\", "")))
        else:
            result.append(_escaped(part))
    return "".join(result)


def _class(members: str) -> str:
    """Translate what stands in brackets; a range from high to low is taken as the one that was meant."""
    negated = members[:1] in ("!", "^") and len(members) > 1
    ranges = []
    for first, last in _ranges(members[negated:]):
        low, high = sorted((first, last))
        ranges.append(f"{_escaped(low)}-{_escaped(high)}")
    return f"[{'^' if negated else ''}{''.join(ranges)}]"


def _ranges(members: str) -> Iterator[tuple[str, str]]:
    """Yield the ends of each range; a single character is both of its own."""
    at = 0
    while at < len(members):
        if members[at + 1 : at + 2] == "-" and at + 2 < len(members):
            yield members[at], members[at + 2]
            at += 3
        else:
            yield members[at], members[at]
            at += 1


def _escaped(text: str) -> str:
    """Return a text as it stands for itself in the engine's syntax."""
    return "".join(
        character if character.isalnum() or ord(character) > 127 else f"\\x{{{ord(character):x}}}"
        for character in text
    )
