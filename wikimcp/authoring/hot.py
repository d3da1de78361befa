"""The hot page: what a session reads first. Replaced as a whole, under rules that keep it worth reading."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Any

from wikimcp import __version__
from wikimcp.authoring.log import add_entry, one_line
from wikimcp.authoring.okf import body_of, render_page, set_fields
from wikimcp.authoring.pages import HOT
from wikimcp.authoring.schema_text import HOT_FIELDS, HOT_TEXT
from wikimcp.authoring.workspace import Workspace
from wikimcp.authoring.writing import Expect, FileChange, transaction
from wikimcp.errors import BadArgument, TooLarge

MOST_WORDS = 500
_DATED = re.compile(r"^[ \t]*(?:#{1,6}|[-*+])[ \t]+[*_[(]*(\d{4}-\d{2}-\d{2})", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HotReport:
    """What an update did: ``status`` updated or unchanged, and the words before and after."""

    status: str
    words: int
    words_before: int
    content_hash: str
    changes: tuple[FileChange, ...]
    notes: tuple[str, ...]
    dry_run: bool

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "status": self.status,
            "page": HOT,
            "words": self.words,
            "words_before": self.words_before,
            "content_hash": self.content_hash,
            "dry_run": self.dry_run,
            "changes": [change.to_json() for change in self.changes],
            "notes": list(self.notes),
        }


def update_hot(
    workspace: Workspace, content: str, *, force: bool = False, content_hash: str | None = None, by: str = ""
) -> HotReport:
    """Replace the text of ``hot.md``; a head that ``content`` brings along is left out.

    With ``force`` it may be sparser than before. ``content_hash`` is the page as the caller read it, where
    that matters. Raises BadArgument, TooLarge, Conflict, Refused or WikiError.
    """
    text = body_of(content.replace("\r\n", "\n")).strip()
    words = count_words(text)
    if not words:
        raise BadArgument("the hot page would be empty", hint="Say what matters now, the newest first.")
    if words > MOST_WORDS:
        hint = "Take the oldest out; what is to stay belongs into pages."
        raise TooLarge(f"the hot page would have {words} words, over {MOST_WORDS}", hint=hint)
    _refuse_disorder(text)
    with transaction(workspace) as change:
        present = change.read_text(HOT)
        before = "" if present is None else body_of(present).strip()
        had = 0 if before == HOT_TEXT else count_words(before)
        if words < had and not force:
            raise BadArgument(
                f"the hot page would be sparser: {words} words, where there are {had}",
                hint="Carry over what still matters, or force it.",
            )
        changed = present is None or before != text
        if changed:
            generated = {"by": one_line(by) or f"wikimcp/{__version__}", "at": workspace.now()}
            if present is None:
                page = render_page({**HOT_FIELDS, "generated": generated}, text)
            else:
                head = present[: len(present) - len(body_of(present))]
                page = f"{set_fields(head, {'generated': generated}).rstrip()}\n\n{text}\n"
            change.write(HOT, page, expect=Expect.ANY if content_hash is None else content_hash)
            add_entry(change, "Hot", f"Replaced the hot page ({words} words).")
    digest = change.digest(HOT)
    assert digest is not None
    return HotReport(
        status="updated" if changed else "unchanged",
        words=words,
        words_before=had,
        content_hash=digest,
        changes=change.changes,
        notes=change.notes,
        dry_run=workspace.dry_run,
    )


def count_words(text: str) -> int:
    """Count the words of a text: runs without blanks that hold a letter or digit, comments left out."""
    return sum(any(c.isalnum() for c in word) for word in _COMMENT.sub(" ", text).split())


def _refuse_disorder(text: str) -> None:
    """Raise BadArgument when entries that begin with a date are not in order, the newest first."""
    newest: date | None = None
    for match in _DATED.finditer(text):
        try:
            day = date.fromisoformat(match[1])
        except ValueError:
            continue
        if newest is not None and day > newest:
            line = text.count("\n", 0, match.start(1)) + 1
            raise BadArgument(
                f"line {line} of the hot page is of {day}, below one of {newest}",
                hint="Put the newest first.",
            )
        newest = day
