"""What catalogues and installers read: in step with the package, and of the shape that they take."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from wikimcp import __version__
from wikimcp.clients.claude_code import parts
from wikimcp.clients.marks import Mark
from wikimcp.clients.parts import JsonEntry
from wikimcp.clients.wiring import Wiring

ROOT = Path(__file__).parents[2]
PACKAGING = ROOT / "packaging"
PLUGIN = PACKAGING / "claude-code"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def _json(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def test_every_version_and_name_is_the_package_s() -> None:
    server, bundle = _json(PACKAGING / "server.json"), _json(PACKAGING / "mcpb" / "manifest.json")
    plugin = _json(PLUGIN / ".claude-plugin" / "plugin.json")
    assert {server["version"], bundle["version"], plugin["version"], server["packages"][0]["version"]} == {
        __version__
    }
    assert server["packages"][0]["identifier"] == PROJECT["project"]["name"]
    assert {plugin["name"], bundle["name"]} == {"wikimcp"}
    assert "wikimcp-server" in PROJECT["project"]["scripts"], (
        "uvx runs the command that has the package's name"
    )


def test_the_wheel_ships_the_skills() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    owners = {
        **dict.fromkeys(("wiki-context", "wiki-extractor"), "clients"),
        **dict.fromkeys(("wiki-maintainer", "wiki-rag"), "authoring"),
    }
    assert included == {f"skills/{name}": f"wikimcp/{unit}/shipped/{name}" for name, unit in owners.items()}
    assert all((ROOT / "skills" / name / "SKILL.md").is_file() for name in owners)


def test_the_plugin_has_the_layout_of_plugins() -> None:
    files = {file.relative_to(PLUGIN).as_posix() for file in PLUGIN.rglob("*") if file.is_file()}
    assert files == {
        ".claude-plugin/plugin.json",
        ".mcp.json",
        "hooks/hooks.json",
        "skills/wiki-context/SKILL.md",
    }
    assert (PLUGIN / "skills/wiki-context/SKILL.md").read_bytes() == (
        ROOT / "skills/wiki-context/SKILL.md"
    ).read_bytes()
    plugin = _json(PLUGIN / ".claude-plugin/plugin.json")
    assert re.fullmatch(r"[a-z0-9-]+", plugin["name"]) and plugin["author"]["name"]
    market = _json(PACKAGING / ".claude-plugin" / "marketplace.json")
    (entry,) = market["plugins"]
    assert (PACKAGING / entry["source"] / ".claude-plugin" / "plugin.json").is_file()
    assert entry["name"] == plugin["name"] and market["owner"]["name"]


def test_the_plugin_has_the_hooks_that_install_writes() -> None:
    hooks = _json(PLUGIN / "hooks" / "hooks.json")["hooks"]
    written = {
        part.keys[1]: part.made(Mark())
        for part in parts(Wiring(command=("wikimcp",), vault="/v"))
        if isinstance(part, JsonEntry) and part.item
    }
    assert set(hooks) == set(written)
    for event, group in written.items():
        (own,) = hooks[event]
        assert own.get("matcher") == group.get("matcher")
        assert own["hooks"][0]["timeout"] == group["hooks"][0]["timeout"]
        assert own["hooks"][0]["type"] == group["hooks"][0]["type"]


@pytest.mark.parametrize("event", ["UserPromptSubmit", "SessionStart"])
def test_a_hook_of_the_plugin_is_silent_where_wikimcp_is_not_installed(event: str, tmp_path: Path) -> None:
    command = _json(PLUGIN / "hooks" / "hooks.json")["hooks"][event][0]["hooks"][0]["command"]
    done = subprocess.run(
        ["/bin/sh", "-c", command], input=b"{}", capture_output=True, env={"PATH": str(tmp_path)}
    )
    assert (done.returncode, done.stdout) == (0, b"{}\n")
    (tmp_path / "wikimcp").write_text('#!/bin/sh\necho "$*"\n', "utf-8")
    (tmp_path / "wikimcp").chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        input=b"{}",
        capture_output=True,
        env={"PATH": f"{tmp_path}{os.pathsep}/bin"},
    )
    assert (done.returncode, done.stdout) == (0, b"hook claude-code\n")


ENTRY_KEYS = {"$schema", "name", "title", "description", "version", "packages", "remotes", "repository"}
ENTRY_KEYS |= {"websiteUrl", "icons", "_meta"}
PACKAGE_KEYS = {"registryType", "registryBaseUrl", "identifier", "version", "runtimeHint", "transport"}
PACKAGE_KEYS |= {"runtimeArguments", "packageArguments", "environmentVariables", "fileSha256"}
INPUT_KEYS = {"description", "format", "isRequired", "isSecret", "value", "default", "choices", "placeholder"}
INPUT_KEYS |= {"variables"}


def test_the_registry_entry_keeps_the_rules_of_its_schema() -> None:
    """Those of the released schema 2025-12-11 and of the official registry's requirements."""
    server = _json(PACKAGING / "server.json")
    assert server["$schema"].endswith("/schemas/2025-12-11/server.schema.json")
    assert set(server) <= ENTRY_KEYS and {"name", "description", "version"} <= set(server)
    space, _, name = server["name"].partition("/")
    labels = space.split(".")
    assert 3 <= len(server["name"]) <= 200 and len(labels) >= 2
    assert all(re.fullmatch(r"[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?", label) for label in labels)
    assert re.fullmatch(r"[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?", name)
    assert 1 <= len(server["description"]) <= 100 and 1 <= len(server["title"]) <= 100
    assert re.fullmatch(r"\d+\.\d+\.\d+[a-z0-9.+-]*", server["version"]), "one release, no range"
    (package,) = server["packages"]
    assert set(package) <= PACKAGE_KEYS and {"registryType", "identifier", "transport", "version"} <= set(
        package
    )
    assert package["transport"] == {"type": "stdio"} and package["registryType"] == "pypi"
    assert package["registryBaseUrl"] == "https://pypi.org" and package["runtimeHint"] == "uvx"
    for argument in package["packageArguments"]:
        assert set(argument) <= INPUT_KEYS | {"type", "valueHint", "isRepeated"}
        assert argument["type"] == "positional" and ("value" in argument or "valueHint" in argument)
    for variable in package["environmentVariables"]:
        assert set(variable) <= INPUT_KEYS | {"name"}
        assert variable["name"].startswith("WIKIMCP_")
    for given in (*package["packageArguments"], *package["environmentVariables"]):
        assert given.get("format", "string") in ("string", "number", "boolean", "filepath")
        assert all(isinstance(given.get(key, False), bool) for key in ("isRequired", "isSecret"))
        assert "default" not in given or given["default"] in given.get("choices", [given["default"]])


def test_the_readme_bears_the_name_that_the_registry_looks_for() -> None:
    """The registry believes in a package of the Python index whose description has this mark."""
    readme = (ROOT / PROJECT["project"]["readme"]).read_text(encoding="utf-8")
    assert re.findall(r"mcp-name: *(\S+)", readme) == [_json(PACKAGING / "server.json")["name"]]


def test_the_bundle_holds_what_uv_installs_from(tmp_path: Path) -> None:
    build = runpy.run_path(str(PACKAGING / "mcpb" / "build.py"))["build"]
    with zipfile.ZipFile(build(tmp_path / "out" / "w.mcpb")) as bundle:
        names = set(bundle.namelist())
        manifest = json.loads(bundle.read("manifest.json"))
    assert manifest["server"]["type"] == "uv" and manifest["server"]["entry_point"] in names
    needed = {"pyproject.toml", PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]}
    assert needed | {"skills/wiki-context/SKILL.md", "wikimcp/cli/run.py"} <= names
    assert not any("__pycache__" in name or name.startswith(("tests/", ".")) for name in names)
    words = manifest["server"]["mcp_config"]["args"]
    assert words[-3:] == ["wikimcp", "serve", "${user_config.vault}"]
    assert manifest["user_config"]["vault"]["type"] == "directory"
