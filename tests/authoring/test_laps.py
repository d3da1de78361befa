"""Laps: every moment belongs to one part."""

from __future__ import annotations

import time

from tests.authoring.compiled_wiki import Project
from wikimcp.authoring.laps import Laps
from wikimcp.authoring.refresh import refresh_wiki
from wikimcp.authoring.workspace import Workspace


def test_parts_are_summed_and_all_time_is_in_one_of_them() -> None:
    begun = time.perf_counter()
    laps = Laps()
    for part in ("walk", "hash", "walk"):
        laps.lap(part)
    assert [*laps.seconds] == [*laps.processor] == ["walk", "hash"]
    assert 0 <= sum(laps.seconds.values()) <= time.perf_counter() - begun


def test_a_refresh_tells_its_parts_from_the_scan_to_the_write(workspace: Workspace) -> None:
    workspace.wiki_root.mkdir()
    project = Project(workspace)
    project.source("src/checks.py", "def check(): ...\n")
    laps = Laps()
    report = refresh_wiki(workspace, laps=laps)
    assert [*report.seconds] == [
        *("stamps read", "walk", "hash", "tree", "manifest read", "pages", "indexes", "manifest write"),
        *("gaps", "write", "stamps write"),
    ]
    assert report.seconds == laps.seconds
