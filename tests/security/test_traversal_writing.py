"""No name that an author gives leads out: the tools that write, called in earnest with names of other places."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.authoring_tools.conftest import AUTHOR, Project
from tests.security.traversal_forms import SECRET, forms, is_told, opened_files
from wikimcp.authoring_tools.contract import AnyAuthoringTool
from wikimcp.authoring_tools.registry import built
from wikimcp.errors import WikimcpError
from wikimcp.service import WikiService

WITHOUT_NAMES = {"wiki_init", "wiki_refresh", "wiki_lint"}
NEEDED: dict[str, dict[str, Any]] = {
    "wiki_record_insight": {"title": "Barley", "content": "It grows."},
    "wiki_update_hot": {"content": "# Hot\n\nBarley."},
    "wiki_repoint_sources": {"old": "src/valve.py", "new": "src/valve.py"},
}


class Yard(Project):
    """A project with a compiled wiki, and secrets beside it, behind links in it, and in hidden folders."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.outside = root / "outside"
        self.outside.mkdir()
        project = root / "project"
        (self.outside / "secret.md").write_text(f"# {SECRET}\n")
        for hidden in (".obsidian/secret.json", ".git/config"):
            (project / hidden).parent.mkdir(parents=True)
            (project / hidden).write_text(f"{SECRET}\n")
        for place in (project, self.wiki, project / "raw"):
            place.mkdir(exist_ok=True)
            (place / "link.md").symlink_to(self.outside / "secret.md")
            (place / "linked").symlink_to(self.outside)

    def elsewhere(self) -> dict[str, bytes]:
        """Return all files but those of the wiki, the staging area and the server's own state."""
        own = (self.wiki, self.root / "project" / "raw" / "ingest", self.root / "state")
        return {
            str(file): file.read_bytes()
            for file in sorted(self.root.rglob("*"))
            if file.is_file() and not file.is_symlink() and not any(place in file.parents for place in own)
        }


@pytest.fixture(scope="module")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Yard:
    return Yard(tmp_path_factory.mktemp("yard"))


@pytest.fixture(scope="module")
def service(yard: Yard) -> Iterator[WikiService]:
    service = yard.serve()
    yield service
    service.close()


def _names(tool: AnyAuthoringTool) -> Mapping[str, bool]:
    """Return the parameters that take a text, and whether several."""
    schema = tool.params.model_json_schema()
    found = {}
    for name, facts in schema["properties"].items():
        kinds = [facts, *facts.get("anyOf", [])]
        if any(kind.get("type") == "array" for kind in kinds):
            found[name] = True
        elif any(kind.get("type") == "string" and "enum" not in kind for kind in kinds):
            found[name] = False
    return found


def test_every_tool_that_takes_a_name_is_walked() -> None:
    assert {tool.name for tool in built() if not _names(tool)} == WITHOUT_NAMES


WALKED = [(tool.name, parameter) for tool in built() for parameter in _names(tool)]


@pytest.mark.parametrize(("tool", "parameter"), WALKED, ids=[f"{tool}-{name}" for tool, name in WALKED])
def test_no_name_reads_or_writes_a_file_elsewhere(
    yard: Yard, service: WikiService, tool: str, parameter: str
) -> None:
    names = forms(yard.outside)
    several = _names(next(one for one in built() if one.name == tool))[parameter]
    before = yard.elsewhere()
    asked = 0
    with opened_files() as opened:
        for form in names:
            arguments = {**NEEDED.get(tool, {}), parameter: [form] if several else form}
            try:
                answer = service.call(tool, arguments, AUTHOR)
                said = answer.text + json.dumps(answer.structured)
            except WikimcpError as error:
                assert error.code != "internal", (arguments, error)
                said = str(error)
            asked += 1
            assert not is_told(form, said), arguments
    assert asked > 100
    assert yard.elsewhere() == before
    assert not [path for path in opened if _leads_out(path, yard)]


def _leads_out(path: str, yard: Yard) -> bool:
    real = os.path.realpath(path) if "\0" not in path else path
    return real.startswith((str(yard.outside), "/etc/passwd", "/proc/self/environ"))
