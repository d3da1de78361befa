"""What the service says about itself: the state of the index, skipped files, the wiki's manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any

from wikimcp.index.keeper import IndexKeeper
from wikimcp.index.link_diagnostics import link_report
from wikimcp.index.snapshot import Snapshot
from wikimcp.index.view import Reading, View
from wikimcp.models import ANONYMOUS, Caller

_MOST_DIAGNOSTICS = 500
_CONFLICT = "a copy that synchronising left behind; it is ranked last and is no link's target"


def full_status(
    keeper: IndexKeeper,
    caller: Caller,
    *,
    facts: Mapping[str, Any],
    tools: Sequence[str],
    off: Mapping[str, str],
    details: bool = True,
) -> dict[str, Any]:
    """Return index state, backends and tools; for the operator also files, reasons and folders.

    Without ``details`` files are only counted.
    """
    store, snapshot = keeper.store, keeper.store.snapshot
    status: dict[str, Any] = {
        "index": asdict(keeper.stamp(None)),
        "adapter": store.adapter.name,
        "embedders": {
            key: facts[key] for key in ("embedder", "better_embedder", "embedder_notes") if key in facts
        },
        "tools": list(tools),
        "tools_off": dict(off),
        "notes": [note for note in (store.degraded, store.state.note, *store.state.remarks) if note],
    }
    if snapshot is None:
        return status
    view = keeper.view(snapshot, ANONYMOUS)
    pages = {page.rev: page.path for page in view.pages}
    partial = sum(page.partial for page in view.pages)
    status["files"] = {"indexed": len(pages), "partial": partial, "skipped": view.skipped_count}
    if not caller.operator:
        return status
    status["files"]["withheld"] = snapshot.withheld_count()
    if not details:
        return status
    status["vault"] = str(store.adapter.root)
    status["state_dir"] = str(store.state.root)
    status["skipped"] = [{"path": file.path, **asdict(file.why)} for file in snapshot.catalog.skipped()]
    status["withheld"] = [
        {"path": record.path, "reason": record.withheld or f"labels: {', '.join(sorted(record.labels))}"}
        for record in sorted(snapshot.records.values(), key=lambda r: r.path)
        if not record.public
    ]
    found = list(islice(_diagnostics(snapshot, view), _MOST_DIAGNOSTICS + 1))
    status["diagnostics"] = found[:_MOST_DIAGNOSTICS]
    status["more_diagnostics"] = len(found) > _MOST_DIAGNOSTICS
    status["links"] = link_report(view)
    return status


def _diagnostics(snapshot: Snapshot, view: View) -> Iterator[dict[str, Any]]:
    """Yield what is odd about single pages, and about names that several claim."""
    paths = {record.rev: record.path for record in snapshot.records.values()}
    for rev, rest in snapshot.catalog.diagnosed():
        for code, message, line in json.loads(rest).get("diagnostics", ()):
            if rev in paths:
                yield {"path": paths[rev], "code": code, "message": message, "line": line}
    seen = {page.path: page for page in view.pages}
    for path, whole in snapshot.records.items():
        record = seen.get(path, whole)
        if record.conflict_copy:
            yield {"path": record.path, "code": "conflict_copy", "message": _CONFLICT, "line": 0}
    for page, why in view.all_clashes():
        yield {"path": page.path, **asdict(why)}
    for path, why in snapshot.sidecars.read(view.adapter).sidecar.diagnostics:
        yield {"path": path, **asdict(why)}


def manifest(reading: Reading, *, tools: Sequence[str], version: str) -> dict[str, Any]:
    """Return what this wiki is, from its index or overview page and the catalog."""
    title = description = ""
    for role in ("index", "overview"):
        page = next((page for page in reading.pages if page.role == role), None)
        if page is not None:
            body = reading.body(page)
            title = title or body.wiki_title or page.title
            description = description or body.description or page.summary
    return {
        "server": {"name": "wikimcp", "version": version},
        "title": title,
        "description": description,
        "pages": len(reading.pages),
        "generation": reading.generation,
        "adapter": reading.view.adapter.name,
        "clusters": [
            {"name": c.name, "pages": c.page_count, **({"hub": c.hub.slug} if c.hub else {})}
            for c in reading.clusters.values()
        ],
        "tags": len(reading.tags),
        "updated_at": max((page.updated_at for page in reading.pages), default=""),
        "tools": list(tools),
        "read_only": True,
    }
