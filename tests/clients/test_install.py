"""Installing into every client and out again, by the command line, over files as people have them."""

from __future__ import annotations

import json
import os
import shlex
import stat
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.clients.real_configs import AGENTS_MD, BEFORE, CLAUDE_MD, CODEX, MCP_JSON, put, tree
from wikimcp.cli import main
from wikimcp.clients.install import CLIENTS
from wikimcp.clients.jsonc import parse
from wikimcp.clients.wiring import start_command

ROOT = Path(__file__).parents[2]
ALL = list(CLIENTS)
Run = Callable[..., tuple[int, str, str]]
SERVER_FILES = {
    "claude-code": (".mcp.json", "mcpServers"),
    "antigravity": (".agents/mcp_config.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".vscode/mcp.json", "servers"),
    "codex": (".codex/config.toml", "mcp_servers"),
    "gemini": (".gemini/settings.json", "mcpServers"),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a project with a wiki in it, with a home and no settings of one's own."""
    for name in [name for name in os.environ if name.startswith(("WIKIMCP_", "WIKANTIK_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "shop"
    put(folder, {"docs/lamp.md": b"# Lamp\n\nThe lamp is trimmed at dusk.\n"})
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def run(project: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str) -> tuple[int, str, str]:
        code = main(words)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def _install(run: Run, client: str, *more: str) -> str:
    code, out, err = run("install", client, "--vault", "docs", *more)
    assert (code, err) == (0, "")
    return out


def _entry(project: Path, client: str) -> dict[str, Any]:
    file, outer = SERVER_FILES[client]
    text = (project / file).read_text("utf-8-sig")
    if client == "codex":
        return tomllib.loads(text)[outer]["wikimcp"]
    root = parse(text)
    assert root is not None
    return root.plain[outer]["wikimcp"]


@pytest.mark.parametrize("with_files", [True, False], ids=["into files", "into nothing"])
@pytest.mark.parametrize("client", ALL)
def test_out_again_every_byte_is_as_it_was(run: Run, project: Path, client: str, with_files: bool) -> None:
    put(project, BEFORE[client] if with_files else {})
    before = tree(project)
    assert f"{client} is installed" in _install(run, client)
    installed = tree(project)
    assert installed != before
    for file, data in before.items():
        if isinstance(data, bytes):
            left = installed[file]
            assert isinstance(left, bytes)
            assert left.startswith(data[:3])
    assert "Nothing to change" in _install(run, client)
    assert tree(project) == installed
    assert run("uninstall", client)[0] == 0
    assert tree(project) == before
    code, out, _ = run("install", client, "--uninstall")
    assert code == 0 and "Nothing to change" in out


@pytest.mark.parametrize("client", ALL)
def test_other_options_renew_the_entry_and_the_way_back_stays(run: Run, project: Path, client: str) -> None:
    put(project, BEFORE[client])
    before = tree(project)
    _install(run, client)
    _install(run, client, "--command", "uvx --from wikimcp-server wikimcp", "--embedder", "none")
    entry = _entry(project, client)
    assert entry["command"] == "uvx"
    assert entry["args"][:4] == ["--from", "wikimcp-server", "wikimcp", "serve"]
    assert entry["args"][4:7] == [str(project / "docs"), "--set", "embedder=none"]
    assert run("uninstall", client)[0] == 0
    assert tree(project) == before


def test_all_clients_share_a_project_and_leave_it_in_any_order(run: Run, project: Path) -> None:
    for files in BEFORE.values():
        put(project, files)
    before = tree(project)
    for client in ALL:
        _install(run, client)
    for client in ALL:
        assert run("uninstall", client)[0] == 0
    assert tree(project) == before


def test_empty_folders_that_were_there_stay(run: Run, project: Path) -> None:
    (project / ".claude" / "skills").mkdir(parents=True)
    (project / ".codex").mkdir()
    before = tree(project)
    for client in ("claude-code", "codex"):
        _install(run, client)
        assert run("uninstall", client)[0] == 0
    assert tree(project) == before


@pytest.mark.parametrize("client", ALL)
def test_a_dry_run_shows_the_diff_and_writes_nothing(run: Run, project: Path, client: str) -> None:
    put(project, BEFORE[client])
    before = tree(project)
    out = _install(run, client, "--dry-run")
    assert tree(project) == before
    assert "Nothing was written (--dry-run)." in out
    assert "--installed" in out and "\n@@ " in out
    _install(run, client)
    installed = tree(project)
    code, out, _ = run("uninstall", client, "--dry-run", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["written"] is False and "\n-" in facts["diff"]
    assert tree(project) == installed


@pytest.mark.anyio
@pytest.mark.parametrize("client", ALL)
async def test_the_entry_as_written_starts_the_server(run: Run, project: Path, client: str) -> None:
    put(project, BEFORE[client])
    _install(run, client, "--command", f"{shlex.quote(sys.executable)} -m wikimcp")
    entry = _entry(project, client)
    state = str(project.parent / "state")
    server = StdioServerParameters(
        command=entry["command"],
        args=entry["args"],
        cwd=project.parent,  # not in the project: the entry says where the vault is
        env={"WIKIMCP_STATE_DIR": state, "WIKIMCP_EMBEDDER": "none", "PYTHONPATH": str(ROOT)},
    )
    async with Client(server) as session:
        answer = await session.call_tool("assemble_bundle", {"query": "when is the lamp trimmed?"})
    assert answer.structured_content is not None
    assert "dusk" in answer.structured_content["sections"][0]["text"]


def test_what_claude_code_gets(run: Run, project: Path) -> None:
    _install(run, "claude-code", "--command", "wikimcp", "--pin", "lamp", "--cluster", "light house")
    assert _entry(project, "claude-code")["type"] == "stdio"
    hooks = json.loads((project / ".claude/settings.json").read_text("utf-8"))["hooks"]
    (prompt,), (start,) = hooks["UserPromptSubmit"], hooks["SessionStart"]
    assert "matcher" not in prompt and start["matcher"] == "compact|clear"
    for group in (prompt, start):
        (handler,) = group["hooks"]
        assert handler["type"] == "command" and handler["timeout"] == 15
        words = shlex.split(handler["command"])
        vault = str(project / "docs")
        assert words[:5] == ["wikimcp", "hook", "claude-code", "--vault", vault]
        assert words[5:9] == ["--pin", "lamp", "--cluster", "light house"]
    skill = (project / ".claude/skills/wiki-context/SKILL.md").read_text("utf-8")
    assert skill.startswith((ROOT / "skills/wiki-context/SKILL.md").read_text("utf-8"))
    block = (project / "CLAUDE.md").read_text("utf-8")
    assert 'pins=["lamp"], clusters=["light house"]' in block and "`get_briefing`" in block


def test_what_antigravity_gets(run: Run, project: Path) -> None:
    put(project, BEFORE["antigravity"])
    _install(run, "antigravity", "--command", "wikimcp")
    hooks = json.loads((project / ".agents/hooks.json").read_text("utf-8"))
    (handler,) = hooks["wikimcp-briefing"]["PreInvocation"]
    assert handler["matcher"] == "*"
    assert handler["hooks"] == [{key: handler[key] for key in ("type", "command", "timeout")}]
    assert handler["type"] == "command" and handler["timeout"] == 15
    assert shlex.split(handler["command"])[:3] == ["wikimcp", "hook", "antigravity"]
    assert hooks["lint"], "what was there is there"
    agents = (project / "AGENTS.md").read_bytes()
    assert agents.startswith(AGENTS_MD) and agents.count(b"\n") == agents.count(b"\r\n")


def test_what_vscode_and_codex_get(run: Run, project: Path) -> None:
    put(project, {**BEFORE["vscode"], **BEFORE["codex"]})
    _install(run, "vscode")
    _install(run, "codex")
    assert _entry(project, "vscode")["type"] == "stdio"
    config = (project / ".codex/config.toml").read_bytes()
    assert config.startswith(CODEX) and config.count(b"\n") == config.count(b"\r\n")
    assert set(tomllib.loads(config.decode())["mcp_servers"]) == {"db", "wikimcp"}


def test_the_command_is_this_very_installation() -> None:
    command = start_command(None)
    assert os.path.isabs(command[0])
    assert Path(command[0]).parent == Path(sys.executable).parent or command[1:] == ()


REFUSED = [
    ("cursor", ".cursor/mcp.json", b'{\n "mcpServers": {\n}', "line 3 is broken"),
    ("gemini", ".gemini/settings.json", b'{"a": 1}\n}', "line 2 is broken"),
    (
        "vscode",
        ".vscode/mcp.json",
        b'\n{"servers": {"wikimcp": {"command": "x"}}}',
        "line 2 has an entry 'wikimcp'",
    ),
    ("cursor", ".cursor/mcp.json", b'{\n"a": "\xff"}', "line 2 is broken: it is not UTF-8"),
    ("cursor", ".cursor/mcp.json", "{}".encode("utf-16"), "line 1 is broken: it is not UTF-8"),
    ("codex", ".codex/config.toml", b"a = 1\nb = = 2\n", "line 2 is broken"),
    ("codex", ".codex/config.toml", b'a = 1\n[mcp_servers.wikimcp]\ncommand = "x"\n', "line 2 has a table"),
    ("codex", ".codex/config.toml", b'mcp_servers = {a = {command = "x"}}\n', "takes no further table"),
    ("claude-code", ".mcp.json", b"[]", "the file is not an object"),
    (
        "claude-code",
        ".claude/settings.json",
        b'{"hooks": {"SessionStart": {}}}',
        "'SessionStart' is not a list",
    ),
    ("claude-code", ".claude/skills/wiki-context/SKILL.md", b"mine", "is not ours"),
    ("claude-code", "CLAUDE.md", b"a\n<!-- wikimcp:begin 1 -->\n", "line 2: the marked block"),
    ("antigravity", ".agents/hooks.json", b'{"wikimcp-briefing": {"enabled": false}}', "has an entry"),
]


@pytest.mark.parametrize(("client", "file", "data", "expected"), REFUSED)
def test_what_is_broken_or_made_by_hand_is_refused_before_anything_is_written(
    run: Run, project: Path, client: str, file: str, data: bytes, expected: str
) -> None:
    put(project, {file: data})
    before = tree(project)
    code, out, err = run("install", client, "--vault", "docs")
    assert (code, out) == (1, "")
    assert err.startswith(f"wikimcp: install: {file}") and expected in err
    assert "Nothing was written." in err
    assert str(project) not in err
    assert tree(project) == before


def test_a_read_only_file_stops_the_whole_installation(run: Run, project: Path) -> None:
    put(project, BEFORE["claude-code"])
    (project / "CLAUDE.md").chmod(0o444)
    before = tree(project)
    code, _, err = run("install", "claude-code", "--vault", "docs")
    assert code == 1 and "CLAUDE.md is read-only" in err
    assert tree(project) == before


def test_a_read_only_folder_stops_the_whole_installation(run: Run, project: Path) -> None:
    put(project, BEFORE["claude-code"])
    (project / ".claude").chmod(0o555)
    before = tree(project)
    code, _, err = run("install", "claude-code", "--vault", "docs")
    (project / ".claude").chmod(0o755)
    assert code == 1 and "lies in a folder that is read-only" in err
    assert tree(project) == before


def test_a_write_that_fails_in_the_middle_takes_back_the_others(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project, BEFORE["claude-code"])
    before = tree(project)
    really, calls = os.replace, []

    def full_at_the_third(source: object, target: object) -> None:
        calls.append(target)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        really(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "replace", full_at_the_third)
    code, _, err = run("install", "claude-code", "--vault", "docs")
    assert code == 1 and "Everything is as it was" in err and len(calls) == 3
    assert tree(project) == before


@pytest.mark.parametrize("link", [".cursor", ".cursor/mcp.json"])
@pytest.mark.parametrize("there", [True, False], ids=["", "dangling"])
def test_no_link_leads_a_write_out_of_the_project(run: Run, project: Path, link: str, there: bool) -> None:
    outside = project.parent / "outside"
    if there and link == ".cursor":
        outside.mkdir()
    elif there:
        outside.write_bytes(b"{}")
    (project / link).parent.mkdir(exist_ok=True)
    (project / link).symlink_to(outside)
    before = tree(project.parent)
    code, _, err = run("install", "cursor", "--vault", "docs")
    assert code == 1 and "leads out of the project by a symbolic link" in err
    assert tree(project.parent) == before


def test_a_link_within_the_project_is_followed_and_stays(run: Run, project: Path) -> None:
    put(project, {"AGENTS.md": CLAUDE_MD})
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    before = tree(project)
    _install(run, "claude-code")
    assert (project / "CLAUDE.md").is_symlink()
    assert b"wikimcp:begin" in (project / "AGENTS.md").read_bytes()
    assert run("uninstall", "claude-code")[0] == 0
    assert tree(project) == before


def test_a_circle_of_links_is_refused(run: Run, project: Path) -> None:
    (project / ".cursor").symlink_to(".cursor")
    code, _, err = run("install", "cursor", "--vault", "docs")
    assert code == 1 and "symbolic link" in err


def test_the_rights_of_a_file_stay(run: Run, project: Path) -> None:
    put(project, {".mcp.json": MCP_JSON})
    (project / ".mcp.json").chmod(0o640)
    _install(run, "claude-code")
    assert stat.S_IMODE((project / ".mcp.json").stat().st_mode) == 0o640


def test_an_edited_skill_and_foreign_entries_stay(run: Run, project: Path) -> None:
    _install(run, "claude-code")
    skill = project / ".claude/skills/wiki-context/SKILL.md"
    skill.write_text(skill.read_text("utf-8").replace("# Working", "# My own way of working"), "utf-8")
    settings = project / ".claude/settings.json"
    settings.write_text(
        settings.read_text("utf-8").replace('"hooks": {', '"model": "x",\n  "hooks": {', 1), "utf-8"
    )
    code, _, err = run("install", "claude-code", "--vault", "docs", "--pin", "lamp")
    assert code == 1 and "was edited since it was installed" in err
    code, out, _ = run("uninstall", "claude-code")
    assert code == 0 and "was edited since it was installed: it stays" in out
    assert sorted(name for name, data in tree(project).items() if data is not None) == [
        ".claude/settings.json",
        ".claude/skills/wiki-context/SKILL.md",
        "docs/lamp.md",
    ]
    assert json.loads(settings.read_text("utf-8")) == {"model": "x"}


@pytest.mark.parametrize(("client", "folder"), [("claude-code", ".claude"), ("antigravity", ".agents")])
def test_the_skill_that_writes_a_graph_comes_when_asked_for_and_goes_with_the_rest(
    run: Run, project: Path, client: str, folder: str
) -> None:
    skill = project / folder / "skills" / "wiki-extractor" / "SKILL.md"
    _install(run, client)
    assert not skill.exists()
    _install(run, client, "--with-extractor")
    shipped = (ROOT / "skills" / "wiki-extractor" / "SKILL.md").read_text("utf-8")
    assert skill.read_text("utf-8").startswith(shipped)
    _install(run, client)
    assert skill.exists()  # what was asked for once stays
    assert run("uninstall", client)[0] == 0
    assert not (project / folder).exists()


def test_text_around_the_block_stays(run: Run, project: Path) -> None:
    _install(run, "claude-code")
    file = project / "CLAUDE.md"
    file.write_text("# Mine\n\n" + file.read_text("utf-8") + "\nMore of mine.\n", "utf-8")
    assert run("uninstall", "claude-code")[0] == 0
    assert file.read_text("utf-8") == "# Mine\n\n\nMore of mine.\n"


def test_text_put_behind_the_block_keeps_its_line(run: Run, project: Path) -> None:
    put(project, {"CLAUDE.md": b"No line end"})
    _install(run, "claude-code")
    with (project / "CLAUDE.md").open("a", encoding="utf-8") as file:
        file.write("More.\n")
    assert run("uninstall", "claude-code")[0] == 0
    assert (project / "CLAUDE.md").read_text("utf-8") == "No line end\nMore.\n"


def test_a_hand_made_entry_stays_and_is_named_when_uninstalling(run: Run, project: Path) -> None:
    put(
        project,
        {".mcp.json": b'{"mcpServers": {"wikimcp": {"command": "wikimcp", "args": ["serve", "docs"]}}}'},
    )
    before = tree(project)
    code, out, _ = run("uninstall", "claude-code")
    assert code == 0 and ".mcp.json holds an entry that was made by hand: it stays" in out
    assert tree(project) == before


def test_a_key_put_behind_the_block_of_codex_is_not_given_to_another_table(run: Run, project: Path) -> None:
    put(project, BEFORE["codex"])
    _install(run, "codex")
    file = project / ".codex/config.toml"
    file.write_bytes(file.read_bytes() + b"startup_timeout_sec = 5\r\n")
    code, _, err = run("uninstall", "codex")
    assert code == 1 and "keys behind the block" in err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["install", "claude"], "'claude' is no client"),
        (["install", "cursr"], "Did you mean cursor?"),
        (["install", "cursor", "--vault", "gone"], "the vault 'gone' does not exist"),
        (["install", "cursor", "--vault", "docs", "--command", "a 'b"], "--command cannot be read"),
        (["install", "cursor", "--vault", "docs", "--command", " "], "--command is empty"),
        (["install", "cursor", "--vault", "docs", "--project", "gone"], "the project 'gone' is no folder"),
        (["install", "cursor"], "no vault is named"),
    ],
)
def test_wrong_use_is_told_in_one_line(run: Run, project: Path, words: list[str], expected: str) -> None:
    code, out, err = run(*words)
    assert code in (1, 2) and out == ""
    assert expected in err and err.count("\n") == 1
    assert not (project / ".cursor").exists()


def test_doctor_names_the_clients_of_the_folder(run: Run, project: Path) -> None:
    def checks() -> dict[str, dict[str, str]]:
        out = run("doctor", "--vault", "docs", "--state-dir", "../state", "--embedder", "none", "--json")[1]
        return {check["name"]: check for check in json.loads(out)}

    assert checks()["clients"]["finding"] == "none is wired up in this folder"
    _install(run, "claude-code")
    put(
        project,
        {".cursor/mcp.json": b'{\n"mcpServers": {', ".vscode/mcp.json": b'{"servers": {"wikimcp": {}}}'},
    )
    found = checks()
    assert "clients" not in found and "codex" not in found
    assert found["claude-code"]["state"] == "ok"
    assert ".mcp.json (installed), .claude/settings.json (installed)" in found["claude-code"]["finding"]
    assert found["cursor"]["state"] == "problem" and "line 2 is broken" in found["cursor"]["finding"]
    assert found["vscode"]["finding"] == ".vscode/mcp.json (by hand)"


def test_the_vault_is_looked_for_from_the_project(
    run: Run, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(project, {"wikimcp.toml": b'vault = "docs"\n'})
    monkeypatch.chdir(project.parent)
    assert run("install", "cursor", "--project", "shop")[0] == 0
    assert str(project / "docs") in _entry(project, "cursor")["args"]
