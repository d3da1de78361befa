"""Fuzzed pages served whole: an index is built of many, and every tool answers about every page of it."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.fuzz.dialects import DialectVault, make_vaults
from benchmarks.fuzz.mutating import FuzzedFile
from wikimcp.errors import WikimcpError
from wikimcp.markdown.tokens import span_sha256
from wikimcp.models import Caller

_LINE_END = re.compile("\r\n|\n|\r")
_PER_PAGE: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("get_page", {"slug": "SLUG"}),
    ("read_pages", {"slugs": ["SLUG"]}),
    ("read_pages", {"slugs": ["SLUG"], "format": "outline"}),
)
_FOR_ALL: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("list_tags", {}),
    ("list_clusters", {}),
    ("list_metadata_values", {"field": "type"}),
    ("retrieve_context", {"query": "title word heading"}),
    ("assemble_bundle", {"query": "title word heading", "mode": "lexical"}),
)


def answer_faults(dialect: str, files: Sequence[FuzzedFile]) -> Iterator[str]:
    """Yield what is wrong with the answers about a vault that holds these files and their like only."""
    from wikimcp.app import build_service
    from wikimcp.settings import load_settings

    with tempfile.TemporaryDirectory(prefix="wikimcp-fuzz-") as work:
        vault = next(vault for vault in make_vaults(Path(work)) if vault.name == dialect)
        for number, file in enumerate(files):
            vault.put(FuzzedFile(f"{number:04} {file.name}", file.data))
        flags = {"vault": str(vault.root), "embedder": "none", "state_dir": f"{work}/state", "watch": "false"}
        service = build_service(load_settings(flags, env={}, cwd=vault.root), background=False)
        try:
            service.wait_ready("none")
            yield from _answers(service, vault)
        finally:
            service.close()


def _answers(service: Any, vault: DialectVault) -> Iterator[str]:  # noqa: ANN401 - imported when needed
    slugs: list[str] = []
    cursor: dict[str, Any] = {}
    while True:
        listed, faults = _ask(service, "list_pages", {"limit": 200, **cursor})
        yield from faults
        slugs += [page["slug"] for page in listed.get("pages", ())]
        if not listed.get("nextCursor"):
            break
        cursor = {"cursor": listed["nextCursor"]}
    yield from _status_faults(service)
    for tool, arguments in _FOR_ALL:
        yield from _ask(service, tool, arguments)[1]
    paths = {page.slug: page.path for page in service.keeper.reading().view.pages}
    for slug in slugs:
        for tool, arguments in _PER_PAGE:
            asked = json.loads(json.dumps(arguments).replace('"SLUG"', json.dumps(slug)))
            answer, faults = _ask(service, tool, asked)
            yield from faults
            yield from _hash_faults(answer, vault, paths[slug])


def _ask(service: Any, tool: str, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[str]]:  # noqa: ANN401
    """Call a tool; return its answer and what is wrong with it."""
    asked = f"{tool} {json.dumps(arguments)[:120]}"
    try:
        answer = service.call(tool, arguments, Caller())
    except WikimcpError as error:
        return {}, [f"{asked} is refused: {error}"]
    faults = []
    try:
        json.dumps(answer.structured, allow_nan=False, ensure_ascii=False).encode("utf-8")
        answer.text.encode("utf-8")
    except ValueError as error:
        faults.append(f"{asked} answers what is no JSON: {type(error).__name__}: {str(error)[:160]}")
    structured = answer.structured or {}
    pages = structured.get("pages", ())
    errors = [page["error"] for page in pages if isinstance(page, dict) and "error" in page]
    return structured, [*faults, *(f"{asked} answers {error}" for error in errors)]


def _status_faults(service: Any) -> Iterator[str]:  # noqa: ANN401
    for caller in (Caller(), Caller(operator=True)):
        try:
            json.dumps(service.status(caller), allow_nan=False, ensure_ascii=False).encode("utf-8")
            json.dumps(service.manifest(caller), allow_nan=False, ensure_ascii=False).encode("utf-8")
        except ValueError as error:
            yield f"status is no JSON: {type(error).__name__}: {str(error)[:160]}"


def _hash_faults(answer: Mapping[str, Any], vault: DialectVault, path: str) -> Iterator[str]:
    """Yield the citations of read_pages whose hash is not that of the file's lines."""
    for page in answer.get("pages", ()):
        citation = page.get("citation") if isinstance(page, dict) else None
        if not citation or not page.get("content"):
            continue
        first, last = citation["lines"]
        lines = _LINE_END.split(vault.adapter.read(path).text)
        cited = page["content"] if page["truncated"] else "\n".join(lines[first - 1 : last])
        if span_sha256(cited) != citation["spanSha256"]:
            yield f"the hash of {page['slug']} is not that of its lines {first} to {last}"
