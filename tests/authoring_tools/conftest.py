"""A project with code, notes and a compiled wiki, and the service with the authoring profile over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wikimcp.app import AuthoringSetup, build_authoring_service
from wikimcp.authoring.init import init_wiki
from wikimcp.authoring.intent import content_hash
from wikimcp.authoring.manifest import AnchorEntry, Manifest, PageEntry, PageSource, save_manifest
from wikimcp.authoring.workspace import Workspace
from wikimcp.authoring.writing import transaction
from wikimcp.models import Caller
from wikimcp.service import ToolAnswer, WikiService
from wikimcp.setting_groups import Places
from wikimcp.settings import Settings, load_settings

AUTHOR = Caller(name="ana", scopes=frozenset({"mcp_read", "author"}))
READER = Caller(name="bob")

CODE = "def close(valve):\n    return valve.shut()\n"
_STORY = " ".join(f"On day {day} somebody oiled the hinges and wrote nothing down." for day in range(60))
PAGE = f"""\
---
type: Module
title: Valve control
description: Opens and closes the valve.
sources:
  - id: code
    resource: ../../src/valve.py
---

# Valve control

## Closing

The valve closes at forty degrees, see `src/valve.py#L1-L2`.

## Oiling

{_STORY}
"""


class Project:
    """A workspace whose wiki holds one page with a source and an anchor; ``service`` serves it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.places = Places(home=root, config=root / "config", state=root / "state", data=root / "data")
        (root / "project" / "src").mkdir(parents=True)
        (root / "project" / "src" / "valve.py").write_text(CODE)
        self.workspace = Workspace.open(root / "project")
        init_wiki(self.workspace, deploy=False)
        self.wiki = self.workspace.wiki_root
        with transaction(self.workspace) as change:
            change.write("entities/valve.md", PAGE)
            source = PageSource("src/valve.py", content_hash(CODE.encode()))
            entry = PageEntry("entities/valve.md", "valve", "entities", (source,))
            anchor = AnchorEntry("entities/valve.md", "src/valve.py", 1, 2, "0" * 64, "close")
            save_manifest(change, Manifest(pages=(entry,), anchors=(anchor,)))

    def settings(self, **flags: object) -> Settings:
        given = {"vault": self.wiki, "embedder": "none", **flags}
        return load_settings(given, {}, cwd=self.root, places=self.places)

    def serve(self, **flags: object) -> WikiService:
        wiki = self.settings(**{"drafts.allow": True, "adapter": "llmwiki"})
        setup = AuthoringSetup(self.workspace, wiki)
        service = build_authoring_service(self.settings(watch=False, **flags), setup, file_links=True)
        service.wait_ready("none")
        return service


class Talk:
    """Calls tools of a service as one caller."""

    def __init__(self, service: WikiService, caller: Caller = AUTHOR) -> None:
        self.service, self.caller = service, caller

    def answer(self, tool: str, **arguments: Any) -> ToolAnswer:
        return self.service.call(tool, arguments, self.caller)

    def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        structured = self.answer(tool, **arguments).structured
        assert structured is not None
        return structured


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def talk(project: Project) -> Iterator[Talk]:
    service = project.serve()
    yield Talk(service)
    service.close()
