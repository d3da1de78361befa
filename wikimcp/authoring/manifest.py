"""The ledger of what was compiled from what: ``.manifest.json`` of the wiki.

Plain entries only; comparing them with the disk is the matter of refreshing. One entry stands on one
line, and so does each source within its folder, so that a version control system shows which changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from json.encoder import encode_basestring
from typing import Any

from pydantic import TypeAdapter, ValidationError

from wikimcp.authoring.workspace import Area, Workspace
from wikimcp.authoring.writing import Transaction, decoded, read_file
from wikimcp.errors import WikiError

MANIFEST = ".manifest.json"
SCHEMA = 2


class _Entry:
    """What entries share: a flat JSON object, without what is None."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class RootEntry(_Entry):
    """A raw root: its folder, and the hash over all that is in it."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class FolderEntry(_Entry):
    """A folder of raw sources relative to the workspace (``.`` is all of it), a node of the Merkle tree.

    ``sha256`` is the hash over all that is in it at any depth, ``files`` those of its own files by name.
    """

    path: str
    sha256: str
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PageSource(_Entry):
    """A raw source that a page cites, with the hash it had when the page was compiled."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class PageEntry(_Entry):
    """A page: its path in the wiki, its id, its category folder, its sources, and when it was compiled.

    ``sha256`` is the hash of its bytes when it was last looked at.
    """

    page: str
    id: str
    category: str
    sources: tuple[PageSource, ...] = ()
    compiled_at: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class AnchorEntry(_Entry):
    """A range of lines of a source that a page points at, with the hash of these lines.

    ``file`` is the hash of the whole source in which they were last found there; ``prose`` says that the page
    points at them in its own words, which are never edited, and ``at`` where their source lies now if those
    still name it by an older path.
    """

    page: str
    path: str
    start: int
    end: int
    sha256: str
    symbol: str | None = None
    file: str | None = None
    prose: bool | None = None
    at: str | None = None


@dataclass(frozen=True, slots=True)
class Manifest:
    """All entries. ``folders`` are the tree of the raw roots.

    ``profile`` and ``raw_roots`` (as ``name=folder``) are those of the workspace it was saved from.
    """

    profile: str = "auto"
    compiled_at: str = ""
    raw_roots: tuple[str, ...] = ()
    roots: tuple[RootEntry, ...] = ()
    folders: tuple[FolderEntry, ...] = ()
    pages: tuple[PageEntry, ...] = ()
    anchors: tuple[AnchorEntry, ...] = ()
    schema: int = SCHEMA

    def to_json(self) -> str:
        """Return the text of the file: keys in a fixed order, one line for each entry."""
        parts: list[str] = [f' "schema": {self.schema}']
        for name in (item.name for item in fields(self) if item.name != "schema"):
            value = getattr(self, name)
            if isinstance(value, str):
                parts.append(f' "{name}": {json.dumps(value, ensure_ascii=False)}')
                continue
            lines = ",\n".join(f"  {_json(entry)}" for entry in value)
            parts.append(f' "{name}": [\n{lines}\n ]' if lines else f' "{name}": []')
        return "{\n" + ",\n".join(parts) + "\n}\n"

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Read the text of the file. Raises WikiError for one that is broken or of another version."""
        broken = f"{MANIFEST} is broken"
        hint = "Restore it from version control, or remove it: the next refresh compiles all anew."
        try:
            manifest = _adapter().validate_json(text)
            schema: object = manifest.schema
        except ValidationError as error:
            first = error.errors()[0]
            if first["type"] == "json_invalid":
                raise WikiError(f"{broken}: it is no JSON", hint=hint) from error
            schema = _schema_of(text)
            if not isinstance(schema, int) or schema == SCHEMA:
                where = ".".join(str(part) for part in first["loc"]) or "schema"
                raise WikiError(f"{broken} at {where}", hint=hint) from error
        if schema == SCHEMA:
            return manifest
        hint = "Use the version of wikimcp that wrote it, or remove it and refresh."
        raise WikiError(f"{MANIFEST} is of version {schema}; this one reads version {SCHEMA}", hint=hint)


def load_manifest(workspace: Workspace) -> Manifest | None:
    """Return the manifest on disk; None when there is none yet. Raises WikiError."""
    return _parsed(read_file(workspace, Area.WIKI, MANIFEST))


def manifest_of(change: Transaction) -> Manifest | None:
    """Return the manifest as a transaction leaves it; None when there is none yet. Raises WikiError."""
    return _parsed(change.read(MANIFEST))


def save_manifest(change: Transaction, manifest: Manifest) -> bool:
    """Plan to write the manifest, with how its workspace is set; returns whether it changes."""
    workspace = change.workspace
    named = tuple(f"{root.name}={root.folder}" for root in workspace.raw_roots)
    profile = manifest.profile if workspace.profile == "auto" else workspace.profile
    manifest = replace(manifest, profile=profile, raw_roots=named)
    return change.write(MANIFEST, manifest.to_json(), scanned=False)


@cache
def _adapter() -> TypeAdapter[Manifest]:
    return TypeAdapter(Manifest)


def _schema_of(text: str) -> object:
    value = json.loads(text)
    return value.get("schema") if isinstance(value, dict) else None


_encode = json.JSONEncoder(ensure_ascii=False).encode


def _json(value: Any) -> str:  # noqa: ANN401 - an entry, or what one holds
    """Return the JSON of an entry as one line, but for files; by hand, as there may be many thousands."""
    if isinstance(value, Mapping):
        files = (
            f"\n   {encode_basestring(name)}: {encode_basestring(value[name])}" for name in sorted(value)
        )
        return "{" + ",".join(files) + "}"
    if isinstance(value, _Entry):
        names: tuple[str, ...] = value.__slots__
        pairs = ((name, getattr(value, name)) for name in names)
        return "{" + ", ".join(f'"{name}": {_json(held)}' for name, held in pairs if held is not None) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_json, value)) + "]"
    return str(value) if type(value) is int else _encode(value)


def _parsed(data: bytes | None) -> Manifest | None:
    return None if data is None else Manifest.from_json(decoded(data, MANIFEST))
