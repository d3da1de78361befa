"""Source anchors ``file:path#L10-L20``: read, and looked up below the source roots that the operator named.

Paths are relative to a root, in what is written and in what is answered. Nothing outside of the roots,
no hidden file and no page of the vault is ever opened.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

from wikimcp.citations.nearest import nearest_passage
from wikimcp.citations.page_text import PageText, Range
from wikimcp.citations.verdict import Status, Verdict
from wikimcp.markdown.tokens import span_sha256
from wikimcp.regular_files import READ_FLAGS

_ANCHOR = re.compile(r"file:(?!//)([^#]+)#L(\d{1,8})(?:-L?(\d{1,8}))?")
_MOST_BYTES = 4 * 2**20
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+\Z")


@dataclass(frozen=True, slots=True)
class SourceAnchor:
    """A file by its path below a source root, and lines of it, first and last."""

    path: str
    lines: tuple[int, int]

    @property
    def text(self) -> str:
        """The anchor as it is written."""
        first, last = self.lines
        return f"file:{self.path}#L{first}" + (f"-L{last}" if last != first else "")


def parse_anchor(text: str) -> SourceAnchor | None:
    """Read an anchor; None when it is none, or its path leaves the root or names a hidden file."""
    found = _ANCHOR.fullmatch(text.strip())
    if found is None:
        return None
    path = PurePosixPath(unquote(found[1]).strip().replace("\\", "/"))
    parts = [part for part in path.parts if part != "."]
    first, last = int(found[2]), int(found[3] or found[2])
    if path.is_absolute() or not parts or any(p.startswith(".") or "\0" in p or ":" in p for p in parts):
        return None
    return SourceAnchor("/".join(parts), (first, last)) if 1 <= first <= last else None


class SourceRoots:
    """The folders that source anchors are relative to, in the order in which a path is looked up.

    ``hidden`` says of a real path that it must not be opened, as it belongs to the vault.
    """

    def __init__(self, roots: Sequence[Path], *, hidden: Callable[[Path], bool]) -> None:
        self._roots = [root.resolve() for root in roots]
        self._hidden = hidden

    def __bool__(self) -> bool:
        return bool(self._roots)

    def read(self, path: str) -> str | None:
        """Return the text of a file below a root; None when there is none that may be read."""
        for root in self._roots:
            data = self._bytes(root, path)
            if data is not None:
                return data.decode("utf-8", "replace")
        return None

    def _bytes(self, root: Path, path: str) -> bytes | None:
        try:
            real = (root / path).resolve(strict=True)
            inside = real.relative_to(root)
            if any(part.startswith(".") for part in inside.parts) or self._hidden(real):
                return None
            return _read(_open_below(root, inside))
        except (OSError, ValueError, RuntimeError):
            return None


def _read(handle: int) -> bytes | None:
    """Read an opened file and close it; None for what is no regular file, or too large."""
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MOST_BYTES:
            return None
        parts = []
        while part := os.read(handle, _MOST_BYTES):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(handle)


def _open_below(root: Path, inside: Path) -> int:
    """Open a file by its resolved path below a root, folder by folder.

    No link is followed at any step, so one that took a folder's place after the path was resolved leads
    nowhere. Raises OSError.
    """
    if os.open not in os.supports_dir_fd:
        return os.open(root / inside, READ_FLAGS)
    folder = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in inside.parts[:-1]:
            below = os.open(part, READ_FLAGS | os.O_DIRECTORY, dir_fd=folder)
            os.close(folder)
            folder = below
        return os.open(inside.name, READ_FLAGS, dir_fd=folder)
    finally:
        os.close(folder)


def anchored_hash(text: str, anchor: SourceAnchor) -> str:
    """Return the span hash of the anchor's lines (64 hex); empty when the file has not so many."""
    place = _lines_at(_line_places(text), anchor.lines)
    return span_sha256(text[place[0] : place[1]]) if place else ""


def check_anchor(text: str | None, anchor: SourceAnchor, *, span: str, pinned: str) -> Verdict:
    """Check an anchor against its file (None: missing) by its quoted span, else by a pinned hash.

    Unchanged is current; a span that its lines do not hold any more but other lines do is moved.
    """
    if text is None:
        return Verdict(Status.TARGET_MISSING, "file missing")
    lines = _line_places(text)
    place = _lines_at(lines, anchor.lines)
    if span:
        page = PageText(text, ())
        places = page.places_of_text(span)
        if place and any(place[0] <= found[0] and found[1] <= place[1] for found in places):
            return Verdict(Status.CURRENT, "", place)
        if len(places) == 1:
            return _moved(page, places[0])
        if places:
            return Verdict(Status.AMBIGUOUS, f"the span stands {len(places)} times in the file")
        return Verdict(Status.STALE, "changed", nearest=nearest_passage(page, span))
    if place is None:
        return _found_again(text, lines, anchor, pinned) or Verdict(
            Status.STALE, f"no such span: the file has {len(lines)} lines"
        )
    if not pinned or span_sha256(text[place[0] : place[1]]) == pinned:
        return Verdict(Status.CURRENT, "", place)
    return _found_again(text, lines, anchor, pinned) or Verdict(Status.STALE, "changed")


def _found_again(text: str, lines: Sequence[Range], anchor: SourceAnchor, pinned: str) -> Verdict | None:
    """Look for pinned lines elsewhere in the file, as many of them together."""
    if not pinned:
        return None
    count = anchor.lines[1] - anchor.lines[0] + 1
    spans = ((lines[at][0], lines[at + count - 1][1]) for at in range(len(lines) - count + 1))
    places = [place for place in spans if span_sha256(text[place[0] : place[1]]) == pinned]
    if len(places) > 1:
        return Verdict(Status.AMBIGUOUS, f"the lines stand {len(places)} times in the file")
    return _moved(PageText(text, ()), places[0]) if places else None


def _moved(page: PageText, place: Range) -> Verdict:
    first, last = page.lines(place)
    return Verdict(Status.MOVED, f"moved to lines {first}-{last}", place)


def _line_places(text: str) -> list[Range]:
    return [match.span() for match in _LINE.finditer(text)]


def _lines_at(lines: Sequence[Range], wanted: tuple[int, int]) -> Range | None:
    first, last = wanted
    return (lines[first - 1][0], lines[last - 1][1]) if last <= len(lines) else None
