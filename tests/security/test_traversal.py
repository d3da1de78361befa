"""No name that a caller gives reaches a file: every parameter of every tool, route, resource, prompt and verb."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

import wikimcp
from tests.security.traversal_forms import SECRET, GuardedWiki, forms, is_told, opened_files
from wikimcp.cli import main
from wikimcp.cli.arguments import VERBS
from wikimcp.edges.http import http_app
from wikimcp.edges.workers import Workers
from wikimcp.errors import WikimcpError
from wikimcp.models import Caller
from wikimcp.service import ToolSpec
from wikimcp.tools.registry import TOOLS

VALID: dict[str, Any] = {"slug": "open", "node": "open", "start_node": "open", "id": "M-1", "query": "barley"}
SPARQL = "SELECT ?s { ?s wm:slug ?o }"
OPERATORS_FILES = {
    "serve": "takes a vault; walked as tools and routes",
    "index": "takes a vault",
    "doctor": "takes a vault",
    "eval": "takes a folder and a file of the operator's",
    "models": "takes a file of the operator's",
    "install": "takes a folder of the operator's",
    "uninstall": "takes a folder of the operator's",
    "hook": "takes the input of a client",
    "keys": "takes no name of a file",
    "cite": "takes files of the operator's",
    "tools": "takes nothing",
    "status": "takes nothing",
    "manifest": "takes nothing",
    "lint": "takes a vault",
    "hot": "takes a file of the operator's",
    "okf": "takes a folder of the operator's",
    "init": "takes folders of the operator's",
}


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedWiki]:
    folder = tmp_path_factory.mktemp("guarded")
    wiki = GuardedWiki(folder, embedder="wordllama", **{"citations.source_roots": str(folder / "vault")})
    before = wiki.files()
    _ = wiki.service
    yield wiki
    assert wiki.files() == before, "a call changed a file"
    wiki.stop()


@pytest.fixture(scope="module")
def names(wiki: GuardedWiki) -> list[str]:
    return forms(wiki.outside)


def test_there_are_more_than_a_hundred_forms(names: list[str]) -> None:
    assert len(names) > 120


def _text_parameters(spec: ToolSpec) -> Iterator[tuple[str, Any]]:
    """Yield each parameter that takes a text in some way, with how the text is given."""
    for name, schema in spec.input_schema["properties"].items():
        kinds = [schema, *schema.get("anyOf", [])]
        if any(kind.get("type") == "string" for kind in kinds):
            yield name, lambda form: form
        elif any(kind.get("type") == "array" for kind in kinds):
            yield name, lambda form: [form]
        elif any(kind.get("type") == "object" for kind in kinds):
            yield name, lambda form: {form: form}


def _calls(spec: ToolSpec, names: list[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    needed = {name: VALID.get(name, "open") for name in spec.input_schema.get("required", ())}
    if spec.name == "sparql_query":
        needed["query"] = SPARQL
    for parameter, given in _text_parameters(spec):
        for form in names:
            yield form, {**needed, parameter: given(form)}


@pytest.mark.parametrize("tool", TOOLS)
def test_no_parameter_of_a_tool_reads_a_file(wiki: GuardedWiki, names: list[str], tool: str) -> None:
    specs = {spec.name: spec for spec in wiki.service.tools()}
    assert tool in specs, wiki.service.off_tools().get(tool)
    asked = 0
    with opened_files() as opened:
        for form, arguments in _calls(specs[tool], names):
            asked += 1
            try:
                answer = wiki.service.call(tool, arguments, Caller())
                said = answer.text + json.dumps(answer.structured)
            except WikimcpError as error:
                assert error.code != "internal", (arguments, error)
                said = str(error)
            assert not is_told(form, said), (tool, arguments)
            assert str(wiki.vault) not in said.replace(form, ""), (tool, arguments)
    assert not [path for path in opened if SECRET in path or _is_outside(path, wiki)]
    assert asked >= len(names) or not list(_text_parameters(specs[tool]))


def _is_outside(path: str, wiki: GuardedWiki) -> bool:
    """Tell whether a path leads to a file of the secrets, or to one of the machine that forms name."""
    real = os.path.realpath(path) if "\0" not in path else path
    if real.startswith(os.path.dirname(wikimcp.__file__)):
        return False  # a module of our own, imported when first asked for
    return real.startswith((str(wiki.outside), "/etc/passwd", "/proc/self/environ")) or "secret" in real


def test_no_resource_completion_or_prompt_reads_a_file(wiki: GuardedWiki, names: list[str]) -> None:
    service, caller = wiki.service, Caller()
    with opened_files() as opened:
        for form in names:
            uris = [form, f"wiki://{form}", f"wiki:///{form}"]
            uris += [
                f"wiki://{kind}/{name}"
                for kind in ("page", "cluster")
                for name in (form, quote(form, safe=""))
            ]
            uris += [
                template.replace(f"{{{name}}}", form) for template, name, _ in service.resource_templates()
            ]
            said = [form]
            for uri in uris:
                with contextlib.suppress(WikimcpError):
                    said.append(service.read_resource(uri, caller))
            for argument in ("slug", "name", "pins", "clusters", "tags", "topic", form):
                said += service.complete("page", argument, form, caller)
            for prompt in service.prompts():
                arguments = {argument.name: form for argument in prompt.arguments}
                with contextlib.suppress(WikimcpError):
                    said.append(service.prompt(prompt.name, arguments, caller))
            assert not is_told(form, "\n".join(said)), form
    assert not [path for path in opened if _is_outside(path, wiki)]


@contextlib.asynccontextmanager
async def _client(wiki: GuardedWiki) -> AsyncIterator[httpx.AsyncClient]:
    app = http_app(wiki.service, caller=Caller(), workers=Workers())  # its lifespan would close the service
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


@pytest.mark.anyio
async def test_no_path_of_a_url_reads_a_file(wiki: GuardedWiki, names: list[str]) -> None:
    prefixes = ("/", "/api/", "/api/pages/", "/api/graph/", "/mcp/", "/.well-known/", "/healthz/")
    with opened_files() as opened:
        async with _client(wiki) as client:
            for form in names:
                raw = form.encode("utf-8", "replace").decode("utf-8")
                spelled = {quote(raw, safe="/"), quote(raw, safe=""), quote(raw, safe="/%.\\;")}
                for path in (f"{prefix}{one.lstrip('/')}" for prefix in prefixes for one in sorted(spelled)):
                    reply = await client.get(httpx.URL("http://localhost").copy_with(raw_path=path.encode()))
                    assert reply.status_code != 500, path
                    assert not is_told(form, reply.text), path
    assert not [path for path in opened if _is_outside(path, wiki)]


@pytest.mark.anyio
async def test_no_parameter_of_a_route_reads_a_file(wiki: GuardedWiki, names: list[str]) -> None:
    asked = 0
    with opened_files() as opened:
        async with _client(wiki) as client:
            document = (await client.get("/api/openapi.json")).json()
            for path, operations in document["paths"].items():
                if "{" in path or "get" not in operations:
                    continue
                for parameter in operations["get"].get("parameters", ()):
                    if parameter["schema"].get("type") in ("integer", "boolean", "number"):
                        continue
                    for form in names:
                        asked += 1
                        reply = await client.get(path, params={"query": "barley", parameter["name"]: form})
                        assert reply.status_code != 500, (path, parameter["name"], form)
                        assert not is_told(form, reply.text), (path, parameter["name"], form)
    assert asked > 10 * len(names)
    assert not [path for path in opened if _is_outside(path, wiki)]


def _lines(names: list[str]) -> Iterator[list[str]]:
    """Yield command lines: lists take many names at once, of single values a choice is tried."""
    batches = [names[at : at + 20] for at in range(0, len(names), 20)]
    some = names[::25]
    for batch in batches:
        plain = [name for name in batch if "\0" not in name]
        yield ["read", "--", *plain]
        yield ["bundle", *(word for name in plain for word in ("--tag", f"={name}")), "--", "barley"]
        yield ["search", "--", *plain]
        yield ["query", "--", *plain]
        yield ["briefing", *(f"--pin={name}" for name in plain), *(f"--cluster={name}" for name in plain)]
    for name in (name for name in some if "\0" not in name):
        yield ["page", "--", name]
        yield ["brief", "--prompt", "barley", f"--pin={name}"]
        yield ["bundle", f"--cluster={name}", f"--path-prefix={name}", f"--type={name}", "--", "barley"]
        yield ["read", f"--heading={name}", f"--cursor={name}", "--", "open"]
        yield ["graph", "around", "--", name]
        yield ["call", "get_page", json.dumps({"slug": name})]
        yield ["context", "--", name]
        yield ["context", f"--graph={name}"]
        yield ["ingest", f"--path={name}", "--dry-run"]
        yield ["insight", "--text=barley", f"--evidence={name}", "--dry-run", "--", name]
        yield ["retire", "--dry-run", "--", name]
        yield ["repoint", "--dry-run", "--", name, name]
        yield ["refresh", f"--raw-root={name}", "--dry-run"]
        yield ["sparql", "--", f'SELECT ?s {{ ?s wm:slug "{name}" }}']


def test_no_word_of_the_command_line_that_names_a_page_reads_a_file(
    wiki: GuardedWiki, names: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = wiki.vault.parent
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setenv("WIKIMCP_VAULT", str(wiki.vault))
    monkeypatch.setenv("WIKIMCP_STATE_DIR", str(wiki.state))
    monkeypatch.setenv("WIKIMCP_EMBEDDER", "none")
    monkeypatch.chdir(wiki.vault)
    walked = set()
    with opened_files() as opened:
        for words in _lines(names):
            walked.add(words[0])
            main(words)
            printed = "".join(capsys.readouterr())
            assert not is_told("", printed), words
    assert walked | set(OPERATORS_FILES) == set(VERBS), "a verb is not walked"
    assert not [path for path in opened if _is_outside(path, wiki)]
