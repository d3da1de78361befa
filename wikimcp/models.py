"""The values that every other module speaks in: pages, sections, chunks, links, hits, citations.

All are frozen. Offsets are characters of the file as decoded (frontmatter, BOM and carriage
returns counted), end exclusive, so that ``text[span.start:span.end]`` is exactly what is cited.
Lines are 1-based, inclusive, and end at LF, CRLF or CR only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Span:
    """A contiguous range of a file's text: characters ``[start, end)``, lines first..last."""

    start: int
    end: int
    first_line: int
    last_line: int


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with its own text (``own``) and with all below it (``subtree``).

    ``ordinal`` is its position on the page; ``level`` 0 with an empty path is the text before the
    first heading. ``duplicate`` counts sections of one path: 1 for the first, 2 for the next.
    """

    ordinal: int
    level: int
    heading_path: tuple[str, ...]
    duplicate: int
    own: Span
    subtree: Span

    @property
    def heading(self) -> str:
        """The section's own heading text; empty for the text before the first heading."""
        return self.heading_path[-1] if self.heading_path else ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A contiguous part of one section's own text, about 200 tokens: what is ranked."""

    ordinal: int
    section: int
    start: int
    end: int


class LinkKind(StrEnum):
    """What a link is by its form; whether it resolves is the graph's matter."""

    WIKILINK = "wikilink"
    EMBED = "embed"
    MARKDOWN = "markdown"
    ATTACHMENT = "attachment"
    BLOCK = "block"
    EXTERNAL = "external"
    CITATION = "citation"


class Link(NamedTuple):
    """A link as written: target without fragment, ``fragment`` a heading (``A#B``) or ``^block``.

    ``prop`` names the frontmatter key or inline field it stands in; ``start`` and ``line`` are its
    position (line of the key for frontmatter, start -1 when unknown). ``span_text`` is the quoted
    verbatim span of a ``cite://`` link.
    """

    kind: LinkKind
    target: str
    fragment: str = ""
    label: str = ""
    start: int = -1
    line: int = 0
    prop: str = ""
    in_comment: bool = False
    span_text: str = ""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A place of a page that the page itself names for links (``{#name}``, ``<a id="name">``).

    ``start`` is the heading's where it stands right before one.
    """

    name: str
    start: int


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something odd about one file: a stable ``code``, a sentence, and the line (0: whole file)."""

    code: str
    message: str
    line: int = 0


LINK_SERVED_ONCE = "link_served_once"
"""The code of a link to what is in the vault under another name: nothing is lost, and only the operator is
told, since a caller must not learn that a withheld page has a second name."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block-level element of the body (paragraph, fence, list item, table row ...): a cut point."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ParsedBody:
    """What the markdown of one page holds, in file order.

    ``hidden`` are the ranges (start, end) inside of sections that are no body text, as an outliner's
    property lines are not: cited with their section, but neither searched nor embedded. ``comments``
    are those of them that are left out of a returned passage as well.
    """

    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    links: tuple[Link, ...]
    tags: tuple[str, ...]
    block_ids: tuple[str, ...]
    first_paragraph: str
    fields: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    hidden: tuple[tuple[int, int], ...] = ()
    comments: tuple[tuple[int, int], ...] = ()
    anchors: tuple[Anchor, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """One file read by an adapter: the page fields of the contract, before it is indexed.

    ``withheld`` is empty for a public page, else the reason (for the operator only). ``labels``
    restrict a page to callers that carry one of them. ``updated_at`` is empty when the frontmatter
    has none (the file time is used then). ``copy_of`` is the path of the page of which this is a
    synchroniser's copy if there is such a page. ``fixed_version`` is the frontmatter's positive integer
    version, 0 when there is none. ``partial`` marks a file that was not read whole or cleanly.
    """

    path: str
    slug: str
    canonical_id: str
    title: str
    title_explicit: bool
    summary: str
    role: str
    type: str
    status: str
    review_state: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    clusters: tuple[str, ...]
    related: tuple[str, ...]
    relations: tuple[tuple[str, str], ...]
    source_refs: tuple[str, ...]
    updated_at: str
    created: str
    author: str
    verified_at: str
    verified_by: str
    confidence: str
    audience: tuple[str, ...]
    wiki_title: str
    description: str
    fixed_version: int
    frontmatter: Mapping[str, Any]
    body: ParsedBody
    content_hash: str
    encoding: str
    withheld: str = ""
    labels: frozenset[str] = frozenset()
    conflict_copy: bool = False
    copy_of: str = ""
    partial: bool = False
    diagnostics: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What tells a changed file cheaply: path relative to the root, mtime (ns), size, inode."""

    path: str
    mtime_ns: int
    size: int
    inode: int


@dataclass(frozen=True, slots=True)
class Scan:
    """One walk over a vault: page files found, other files by relative path, and what was skipped.

    ``unread`` are folders (relative) that could not be listed: nothing below them is pruned.
    """

    files: tuple[FileStamp, ...]
    attachments: frozenset[str]
    unread: tuple[str, ...] = ()
    diagnostics: tuple[tuple[str, Diagnostic], ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """Where a piece of text stands: enough to find and to check it again.

    ``place`` (characters of the file, CRLF counted as one) is there for a span that heading and hash do not
    name alone.
    """

    slug: str
    version: int
    canonical_id: str
    heading_path: tuple[str, ...]
    lines: tuple[int, int]
    span_sha256: str
    place: tuple[int, int] | None = None

    @property
    def handle(self) -> str:
        """The short form an agent quotes: ``slug @ version``."""
        return f"{self.slug} @ {self.version}"


@dataclass(frozen=True, slots=True)
class PageChange:
    """One change of a page: the version it made, and when (ISO 8601 with offset).

    ``author`` and ``subject`` are those of the commit, empty where no git tells of them.
    """

    version: int
    at: str
    author: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Audience:
    """Who asks: whether drafts are allowed and asked for, and the labels of the caller's key."""

    drafts: bool = False
    labels: frozenset[str] = frozenset()


ANONYMOUS = Audience()


@dataclass(frozen=True, slots=True)
class Caller:
    """The identity an edge vouches for. ``may_see_drafts`` is the operator's switch for it."""

    name: str = "local"
    may_see_drafts: bool = False
    labels: frozenset[str] = frozenset()
    operator: bool = False
    scopes: frozenset[str] = frozenset({"mcp_read"})


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One node of the graph projection; ``id`` is ``page:<slug>``, ``tag:<tag>``, ``external:<key>`` ...

    ``path`` is the page's path relative to the source root, empty for what is no page.
    """

    id: str
    label: str
    kind: str
    path: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """One edge of the graph projection; ``relation`` in snake case, provenance in the metadata."""

    source: str
    target: str
    relation: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
