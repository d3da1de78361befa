"""Links as values: what kind a link is by its form, its target, fragment and label.

Whether a target exists, and under which page, is the graph's matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

from wikimcp.markdown.events import LinkMark
from wikimcp.markdown.inline import WikilinkMark
from wikimcp.markdown.tokens import LineIndex
from wikimcp.models import Link, LinkKind

PAGE_SUFFIXES = (".md", ".markdown")
_MEDIA = (
    "png jpg jpeg gif svg webp avif bmp ico tif tiff heic mp3 wav m4a ogg oga opus flac 3gp aac mp4 webm ogv "
    "mov mkv avi pdf canvas base excalidraw drawio csv tsv xls xlsx ods doc docx odt rtf ppt pptx odp epub "
    "zip gz tgz tar 7z rar txt bib tex psd ai sketch fig blend stl ttf otf woff woff2"
)
_SOURCES = (
    "json jsonl yaml yml xml toml ini cfg conf log lock env html htm css scss js mjs ts tsx jsx py pyi "
    "ipynb rb go rs java kt c h cc cpp hpp cs swift php sh bash zsh ps1 bat sql proto graphql tf gradle "
    "patch diff"
)
MEDIA_SUFFIXES = frozenset(_MEDIA.split())
"""Suffixes that make even a wikilink's target a file that is no page."""
FILE_SUFFIXES = MEDIA_SUFFIXES | frozenset(_SOURCES.split())
"""Suffixes that make the target of a markdown link a file that is no page."""

_KEPT_MEANINGS = 2_048

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_URL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]+://|mailto:|tel:)\S")
_SOURCE_ANCHOR = re.compile(r"file:(?!//)[^#]+#L\d+")
_SIZE = re.compile(r"\d+(?:x\d+)?")
_ISSUE_KEY = re.compile(r"#\d+|GH-\d+|[A-Z][A-Z0-9]+-\d+")
_WIKILINK = re.compile(r"(!?)\[\[([^\[\]\n]+)\]\]")
_MARKDOWN_LINK = re.compile(r"(!?)\[([^\[\]\n]*)\]\(\s*(<[^<>\n]*>|[^\s()<>]+)(?:\s+\"([^\"\n]*)\")?\s*\)")
_TARGET_IN_BRACKETS = re.compile(r"!?\[\[([^\[\]|#\n]+)[^\[\]\n]*\]\]")


def is_issue_key(target: str) -> bool:
    """Say whether an unresolved target looks like an issue key (``GH-42``, ``#12``, ``ABC-7``)."""
    return bool(_ISSUE_KEY.fullmatch(target.strip()))


class _Meaning(NamedTuple):
    """What a link says wherever it stands. Pages repeat their links, so the last ones read are kept."""

    kind: LinkKind
    target: str
    fragment: str
    label: str
    title: str = ""


def wikilink(
    mark: WikilinkMark, *, start: int, line: int, prop: str = "", in_comment: bool = False
) -> Link | None:
    """Return the link of a ``[[target#fragment|label]]``; None when it has no target at all."""
    meaning = _of_wikilink(mark.inner, mark.embed)
    if meaning is None:
        return None
    kind, target, fragment, label, title = meaning
    return Link(kind, target, fragment, label, start, line, prop, in_comment, title)


def markdown_link(
    mark: LinkMark, *, start: int, line: int, prop: str = "", in_comment: bool = False
) -> Link | None:
    """Return the link of a ``[label](dest "title")`` or image; None when it leads nowhere."""
    meaning = _of_markdown(mark.dest, mark.label, mark.title, mark.image)
    if meaning is None:
        return None
    kind, target, fragment, label, title = meaning
    return Link(kind, target, fragment, label, start, line, prop, in_comment, title)


@lru_cache(maxsize=_KEPT_MEANINGS)
def _of_wikilink(inner: str, embed: bool) -> _Meaning | None:  # noqa: FBT001 - a cached function's key
    written, _, label = inner.partition("|")
    written = written.removesuffix("\\").strip()
    label = label.strip()
    if _URL.match(written):
        return _Meaning(LinkKind.EXTERNAL, written, "", label)
    target, fragment = _split_fragment(written)
    if not target and not fragment:
        return None
    if _suffix(target) in MEDIA_SUFFIXES:
        kind = LinkKind.ATTACHMENT
    else:
        kind = LinkKind.EMBED if embed else LinkKind.WIKILINK
    if (embed or kind is LinkKind.ATTACHMENT) and _SIZE.fullmatch(label):
        label = ""
    return _Meaning(kind, target, fragment, label)


@lru_cache(maxsize=_KEPT_MEANINGS)
def _of_markdown(dest: str, label: str, title: str, image: bool) -> _Meaning | None:  # noqa: FBT001
    dest = dest.strip()
    if dest in ("", "#") or "{{" in dest:
        return None
    if image:
        alt, bar, size = label.rpartition("|")
        label = alt if bar and _SIZE.fullmatch(size.strip()) else label
        label = "" if _SIZE.fullmatch(label) else label
    if dest[:5].lower() == "cite:" or _SOURCE_ANCHOR.match(dest):
        return _Meaning(LinkKind.CITATION, dest, "", label, title)
    if _SCHEME.match(dest) or dest.startswith("//") or ("@" in dest and "/" not in dest):
        return _Meaning(LinkKind.EXTERNAL, dest, "", "" if label == dest else label)
    target, _, fragment = dest.partition("#")
    path, query, _ = target.partition("?")
    if query and path.lower().endswith(PAGE_SUFFIXES):
        target = path
    target, fragment = unquote(target), unquote(fragment)
    if _suffix(target) in FILE_SUFFIXES:
        kind = LinkKind.ATTACHMENT
    else:
        kind = LinkKind.EMBED if image else LinkKind.MARKDOWN
    return _Meaning(kind, target, fragment, label)


def links_in_text(text: str, *, prop: str, line: int) -> Iterator[Link]:
    """Yield the wikilinks and markdown links of a property's text, in order."""
    found: list[tuple[int, Link | None]] = []
    for match in _WIKILINK.finditer(text):
        mark = WikilinkMark(match.start(), match.end(), match[2], match[1] == "!")
        found.append((match.start(), wikilink(mark, start=-1, line=line, prop=prop)))
    for match in _MARKDOWN_LINK.finditer(text):
        image, label, dest, title = match.groups(default="")
        link = LinkMark(match.start(), match.end(), bool(image), dest.strip("<>"), title, label)
        found.append((match.start(), markdown_link(link, start=-1, line=line, prop=prop)))
    found.sort(key=lambda pair: pair[0])
    yield from (link for _, link in found if link is not None)


def frontmatter_links(data: Mapping[str, Any], positions: Mapping[str, int], lines: LineIndex) -> list[Link]:
    """Return the links in the values of frontmatter, each with the name of its top-level key."""
    links: list[Link] = []
    for key, value in data.items():
        texts = [text for text in _texts(value) if "[" in text]
        if texts:
            line = lines.line(positions[key]) if key in positions else 0
            for text in texts:
                links.extend(links_in_text(text, prop=key, line=line))
    return links


def target_name(text: str) -> str:
    """Return the page a value names: the target of ``[[X#h|y]]`` or ``[y](X#h)``, else the text itself."""
    text = text.strip()
    if match := _TARGET_IN_BRACKETS.fullmatch(text):
        return match[1].strip()
    if match := _MARKDOWN_LINK.fullmatch(text):
        dest = match[3].strip("<>")
        return dest if _SCHEME.match(dest) else unquote(dest.partition("#")[0]) or text
    return text


def display_text(text: str) -> str:
    """Return a text with its wikilinks shown as a reader sees them: label, else target."""
    return _WIKILINK.sub(_shown, text) if "[[" in text else text


def _shown(match: re.Match[str]) -> str:
    target, bar, label = match[2].partition("|")
    return label if bar else target


def _split_fragment(written: str) -> tuple[str, str]:
    """Split at the first ``#``; one at the very end belongs to the name (``C#``)."""
    target, mark, fragment = written.partition("#")
    if mark and not fragment.strip():
        return (written, "") if target.strip() else ("", "")
    return target.strip(), fragment.strip()


def _suffix(target: str) -> str:
    """Return what follows the last dot of the last path segment, in lower case."""
    name = target.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    return suffix.lower() if dot and stem else ""


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
