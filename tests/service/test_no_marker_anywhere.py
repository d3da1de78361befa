"""Over a vault full of hidden pages nothing that a caller can reach holds a word of them, or does more work.

Every tool, resource, prompt, completion, route and verb is walked; one that is added and not walked fails.
"""

from __future__ import annotations

import gc
import http.client
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.edges.processes import PATIENCE, environment
from tests.index.live_wiki import LiveWiki
from tests.service.every_answer import calls_about, everything
from tests.service.hidden_vault import MARK, PRIVATE, WAYS, hidden_pages, marker, public_pages, slug, write
from wikimcp.cli import main
from wikimcp.cli.arguments import VERBS
from wikimcp.errors import WikimcpError
from wikimcp.models import Caller

WORDS = ["pump oiled", "barley", "March", "vrell"]
NAMES = ["open", "works", "ops", "nowhere"]
PARTS = (
    *("title", "alias", "tag", "cluster", "id", "name", "heading", "deeper", "text", "inline", "type"),
    *("author", "value", "key", "related", "missing", "block", "summary", "relation", "source", "field"),
)
# What a verb prints for the operator alone names the paths of withheld pages; nothing else of them.
OPERATORS_VERBS = {"status", "doctor", "index"}
UNWALKED_VERBS = {
    "serve": "walked as routes and over stdio",
    "models": "reads no vault",
    "eval": "asks tools",
    "hook": "prints what briefing prints",
    "install": "reads no vault",
    "uninstall": "reads no vault",
    "keys": "reads no vault",
    **dict.fromkeys(
        ("init", "refresh", "ingest", "insight", "hot", "okf", "retire", "repoint"),
        "works on the compiled wiki of a project, for whoever writes it",
    ),
}


@pytest.fixture(scope="module")
def wiki(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveWiki]:
    live = LiveWiki(tmp_path_factory.mktemp("hidden"), watch=False, private=[PRIVATE])
    write(live.vault, {**public_pages(), **hidden_pages()})
    yield live
    live.stop()


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveWiki]:
    """Give the same vault without a hidden page."""
    live = LiveWiki(tmp_path_factory.mktemp("bare"), watch=False)
    write(live.vault, public_pages())
    yield live
    live.stop()


def test_every_way_of_hiding_hides(wiki: LiveWiki) -> None:
    assert wiki.slugs() == ["mill", "notes/long", "open"]
    status = wiki.service.status(Caller(operator=True))
    assert {entry["path"] for entry in status["withheld"]} == set(hidden_pages())
    assert status["files"]["withheld"] == len(WAYS)
    assert MARK not in re.sub(rf"{MARK}[\w/-]*\.md", "", json.dumps(status))


def test_no_answer_to_a_plain_question_holds_a_word_of_a_hidden_page(wiki: LiveWiki, bare: LiveWiki) -> None:
    calls = calls_about(WORDS, NAMES)
    told = everything(wiki.service, Caller(), calls)
    assert {tool.name for tool in wiki.service.tools()} <= {tool for tool, _ in calls}, "a tool is not walked"
    assert MARK not in json.dumps(told, default=str).lower()
    expected = everything(bare.service, Caller(), calls)
    for question in expected:
        assert told[question] == expected[question], question
    for prompt in wiki.service.prompts():
        arguments = {argument.name: "pumps" for argument in prompt.arguments}
        assert MARK not in wiki.service.prompt(prompt.name, arguments, Caller())
    assert MARK not in json.dumps(wiki.service.off_tools())


@pytest.mark.parametrize("part", PARTS)
def test_a_question_for_a_hidden_word_is_answered_like_one_for_a_word_that_never_was(
    wiki: LiveWiki, part: str
) -> None:
    at = PARTS.index(part)
    for way in (*WAYS[at :: len(PARTS)], WAYS[(7 * at) % len(WAYS)]):  # every way with some part
        hidden = slug(way) if part == "name" else f"{marker(way)}{part}"
        missing = hidden.replace(MARK, "wvj")
        assert answers(wiki, hidden).replace(MARK, "wvj") == answers(wiki, missing)


def answers(wiki: LiveWiki, word: str) -> str:
    """Return what a few calls say that take a word, and the errors in their words."""
    asks: list[Callable[[], Any]] = [
        lambda: wiki.call("get_page", slug=word),
        lambda: wiki.call("get_page_by_id", id=word),
        lambda: wiki.call("read_pages", slugs=[word, "open"]),
        lambda: wiki.call("read_pages", slugs=["open"], heading=word),
        lambda: wiki.call("assemble_bundle", query=word),
        lambda: wiki.call("retrieve_context", query=word),
        lambda: wiki.call("list_pages", cluster=word),
        lambda: wiki.call("list_pages", tags=[word], type=word, author=word),
        lambda: wiki.call("list_pages_by_filter", status=word),
        lambda: wiki.call("list_metadata_values", field=word),
        lambda: wiki.service.read_resource(f"wiki://page/{word}", Caller()),
        lambda: wiki.service.read_resource(f"wiki://cluster/{word}", Caller()),
        *(
            lambda name=name: wiki.service.complete("page", name, word[:6], Caller())
            for name in ("slug", "cluster", "tag", "topic", "pins")
        ),
    ]
    return "\n".join(_answer(ask) for ask in asks)


def _answer(ask: Callable[[], Any]) -> str:
    try:
        answer = ask()
    except WikimcpError as error:
        return f"{type(error).__name__} {error}"
    if isinstance(answer, dict):
        answer.pop("index", None)
    return json.dumps(answer)


def test_a_caller_with_a_label_sees_its_pages_and_no_others(wiki: LiveWiki) -> None:
    board = Caller(labels=frozenset({"board"}))
    told = json.dumps(everything(wiki.service, board, calls_about(WORDS, NAMES)), default=str)
    seen = {way for way in WAYS if marker(way) + "t" in told or f"{marker(way)}name" in told}
    assert seen == {"label", "labels", "allow"}


# The same work


@pytest.mark.parametrize("part", ["name", "id", "title", "cluster", "tag", "text"])
def test_a_hidden_word_makes_exactly_the_work_of_a_missing_one(wiki: LiveWiki, part: str) -> None:
    asks: list[tuple[str, Callable[[str], dict[str, Any]]]] = [
        ("get_page", lambda word: {"slug": word}),
        ("get_page_by_id", lambda word: {"id": word}),
        ("read_pages", lambda word: {"slugs": [word]}),
        ("assemble_bundle", lambda word: {"query": word}),
        ("retrieve_context", lambda word: {"query": f"pump {word}"}),
        ("list_pages", lambda word: {"cluster": word}),
        ("list_pages", lambda word: {"tags": [word]}),
        ("list_pages_by_filter", lambda word: {"type": word}),
        ("list_metadata_values", lambda word: {"field": word}),
    ]
    for tool, arguments in asks:
        for way in ("draft", "label"):
            hidden = slug(way) if part == "name" else f"{marker(way)}{part}"
            missing = hidden.replace(MARK, "wvj")
            # The first call of its kind fills what is kept; what is compared is what every later one costs.
            work_of(wiki, tool, arguments(missing.replace("wvj", "vjw")))
            told = work_of(wiki, tool, arguments(hidden)), work_of(wiki, tool, arguments(missing))
            assert told[0] == told[1], (tool, hidden, told[0] - told[1], told[1] - told[0])


def work_of(wiki: LiveWiki, tool: str, arguments: dict[str, Any]) -> Counter[str]:
    """Return how often each function was called, those of the libraries and of C too: queries, stats, reads.

    It is the work that takes the time; unlike the time it is the same on every machine.
    """
    service = wiki.service
    counted: Counter[str] = Counter()

    def count(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            counted[f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"] += 1
        elif event == "c_call":
            counted[str(getattr(argument, "__qualname__", argument))] += 1

    gc.collect()
    gc.disable()  # when it runs is chance, and what it calls back is of other tests
    sys.setprofile(count)
    try:
        service.call(tool, arguments, Caller())
    except WikimcpError:
        pass
    finally:
        sys.setprofile(None)
        gc.enable()
    assert sum(counted.values()) > 50
    return counted


# Routes and verbs


def test_no_route_holds_a_word_of_a_hidden_page(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    write(vault, {**public_pages(), **hidden_pages()})
    (vault / "wikimcp.toml").write_text(f'private = ["{PRIVATE}"]\n')
    env = environment(HOME=str(tmp_path / "home"), WIKIMCP_EMBEDDER="none")
    command = [sys.executable, "-m", "wikimcp", "serve", str(vault), "--http", "127.0.0.1:0"]
    command += ["--state-dir", str(tmp_path / "state")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=env) as process:
        try:
            assert process.stderr is not None
            line = next(line for line in process.stderr if line.startswith("wikimcp: serving "))
            port = int(line.strip().removesuffix("/mcp").rpartition(":")[2])
            said = {
                path: _get(port, path) for path in ("/healthz", "/readyz", "/nowhere", f"/{MARK}draftname")
            }
            for number, (method, params) in enumerate(_requests()):
                body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
                said[f"{method} {json.dumps(params)}"] = _post(port, body)
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)
    assert sum("result" in text for text in said.values()) > 10
    for asked, text in said.items():
        for word in re.findall(rf"{MARK}\w*", text):
            assert word in asked, (asked, word)  # what was asked for may come back, nothing else


def _requests() -> Iterator[tuple[str, dict[str, Any]]]:
    info = {"name": "test", "version": "1"}
    yield "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info}
    for method in ("tools/list", "resources/list", "resources/templates/list", "prompts/list", "nope"):
        yield method, {}
    for tool, arguments in calls_about(["pump oiled", f"{MARK}drafttext"], ["open", f"{MARK}drafttitle"]):
        yield "tools/call", {"name": tool, "arguments": arguments}
    for uri in ("wiki://hot", "wiki://index", "wiki://cluster/works", f"wiki://page/{slug('draft')}"):
        yield "resources/read", {"uri": uri}
    for name in ("slug", "name"):
        reference = {"type": "ref/resource", "uri": "wiki://page/{slug}"}
        yield "completion/complete", {"ref": reference, "argument": {"name": name, "value": "z"}}
    yield "prompts/get", {"name": "what_do_we_know_about", "arguments": {"topic": "pumps"}}


def _get(port: int, path: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def _post(port: int, message: dict[str, Any]) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    try:
        connection.request("POST", "/mcp", json.dumps(message), headers)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def test_no_verb_prints_a_word_of_a_hidden_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    vault = tmp_path / "vault"
    write(vault, {**public_pages(), **hidden_pages()})
    (vault / "wikimcp.toml").write_text(f'private = ["{PRIVATE}"]\n')
    for name, value in {"HOME": tmp_path, "XDG_DATA_HOME": tmp_path, "XDG_CONFIG_HOME": tmp_path}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setenv("WIKIMCP_VAULT", str(vault))
    monkeypatch.setenv("WIKIMCP_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("WIKIMCP_EMBEDDER", "none")
    monkeypatch.chdir(vault)
    hidden = slug("draft")
    lines = [
        *(["bundle", "pump"], ["query", "pump"], ["search", "pump"], ["read", "open"], ["page", "open"]),
        *(["bundle", f"{MARK}drafttext"], ["search", f"{MARK}drafttext"], ["read", hidden], ["page", hidden]),
        *(["call", "list_pages"], ["call", "list_tags"], ["call", "list_clusters"], ["tools"], ["manifest"]),
        *(["call", "list_metadata_values"], ["status"], ["doctor"], ["index"], ["cite", "verify"]),
        *(["graph"], ["graph", "around", "open"], ["graph", "around", hidden], ["graph", "export"]),
        *(["briefing", "--prompt", "pump", "--pin", hidden], ["brief", "--cluster", f"{MARK}draftcluster"]),
        *(["lint"], ["lint", "--format", "json"], ["lint", "--format", "sarif"], ["context", "pump"]),
        *(["context", f"{MARK}drafttext"], ["context", "--graph", "open"], ["context", "--graph", hidden]),
        *(["sparql", "SELECT ?s ?o { ?s ?p ?o }"], ["sparql", "DESCRIBE page:open", "--format", "turtle"]),
    ]
    assert {line[0] for line in lines} | set(UNWALKED_VERBS) == set(VERBS), "a verb is not walked"
    for words in lines:
        for more in ((), ("--json",)):
            main([*words, *more])
            printed = "".join(capsys.readouterr())
            for word in words[1:]:
                printed = printed.replace(word, "")
            if words[0] in OPERATORS_VERBS:
                printed = re.sub(rf"{MARK}[\w/-]*\.md", "", printed)
            assert MARK not in printed, (words, printed[:2_000])
