"""`python -m benchmarks.refresh`: how long a refresh of the compiled wiki takes, and which part of it.

A source tree is made in a temporary folder (files of code in nested folders, some with an ignore list beside
them), with pages on every hundredth file. Measured are the first compilation, a refresh without a change, one
after some files were edited, and a full compilation of the same state for comparison.

Every moment belongs to one part. The scan is `stamps read` (what is known of files that did not change),
`walk`, `hash` and `tree` (of hashes, and what of it changed). The rest is `manifest read`, `pages`, `indexes`
(with queue and log), `manifest write` (its text), `gaps` (folders without a page), `write` (the files of the
change, flushed to the disk) and `stamps write`. Shares are given by the clock and by processor time: where
much else is at work, or the disk is slow, the clock runs on.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import machine_facts
from wikimcp.authoring.init import init_wiki
from wikimcp.authoring.laps import Laps
from wikimcp.authoring.refresh import refresh_wiki
from wikimcp.authoring.refresh_report import RefreshReport
from wikimcp.authoring.workspace import Workspace

_PER_FOLDER = 25
_PAGE_EVERY = 100
_SCAN = ("stamps read", "walk", "hash", "tree")
_REST = ("manifest read", "pages", "indexes", "manifest write", "gaps", "write", "stamps write")
_PARTS = (*_SCAN, *_REST)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; returns 0, or 2 for wrong use."""
    parser = argparse.ArgumentParser(prog="benchmarks.refresh", description=__doc__)
    parser.add_argument("--files", type=int, default=20_000, metavar="N", help="source files (20000)")
    parser.add_argument(
        "--changed", type=int, default=10, metavar="N", help="files edited before a refresh (10)"
    )
    parser.add_argument("--runs", type=int, default=5, metavar="N", help="repetitions (5), the median counts")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args(argv)
    if not 1 <= given.changed <= given.files or given.runs < 1:
        parser.error("give --files and --changed from 1, not more changed than there are, and --runs from 1")
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), files=given.files, changed=given.changed, runs=given.runs)
    if given.json:
        print(json.dumps({"machine": machine_facts(), "rows": rows}, indent=1))
        return 0
    print(f"{given.files:,} source files, {rows[0]['pages']:,} pages; seconds, median of {given.runs} runs")
    print(f"{'':<28}" + "".join(f"{row['what']:>28}" for row in rows))
    for part in (*_PARTS, "all"):
        seconds = (row["all"] if part == "all" else row["seconds"][part] for row in rows)
        print(f"{part:<28}" + "".join(f"{value:28.3f}" for value in seconds))
    print(f"{'of it the scan':<28}" + "".join(f"{row['scan_share']:28.0%}" for row in rows))
    print(f"{'processor time':<28}" + "".join(f"{row['processor_all']:28.3f}" for row in rows))
    print(f"{'of it the scan':<28}" + "".join(f"{row['processor_scan_share']:28.0%}" for row in rows))
    for count in ("hashed", "written"):
        print(f"{'files ' + count:<28}" + "".join(f"{row[count]:28,}" for row in rows))
    return 0


def measure(root: Path, *, files: int, changed: int, runs: int) -> list[dict[str, Any]]:
    """Make the tree in ``root`` and return a row for each kind of refresh."""
    _write_sources(root, files)
    workspace = Workspace.open(root, profile="codebase")
    init_wiki(workspace, deploy=False)
    _write_pages(workspace, files)
    rows = [_row("first compilation", [_timed(workspace)])]
    unchanged, edited, full = [], [], []
    for run in range(runs):
        unchanged.append(_timed(workspace))
        for number in range(changed):
            path = _path(root, number * (files // changed))
            path.write_text(f"# Edit {run}.\n{path.read_text()}")
        edited.append(_timed(workspace))
        full.append(_timed(workspace, full=True))
    return [
        *rows,
        _row("refresh, nothing changed", unchanged),
        _row(f"refresh, {changed} files changed", edited),
        _row("full compilation", full),
    ]


def _timed(workspace: Workspace, *, full: bool = False) -> tuple[Laps, RefreshReport]:
    laps = Laps()
    return laps, refresh_wiki(workspace, full=full, laps=laps)


def _row(what: str, runs: Sequence[tuple[Laps, RefreshReport]]) -> dict[str, Any]:
    report, clocks = runs[-1][1], [laps.seconds for laps, _ in runs]
    processor = [laps.processor for laps, _ in runs]
    return {
        "what": what,
        "all": statistics.median(sum(clock.values()) for clock in clocks),
        "seconds": {part: statistics.median(clock.get(part, 0.0) for clock in clocks) for part in _PARTS},
        "scan_share": statistics.median(map(_scan_share, clocks)),
        "processor_all": statistics.median(sum(times.values()) for times in processor),
        "processor_scan_share": statistics.median(map(_scan_share, processor)),
        "sources": report.sources,
        "pages": report.pages,
        "hashed": report.hashed,
        "written": len(report.changes),
    }


def _scan_share(times: Mapping[str, float]) -> float:
    return sum(times[part] for part in _SCAN) / sum(times.values())


def _path(root: Path, number: int) -> Path:
    folder = number // _PER_FOLDER
    return root / f"part{folder % 20}" / f"group{folder // 20}" / f"module{number}.py"


def _write_sources(root: Path, files: int) -> None:
    (root / ".gitignore").write_text("*.pyc\n__pycache__/\nbuild/\n/dist\n*.log\n!keep.log\n")
    for number in range(files):
        path = _path(root, number)
        path.parent.mkdir(parents=True, exist_ok=True)
        functions = (
            f'def function_{number}_{k}(value):\n    """Does {k}."""\n    return value + {k}\n'
            for k in range(12)
        )
        path.write_text("\n\n".join(functions))


def _write_pages(workspace: Workspace, files: int) -> None:
    for number in range(0, files, _PAGE_EVERY):
        source = _path(workspace.workspace_root, number).relative_to(workspace.workspace_root).as_posix()
        (workspace.wiki_root / "entities" / f"module{number}.md").write_text(
            f"---\ntype: Module\ntitle: Module {number}\nsources:\n"
            f"  - id: all\n    resource: ../../{source}\n"
            f"  - id: second\n    resource: ../../{source}#L6-L8\n---\n\n# Module {number}\n\n"
            f"See [the next](module{number + _PAGE_EVERY}.md).\n\n"
            "<!-- wikimcp:begin symbols -->\n<!-- wikimcp:end symbols -->\n"
        )


if __name__ == "__main__":
    raise SystemExit(main())
