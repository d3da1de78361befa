"""Path patterns in the manner of .gitignore, joined into one regular expression."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase


def compile_globs(patterns: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern that matches every path below or equal to what the globs name; None for no globs.

    A glob without a slash (but for one at its end) matches a name at any depth, any other from the
    root. ``*`` and ``?`` stay within a name, ``**`` spans folders; case counts. Matching is done with
    ``match`` on paths relative to the root.
    """
    parts = [part for pattern in patterns if (part := _expression(pattern.strip()))]
    return re.compile("|".join(parts)) if parts else None


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
    return f"(?:{prefix}{_translate(names)}(?:/|\\Z))"


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
            members = part[1:-1].replace("\\", "")
            result.append(f"[{'^' + members[1:] if members.startswith('!') else members}]")
        else:
            result.append(re.escape(part))
    return "".join(result)
