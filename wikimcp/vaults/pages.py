"""One file's text made into a ParsedPage: frontmatter, body, page fields and publication verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from wikimcp.markdown.body import BodyReading, read_body
from wikimcp.markdown.footnotes import footnote_citations
from wikimcp.markdown.frontmatter import Frontmatter, parse_frontmatter
from wikimcp.markdown.identity import derived_id, readable_title
from wikimcp.markdown.links import frontmatter_links
from wikimcp.markdown.publication import PUBLICATION_KEYS, Flag, Verdict, fold_key, judge
from wikimcp.markdown.tokens import LineIndex
from wikimcp.models import Diagnostic, ParsedBody, ParsedPage
from wikimcp.ports import FileContent
from wikimcp.vaults.page_fields import (
    Fields,
    aliases,
    canonical_id,
    cut_at_word,
    fixed_version,
    ignored_tags,
    relations,
    tags,
    time_of,
    unique,
    unreadable_dates,
    unreadable_ids,
    updated_at,
)

HUB_ROLES = frozenset(("hot", "index", "overview"))


@dataclass(frozen=True, slots=True)
class PageName:
    """What the adapter knows of a page before it is opened; ``private`` names what holds it private.

    ``copy_of`` is the page of which it may be a copy, going by ``copy_mark`` in its name.
    """

    path: str
    slug: str
    stem: str
    conflict_copy: bool = False
    copy_of: str = ""
    copy_mark: str = ""
    private: str = ""


def build_page(content: FileContent, name: PageName) -> ParsedPage:
    """Parse one file. Never raises for what it holds: oddities become diagnostics."""
    text = content.text
    front = parse_frontmatter(text, partial=content.partial)
    lines = LineIndex(text)
    return assemble_page(content, name, front, read_body(text, front.body_start, lines=lines), lines=lines)


def assemble_page(
    content: FileContent, name: PageName, front: Frontmatter, reading: BodyReading, *, lines: LineIndex
) -> ParsedPage:
    """Make a page of properties and a body, whatever syntax they were read from."""
    fields = Fields(front.data)
    body = _with_frontmatter_links(front, reading, lines)
    verdict = _verdict(front, reading, name)
    title = fields.text("title")
    role = name.stem.casefold() if "/" not in name.path and name.stem.casefold() in HUB_ROLES else "topic"
    summary = fields.text("summary", "description") or cut_at_word(body.first_paragraph)
    own_title = title or _heading_title(body)
    shown_title = own_title or readable_title(name.stem)
    hub = role in ("index", "overview")
    return ParsedPage(
        path=name.path,
        slug=name.slug,
        canonical_id=canonical_id(front.data) or derived_id(name.slug),
        title=shown_title,
        title_explicit=bool(title),
        summary=summary,
        role=role,
        type=fields.text("type"),
        status=fields.text("status"),
        review_state=fields.text("reviewstate"),
        tags=tags(fields, body.tags),
        aliases=aliases(fields),
        clusters=unique(cluster.strip("/ ") for cluster in fields.texts("cluster", "clusters")),
        related=fields.names("related"),
        relations=relations(fields),
        source_refs=fields.names("sourcerefs", "sources"),
        updated_at=updated_at(fields),
        created=time_of(fields, "created", "createdat", "date"),
        author=fields.text("author", "authors"),
        verified_at=time_of(fields, "verifiedat"),
        verified_by=fields.text("verifiedby"),
        confidence=fields.text("confidence"),
        audience=fields.texts("audience"),
        wiki_title=fields.text("wikititle") or (shown_title if hub else ""),
        description=(fields.text("description") or summary) if hub else fields.text("description"),
        fixed_version=fixed_version(front.data),
        frontmatter=front.data,
        body=body,
        content_hash=content.content_hash,
        encoding=content.encoding,
        withheld=verdict.withheld,
        labels=verdict.labels,
        conflict_copy=name.conflict_copy,
        # "Chapter 2" that calls itself so is no copy of "Chapter".
        copy_of="" if name.copy_of and own_title.endswith(name.copy_mark) else name.copy_of,
        partial=content.partial,
        diagnostics=(
            *content.diagnostics,
            *front.diagnostics,
            *verdict.diagnostics,
            *_tag_notes(front, fields, lines),
            *_value_notes(front, fields, lines),
        ),
    )


def _with_frontmatter_links(front: Frontmatter, reading: BodyReading, lines: LineIndex) -> ParsedBody:
    """Put the links of the frontmatter before those of the body, its sources' footnotes among these."""
    body = reading.body
    if not front.data:
        return body
    links = frontmatter_links(front.data, front.positions, lines)
    footnotes = list(footnote_citations(front.data, reading.footnotes))
    if not links and not footnotes:
        return body
    within = sorted((*body.links, *footnotes), key=lambda link: link.start) if footnotes else body.links
    return replace(body, links=(*links, *within))


def _verdict(front: Frontmatter, reading: BodyReading, name: PageName) -> Verdict:
    """Judge the page by its flags, its page properties, its directives and the private globs."""
    flags: Sequence[Flag] = front.flags
    if reading.properties:
        properties = [
            Flag(folded, value, line)
            for key, value, line in reading.properties
            if (folded := fold_key(key)) in PUBLICATION_KEYS
        ]
        flags = (*flags, *properties)
    verdict = judge(flags, reading.directives)
    if name.private and not verdict.withheld:
        return Verdict(f"private: by {name.private}", verdict.labels, verdict.diagnostics)
    return verdict


def _heading_title(body: ParsedBody) -> str:
    """Return the text of the first heading of level 1, else of the first heading."""
    first = ""
    for section in body.sections:
        if section.level == 1 and section.heading:
            return section.heading
        first = first or section.heading
    return first


def _tag_notes(front: Frontmatter, fields: Fields, lines: LineIndex) -> tuple[Diagnostic, ...]:
    for key in ("tags", "tag"):
        if key in front.data and (dropped := ignored_tags(fields)):
            message = f"no tags, as they have no letter: {', '.join(dropped)}"
            return (Diagnostic("tags_ignored", message, lines.line(front.positions[key])),)
    return ()


def _value_notes(front: Frontmatter, fields: Fields, lines: LineIndex) -> Iterator[Diagnostic]:
    """Yield a note for each date and id that is written and cannot be taken."""
    if not front.data:
        return
    for key in unreadable_dates(fields):
        message = f"{key!r} holds no date that can be read (as in 2031-02-03); it is kept as text alone"
        yield Diagnostic("date_unreadable", message, lines.line(front.positions.get(key, 0)))
    for key in unreadable_ids(front.data):
        line = lines.line(front.positions.get(key, 0))
        yield Diagnostic("id_unreadable", f"{key!r} holds no single id; one is derived instead", line)
