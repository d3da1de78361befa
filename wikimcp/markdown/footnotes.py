"""Footnote references in a body, and those of them that are keyed to a source of the frontmatter.

A footnote is a citation when ``sources`` of the frontmatter has an entry of its ``id``; what that
entry names (a page, a ``cite://`` uri, a file, an address) is looked at when it is checked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wikimcp.markdown.events import Outline
from wikimcp.markdown.inline import InlineMarks
from wikimcp.markdown.tokens import LineIndex
from wikimcp.models import Link, LinkKind

FOOTNOTE = "footnote:"
"""What the target of a citation by footnote begins with; the id of the source follows."""

_REFERENCE = re.compile(r"\[\^([^\[\]\s^]{1,200})\](?!:)")
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+")
_LONGEST_CLAIM = 300
_QUOTES = ("quote", "span", "excerpt")
_TARGETS = ("cite", "uri", "url", "file", "path", "page", "slug", "target", "ref")


@dataclass(frozen=True, slots=True)
class FootnoteMark:
    """A reference ``[^id]``: where it stands (characters of the file) and the sentence it ends."""

    id: str
    start: int
    line: int
    claim: str
    in_comment: bool


def read_footnotes(
    body: str, outline: Outline, marks: InlineMarks, *, offset: int, lines: LineIndex
) -> tuple[FootnoteMark, ...]:
    """Return the footnote references of a body outside of code, in order."""
    if "[^" not in body:
        return ()
    found = []
    for match in _REFERENCE.finditer(body):
        at = match.start()
        if outline.is_opaque(at) or marks.templates.hold(at):
            continue
        start = max(body.rfind("\n\n", 0, at) + 2, at - 4 * _LONGEST_CLAIM, 0)
        claim = _claim(outline.plain(start, at) or body[start:at])
        found.append(
            FootnoteMark(match[1], at + offset, lines.line(at + offset), claim, marks.comments.hold(at))
        )
    return tuple(found)


def _claim(text: str) -> str:
    """Return the last sentence of the text before a reference, without references before it."""
    text = " ".join(_REFERENCE.sub("", text).split()).rstrip("[^ ")
    sentence = _SENTENCE.split(text)[-1] if text else ""
    return sentence if len(sentence) <= _LONGEST_CLAIM else f"…{sentence[1 - _LONGEST_CLAIM :]}"


def source_of(data: Mapping[str, Any], wanted: str) -> tuple[str, str] | None:
    """Return (what it names, its quoted span) of the source with an id; None when there is none.

    Both are empty where the entry does not say.
    """
    for entry in _sources(data):
        if isinstance(entry, Mapping) and str(entry.get("id", "")) == wanted:
            return _first_text(entry, _TARGETS), _first_text(entry, _QUOTES)
    return None


def footnote_citations(data: Mapping[str, Any], marks: Sequence[FootnoteMark]) -> Iterator[Link]:
    """Yield the footnotes that are keyed to a source of the frontmatter, as citations."""
    if not marks:
        return
    known = {str(entry["id"]) for entry in _sources(data) if isinstance(entry, Mapping) and "id" in entry}
    for mark in marks:
        if mark.id in known:
            found = source_of(data, mark.id)
            yield Link(
                LinkKind.CITATION,
                FOOTNOTE + mark.id,
                label=mark.claim,
                start=mark.start,
                line=mark.line,
                in_comment=mark.in_comment,
                span_text=found[1] if found else "",
            )


def _sources(data: Mapping[str, Any]) -> Iterator[Any]:
    for key in ("sources", "source_refs"):
        value = data.get(key)
        if isinstance(value, list):
            yield from value
        elif isinstance(value, Mapping):  # by id: {s1: {url: …}}
            for name, entry in value.items():
                yield {"id": name, **entry} if isinstance(entry, Mapping) else {"id": name, "ref": entry}


def _first_text(entry: Mapping[str, Any], keys: Sequence[str]) -> str:
    for key in keys:
        value = entry.get(key)
        if isinstance(value, str) and value.strip():
            return " ".join(value.split())
    return ""
