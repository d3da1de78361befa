"""A real vault behind a real service, and what must hold of every bundle that it gives."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from wikimcp.app import build_service
from wikimcp.markdown.body import parse_body, without_comments
from wikimcp.markdown.frontmatter import parse_frontmatter
from wikimcp.markdown.tokens import count_tokens, span_sha256
from wikimcp.models import Caller, Section
from wikimcp.service import ToolAnswer, WikiService
from wikimcp.settings import load_settings
from wikimcp.tools.rendering import compact_json, row_line

SAMPLE_VAULT = Path(__file__).parents[2] / "sample_vault"

SECTION_KEYS = {"slug", "title", "headingPath", "text", "truncated", "score", "ranks", "citation"}
CITATION_KEYS = {
    *("handle", "uri", "slug", "version", "canonicalId", "headingPath", "lines", "spanSha256"),
}
COVERAGE_KEYS = {"sectionCount", "distinctPageCount", "topSimilarity", "confidence", "missingTerms"}
NO_FLAGS: Mapping[str, object] = {}
STAMP_KEYS = {"generation", "state", "pages", "pending", "skipped", "ageSeconds", "dense"}


class BundleWiki:
    """One vault with its service."""

    def __init__(self, vault: Path, service: WikiService) -> None:
        self.vault = vault
        self.service = service

    def call(self, tool: str, caller: Caller | None = None, /, **arguments: object) -> ToolAnswer:
        """Call a tool."""
        return self.service.call(tool, arguments, caller or Caller())

    def bundle(self, query: str, **arguments: object) -> dict[str, Any]:
        """Ask for a bundle, check what must hold of all, and return the structured content."""
        answer = self.call("assemble_bundle", query=query, **arguments)
        return check_bundle(self, answer, token_budget=int(str(arguments.get("token_budget", 6_000))))

    def pages(self, query: str, **arguments: object) -> list[dict[str, Any]]:
        """Ask retrieve_context and return the pages."""
        data = structured(self.call("retrieve_context", query=query, **arguments))
        return list(data["pages"])

    def slugs(self, query: str, **arguments: object) -> list[str]:
        """Return the slugs of a bundle's sections, each once, in order."""
        return list(dict.fromkeys(s["slug"] for s in self.bundle(query, **arguments)["sections"]))

    def write(self, path: str, text: str) -> None:
        """Write one file of the vault as it is, line ends too."""
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8"))

    def file(self, slug: str) -> str:
        """Return the text behind a slug."""
        path = str(structured(self.call("get_page", slug=slug))["path"])
        return (self.vault / path).read_bytes().decode("utf-8")


@contextmanager
def wiki_of(
    folder: Path,
    pages: Mapping[str, str] | Path,
    *,
    embedder: str = "wordllama",
    flags: Mapping[str, object] = NO_FLAGS,
) -> Iterator[BundleWiki]:
    """Serve a vault (a folder, or pages by path, written first) until the end of the block.

    The sample vault is copied: where it lies git knows it, and counts its versions some time after the start.
    """
    vault = pages if isinstance(pages, Path) and pages != SAMPLE_VAULT else folder / "vault"
    if pages == SAMPLE_VAULT:
        shutil.copytree(SAMPLE_VAULT, vault)
    elif not isinstance(pages, Path):
        vault.mkdir()
        for path, text in pages.items():
            (vault / path).parent.mkdir(parents=True, exist_ok=True)
            (vault / path).write_bytes(text.encode("utf-8"))
    settings = load_settings(
        {"vault": str(vault), "state_dir": str(folder / "state"), "embedder": embedder, **flags}, env={}
    )
    service = build_service(settings)
    try:
        service.wait_ready("floor")
        yield BundleWiki(vault, service)
    finally:
        service.close()


def structured(answer: ToolAnswer) -> dict[str, Any]:
    """Return the structured content of an answer."""
    assert answer.structured is not None
    return answer.structured


def larger_channel(answer: ToolAnswer) -> int:
    """Return the tokens of the larger channel, as they leave."""
    return max(count_tokens(compact_json(answer.structured)), count_tokens(answer.text))


def check_bundle(wiki: BundleWiki, answer: ToolAnswer, *, token_budget: int) -> dict[str, Any]:
    """Check what must hold of every bundle and return its structured content."""
    data = structured(answer)
    assert larger_channel(answer) <= token_budget
    assert set(data) == {"query", "mode", "sections", "coverage", "omitted", "notes", "index"}
    assert set(data["index"]) == STAMP_KEYS
    assert set(data["coverage"]) - {"liftedBy", "next"} == COVERAGE_KEYS
    assert json.loads(compact_json(data)) == data
    sections = data["sections"]
    for number, section in enumerate(sections, start=1):
        check_section(wiki, section)
        assert text_of(answer.text, number) == section["text"]
    check_no_overlap(sections)
    scores = [section["score"] for section in sections]
    assert scores == sorted(scores, reverse=True)
    check_coverage(data)
    check_text(answer)
    return data


def folded(text: str) -> str:
    """Return a text as a citation's place counts it: CRLF is one character."""
    return text.replace("\r\n", "\n")


def check_section(wiki: BundleWiki, section: Mapping[str, Any]) -> None:
    """Check one section against its file."""
    citation = section["citation"]
    assert set(section) == SECTION_KEYS
    assert set(citation) == CITATION_KEYS
    assert set(section["ranks"]) <= {"bm25", "dense"}
    assert section["slug"] == citation["slug"]
    assert citation["handle"] == f"{section['slug']} @ {citation['version']}"
    text = wiki.file(section["slug"])
    first, last = citation["lines"]
    assert 1 <= first <= last
    cited = "".join(lines_of(text)[first - 1 : last])
    shown = without_comments(cited)
    if section["truncated"]:
        assert section["text"] in shown
    else:
        assert section["text"] == (cited if shown == cited else shown.strip("\r\n")).rstrip()
    assert section["text"].strip()
    span = section["text"] if section["truncated"] and shown == cited else cited
    assert citation["spanSha256"] == span_sha256(span)
    path = "/".join(quote(part, safe="") for part in (citation["canonicalId"], *citation["headingPath"]))
    tail = f"?v={citation['version']}&h={citation['spanSha256'][:16]}"
    uri, _, place = citation["uri"].partition("&c=")
    assert uri == f"cite://{path}{tail}"
    if place:  # said only where heading and hash do not name the span alone
        start, end = map(int, place.split("-"))
        assert folded(text)[start:end] == folded(section["text"])
    covering = [s for s in sections_of(text) if s.own.first_line <= last and s.own.last_line >= first]
    assert covering
    for found in covering:  # the cited heading holds all that is returned
        assert list(found.heading_path[: len(citation["headingPath"])]) == citation["headingPath"]
    if len(covering) == 1:
        assert list(covering[0].heading_path) == citation["headingPath"]
    else:
        assert covering[0].level <= min(s.level for s in covering)


def check_no_overlap(sections: list[dict[str, Any]]) -> None:
    """Check that no line of a page is returned twice."""
    for at, one in enumerate(sections):
        for other in sections[:at]:
            if one["slug"] == other["slug"]:
                (a, b), (c, d) = one["citation"]["lines"], other["citation"]["lines"]
                assert b < c or d < a


def check_coverage(data: Mapping[str, Any]) -> None:
    """Check that the coverage counts what is there."""
    coverage = data["coverage"]
    assert coverage["sectionCount"] == len(data["sections"])
    assert coverage["distinctPageCount"] == len({section["slug"] for section in data["sections"]})
    assert -1.0 <= coverage["topSimilarity"] <= 1.001
    if coverage["confidence"] == "strong":
        assert coverage["sectionCount"] >= 3
        assert "next" not in coverage
    else:
        assert coverage["next"]
    if "liftedBy" in coverage:
        assert coverage["confidence"] == "partial"


def check_text(answer: ToolAnswer) -> None:
    """Check that the text tells every fact of the structured content."""
    data = structured(answer)
    for section in data["sections"]:
        citation = section["citation"]
        for fact in (citation["uri"], citation["spanSha256"]):
            assert fact in answer.text
        assert f"lines={citation['lines'][0]}-{citation['lines'][1]}" in answer.text
    for row in data["omitted"]:
        for fact in (row["slug"], row["heading"]):
            assert row_line({"value": fact}) in answer.text
    for note in data["notes"]:
        assert f"note: {note}" in answer.text
    assert f"confidence={data['coverage']['confidence']}" in answer.text
    assert f"generation={data['index']['generation']}" in answer.text


def text_of(text: str, number: int) -> str:
    """Return the text of one section from the text channel, by its bounds."""
    mark = re.search(r"^<vault-text ([0-9a-f]{8})>$", text, re.MULTILINE)
    assert mark is not None
    parts = text.split(f"<vault-text {mark[1]}>\n")
    return parts[number].split(f"\n</vault-text {mark[1]}>")[0]


def lines_of(text: str) -> list[str]:
    """Return the lines of a file with their ends, which are LF, CRLF and CR only."""
    return re.findall(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+$", text)


def sections_of(text: str) -> tuple[Section, ...]:
    """Return the sections of a file."""
    return parse_body(text, parse_frontmatter(text).body_start).sections
