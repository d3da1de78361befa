"""The mark that `wikimcp install` leaves on what it writes: whose it is, and what came into being with it.

A mark stands as the value of `--installed` in the command that a client is given, or in the comment
that opens a block of text. Uninstalling reads it to put back every byte; the server and the hook
take the option and do nothing with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Self

OPTION = "--installed"
_CODE = re.compile(r"f(\d+)|(r)|(\d+)(e?)")


@dataclass(frozen=True, slots=True)
class Mark:
    """``levels``: elements that were made, the entry included (blocks: line ends put before it).

    ``opened``: an empty ``{}`` was opened up to several lines. ``whole``: the document was blank.
    ``folders``: how many folders were made for the file; None when the file was there.
    """

    levels: int = 1
    opened: bool = False
    whole: bool = False
    folders: int | None = None

    def __str__(self) -> str:
        if self.folders is not None:
            return f"f{self.folders}"
        return "r" if self.whole else f"{self.levels}{'e' if self.opened else ''}"

    @classmethod
    def read(cls, code: str) -> Self | None:
        """Read a mark; None for anything else."""
        found = _CODE.fullmatch(code)
        if found is None:
            return None
        if found[1] is not None:
            return cls(whole=True, folders=int(found[1]))
        return cls(whole=True) if found[2] else cls(levels=int(found[3]), opened=bool(found[4]))


def mark_in(value: Any) -> Mark | None:  # noqa: ANN401 - any JSON value
    """Find the mark in an entry: in a list of arguments, or in a command line."""
    if isinstance(value, str):
        found = re.search(rf"\bhook\b.* {OPTION} (\S+)", value)
        return Mark.read(found[1]) if found else None
    if isinstance(value, dict):
        return next((mark for item in value.values() if (mark := mark_in(item))), None)
    if isinstance(value, list):
        if (
            "serve" in value
            and OPTION in value[:-1]
            and isinstance(code := value[value.index(OPTION) + 1], str)
        ):
            return Mark.read(code)
        return next((mark for item in value if (mark := mark_in(item))), None)
    return None
