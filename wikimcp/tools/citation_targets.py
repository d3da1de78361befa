"""What a citation in a page, or one that an agent gives back, is about: a page, a source file, or neither."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from wikimcp.citations.anchors import SourceAnchor, parse_anchor
from wikimcp.citations.uri import CiteUri, parse_cite_uri, sendable
from wikimcp.citations.verdict import Cited
from wikimcp.errors import Ambiguous, NotFound
from wikimcp.index.view import PageRecord, Reading

_HANDLE = re.compile(
    r"(?P<slug>.+?)\s+@\s+(?P<version>[1-9]\d{0,8})"
    r"(?:\s*[;,:#]?\s*(?:lines?\s*[=:]?\s*|L)(?P<first>\d{1,9})(?:\s*-\s*L?(?P<last>\d{1,9}))?)?",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"\[(?P<claim>(?:[^\[\]\\]|\\.)*)\]\(\s*<?(?P<uri>(?:cite://|file:)[^\s<>]+?)>?"
    r'(?:\s+"(?P<span>(?:[^"\\]|\\.)*)")?\s*\)',
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_EXTERNAL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_HASH = re.compile(r"[0-9a-f]{16,64}")


@dataclass(frozen=True, slots=True)
class Target:
    """What is cited, as written, and the parts that it was read into.

    ``name`` is the id or slug of a page; ``by_id`` that it can be nothing but an id. Exactly one of
    ``name`` and ``anchor`` is there, or neither: then ``malformed`` says why, or the target lies outside
    of the vault and cannot be checked here.
    """

    written: str
    name: str = ""
    by_id: bool = False
    version: int = 0
    cited: Cited = Cited()
    anchor: SourceAnchor | None = None
    claim: str = ""
    malformed: str = ""

    @property
    def bare(self) -> bool:
        """Whether nothing but page and version is said, so that the version is all there is to check."""
        return self.cited == Cited()

    @property
    def outside(self) -> bool:
        """Whether it names something that only the world outside could confirm."""
        return not (self.name or self.anchor or self.malformed)


def target_of(written: str, *, span: str = "", claim: str = "") -> Target:
    """Read the target of a citation in a page: a uri, a source anchor, a page, or what lies outside."""
    lower = written[:5].lower()
    if lower == "cite:":
        uri = parse_cite_uri(written)
        if uri is None:
            return Target(written, claim=claim, malformed="this is no citation uri")
        return _of_uri(written, uri, span, claim)
    if lower == "file:":
        anchor = parse_anchor(written)
        wrong = "" if anchor else "this is no path below a source root with lines"
        return Target(written, cited=Cited(span=span), anchor=anchor, claim=claim, malformed=wrong)
    if not written or _EXTERNAL.match(written) or written.startswith("//"):
        return Target(written, claim=claim)
    name, _, heading = written.partition("#")
    path = tuple(part.strip() for part in heading.split("#")) if heading else ()
    return Target(written, name.strip(), cited=Cited(path, span), claim=claim)


def _of_uri(written: str, uri: CiteUri, span: str, claim: str) -> Target:
    cited = Cited(uri.heading_path, span, uri.hash_start, uri.place)
    return Target(written, uri.canonical_id, True, uri.version, cited, claim=claim)


def given_target(text: str) -> Target:
    """Read what an agent gives to be verified.

    A uri, a handle ``slug @ version`` (with ``lines 3-9`` or ``L3-L9`` behind it), a citation object as
    JSON, a whole markdown link, or a source anchor.
    """
    text = text.strip()
    if text.startswith("{"):
        return _of_object(text)
    if link := _LINK.fullmatch(text):
        span = _ESCAPED.sub(r"\1", link["span"] or "")
        return target_of(link["uri"], span=span, claim=link["claim"])
    if text[:5].lower() in ("cite:", "file:"):
        return target_of(text)
    if handle := _HANDLE.fullmatch(text):
        lines = None
        if handle["first"]:
            lines = (int(handle["first"]), int(handle["last"] or handle["first"]))
        slug = handle["slug"].strip()
        return Target(text, slug, version=int(handle["version"]), cited=Cited(lines=lines))
    return Target(text, malformed="this is neither a citation uri nor a handle `slug @ version`")


def _of_object(text: str) -> Target:
    """Read a citation object; its uri, handle, lines and hash must all hold together."""
    try:
        given: Any = json.loads(text)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        return Target(text, malformed="this is no JSON object")
    parts = [given[key] for key in ("uri", "handle") if isinstance(given.get(key), str)]
    if not parts or parts[0].lstrip().startswith("{"):
        return Target(text, malformed="this object has neither uri nor handle")
    span, claim = (given[key] if isinstance(given.get(key), str) else "" for key in ("span", "claim"))
    target = given_target(parts[0])
    target = replace(target, claim=claim, cited=replace(target.cited, span=span))
    lines = given.get("lines")
    if isinstance(lines, list) and len(lines) == 2 and all(type(line) is int for line in lines):
        target = replace(target, cited=replace(target.cited, lines=(lines[0], lines[1])))
    whole = str(given.get("spanSha256", "")).lower()
    if whole and not target.malformed:
        start = target.cited.hash_start
        if not _HASH.fullmatch(whole) or not whole.startswith(start):
            return Target(text, malformed="its hashes contradict each other")
        target = replace(target, cited=replace(target.cited, hash_start=whole))
    return target


@dataclass(frozen=True, slots=True)
class FoundPage:
    """The page that a target names now; ``moved`` when it was found under a former name."""

    page: PageRecord
    moved: bool = False


def find_page(reading: Reading, target: Target) -> FoundPage | None:
    """Return the visible page that a target names, by its id or slug, else by one it once had.

    No other name counts for a uri or a handle: what was never cited must not be found by chance.
    """
    name = target.name
    if target.by_id:
        page = reading.by_id(name) or _as_sent(reading, lambda page: page.canonical_id, name)
        moved = None if page else reading.moved_id(name)
    elif target.version:
        page = reading.page(name) or _as_sent(reading, lambda page: page.slug, name)
        moved = None if page else reading.moved_slug(name)
    else:
        try:
            return FoundPage(reading.resolve(name))
        except (NotFound, Ambiguous):
            return None
    found = page or moved
    return FoundPage(found, moved=page is None) if found else None


def _as_sent(reading: Reading, told: Callable[[PageRecord], str], name: str) -> PageRecord | None:
    """Find a page by an id or slug that cannot be sent as it is written."""
    if "\ufffd" not in name:
        return None
    return next((page for page in reading.pages if sendable(told(page)) == name), None)
