"""The command itself over a real vault: what a client's configuration starts."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters

from tests.edges.conftest import MODES
from tests.edges.processes import PATIENCE, ROOT, environment, stdio_server

pytestmark = pytest.mark.anyio

CORPUS = ROOT.parent / "shared" / "corpus" / "wikantik-pages"
RUNBOOK = "---\ntitle: Restore the database\n---\n# Steps\n\nRun `restore.sh` on db-7 — Đường.\n"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    folder.mkdir()
    (folder / "restore.md").write_text(RUNBOOK, encoding="utf-8")
    (folder / "index.md").write_text("# Home\n\nSee [[restore]].\n", encoding="utf-8")
    return folder


def own_places(tmp_path: Path) -> dict[str, str]:
    """Keep state, cache and settings of the process out of the user's."""
    names = ("HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
    return environment(**{name: str(tmp_path / name.lower()) for name in names})


@contextmanager
def served_over_http(vault: Path, env: dict[str, str]) -> Iterator[str]:
    command = [sys.executable, "-m", "wikimcp", "serve", str(vault), "--http", "127.0.0.1:0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as process:
        try:
            assert process.stderr is not None
            said: list[str] = []
            for line in process.stderr:
                said.append(line)
                if line.startswith("wikimcp: serving "):
                    yield line.removeprefix("wikimcp: serving ").strip()
                    break
            else:
                pytest.fail("".join(said))
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)


async def ask_about_the_runbook(client: Client) -> None:
    tools = {tool.name for tool in (await client.list_tools()).tools}
    assert "assemble_bundle" in tools
    result = await client.call_tool("assemble_bundle", {"query": "how do I restore the database"})
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert not result.is_error, content.text
    assert "restore.sh" in content.text
    assert "Đường" in content.text
    assert result.structured_content is not None
    assert result.structured_content["sections"][0]["slug"] == "restore"
    (page,) = (await client.read_resource("wiki://page/restore")).contents
    assert isinstance(page, types.TextResourceContents)
    assert "restore.sh" in page.text


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_gets_a_cited_bundle_over_stdio(vault: Path, tmp_path: Path, mode: str) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "wikimcp", "serve", str(vault)], env=own_places(tmp_path)
    )
    with anyio.fail_after(PATIENCE):
        async with Client(server, mode=mode) as client:
            await ask_about_the_runbook(client)


async def test_a_client_gets_a_cited_bundle_over_http_in_both_eras(vault: Path, tmp_path: Path) -> None:
    with served_over_http(vault, own_places(tmp_path)) as url, anyio.fail_after(PATIENCE):
        for mode in MODES:
            async with Client(url, mode=mode) as client:
                await ask_about_the_runbook(client)


@pytest.mark.parametrize("ending", ["stdin closed", "SIGTERM"])
def test_the_command_ends_cleanly_while_it_makes_the_first_index(tmp_path: Path, ending: str) -> None:
    if not CORPUS.is_dir():
        pytest.skip(f"no corpus at {CORPUS}")
    with stdio_server("-m", "wikimcp", "serve", str(CORPUS), env=own_places(tmp_path)) as server:
        if ending == "SIGTERM":
            server.process.terminate()
        else:
            assert server.process.stdin is not None
            server.process.stdin.close()
        assert server.wait() == 0
        assert not [line for line in server.stderr if "Traceback" in line]
