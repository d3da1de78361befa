"""`wikimcp graph validate` and `graph import`: a sidecar is checked, and taken into a vault.

Importing is the only thing here that writes into a vault's folder, it writes one file, and only what was
checked as it is written. The server never does.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from wikimcp.cli.parsing import UsageError
from wikimcp.cli.show import print_json, print_table, print_text
from wikimcp.cli.verbs import local_caller, opened, settings_of
from wikimcp.graph.sidecar import MOST_BYTES

if TYPE_CHECKING:
    from wikimcp.graph.sidecar_merge import Merged
    from wikimcp.service import WikiService

_MOST_SHOWN = 50
_LONGEST_ROW = 160


def sidecar(arguments: argparse.Namespace) -> int:
    """Check a sidecar, and import it when that is asked for and nothing is wrong; 1 when something is."""
    from wikimcp.cli.sidecar_file import read_given

    if not arguments.node:
        hint = f"As in `wikimcp graph {arguments.action} extracted.json`; - reads what is piped in."
        raise UsageError(f"`graph {arguments.action}` takes one file", hint=hint)
    if arguments.node == "-":
        data = sys.stdin.buffer.read(MOST_BYTES + 1)
    else:
        data = read_given(arguments.node, cap=MOST_BYTES)
    as_json = getattr(arguments, "json", False)
    settings = settings_of(arguments)
    with opened(settings, vectors="none") as service:
        payload = service.check_sidecar(data, local_caller(settings))
        if arguments.action == "import" and payload["valid"]:
            payload |= {"import": _import(service, data, dry_run=arguments.dry_run)}
    if as_json:
        print_json(payload)
    else:
        _show(payload, action=arguments.action)
    return 0 if payload["valid"] else 1


def _import(service: WikiService, data: bytes, *, dry_run: bool) -> dict[str, Any]:
    """Merge the checked bytes into the vault's sidecar; returns what changed."""
    from wikimcp.cli.sidecar_file import SIDECAR, find_place, put
    from wikimcp.graph.sidecar_merge import merge_sidecars

    adapter = service.keeper.store.adapter
    path = next((stamp.path for stamp in adapter.sidecars()), SIDECAR)
    place = find_place(adapter.root, path)
    merged = merge_sidecars(place.before, data)
    changes = bool(merged.added or merged.changed)
    if changes and not dry_run:
        put(place, merged.text)
    told = _told(merged) | {"file": path, "written": changes and not dry_run}
    if told["written"] and path not in {stamp.path for stamp in adapter.sidecars()}:
        told["note"] = f"{path} is ignored or private by the settings: it is not served"
    return told


def _told(merged: Merged) -> dict[str, Any]:
    rows = [
        {"change": change, "kind": kind, "row": row}
        for change, listed in (("added", merged.added), ("changed", merged.changed))
        for kind, row in listed
    ]
    return {
        "added": len(merged.added),
        "changed": len(merged.changed),
        "unchanged": merged.unchanged,
        "kept": merged.kept,
        "rows": rows,
    }


def _show(payload: Mapping[str, Any], *, action: str) -> None:
    if payload["findings"]:
        print_table(["", "where", "line#", "what is wrong"], map(_cells, payload["findings"]))
    if payload["left_out"]:
        print_text(f"{payload['left_out']} more findings are not shown")
    counts = payload["counts"]
    print_text(
        f"{counts['nodes']} nodes, {counts['edges']} edges, {counts['spans']} evidence spans: "
        f"{counts['errors']} errors, {counts['warnings']} warnings"
    )
    told = payload.get("import")
    if told is None:
        if action == "import":
            print_text("nothing was written: mend the errors first")
        return
    rows = [(row["change"], row["kind"], _brief(row["row"])) for row in told["rows"][:_MOST_SHOWN]]
    if rows:
        print_table(["change", "what", "row"], rows)
    if len(told["rows"]) > _MOST_SHOWN:
        print_text(f"{len(told['rows']) - _MOST_SHOWN} more rows are not shown")
    done = "written" if told["written"] else "nothing written"
    print_text(
        f"{told['file']}: {told['added']} added, {told['changed']} changed, "
        f"{told['unchanged']} as they were, among {told['kept']} rows that were there; {done}"
    )
    if "note" in told:
        print_text(told["note"])


def _cells(finding: Mapping[str, Any]) -> Sequence[str]:
    line = finding.get("line")
    return finding["severity"], finding.get("row", "file"), str(line) if line else "", finding["message"]


def _brief(row: object) -> str:
    text = json.dumps(row, ensure_ascii=False)
    return text if len(text) <= _LONGEST_ROW else f"{text[:_LONGEST_ROW]}…"
