"""Keeping an answer: one page, proposed until somebody accepts it, with evidence that was checked.

A page that is there is changed only by who shows that he has read it; who has not gets its text. It is found
by its names, whatever its file is called: no second page comes to be beside it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from wikimcp import __version__
from wikimcp.authoring.evidence import checked_evidence
from wikimcp.authoring.log import add_entry, one_line
from wikimcp.authoring.okf import RESERVED, Source, body_of, read_head, render_page, set_fields
from wikimcp.authoring.pages import INDEX, DiskFiles, Files, Page, list_pages, read_page, regenerate_indexes
from wikimcp.authoring.workspace import Workspace
from wikimcp.authoring.writing import FileChange, Transaction, transaction
from wikimcp.errors import BadArgument, Conflict, TooLarge, nearest

Category = Literal["decision", "concept", "entity", "question"]
Verify = Callable[[tuple[str, ...]], Mapping[str, str]]

LONGEST_TITLE = 200
MOST_CONTENT = 65_536
_LONGEST_STEM = 80

_KINDS: Mapping[str, tuple[str, str]] = {
    "decision": ("decisions", "Decision Record"),
    "concept": ("concepts", "Concept"),
    "entity": ("entities", "Entity"),
    "question": ("questions", "Question"),
}


@dataclass(frozen=True, slots=True)
class InsightReport:
    """What recording did: ``status`` recorded, updated or unchanged; ``content_hash`` is the page's now."""

    status: str
    page: str
    title: str
    content_hash: str
    evidence: tuple[str, ...]
    changes: tuple[FileChange, ...]
    notes: tuple[str, ...]
    dry_run: bool

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "status": self.status,
            "page": self.page,
            "title": self.title,
            "page_status": "proposed",
            "content_hash": self.content_hash,
            "evidence": list(self.evidence),
            "dry_run": self.dry_run,
            "changes": [change.to_json() for change in self.changes],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class _Insight:
    title: str
    content: str
    category: str
    description: str
    tags: tuple[str, ...]
    by: str


def record_insight(
    workspace: Workspace,
    *,
    title: str,
    content: str,
    category: str = "concept",
    description: str = "",
    tags: Sequence[str] = (),
    evidence: Sequence[str] = (),
    content_hash: str | None = None,
    verify: Verify | None = None,
    by: str = "",
) -> InsightReport:
    """Write one insight as a proposed page, or change the one whose ``content_hash`` is given.

    ``evidence`` are citation handles or ``cite://`` uris, which ``verify`` checks, and source anchors
    ``path#L10-L20``. ``by`` is who wrote it (``name/version``, ``human:name``). Raises BadArgument,
    TooLarge, Conflict (with the present text), Refused, AccessDenied or WikiError.
    """
    insight = _checked(title, content, category, description, tags, by)
    workspace.require_wiki()
    path, insight = _placed(DiskFiles(workspace), insight)
    sources = checked_evidence(workspace, path, evidence, verify=verify)
    with transaction(workspace) as change:
        if (now := _placed(change, insight)[0]) != path:
            raise Conflict(f"{now} came to have that title just now", hint="Read it before writing.")
        present = change.read_text(path)
        if present is None:
            status, text = "recorded", _new_page(change, insight, sources)
        elif _says_the_same(present, insight, sources):
            status, text = "unchanged", present
        else:
            status, text = "updated", _changed_page(change, present, insight, sources)
        if status != "unchanged":
            _write(change, path, text, insight, expect=content_hash)
    written = change.digest(path)
    assert written is not None
    return InsightReport(
        status=status,
        page=path,
        title=insight.title,
        content_hash=written,
        evidence=tuple(source.title for source in sources),
        changes=change.changes,
        notes=change.notes,
        dry_run=workspace.dry_run,
    )


def _placed(files: Files, insight: _Insight) -> tuple[str, _Insight]:
    """Return where an insight is kept, and the insight under the title that the page there has.

    That is the file of its title, else the page of its category that has that title, alias or id, else a new
    one. Raises Conflict when the name belongs to pages elsewhere, or to several.
    """
    folder, _ = _KINDS[insight.category]
    path = f"{folder}/{page_stem(insight.title)}.md"
    if files.read(path) is not None:
        return path, insight
    wanted = _folded(insight.title)
    named = [page for page in list_pages(files) if wanted in _names_of(page)]
    here = [page for page in named if page.category == folder]
    if not named:
        return path, insight
    if len(here) == 1:
        return here[0].path, replace(insight, title=here[0].title)
    pages = " and ".join(page.path for page in named[:3])
    raise Conflict(
        f"'{insight.title}' is a name of {pages} already",
        current=named[0].text if len(named) == 1 else None,
        content_hash=named[0].content_hash if len(named) == 1 else None,
        hint="Give the category of that page, edit it, or choose a title that tells the two apart.",
    )


def _names_of(page: Page) -> set[str]:
    """Return title, aliases and id of a page, folded."""
    data = page.head.data
    aliases = [value for key in ("aliases", "alias") for value in _listed(data.get(key))]
    return {_folded(str(name)) for name in (page.title, data.get("id") or "", *aliases)} - {""}


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value] if value else []


def _folded(name: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _write(change: Transaction, path: str, text: str, insight: _Insight, *, expect: str | None) -> None:
    """Plan the page with what follows from it in indexes and log."""
    before = read_page(change, path)
    change.write(path, text, expect=expect)
    if before is not None and before.listed:  # as a proposed page it stands in no index any more
        regenerate_indexes(change)
    # Everybody reads the log: it names the page by its hash, as no word of a proposed page may show.
    verb = "Proposed" if before is None else "Changed"
    kind = f"an {insight.category}" if insight.category == "entity" else f"a {insight.category}"
    add_entry(change, "Insight", f"{verb} {kind} (content_hash {(change.digest(path) or '')[:16]}).")


def page_stem(title: str) -> str:
    """Return the file name of a title, without its suffix: lower case, dashes, never a reserved name."""
    folded = unicodedata.normalize("NFKC", title).casefold()
    stem = re.sub(r"[\W_]+", "-", folded).strip("-")[:_LONGEST_STEM].strip("-")
    stem = stem or f"insight-{hashlib.sha256(title.encode()).hexdigest()[:8]}"
    while len(stem.encode()) > _LONGEST_STEM * 2:
        stem = stem[:-1]
    return f"{stem}-page" if f"{stem}.md" in RESERVED or f"{stem}.md" == INDEX else stem


def _checked(
    title: str, content: str, category: str, description: str, tags: Sequence[str], by: str
) -> _Insight:
    shown = one_line(title)
    if not shown:
        raise BadArgument("the title is empty", hint="Give the words somebody would search for.")
    if len(shown) > LONGEST_TITLE:
        hint = "Put the rest into the content."
        raise BadArgument(f"the title has {len(shown)} characters, over {LONGEST_TITLE}", hint=hint)
    if not content.strip():
        raise BadArgument("the content is empty", hint="Say in full sentences what was found out.")
    if (size := len(content.encode("utf-8", "surrogatepass"))) > MOST_CONTENT:
        raise TooLarge(
            f"the content has {size:,} bytes, over {MOST_CONTENT:,}", hint="Split it into pages that link up."
        )
    if any(unicodedata.category(c) == "Cs" or (c < " " and c not in "\n\r\t") for c in content):
        raise BadArgument("the content holds control characters", hint="Give plain text.")
    if category not in _KINDS:
        near = nearest(category, get_args(Category), limit=1) or list(get_args(Category))
        raise BadArgument(f"'{category[:40]}' is no category", hint=f"Did you mean {' or '.join(near)}?")
    return _Insight(
        title=shown,
        content=content.replace("\r\n", "\n").strip(),
        category=category,
        description=one_line(description)[:300],
        tags=tuple(dict.fromkeys(tag for item in tags if (tag := one_line(item)))),
        by=one_line(by) or f"wikimcp/{__version__}",
    )


def _fields(insight: _Insight, sources: Sequence[Source]) -> dict[str, Any]:
    return {
        "type": _KINDS[insight.category][1],
        "title": insight.title,
        "description": insight.description or None,
        "tags": list(insight.tags) or None,
        "status": "proposed",
        "sources": [{"id": s.id, "resource": s.resource, "title": s.title} for s in sources] or None,
    }


def _body(insight: _Insight, sources: Sequence[Source]) -> str:
    heading = f"# {insight.title}"
    lines = [] if insight.content.startswith(f"{heading}\n") else [heading, ""]
    lines.append(insight.content)
    noted = [f"[^{source.id}]: {source.title}" for source in sources]
    missing = [note for note in noted if f"\n{note.partition(':')[0]}:" not in insight.content]
    if missing:
        marks = " ".join(f"[^{source.id}]" for source in sources)
        lines += ["", f"Rests on: {marks}", "", *missing]
    return "\n".join(lines)


def _new_page(change: Transaction, insight: _Insight, sources: Sequence[Source]) -> str:
    generated = {"by": insight.by, "at": change.workspace.now()}
    return render_page({**_fields(insight, sources), "generated": generated}, _body(insight, sources))


def _changed_page(change: Transaction, present: str, insight: _Insight, sources: Sequence[Source]) -> str:
    """Return the page with the new text; keys of its head that are not ours stay byte for byte."""
    head = present[: len(present) - len(body_of(present))]
    given = {key: value for key, value in _fields(insight, sources).items() if value is not None}
    given["generated"] = {"by": insight.by, "at": change.workspace.now()}
    return f"{set_fields(head, given).rstrip()}\n\n{_body(insight, sources)}\n"


def _says_the_same(present: str, insight: _Insight, sources: Sequence[Source]) -> bool:
    """Whether a page says already what would be written, whenever and by whom it was."""
    head = read_head(present)
    fields = _fields(insight, sources)
    mine = (fields["type"], insight.title, insight.description or head.description, tuple(sources))
    return (
        mine == (head.type, head.title, head.description, head.sources)
        and (not insight.tags or insight.tags == head.tags)
        and body_of(present).strip() == _body(insight, sources).strip()
    )
