"""One page against its sources: what became of the lines it points at, and what of it is to be written anew.

The author's words stay. Written anew are places of the head that name lines which moved, and generated
regions. What a page was compiled from is remembered by hash, and stays remembered until the page is filed
again (its ``generated.at`` is another, or where it has none, its text): so a page is stale until somebody
reads its sources.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from wikimcp.authoring.anchors import Drift, Found, SourceText, anchor_text, locate, symbol_of
from wikimcp.authoring.intent import content_hash
from wikimcp.authoring.manifest import AnchorEntry, Manifest, PageEntry, PageSource
from wikimcp.authoring.mentions import Mention, read_mentions, sources_of, with_mentions
from wikimcp.authoring.pages import Page
from wikimcp.authoring.regions import SYMBOLS, find_regions, symbol_list, with_region
from wikimcp.authoring.source_files import SourceFiles
from wikimcp.authoring.workspace import Workspace
from wikimcp.models import Diagnostic

_Key = tuple[str, int, int, bool]
"""An anchor of a page as it is written: path, first and last line, and whether prose has it."""


@dataclass(frozen=True, slots=True)
class AnchorDrift:
    """An anchor of a page whose lines are not as they were: where it stands, and where its lines are.

    ``anchor`` is as the page had it, ``left`` as it has it now, and ``rewritten`` says that these differ;
    ``now`` is empty where the lines are nowhere.
    """

    page: str
    line: int
    anchor: str
    drift: Drift
    now: str
    why: str
    left: str
    rewritten: bool = False
    symbol: str = ""
    symbol_gone: bool = False


@dataclass(frozen=True, slots=True)
class Compiled:
    """A page as the refresh leaves it: its text, its entries in the manifest, and what was found.

    ``affected`` are the sources of it that changed since the last refresh, ``stale`` those that changed
    since the page was filed, ``gone`` (path, line) those that are not there any more.
    """

    page: Page
    text: str
    entry: PageEntry
    anchors: tuple[AnchorEntry, ...] = ()
    drifts: tuple[AnchorDrift, ...] = ()
    affected: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    gone: tuple[tuple[str, int], ...] = ()
    notes: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Moves:
    """Sources that lie elsewhere now, old path to new; ``told``: also where the old path is still there."""

    paths: Mapping[str, str] = field(default_factory=dict)
    told: bool = False

    def target(self, path: str, sources: SourceFiles) -> str:
        """Return where a source is now: its own path, unless it or a folder above it moved."""
        if not self.paths or (sources.known(path) and not self.told):
            return path
        folder, rest = path, ""
        while folder:
            if (new := self.paths.get(folder)) is not None and sources.known(new + rest):
                return new + rest
            folder, _, name = folder.rpartition("/")
            rest = f"/{name}{rest}"
        return path


class PageCompiler:
    """Compiles the pages of one refresh against one state of the sources."""

    def __init__(
        self,
        workspace: Workspace,
        sources: SourceFiles,
        manifest: Manifest,
        *,
        changed: Iterable[str] = (),
        moves: Moves | None = None,
        full: bool = False,
    ) -> None:
        self.workspace = workspace
        self.sources = sources
        self.moves = moves or Moves()
        self.full = full
        self.changed = _with_folders(changed)
        self._entries = {entry.page: entry for entry in manifest.pages}
        self._anchors: dict[str, list[AnchorEntry]] = {}
        for anchor in manifest.anchors:
            self._anchors.setdefault(anchor.page, []).append(anchor)

    def compile(self, page: Page) -> Compiled:
        """Compile a page, or keep what is known of it where nothing can have changed."""
        entry = self._entries.get(page.path)
        anchors = self._anchors.get(page.path, [])
        if entry is not None and not self.full and not self._due(page, entry, anchors):
            return Compiled(page, page.text, entry, tuple(anchors))
        return _Compilation(self, page, entry, anchors).run()

    def _due(self, page: Page, entry: PageEntry, anchors: Sequence[AnchorEntry]) -> bool:
        if page.content_hash != entry.sha256:
            return True
        if any(item.path in self.changed or self._differs(item) for item in entry.sources):
            return True
        return any(
            item.path in self.changed or item.at or item.file != self.sources.sha256(item.path)
            for item in anchors
        ) or any(self.moves.target(item.path, self.sources) != item.path for item in entry.sources)

    def _differs(self, source: PageSource) -> bool:
        current = self.sources.sha256(source.path)
        return not current or source.sha256 != current


class _Compilation:
    """The compilation of one page."""

    def __init__(
        self, compiler: PageCompiler, page: Page, entry: PageEntry | None, anchors: Sequence[AnchorEntry]
    ) -> None:
        self.compiler = compiler
        self.sources = compiler.sources
        self.page = page
        self.entry = entry
        self.known = {_key(item): item for item in anchors}
        self.refiled = entry is None or _refiled(page, entry)
        self.edits: list[tuple[Mention, str, int, int]] = []
        self.anchors: dict[_Key, AnchorEntry] = {}
        self.drifts: list[AnchorDrift] = []
        self.lost: set[str] = set()
        self.places: list[tuple[str, int, int]] = []

    def run(self) -> Compiled:
        workspace, page = self.compiler.workspace, self.page
        written = read_mentions(workspace, page, self.sources.known)
        retired = {mention.path for mention in written if mention.retired}
        mentions = [
            mention
            for mention in written
            if mention.path not in retired and (mention.head or self.is_source(mention))
        ]
        for mention in mentions:
            self.take(mention, self.target_of(mention))
        text = with_mentions(workspace, page.path, page.text, self.edits)
        text, notes = self.with_symbols(text)
        sources = self.page_sources(mentions)
        entry = PageEntry(
            page.path,
            str(page.head.data.get("id") or page.path.rpartition(".")[0]),
            page.category,
            sources,
            page.head.generated.at if page.head.generated else "",
            content_hash(text.encode("utf-8", "surrogatepass")),
        )
        gone = [
            (item.path, item.line)
            for item in mentions
            if item.head and self.sources.gone(self.target(item.path))
        ]
        paths = dict.fromkeys(path for item in mentions for path in (item.path, self.target(item.path)))
        return Compiled(
            page,
            text,
            entry,
            tuple(self.anchors[key] for key in sorted(self.anchors)),
            tuple(self.drifts),
            affected=tuple(path for path in paths if path in self.compiler.changed),
            stale=tuple(s.path for s in sources if s.sha256 != self.sources.sha256(s.path)),
            gone=tuple(dict.fromkeys(gone)),
            notes=notes,
        )

    def target(self, path: str) -> str:
        return self.compiler.moves.target(path, self.sources)

    def target_of(self, mention: Mention) -> str:
        """Return where a mention's source lies now: prose may name it by a path that it left long ago."""
        old = self.known.get(_key_of(mention))
        if old is not None and old.at is not None and not self.sources.known(mention.path):
            return self.target(old.at)
        return self.target(mention.path)

    def is_source(self, mention: Mention) -> bool:
        """Say whether what looks like an anchor in prose is one: there is such a source, or there was."""
        return _key_of(mention) in self.known or self.sources.known(self.target(mention.path))

    def take(self, mention: Mention, target: str) -> None:
        """Find what a mention points at, and plan to bring the page in line."""
        editable = mention.span is not None
        if not mention.first:
            if target != mention.path and editable:
                self.edits.append((mention, target, 0, 0))
            self.places.append((target, 0, 0))
            return
        written = (mention.path, mention.first, mention.last)
        old, source = self.known.get(_key_of(mention)), self.sources.text(target)
        if source is None and not self.sources.gone(target):  # nothing can be said of what cannot be read
            if old is not None:
                self.anchors[_key(old)] = old
            return
        found, entry = self.found(mention, old, source, target)
        here = (found.first, found.last) if found.first else written[1:]
        rewrite = editable and found.drift is not Drift.GONE and (target, *here) != written
        if rewrite:
            self.edits.append((mention, target, *here))
        if mention.head and found.first:
            self.places.append((target, found.first, found.last))
        if entry is not None:
            if rewrite:
                entry = replace(entry, path=target, start=here[0], end=here[1])
            self.remember(entry, found, target)
        if found.drift is not Drift.UNCHANGED or target != mention.path:
            left = anchor_text(target, *here) if rewrite else anchor_text(*written)
            self.tell(mention, found, target, entry, left=left)

    def found(
        self, mention: Mention, old: AnchorEntry | None, source: SourceText | None, target: str
    ) -> tuple[Found, AnchorEntry | None]:
        """Find a mention's lines; with the entry that remembers them, if there is anything to remember."""
        if old is not None:
            whole = self.sources.sha256(target)
            if source is not None and old.file == whole:
                return Found(Drift.UNCHANGED, old.start, old.end), old
            found = locate(old, source, self.sources.symbols(target) if source else None)
            if not self.refiled or found.drift not in (Drift.CHANGED, Drift.AMBIGUOUS):
                return found, old
            if found.first and found.drift is Drift.CHANGED:
                mention = replace(mention, first=found.first, last=found.last)
        if source is None:
            return Found(Drift.GONE, why="the source is gone"), None
        digest = source.sha256(mention.first, mention.last)
        if not digest:
            return Found(Drift.CHANGED, why=f"the file has {len(source.lines)} lines"), None
        fresh = AnchorEntry(
            self.page.path,
            mention.path,
            mention.first,
            mention.last,
            digest,
            symbol_of(self.sources.symbols(target) or (), mention.first, mention.last),
            self.sources.sha256(target),
            None if mention.head else True,
        )
        return Found(Drift.UNCHANGED, mention.first, mention.last), fresh

    def remember(self, entry: AnchorEntry, found: Found, target: str) -> None:
        """Keep an anchor, as the page has it now, for the next refresh: with the file it was found in."""
        if found.drift not in (Drift.UNCHANGED, Drift.MOVED):
            self.lost.add(target)
        elif (entry.path, entry.start, entry.end) == (target, found.first, found.last):
            entry = replace(entry, file=self.sources.sha256(target))
        # Prose keeps the path it names; where a source is still there, the next refresh looks there again.
        left = entry.prose and target != entry.path and not self.sources.known(entry.path)
        entry = replace(entry, at=target if left else None)
        self.anchors[_key(entry)] = entry

    def tell(
        self, mention: Mention, found: Found, target: str, entry: AnchorEntry | None, *, left: str
    ) -> None:
        anchor = anchor_text(mention.path, mention.first, mention.last)
        drift = Drift.MOVED if found.drift is Drift.UNCHANGED else found.drift
        why = found.why
        if target != mention.path and drift is not Drift.GONE:
            why = f"the source is {target} now" + (f"; {why}" if why else "")
        self.drifts.append(
            AnchorDrift(
                self.page.path,
                mention.line,
                anchor,
                drift,
                anchor_text(target, found.first, found.last) if found.first else "",
                why,
                left,
                left != anchor,
                (entry.symbol or "") if entry else "",
                found.symbol_gone,
            )
        )

    def page_sources(self, mentions: Sequence[Mention]) -> tuple[PageSource, ...]:
        """Return the sources of the head, each with the hash that the page is up to date with."""
        before = {item.path: item.sha256 for item in self.entry.sources} if self.entry else {}
        whole = {item.path for item in mentions if item.head and not item.first}
        sources: dict[str, PageSource] = {}
        for path in sources_of(mentions):
            target = self.target(path)
            known, current = before.get(path, before.get(target)), self.sources.sha256(target)
            by_lines = path not in whole and target not in self.lost
            if not current or not (known is None or self.refiled or by_lines):
                current = known or ""
            sources.setdefault(target, PageSource(target, current))
        return tuple(sources.values())

    def with_symbols(self, text: str) -> tuple[str, tuple[Diagnostic, ...]]:
        """Return the text with its list of symbols made anew, where it has one and they can be read."""
        regions, faults = find_regions(text)
        if not any(region.name == SYMBOLS for region in regions):
            return text, tuple(faults)
        places = [
            (file, first, last) for path, first, last in self.places for file in self.sources.files_of(path)
        ]
        inner = symbol_list(self.compiler.workspace, self.page.path, places, self.sources.symbols)
        return text if inner is None else with_region(text, SYMBOLS, inner), tuple(faults)


def _key(entry: AnchorEntry) -> _Key:
    return entry.path, entry.start, entry.end, bool(entry.prose)


def _key_of(mention: Mention) -> _Key:
    return mention.path, mention.first, mention.last, not mention.head


def _refiled(page: Page, entry: PageEntry) -> bool:
    """Say whether a page was filed again since its entry was made."""
    at = page.head.generated.at if page.head.generated else ""
    return at != entry.compiled_at if at else page.content_hash != entry.sha256


def _with_folders(paths: Iterable[str]) -> frozenset[str]:
    """Return paths with all folders above them."""
    found: set[str] = set()
    for path in paths:
        while path and path not in found:
            found.add(path)
            path = path.rpartition("/")[0]
    return frozenset(found)
