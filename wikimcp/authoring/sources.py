"""Sources that are given up, or lie elsewhere: what somebody decides about them goes through the whole wiki.

A retired source stays in the heads of its pages, marked with the day, as claims may rest on it; it is
watched no more. A repointed one is named by its new path, and lines of it are found again by their hash.
Both end in a refresh, so that manifest, indexes, queue and log agree when they are done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wikimcp.authoring.intent import content_hash
from wikimcp.authoring.manifest import Manifest, PageEntry, manifest_of
from wikimcp.authoring.mentions import Mention, read_mentions, with_retired
from wikimcp.authoring.okf import as_text
from wikimcp.authoring.pages import Page, list_pages
from wikimcp.authoring.refresh import known_tree, refresh_within, scan_sources
from wikimcp.authoring.refresh_report import AffectedPage, RefreshReport
from wikimcp.authoring.scanning import Progress
from wikimcp.authoring.source_files import SourceFiles
from wikimcp.authoring.stamps import save_stamps
from wikimcp.authoring.wiki_pass import in_one_change
from wikimcp.authoring.workspace import Workspace, lexical
from wikimcp.authoring.writing import Transaction
from wikimcp.errors import BadArgument, NotFound, WikiError, nearest

MOST_PATHS = 200


@dataclass(frozen=True, slots=True)
class SourcesReport:
    """What became of sources: the pages that name them, each with those it names, and the refresh."""

    verb: str
    sources: tuple[str, ...]
    pages: tuple[AffectedPage, ...]
    refresh: RefreshReport

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON, every list in full."""
        return {
            self.verb: list(self.sources),
            "pages": [{"page": item.page, "sources": list(item.sources)} for item in self.pages],
            "refresh": self.refresh.to_json(),
        }


def retire_sources(
    workspace: Workspace, paths: Sequence[str], *, progress: Progress | None = None
) -> SourcesReport:
    """Give up sources, or folders of them; paths are relative to the workspace.

    Raises BadArgument for no path, NotFound for one that no page names (then nothing is written),
    AccessDenied for one that leaves the workspace, and what ``refresh_wiki`` raises.
    """
    wanted = _checked(paths)

    def retire(change: Transaction, sources: SourceFiles, manifest: Manifest) -> SourcesReport:
        named = _named_by(change, sources, manifest, wanted)
        today = change.workspace.clock().date().isoformat()
        pages = {page.path: _retired(page, mentions, today) for page, mentions in named}
        entries = {entry.page: entry for entry in manifest.pages}
        for page, mentions in named:
            change.write(page.path, pages[page.path], expect=page.content_hash)
            if (entry := entries.get(page.path)) is not None:
                gone = {mention.path for mention in mentions}
                entries[page.path] = _without(entry, page, pages[page.path], gone)
        before = replace(manifest, pages=tuple(entries.values()))
        told = f"{_listed(wanted)}, a source of {_count(named)}."
        refreshed = refresh_within(
            change, sources.tree, before=before, told=[("Retired", told)], progress=progress
        )
        return SourcesReport("retired", wanted, _affected(named), refreshed)

    return _with_sources(workspace, retire, progress)


def repoint_sources(
    workspace: Workspace, old: str, new: str, *, progress: Progress | None = None
) -> SourcesReport:
    """Let pages that name a source, or a folder of them, name it by its new path.

    Raises BadArgument when both are one, NotFound when no page names the old one or there is nothing at the
    new one, AccessDenied for a path that leaves the workspace, and what ``refresh_wiki`` raises.
    """
    before, after = _checked([old])[0], _checked([new])[0]
    if before == after:
        raise BadArgument("the old and the new path are one", hint="Name where the source is now.")

    def repoint(change: Transaction, sources: SourceFiles, manifest: Manifest) -> SourcesReport:
        if not sources.known(after):
            known = [*sources.tree.folders, *(path for path, _ in sources.tree.files())]
            raise NotFound(f"there is no source at '{after}'", hint=_did_you_mean(after, known))
        named = _named_by(change, sources, manifest, [before])
        told = f"{as_text(before)} to {as_text(after)}, a source of {_count(named)}."
        refreshed = refresh_within(
            change,
            sources.tree,
            before=manifest,
            moves={before: after},
            told=[("Repointed", told)],
            progress=progress,
        )
        return SourcesReport("repointed", (before, after), _affected(named), refreshed)

    return _with_sources(workspace, repoint, progress)


_Named = Sequence[tuple[Page, Sequence[Mention]]]


def _with_sources(
    workspace: Workspace,
    work: Callable[[Transaction, SourceFiles, Manifest], SourcesReport],
    progress: Progress | None,
) -> SourcesReport:
    """Scan the sources and do the work as one change."""
    workspace.require_wiki()
    scanned = scan_sources(workspace, progress=progress)

    def change_wiki(change: Transaction) -> SourcesReport:
        manifest = manifest_of(change) or Manifest(profile=workspace.profile)
        return work(change, SourceFiles(workspace, scanned.tree), manifest)

    report = in_one_change(workspace, change_wiki)
    if scanned.fresh_stamps and not workspace.dry_run:
        save_stamps(workspace, scanned.stamped)
    return report


def _checked(paths: Iterable[str]) -> tuple[str, ...]:
    """Return paths in one form, each once. Raises BadArgument or AccessDenied."""
    checked = dict.fromkeys("/".join(lexical(path)) for path in paths)
    if not checked or len(checked) > MOST_PATHS:
        raise BadArgument(f"1 to {MOST_PATHS} sources can be named", hint="A folder stands for all in it.")
    return tuple(checked)


def _named_by(
    change: Transaction, sources: SourceFiles, manifest: Manifest, wanted: Sequence[str]
) -> list[tuple[Page, list[Mention]]]:
    """Return the pages whose heads name wanted sources. Raises NotFound for one that no page names."""
    past = known_tree(manifest)

    def known(path: str) -> bool:
        return sources.known(path) or past.file(path) is not None or path in past.folders

    named: list[tuple[Page, list[Mention]]] = []
    seen: set[str] = set()
    all_named: set[str] = set()
    retired: set[str] = set()
    for page in list_pages(change):
        in_head = [m for m in read_mentions(change.workspace, page, known) if m.head]
        retired.update(mention.path for mention in in_head if mention.retired)
        heads = [mention for mention in in_head if not mention.retired]
        all_named.update(mention.path for mention in heads)
        fitting = [mention for mention in heads if any(_within(mention.path, path) for path in wanted)]
        if fitting:
            named.append((page, fitting))
            seen.update(path for path in wanted if any(_within(m.path, path) for m in fitting))
    for path in wanted:
        if path in seen:
            continue
        if any(_within(gone, path) for gone in retired):
            hint = "Take `retired` out of the heads that name it, where it is to be followed again."
            raise NotFound(f"'{path}' is retired, and no page names it otherwise", hint=hint)
        raise NotFound(f"no page names '{path}' as a source", hint=_did_you_mean(path, sorted(all_named)))
    return named


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _retired(page: Page, mentions: Sequence[Mention], day: str) -> str:
    """Return a page's text with some of its sources marked as retired. Raises WikiError."""
    for mention in mentions:
        if mention.span is None:
            raise WikiError(
                f"{page.path} names '{mention.path}' in a form that cannot be edited",
                hint="Write it as a plain value of sources, then retire it.",
            )
    return with_retired(page.text, mentions, day)


def _without(entry: PageEntry, page: Page, text: str, gone: set[str]) -> PageEntry:
    """Return a page's entry without some sources; the mark is ours and does not make the page filed anew."""
    kept = tuple(source for source in entry.sources if source.path not in gone)
    ours = entry.sha256 == page.content_hash
    return replace(entry, sources=kept, sha256=content_hash(text.encode()) if ours else entry.sha256)


def _affected(named: _Named) -> tuple[AffectedPage, ...]:
    return tuple(
        AffectedPage(page.path, tuple(dict.fromkeys(mention.path for mention in mentions)))
        for page, mentions in named
    )


def _listed(paths: Sequence[str]) -> str:
    named = ", ".join(as_text(path) for path in paths[:3])
    return named + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")


def _count(named: _Named) -> str:
    return f"{len(named)} page{'' if len(named) == 1 else 's'}"


def _did_you_mean(path: str, known: Sequence[str]) -> str:
    near = nearest(path, known, limit=2)
    return f"Did you mean {' or '.join(near)}?" if near else "Paths are relative to the workspace."
