"""Dendron workspaces: ``dendron.yml`` names the vaults, dotted file names are the hierarchy.

Wikilinks put their label first and may name another vault; both are turned here into links as every
other dialect writes them. Edges along the hierarchy are the graph's matter.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from wikimcp.errors import VaultError
from wikimcp.markdown.body import parse_body, read_body
from wikimcp.markdown.frontmatter import Frontmatter, parse_frontmatter
from wikimcp.markdown.inline import WikilinkMark
from wikimcp.markdown.lenient import read_entries
from wikimcp.markdown.links import wikilink
from wikimcp.markdown.tokens import LineIndex
from wikimcp.markdown.yaml_values import YamlFault, load_yaml
from wikimcp.models import Diagnostic, Link, LinkKind, ParsedPage
from wikimcp.ports import FileContent
from wikimcp.vaults.dialect_files import read_settings
from wikimcp.vaults.folder import FolderAdapter
from wikimcp.vaults.globs import PathPattern, literal
from wikimcp.vaults.opening import Bounds
from wikimcp.vaults.options import VaultOptions
from wikimcp.vaults.page_fields import Fields, cut_at_word, tags
from wikimcp.vaults.pages import PageName, assemble_page

_CONFIG = "dendron.yml"
_BAR = re.compile(r"\\?\|")
_LABEL_FIRST = re.compile(r"\[\[([^\[\]|\n]*?)\\?\|([^\[\]|\n]*)\]\]")
_HEAD = 4_000
_SCHEME = "dendron://"
_RANGE_END = re.compile(r"(?:,\d+)?:#.*\Z|,\d+\Z")
_SPEAKS_OF_VAULTS = re.compile(r"\bfsPath[\"']?\s*:|\bvisibility[\"']?\s*:\s*[\"']?private\b", re.IGNORECASE)
_MILLISECONDS = re.compile(r"\d{12,14}")


@dataclass(frozen=True, slots=True)
class NoteFolder:
    """One vault of a workspace: its name and the folder of its notes (with a slash at its end, or empty)."""

    name: str
    folder: str
    private: bool = False


_WITHHELD = "every page is withheld until it is mended and wikimcp starts again"
_ALL_PRIVATE = (NoteFolder("", "", private=True),)


class DendronAdapter(FolderAdapter):
    """The markdown files of every vault that the workspace configures; none configured: of the whole root."""

    name: ClassVar[str] = "dendron"
    suffixes: ClassVar[tuple[str, ...]] = (".md",)

    def __init__(self, root: Path, options: VaultOptions | None = None) -> None:
        super().__init__(root, options)
        self.vaults, self._notes = _read_config(self.root, self.options.trusted_links)
        self._private_at_start = {vault.folder for vault in self.vaults if vault.private}

    @classmethod
    def detect(cls, root: Path, options: VaultOptions) -> DendronAdapter | None:
        """Return an adapter when the folder holds ``dendron.yml``.

        Raises VaultError when a configured vault lies outside of the root.
        """
        return cls(root, options) if (root / _CONFIG).is_file() else None

    @property
    def page_folders(self) -> tuple[str, ...]:
        """The folders of the configured vaults."""
        folders = tuple(vault.folder for vault in self.vaults)
        return () if "" in folders else folders

    @property
    def dialect_settings(self) -> str:
        """The vaults by name, since links may name one."""
        return repr(self.vaults)

    def refresh_rules(self) -> list[Diagnostic]:
        """Read the configuration and the ignore rules anew; one that is broken changes no vault."""
        vaults, self._notes = _read_config(self.root, self.options.trusted_links)
        if vaults != _ALL_PRIVATE or not self.vaults:
            self.vaults = vaults
        return [*self._notes, *super().refresh_rules()]

    def ignored_by_dialect(self) -> tuple[list[PathPattern], list[Diagnostic]]:
        """Leave out the vaults that became private after the start: their pages were read as public."""
        late = [v for v in self.vaults if v.private and v.folder not in self._private_at_start]
        notes = [_note(f"the vault {vault.name!r} became private; its pages are left out") for vault in late]
        return [literal(vault.folder) for vault in late], notes

    def slug(self, path: str) -> str:
        """Return the dotted name of a note; folders inside of its vault stay before it."""
        vault = self._vault(path)
        return self.without_suffix(path[len(vault.folder) :] if vault else path)

    def page_name(self, path: str) -> PageName:
        """Return what is known of a note; those of a vault that is never published are private."""
        name = super().page_name(path)
        vault = self._vault(path)
        if vault is None or not vault.private:
            return name
        which = (
            f"{_CONFIG}: its vault {vault.name!r} is private"
            if vault.name
            else f"{_CONFIG}, which names no vault"
        )
        return replace(name, private=which)

    def parse(self, content: FileContent) -> ParsedPage:
        """Parse one note: its links turned round, its times and description read as Dendron writes them."""
        front = parse_frontmatter(content.text, partial=content.partial)
        lines = LineIndex(content.text)
        reading = read_body(content.text, front.body_start, lines=lines, mentions=True)
        page = assemble_page(content, self.page_name(content.stamp.path), front, reading, lines=lines)
        links, notes = self._links(page.body.links, content.text)
        links = _with_mentions(links, front, reading.mentions, lines)
        return replace(
            page,
            body=replace(page.body, links=links),
            title=page.title if page.title_explicit else _title(page),
            summary=_summary(page, content.text),
            updated_at=_time(page.updated_at),
            created=_time(page.created),
            diagnostics=(*page.diagnostics, *notes),
        )

    def _vault(self, path: str) -> NoteFolder | None:
        """Return the vault a note lies in: the innermost that holds its path."""
        holding = (vault for vault in self.vaults if path.startswith(vault.folder))
        return max(holding, key=lambda vault: len(vault.folder), default=None)

    def _links(self, links: tuple[Link, ...], text: str) -> tuple[tuple[Link, ...], list[Diagnostic]]:
        """Turn label-first links round and lead links that name a vault into it."""
        turned: list[Link] = []
        notes: list[Diagnostic] = []
        for link in links:
            written = _written(link, text)
            if not written:
                turned.append(link)
                continue
            *label, target = _BAR.split(written, maxsplit=1)
            if target.strip().startswith(_SCHEME):
                target, note = self._in_vault(target.strip(), link.line)
                notes.extend(note)
            plain = _without_range(target)
            if plain == written:  # no label, vault or range: as it was read
                turned.append(link)
                continue
            inner = f"{plain}|{label[0]}" if label else plain
            mark = WikilinkMark(link.start, link.start, inner, link.kind is LinkKind.EMBED)
            found = wikilink(
                mark, start=link.start, line=link.line, prop=link.prop, in_comment=link.in_comment
            )
            turned.append(found or link)
        return tuple(turned), notes

    def _in_vault(self, target: str, line: int) -> tuple[str, list[Diagnostic]]:
        """Return the path of ``dendron://vault/note``; of a vault nobody knows, the bare note, and a note."""
        name, _, note = target.removeprefix(_SCHEME).partition("/")
        for vault in self.vaults:
            if vault.name == name:
                return f"{vault.folder}{note}", []
        message = f"there is no vault {name!r} in {_CONFIG}; {note!r} is looked up in all of them"
        return note, [Diagnostic("unknown_vault", message, line)]


def _with_mentions(
    links: tuple[Link, ...], front: Frontmatter, mentions: Iterable[tuple[int, str]], lines: LineIndex
) -> tuple[Link, ...]:
    """Add the links that tags and ``@name`` are: to the notes ``tags.…`` and ``user.…``."""
    key = next((key for key in ("tags", "tag") if key in front.data), "")
    line = lines.line(front.positions[key]) if key in front.positions else 0
    added = [_mention(f"#{tag}", start=-1, line=line) for tag in tags(Fields(front.data), ())]
    added += [_mention(name, start=at, line=lines.line(at)) for at, name in mentions]
    return tuple(sorted((*links, *added), key=lambda link: link.start)) if added else links


def _mention(name: str, *, start: int, line: int) -> Link:
    folder, prop = ("tags", "tags") if name[0] == "#" else ("user", "")
    return Link(LinkKind.WIKILINK, f"{folder}.{name[1:]}", label=name, start=start, line=line, prop=prop)


def _written(link: Link, text: str) -> str:
    """Return what stands between the brackets of a wikilink; empty for a link of another form."""
    if link.kind in (LinkKind.MARKDOWN, LinkKind.CITATION, LinkKind.BLOCK):
        return ""
    if link.start >= 0:
        opened = text.find("[[", link.start, link.start + 3)
        closed = text.find("]]", opened)
        markdown = text.startswith("(", closed + 2) and link.kind is not LinkKind.WIKILINK
        return "" if opened < 0 or closed < 0 or markdown else text[opened + 2 : closed]
    if link.kind is not LinkKind.WIKILINK and not link.target.startswith(_SCHEME):
        return ""  # of a property, where a markdown link looks the same
    target = f"{link.target}#{link.fragment}" if link.fragment else link.target
    return f"{target}|{link.label}" if link.label else target


def _without_range(target: str) -> str:
    """Return a note reference (``note#start,1:#end``) as a link to where it starts."""
    name, mark, fragment = target.partition("#")
    return f"{name}#{_RANGE_END.sub('', fragment)}" if mark else target


def _summary(page: ParsedPage, text: str) -> str:
    """Return a note's summary: ``desc`` where there is one, else its first words as a reader sees them."""
    if any(page.frontmatter.get(key) for key in ("summary", "description")):
        return page.summary
    described = page.frontmatter.get("desc")
    if isinstance(described, str) and described.strip():
        return cut_at_word(" ".join(described.split()))
    start = page.body.sections[0].own.start if page.body.sections else len(text)
    head = text[start : start + _HEAD]
    if "|" not in head:
        return page.summary
    turned = _LABEL_FIRST.sub(r"[[\2|\1]]", head)
    return cut_at_word(parse_body(turned).first_paragraph)


def _title(page: ParsedPage) -> str:
    """Return a note's title: as everywhere, but of a dotted name only the last part."""
    if any(section.heading for section in page.body.sections):
        return page.title
    return page.title.rpartition(".")[2] or page.title


def _time(text: str) -> str:
    """Return milliseconds since 1970, as Dendron keeps times, as ISO 8601; any other text as it is."""
    if not _MILLISECONDS.fullmatch(text):
        return text
    return datetime.fromtimestamp(int(text) // 1000, UTC).isoformat()


def _read_config(root: Path, trusted: tuple[str, ...]) -> tuple[tuple[NoteFolder, ...], list[Diagnostic]]:
    """Return the vaults of a workspace and what is wrong with its configuration."""
    try:
        text = read_settings(root, _CONFIG) or ""
    except OSError:
        return _ALL_PRIVATE, [_note(f"{_CONFIG} cannot be read; {_WITHHELD}")]
    vaults: list[NoteFolder] = []
    notes: list[Diagnostic] = []
    try:
        settings = load_yaml(text).root
    except YamlFault:  # what stands alone in it is still to be had
        settings = {entry.key: entry.value for entry in read_entries(text) if entry.clean}
        if not any(_entries(settings)):
            return _without_vaults(text, f"{_CONFIG} is no YAML")
        notes.append(_note(f"{_CONFIG} is no YAML; its list of vaults is, and is taken"))
    bounds = Bounds.of(root, trusted)
    for entry in _entries(settings):
        found = _note_folder(entry, bounds.root)
        _check_inside(found.folder, entry, bounds)
        if found.folder and not (root / found.folder).is_dir():
            notes.append(_note(f"the vault {entry['fsPath']!r} of {_CONFIG} has no folder {found.folder!r}"))
        vaults.append(found)
    if not vaults:
        return _without_vaults(text, f"{_CONFIG} names no vault")
    return tuple(vaults), notes


def _without_vaults(text: str, why: str) -> tuple[tuple[NoteFolder, ...], list[Diagnostic]]:
    """Return what is served where no vault is known: all, unless the text speaks of vaults."""
    if _SPEAKS_OF_VAULTS.search(text):
        message = f"{why}, so that nobody knows which notes its vaults leave out or hold private"
        return _ALL_PRIVATE, [_note(f"{message}; {_WITHHELD}")]
    return (), [_note(f"{why}; every page below the root is taken for a note")]


def _entries(settings: Any) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401 - any JSON value
    """Yield the entries of ``workspace.vaults``, else of the older top-level ``vaults``."""
    if not isinstance(settings, dict):
        return
    workspace = settings.get("workspace")
    listed = workspace.get("vaults") if isinstance(workspace, dict) else None
    listed = listed or settings.get("vaults")
    for entry in listed if isinstance(listed, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("fsPath"), str):
            yield entry


def _note_folder(entry: Mapping[str, Any], root: str) -> NoteFolder:
    written = entry["fsPath"].strip().replace("\\", "/")
    if os.path.isabs(written) and f"{posixpath.normpath(written)}/".startswith(f"{root}/"):
        written = posixpath.relpath(written, root)
    name = entry.get("name")
    parts = [written]
    if isinstance(entry.get("workspace"), str):  # the vault of another workspace that was cloned into this
        parts.insert(0, entry["workspace"])
    if entry.get("selfContained") is True:
        parts.append("notes")
    folder = posixpath.normpath(posixpath.join(*parts))
    return NoteFolder(
        name=name if isinstance(name, str) and name else posixpath.basename(written.rstrip("/")),
        folder="" if folder == "." else f"{folder}/",
        private=str(entry.get("visibility")).strip().casefold() == "private",
    )


def _check_inside(folder: str, entry: Mapping[str, Any], bounds: Bounds) -> None:
    """Raise VaultError, naming the path, when a vault lies outside of the root."""
    absolute = folder.startswith("/") or re.match(r"[A-Za-z]:", folder)
    outside = absolute or folder.split("/", 1)[0] == ".."
    if outside or not bounds.hold(os.path.realpath(f"{bounds.root}/{folder}")):
        raise VaultError(
            f"{_CONFIG} names a vault outside of the folder that is served: {entry['fsPath']!r}",
            hint="Serve the folder that holds both, or take that vault out of the configuration.",
        )


def _note(message: str) -> Diagnostic:
    return Diagnostic("vault_settings", message)
