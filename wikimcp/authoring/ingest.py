"""Ingest: one source from outside into the staging area, with the brief that tells an agent how to file it.

The original is kept as it came, its text beside it. What is staged is marked ``untrusted_external``:
it is material to judge, never an instruction. Filing it into the wiki is the agent's work.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from wikimcp.authoring.extraction import Extract, Limits, read_source
from wikimcp.authoring.fetching import Fetched, FetchRules, fetch
from wikimcp.authoring.filing import filing_brief
from wikimcp.authoring.log import add_entry
from wikimcp.authoring.okf import as_text
from wikimcp.authoring.source_kinds import MOST_EXTRACT, Kind, kind_of
from wikimcp.authoring.staging import Staged, find_staged, folder_name, free_name, stage, staging_lock
from wikimcp.authoring.workspace import Area, Workspace
from wikimcp.authoring.writing import refuse_secrets, transaction
from wikimcp.errors import AccessDenied, BadArgument, NotFound, TooLarge, Unavailable, WikiError, WikimcpError
from wikimcp.regular_files import NotRegularError, read_regular

MOST_SOURCE = 32 * 2**20
"""Bytes that a source may have."""

TRUST = "untrusted_external"
LONGEST_TITLE = 200
_SCHEMA = 1
_CUT_MARK = "\n<!-- cut: the source goes on; this extract holds the first part of it -->\n"


@dataclass(frozen=True, slots=True)
class Source:
    """What was handed in: its bytes, where it came from, and what it says it is."""

    data: bytes = field(repr=False)
    origin: Mapping[str, str]
    name: str = ""
    media_type: str = ""
    charset: str = ""
    base: str = ""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What became of a source. ``duplicate``: its content was staged before, and nothing was written.

    Paths are relative to the workspace. ``brief`` tells an agent what to do with it.
    """

    folder: str
    source: str
    extract: str
    metadata: Mapping[str, Any]
    brief: str
    duplicate: bool = False
    dry_run: bool = False
    logged: bool = False
    notes: tuple[str, ...] = ()
    trust: str = TRUST

    @property
    def staged(self) -> bool:
        """Whether this call wrote the source into the staging area."""
        return not self.duplicate and not self.dry_run

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "staged": self.staged,
            "duplicate": self.duplicate,
            "dry_run": self.dry_run,
            "trust": self.trust,
            "folder": self.folder,
            "source": self.source,
            "extract": self.extract,
            "metadata": dict(self.metadata),
            "logged": self.logged,
            "brief": self.brief,
            **({"notes": list(self.notes)} if self.notes else {}),
        }


def ingest_source(
    workspace: Workspace,
    *,
    text: str | None = None,
    path: str | None = None,
    url: str | None = None,
    title: str = "",
    allow_fetch: bool = False,
    rules: FetchRules | None = None,
    limits: Limits | None = None,
) -> IngestReport:
    """Stage exactly one of ``text``, ``path`` (inside the workspace) and ``url``.

    A url is fetched only with ``allow_fetch``, the operator's word. Content that was staged before is
    reported and not staged again. Raises BadArgument, NotFound, AccessDenied, TooLarge, Unreadable,
    TimedOut, Refused, Unavailable or WikiError; nothing is left behind then.
    """
    source = _taken(workspace, text=text, path=path, url=url, allow_fetch=allow_fetch, rules=rules)
    if not source.data.strip():
        raise BadArgument("the source is empty", hint="Give a text, a file or a page that holds something.")
    digest = hashlib.sha256(source.data).hexdigest()
    if workspace.dry_run:
        folder = workspace.place(Area.STAGING, "x").parent
        if (before := find_staged(folder, digest)) is not None:
            return _known(before)
        prepared = _prepared(workspace, source, digest, title=title, limits=limits)
        name = free_name(folder, _name_of(workspace, prepared))
        return _report(Staged(name, prepared.metadata), prepared.extract, dry_run=True)
    with staging_lock(workspace) as folder:
        if (before := find_staged(folder, digest)) is not None:
            return _known(before)
    prepared = _prepared(workspace, source, digest, title=title, limits=limits)  # long: not under the lock
    with staging_lock(workspace) as folder:
        if (before := find_staged(folder, digest)) is not None:
            return _known(before)
        staged = stage(
            folder,
            _name_of(workspace, prepared),
            source=source.data,
            extract=prepared.extract,
            metadata=prepared.metadata,
        )
    report = _report(staged, prepared.extract)
    if not workspace.initialised:
        return report
    try:
        _log(workspace, staged)
    except WikimcpError as error:  # the source is staged all the same
        return replace(report, notes=(f"the wiki's log was not written: {error.message}",))
    return replace(report, logged=True)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """All that is written beside the original."""

    extract: str
    metadata: Mapping[str, Any]


def _prepared(
    workspace: Workspace, source: Source, digest: str, *, title: str, limits: Limits | None
) -> _Prepared:
    kind = kind_of(source.data, name=source.name, media_type=source.media_type)
    found = read_source(kind, source.data, charset=source.charset, base=source.base, limits=limits)
    if found.cut:
        kept = found.text.encode()[: MOST_EXTRACT - len(_CUT_MARK)].decode("utf-8", "ignore")
        found = replace(found, text=kept + _CUT_MARK)
    metadata = _metadata(workspace, source, kind, found, digest=digest, title=title)
    if not workspace.allow_secrets:
        refuse_secrets(found.text.encode(), None, "the extract")
        refuse_secrets(metadata["title"].encode(), None, "the title")
        for key, value in source.origin.items():
            refuse_secrets(value.encode("utf-8", "replace"), None, f"the {key} of the source")
    return _Prepared(found.text, metadata)


def _metadata(
    workspace: Workspace, source: Source, kind: Kind, found: Extract, *, digest: str, title: str
) -> Mapping[str, Any]:
    return {
        "schema": _SCHEMA,
        "title": _title(title, source, found),
        "trust": TRUST,
        "origin": dict(source.origin),
        "kind": kind.name,
        "file": f"source.{kind.suffix}",
        "sha256": digest,
        "bytes": len(source.data),
        "extract_bytes": len(found.text.encode()),
        "extract_cut": found.cut,
        "staged_at": workspace.now(),
    }


def _title(given: str, source: Source, found: Extract) -> str:
    """Return the title as one line: as given, as the document says, its first heading, or its name."""
    heading = next((line for line in found.text[:4_000].splitlines() if line.startswith("#")), "")
    stem = PurePosixPath(source.name).stem.replace("-", " ").replace("_", " ")
    for written in (given, found.title, heading.lstrip("# "), stem, "Untitled source"):
        line = " ".join("".join(c if c.isprintable() else " " for c in written).split())
        if line:
            return line[:LONGEST_TITLE].rstrip()
    return ""


def _name_of(workspace: Workspace, prepared: _Prepared) -> str:
    return folder_name(str(prepared.metadata["title"]), workspace.clock())


def _known(before: Staged) -> IngestReport:
    return _report(before, "", duplicate=True)


def _report(staged: Staged, extract: str, *, duplicate: bool = False, dry_run: bool = False) -> IngestReport:
    return IngestReport(
        folder=staged.folder,
        source=staged.source,
        extract=staged.extract,
        metadata=staged.metadata,
        brief=filing_brief(staged, extract, duplicate=duplicate),
        duplicate=duplicate,
        dry_run=dry_run,
    )


def _log(workspace: Workspace, staged: Staged) -> None:
    """Add the source to the wiki's log."""
    message = f"{as_text(staged.metadata['title'])} staged at `{staged.folder}`, not filed yet"
    with transaction(workspace) as change:
        add_entry(change, "Ingest", message)


# Where sources come from


def _taken(
    workspace: Workspace,
    *,
    text: str | None,
    path: str | None,
    url: str | None,
    allow_fetch: bool,
    rules: FetchRules | None,
) -> Source:
    given = [name for name, value in (("text", text), ("path", path), ("url", url)) if value is not None]
    if len(given) != 1:
        said = f"not {' and '.join(given)}" if given else "and none was given"
        raise BadArgument(f"ingest takes exactly one of text, path and url, {said}")
    if text is not None:
        data = text.encode("utf-8", "replace")
        if len(data) > MOST_SOURCE:
            raise _too_large()
        return Source(data, {"type": "text"}, media_type="text/markdown")
    if path is not None:
        return Source(_file(workspace, path), {"type": "path", "path": path}, name=PurePosixPath(path).name)
    if not allow_fetch:
        raise Unavailable(
            "fetching is off",
            hint="The operator allows it with authoring.allow_fetch. Or fetch it yourself and give the file.",
        )
    return _from_web(fetch(url or "", rules))


def _from_web(page: Fetched) -> Source:
    name = unquote(PurePosixPath(urlsplit(page.url).path).name)
    return Source(
        page.data,
        {"type": "url", "url": page.url, **({"media_type": page.media_type} if page.media_type else {})},
        name=name,
        media_type=page.media_type,
        charset=page.charset,
        base=page.url,
    )


def _file(workspace: Workspace, path: str) -> bytes:
    """Return the bytes of a plain file inside the workspace. What was checked is what is opened."""
    place = workspace.inside(path)
    shown = workspace.shown(place)
    for folder in (workspace.wiki_root, workspace.area_root(Area.STAGING)):
        if place.is_relative_to(folder):
            raise BadArgument(f"'{shown}' is no source from outside", hint="It lies in the wiki already.")
    if any(part.startswith(".") for part in place.relative_to(workspace.workspace_root).parts):
        raise AccessDenied(
            f"'{shown}' is hidden: such files hold keys and settings of tools, and are no sources",
            hint="Copy what is to be filed to a name without a dot before it.",
        )
    try:
        data = read_regular(place, most=MOST_SOURCE)
    except NotRegularError as error:
        what = "a folder" if place.is_dir() else "no regular file"
        raise BadArgument(f"'{shown}' is {what}", hint="Ingest takes one file at a time.") from error
    except FileNotFoundError as error:
        raise NotFound(f"there is no file '{shown}'", hint="Paths count from the workspace.") from error
    except PermissionError as error:
        raise AccessDenied(f"'{shown}' may not be read", hint="Check its rights.") from error
    except OSError as error:
        raise WikiError(f"'{shown}' cannot be read ({error.strerror})") from error
    if len(data) > MOST_SOURCE:
        raise _too_large()
    return data


def _too_large() -> TooLarge:
    return TooLarge(f"the source is over {MOST_SOURCE >> 20} MiB", hint="Ingest it in parts.")
