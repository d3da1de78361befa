"""The README says nothing untried: its configurations start the server, its tables name what exists."""

from __future__ import annotations

import json
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from wikimcp.cli import main
from wikimcp.clients.install import CLIENTS
from wikimcp.settings import RULES
from wikimcp.tools.registry import TOOLS
from wikimcp.vaults.detect import DIALECTS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _section(title: str) -> str:
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def _block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", README, re.DOTALL)
    assert found, f"no {language} block"
    return found[1]


def _configurations() -> dict[str, dict[str, object]]:
    by_json = json.loads(_block("json"))["mcpServers"]["wikimcp"]
    by_toml = tomllib.loads(_block("toml"))["mcp_servers"]["wikimcp"]
    return {"json": by_json, "toml": by_toml}


@pytest.mark.anyio
@pytest.mark.parametrize("shape", ["json", "toml"])
async def test_a_configuration_as_printed_starts_the_server(shape: str, tmp_path: Path) -> None:
    configuration = _configurations()[shape]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "lamp.md").write_text("# Lamp\n\nThe lamp is trimmed at dusk.\n", encoding="utf-8")
    arguments = configuration["args"]
    assert configuration["command"] == "wikimcp" and isinstance(arguments, list)
    server = StdioServerParameters(
        command=sys.executable,  # what the command `wikimcp` runs, in the environment of the tests
        args=["-m", "wikimcp", *arguments],
        cwd=tmp_path,
        env={"WIKIMCP_STATE_DIR": str(tmp_path / "state")},
    )
    async with Client(server) as client:
        answer = await client.call_tool("assemble_bundle", {"query": "when is the lamp trimmed?"})
    assert not answer.is_error
    assert answer.structured_content is not None
    assert "dusk" in answer.structured_content["sections"][0]["text"]


def test_every_client_has_its_command_and_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = re.findall(r"^\| .*? \| `(wikimcp install .*?)` \| (.*?) \|$", README, re.MULTILINE)
    assert {shlex.split(command)[2] for command, _ in rows} == set(CLIENTS) and len(rows) == len(CLIENTS)
    for command, files in rows:
        program, *words = shlex.split(command)
        project = tmp_path / words[1]
        (project / "docs").mkdir(parents=True)
        monkeypatch.chdir(project)
        assert program == "wikimcp" and main(words) == 0
        written = {file.relative_to(project).as_posix() for file in project.rglob("*") if file.is_file()}
        assert written == set(re.findall(r"`(.*?)`", files))


def test_the_tool_table_lists_exactly_the_tools_that_are_built() -> None:
    rows = re.findall(
        r"^\| `([a-z_]+)` \|", README.partition("## Tools")[2].partition("\n## ")[0], re.MULTILINE
    )
    assert sorted(rows) == sorted(TOOLS)


def test_the_tables_of_what_is_read_name_every_dialect_once() -> None:
    names = {
        "obsidian": "Obsidian",
        "logseq": "Logseq",
        "dendron": "Dendron",
        "foam": "Foam",
        "quartz": "Quartz",
        "llmwiki": "compiled wiki",
        "generic": "any folder",
    }
    assert list(names) == [dialect.name for dialect in DIALECTS]
    rows = re.findall(r"^\| ([^|`]+) \|", _section("What is read"), re.MULTILINE)
    assert [row for row in rows if row not in ("vault", "dialect")] == [*names.values()] * 2


def test_every_setting_of_the_table_exists() -> None:
    table = README.partition("## Settings")[2].partition("\n## ")[0]
    named = {
        key
        for row in re.findall(r"^\| (.*?) \|", table, re.MULTILINE)
        for key in re.findall(r"`([a-z_.]+)`", row)
    }
    assert named and named <= set(RULES)


def test_nobody_is_told_to_install_the_foreign_package() -> None:
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"):
        assert not re.search(
            r"(pip|pipx|uv|uvx)[^\n`]*\binstall wikimcp(?!-server)", path.read_text(encoding="utf-8")
        )


def test_the_example_of_the_compiled_wiki_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "my-project" / "src" / "mill.py"
    source.parent.mkdir(parents=True)
    source.write_text("def grind(): ...\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WIKIMCP_STATE_DIR", str(tmp_path / "state"))
    exec(compile(_block("python"), "README.md", "exec"), {})  # noqa: S102 - it is what a reader does
    gaps, score = capsys.readouterr().out.splitlines()
    assert gaps == "[{'folder': 'src', 'files': 1}]"
    assert 90 <= float(score) <= 100
    page = tmp_path / "my-project" / ".wiki" / "concepts" / "when-barley-is-sown.md"
    assert "status: proposed" in page.read_text()
