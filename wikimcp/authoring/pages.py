"""The pages of the compiled wiki with their heads, and the indexes that are made from them.

An index is written between markers; what a person writes around them stays. Where the markers were
taken out of a file, it is theirs and left alone.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from wikimcp.authoring.intent import content_hash
from wikimcp.authoring.okf import OKF_VERSION, RESERVED, Head, as_text, head_of, link_target, relative_link
from wikimcp.authoring.secrets import scan
from wikimcp.authoring.workspace import Area, Workspace
from wikimcp.authoring.writing import Transaction, read_file
from wikimcp.errors import WikimcpError
from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.markdown.identity import readable_title
from wikimcp.markdown.links import PAGE_SUFFIXES
from wikimcp.markdown.publication import Flag, find_directives, judge

CATEGORIES: Mapping[str, str] = {
    "entities": "Modules, services, people and tools: what there is.",
    "concepts": "Ideas and patterns that several parts share.",
    "decisions": "What was decided, why, and what it replaced.",
    "domains": "Areas of the whole, each with its way in.",
    "sources": "One page for each source that was filed.",
    "questions": "Answers worth keeping, and what is still open.",
}
"""The folders that ``init`` makes, with the sentence their index opens with."""

INDEX, HOT, SCHEMA_PAGE, QUEUE = "index.md", "hot.md", "SCHEMA.md", "contradictions.md"
SUPPORT = frozenset((HOT, SCHEMA_PAGE, QUEUE))
"""Files at the root that serve the wiki itself and stand in no index."""

BEGIN, END = "<!-- wikimcp:begin {} -->", "<!-- wikimcp:end {} -->"


class Files(Protocol):
    """Where pages are read from: the disk, or a transaction over it."""

    @property
    def workspace(self) -> Workspace:
        """The workspace of the wiki."""

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes; None when it is not there."""

    def pending(self) -> Mapping[str, bool]:
        """Return paths that are about to be written (True) or removed (False)."""


@dataclass(frozen=True, slots=True)
class DiskFiles:
    """The wiki as it is on disk now."""

    workspace: Workspace

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes; None when it is not there."""
        return read_file(self.workspace, Area.WIKI, path)

    def pending(self) -> Mapping[str, bool]:
        """Return nothing: nobody writes here."""
        return {}


@dataclass(frozen=True, slots=True)
class Page:
    """One page: its path in the wiki, its text and head, the hash of its bytes, and what may withhold it."""

    path: str
    text: str
    head: Head
    content_hash: str
    flags: tuple[Flag, ...]

    @property
    def category(self) -> str:
        """The top folder it lies in; empty at the root."""
        return self.path.partition("/")[0] if "/" in self.path else ""

    @property
    def title(self) -> str:
        """Its title, else its file name made readable."""
        return self.head.title or readable_title(Path(self.path).stem)

    @property
    def listed(self) -> bool:
        """Whether indexes name it: everybody reads them, so not one that is proposed or for some only."""
        verdict = judge(self.flags, find_directives(self.text))
        return not verdict.withheld and not verdict.labels


def page_paths(files: Files) -> list[str]:
    """Return the paths of all pages, sorted: no index, no log, nothing hidden, no file behind a link."""
    root = files.workspace.wiki_root
    found: set[str] = set()
    for folder, names, entries in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith("."))
        base = Path(folder).relative_to(root).as_posix()
        found.update(name if base == "." else f"{base}/{name}" for name in entries if _is_page(name))
    found = {path for path in found if not (root / path).is_symlink() and _speakable(path)}
    for path, stays in files.pending().items():
        if _is_page(path.rpartition("/")[2]) and not any(part.startswith(".") for part in path.split("/")):
            (found.add if stays else found.discard)(path)
    return sorted(path for path in found if path not in SUPPORT)


def list_pages(files: Files) -> list[Page]:
    """Read all pages with their heads, sorted by path.

    A page that went meanwhile or cannot be read is left out: one bad file must not stop every verb.
    """
    found: list[Page] = []
    for path in page_paths(files):
        with suppress(WikimcpError):
            if (page := read_page(files, path)) is not None:
                found.append(page)
    return found


def read_page(files: Files, path: str) -> Page | None:
    """Read one page; None when it is not there. Bytes that are no UTF-8 are replaced."""
    data = files.read(path)
    if data is None:
        return None
    text = data.decode("utf-8", "replace")
    frontmatter = parse_frontmatter(text)
    return Page(path, text, head_of(frontmatter), content_hash(data), frontmatter.flags)


def source_path(workspace: Workspace, page: str, resource: str) -> str | None:
    """Return the raw source that a page's ``sources[].resource`` names, relative to the workspace.

    A path counts from the page; None for a URL, for a scope in words and for what lies outside.
    """
    target = link_target(page, resource)
    if target is None:
        return None
    real = Path(os.path.normpath(workspace.wiki_root / target))
    if not real.is_relative_to(workspace.workspace_root):
        return None
    return real.relative_to(workspace.workspace_root).as_posix()


def source_resource(workspace: Workspace, page: str, source: str) -> str:
    """Return how a page names a raw source (relative to the workspace) in its head: a relative link."""
    wiki, workspace_root = workspace.wiki_root.as_posix(), workspace.workspace_root.as_posix()
    return relative_link(f"{wiki}/{page}", f"{workspace_root}/{source}")


def regenerate_indexes(change: Transaction, pages: Sequence[Page] | None = None) -> list[str]:
    """Plan the indexes of root and categories from the heads of the pages; returns those that change.

    ``pages`` are all there are, where the caller has read them already.

    A folder gets an index with its first page that indexes name. A file without our markers is left alone.
    """
    folders: dict[str, list[Page]] = defaultdict(list)
    for page in list_pages(change) if pages is None else pages:
        if page.listed:
            folders[page.category].append(page)
    kept = [name for name in CATEGORIES if change.read(f"{name}/{INDEX}") is not None]
    top = sorted({*kept, *(name for name in folders if name)}, key=_category_order)
    wanted = {INDEX: root_index(folders, top)}
    for name in top:
        wanted[f"{name}/{INDEX}"] = category_index(name, folders.get(name, ()))
    return [path for path, text in wanted.items() if _write_index(change, path, text)]


def root_index(folders: Mapping[str, Sequence[Page]], top: Sequence[str]) -> str:
    """Return the generated part of the root index."""
    lines = ["# Categories", ""]
    for name in top:
        count = len(folders.get(name, ()))
        about = CATEGORIES.get(name, "")
        pages = f"{count} page{'' if count == 1 else 's'}"
        link = relative_link(INDEX, f"{name}/{INDEX}")
        lines.append(f"* [{as_text(_heading(name))}]({link}) - {pages}. {about}".rstrip())
    if folders.get(""):
        lines += ["", "# Pages", "", *_entries(INDEX, folders[""])]
    return "\n".join(lines) + "\n"


def category_index(name: str, pages: Sequence[Page]) -> str:
    """Return the generated part of a category's index: its pages by title, those of subfolders below."""
    groups: dict[str, list[Page]] = defaultdict(list)
    for page in pages:
        groups[page.path.rpartition("/")[0]].append(page)
    lines = [f"# {_heading(name)}", ""]
    if about := CATEGORIES.get(name):
        lines += [about, ""]
    index = f"{name}/{INDEX}"
    lines += _entries(index, groups.pop(name, []))
    for folder in sorted(groups):
        lines += ["", f"## {_heading(folder.removeprefix(f'{name}/'))}", "", *_entries(index, groups[folder])]
    return "\n".join(lines).rstrip() + "\n"


def framed(name: str, inner: str) -> str:
    """Return a generated region with its markers."""
    return f"{BEGIN.format(name)}\n{inner}{END.format(name)}\n"


def replace_region(text: str, name: str, inner: str) -> str | None:
    """Return the text with a generated region replaced; None when it has no such region.

    Its line ends stay those of the file.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    begin, end = re.escape(BEGIN.format(name)), re.escape(END.format(name))
    found = re.search(rf"(?P<open>{begin}[ \t]*\r?\n)(?P<inner>.*?)(?P<close>{end})", text, re.DOTALL)
    if found is None:
        return None
    return text[: found.start("inner")] + inner.replace("\n", newline) + text[found.start("close") :]


def _write_index(change: Transaction, path: str, inner: str) -> bool:
    present = change.read_text(path)
    if present is None:
        head = f'---\nokf_version: "{OKF_VERSION}"\n---\n\n' if path == INDEX else ""
        return change.write(path, head + framed("index", inner))
    replaced = replace_region(present, "index", inner)
    return replaced is not None and change.write(path, replaced)


def _entries(index: str, pages: Sequence[Page]) -> list[str]:
    """Return a line for each page. A secret in a head is repeated nowhere, and stops no other page's line."""
    ordered = sorted(pages, key=lambda page: (page.title.casefold(), page.path))
    lines = [_entry(index, page, page.title, page.head.description) for page in ordered]
    if not scan("\n".join(lines)):
        return lines
    plain = (
        _plain_entry(index, page) if scan(line) else line for page, line in zip(ordered, lines, strict=True)
    )
    return [line for line in plain if line]


def _entry(index: str, page: Page, title: str, description: str) -> str:
    about = f" - {as_text(description)}" if description else ""
    return f"* [{as_text(title)}]({relative_link(index, page.path)}){about}"


def _plain_entry(index: str, page: Page) -> str:
    """Return a page's line without what looks like a secret; empty where its very path does."""
    name = page.path.rpartition("/")[2].rpartition(".")[0]
    title = name if scan(page.title) else page.title
    description = "" if scan(page.head.description) else page.head.description
    line = _entry(index, page, title, description)
    return "" if scan(line) else line


def _heading(folder: str) -> str:
    title = readable_title(folder)
    return title[:1].upper() + title[1:]


def _category_order(name: str) -> tuple[int, str]:
    known = list(CATEGORIES)
    return (known.index(name) if name in known else len(known), name)


def _is_page(name: str) -> bool:
    return name.lower().endswith(PAGE_SUFFIXES) and name not in RESERVED and not name.startswith(".")


def _speakable(path: str) -> bool:
    """Leave out names that are no Unicode: they could be written in no index."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
