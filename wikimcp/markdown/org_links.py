"""The links of org files: ``[[target][label]]``, bare addresses, block references and embeds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from wikimcp.markdown.inline import UUID, Ranges
from wikimcp.markdown.links import MEDIA_SUFFIXES
from wikimcp.markdown.tokens import LineIndex
from wikimcp.models import Link, LinkKind

_LONGEST_SHOWN = 2_000
_LINK = re.compile(
    r"\[\[(?P<target>[^\[\]\n]+)\](?:\[(?P<label>[^\[\]\n]*)\])?\]"
    rf"|\(\((?P<block>{UUID})\)\)"
    r"|(?P<url>(?<![\w\[:/])https?://[^\s<>\[\]]*[^\s<>\[\].,;:!?)'\"])"
)
_EMBED = re.compile(r"\{\{\s*embed\s+\Z", re.IGNORECASE)
_MACRO = re.compile(r"\{\{\s*embed\s+(?=\[\[|\(\()|\}\}", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(?!:)")
_MARKS = re.compile(r"(?<![^\s({'\"-])([*/_=~+])(?=\S)([^\n]{1,400}?)(?<=\S)\1(?![^\s.,;:!?)}'\"\[-])")
_PATH = re.compile(r"\.{0,2}/|~/")


def org_links(text: str, start: int, *, skip: Ranges, lines: LineIndex) -> Iterator[Link]:
    """Yield the links of a text from ``start`` on, but for those in what is to be skipped (code)."""
    for match in _LINK.finditer(text, start):
        at = match.start()
        if skip.hold(at):
            continue
        line = lines.line(at)
        if match["block"]:
            yield Link(LinkKind.BLOCK, match["block"], start=at, line=line)
        elif match["url"]:
            yield Link(LinkKind.EXTERNAL, match["url"], start=at, line=line)
        elif match["target"].strip():
            embed = _EMBED.search(text, max(at - 16, 0), at) is not None
            yield org_link(match["target"], match["label"] or "", start=at, line=line, embed=embed)


def org_link(written: str, label: str, *, start: int, line: int, embed: bool = False) -> Link:
    """Return the link of ``[[written][label]]``."""
    written = written.strip()
    kind, target, fragment = LinkKind.EMBED if embed else LinkKind.WIKILINK, written, ""
    if written.startswith("file:") or _PATH.match(written):
        target, _, search = written.removeprefix("file:").partition("::")
        target, fragment = unquote(target), search.lstrip("*#") if not search.isdigit() else ""
        media = target.rpartition(".")[2].lower() in MEDIA_SUFFIXES
        kind = LinkKind.ATTACHMENT if media else LinkKind.MARKDOWN
    elif written.startswith("id:"):
        kind, target = LinkKind.BLOCK, written[3:].partition("::")[0]
    elif written[0] in "*#":
        target, fragment = "", written.lstrip("*#").strip()
    elif _SCHEME.match(written):
        kind = LinkKind.EXTERNAL
    return Link(kind, target, fragment, label, start, line)


def shown_text(text: str) -> str:
    """Return a text as a reader sees it: labels of links for the links, without marks of emphasis."""
    text = text[:_LONGEST_SHOWN]
    if "[[" in text:
        text = _LINK.sub(lambda match: match["label"] or match["target"] or match[0], text)
    return " ".join(_MARKS.sub(r"\2", _MACRO.sub("", text)).split())
