"""Checking a sidecar before it is put into a vault: shapes, predicates, ends, confidence, evidence spans.

Everything is looked up in what the caller may see: a name of a withheld page is a name nobody has. Nothing is
written here; where a checked sidecar goes is the command line's matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from wikimcp.citations.nearest import nearest_passage
from wikimcp.citations.page_text import PageText
from wikimcp.errors import WikimcpError, nearest
from wikimcp.graph.page_rows import DERIVED, HUMAN, INFERRED, unknown
from wikimcp.graph.predicates import ENTITY_KINDS, KNOWN_PREDICATES, kind_name
from wikimcp.graph.resolve import fold
from wikimcp.graph.sidecar import MOST_BYTES, SidecarEdge, SidecarNode, SidecarRow, read_sidecar
from wikimcp.graph.sidecar_ends import EndNames
from wikimcp.index.view import Reading
from wikimcp.markdown.tokens import LineIndex, normalise_span

MOST_FINDINGS = 1_000
"""Findings that are listed; those beyond are counted."""

LONGEST_SPAN = 2_000
"""Characters of one evidence span; the graph keeps no more of it."""

_FIELDS = """
    id label title name kind type path page slug aliases summary description
    from to source target subject object head tail relation predicate
    confidence provenance source_page evidence
"""
ROW_FIELDS = frozenset(_FIELDS.split())
"""The fields of rows that mean something; any other is kept beside them."""

_MOST_SCANNED = 4 * 10**9  # characters of pages in which spans are looked for, about 4 s
_MOST_SUGGESTED = 20  # findings that come with what is near: looking for it takes long
_ALIKE = 0.8
_LONGEST_SHOWN = 120
_NO_NODE_ROW = ("tag:", "source:", "external:")
_PROVENANCE = (HUMAN, INFERRED, DERIVED)
_FILE_CODES = {"sidecar_broken": "not_json", "sidecar_shape": "shape", "sidecar_too_large": "too_large"}


@dataclass(frozen=True, slots=True)
class _Evidence:
    row: SidecarRow
    page: str
    heading: str
    span: str


@dataclass(slots=True)
class _Findings:
    """What was found, bounded; ``error`` decides the verdict, ``warning`` only says what will happen."""

    lines: LineIndex
    listed: list[dict[str, Any]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, row: SidecarRow | None, code: str, message: str, *, error: bool = True) -> None:
        severity = "error" if error else "warning"
        self.counts[severity] += 1
        if len(self.listed) >= MOST_FINDINGS:
            return
        found: dict[str, Any] = {"severity": severity, "code": code}
        if row is not None:
            found |= {"row": f"{row.kind}s[{row.number - 1}]", "index": row.number - 1}
            if row.at >= 0:
                found["line"] = self.lines.line(row.at)
        self.listed.append({**found, "message": message})


def check_sidecar(reading: Reading, data: bytes) -> dict[str, Any]:
    """Check the bytes of a sidecar; never raises for what they hold.

    Returns ``valid`` (no error among the findings), ``counts`` (nodes, edges, spans, errors, warnings) and
    ``findings``: each with ``severity`` (error or warning), ``code``, ``message`` and, where it is about a
    row, ``row`` (as in ``edges[2]``), ``index`` (from 0) and ``line``. Raises Stale when a page moved on.
    """
    too_large = len(data) > MOST_BYTES
    data = b"[]" if too_large else data
    findings = _Findings(LineIndex(data.decode("utf-8-sig", "replace")))
    if too_large:
        findings.add(None, "too_large", f"the file is over {MOST_BYTES:,} bytes and would not be read")
    rows: list[SidecarRow] = []
    sidecar = read_sidecar("", data, on_row=rows.append)
    for _, why in sidecar.diagnostics:
        if why.code in _FILE_CODES:
            where = f"line {why.line}: " if why.line else ""
            findings.add(None, _FILE_CODES[why.code], where + why.message)
    ends = _Ends(reading, (row.parsed for row in rows if isinstance(row.parsed, SidecarNode)))
    seen: dict[Any, SidecarRow] = {}
    evidence: list[_Evidence] = []
    for row in sorted(rows, key=lambda row: row.kind, reverse=True):  # nodes first, as edges name them
        if row.parsed is None:
            findings.add(row, "shape", row.why)
            continue
        raw = row.raw if isinstance(row.raw, Mapping) else {}
        _check_fields(findings, row, raw)
        if isinstance(row.parsed, SidecarEdge):
            start = _check_edge(findings, ends, row, row.parsed, seen)
            _check_predicate(findings, ends, row, raw, row.parsed.relation)
        else:
            start = _check_node(findings, ends, row, row.parsed, seen)
        evidence += _evidence_of(findings, ends, row, raw, start)
    _check_evidence(findings, reading, evidence)
    counts = {
        "nodes": len(sidecar.nodes),
        "edges": len(sidecar.edges),
        "spans": len(evidence),
        "errors": findings.counts["error"],
        "warnings": findings.counts["warning"],
    }
    left_out = findings.counts.total() - len(findings.listed)
    return {
        "valid": not counts["errors"],
        "counts": counts,
        "findings": findings.listed,
        "left_out": left_out,
    }


class _Ends:
    """What the names in the rows mean: nodes of the same file, pages, nodes that the graph has already."""

    def __init__(self, reading: Reading, declared: Iterable[SidecarNode]) -> None:
        adapter = reading.view.adapter
        root, source = adapter.root, adapter.source_root
        folder = "" if source == root else source.relative_to(root).as_posix()
        self.reading = reading
        self.pages = EndNames(reading.pages, (), folder)
        self.graph = reading.graphs.knowledge().graph
        self.relations = KNOWN_PREDICATES | {edge.relation for edge in self.graph.edges}
        self.suggested = 0
        self._declared: dict[str, str] = {}
        for node in declared:
            names = (node.path, node.id, node.label, *node.aliases)
            page = next((found for name in names if name and (found := self.pages.find(name))), "")
            for name in (node.id, node.label, *node.aliases):
                self._declared.setdefault(fold(name), page or f"entity:{node.id.removeprefix('entity:')}")

    def known(self, name: str) -> str:
        """Return the id of the node that a name means; empty where there is none."""
        if found := self._declared.get(fold(name)) or self._declared.get(fold(name.removeprefix("entity:"))):
            return found
        if page := self.pages.find(name):
            return page
        if name.startswith(_NO_NODE_ROW):
            return name
        if name.startswith("heading:"):
            page = self.pages.find(name.removeprefix("heading:").partition("#")[0])
            return name if page else ""
        for found in (name, f"entity:{name}", *self.graph.names.get(fold(name), ())):
            if found.startswith("entity:") and found in self.graph.nodes:
                return found
        return ""

    def near(self, name: str) -> str:
        """Return a hint at what is called nearly so; empty for all but the first few that ask."""
        self.suggested += 1
        if self.suggested > _MOST_SUGGESTED:
            return ""
        try:
            return f" Did you mean {self.reading.resolve(name).slug}?"
        except WikimcpError as error:
            return f" {error.hint}" if error.hint.startswith("Nearest") else ""


def _check_fields(findings: _Findings, row: SidecarRow, raw: Mapping[str, Any]) -> None:
    """Check what nodes and edges have alike: confidence, provenance, texts, and misspelt fields."""
    if "confidence" in raw:
        said = raw["confidence"]
        if isinstance(said, bool) or not isinstance(said, int | float):
            findings.add(row, "confidence", "confidence is no number; write one from 0 to 1")
        elif not 0 <= said <= 1:
            findings.add(row, "confidence", "confidence is not from 0 to 1")
    said = raw.get("provenance")
    if said is not None and not isinstance(said, str):
        findings.add(row, "shape", "provenance is no text")
    elif said is not None and said not in _PROVENANCE:
        findings.add(
            row, "provenance", f"provenance '{_shown(said)}' is none of {', '.join(_PROVENANCE)}", error=False
        )
    for name in ("type", "kind", "relation", "predicate", "source_page"):
        if raw.get(name) is not None and not isinstance(raw[name], str):
            findings.add(row, "shape", f"{name} is no text")
    aliases = raw.get("aliases")
    if aliases is not None and not (
        isinstance(aliases, list) and all(isinstance(item, str) for item in aliases)
    ):
        findings.add(row, "shape", "aliases is no list of texts")
    for name in raw:
        if name not in ROW_FIELDS and (near := _near_field(name)):
            findings.add(
                row,
                "unknown_field",
                f"field '{_shown(name)}' means nothing. Did you mean {near}?",
                error=False,
            )


def _check_edge(
    findings: _Findings, ends: _Ends, row: SidecarRow, edge: SidecarEdge, seen: dict[Any, SidecarRow]
) -> str:
    """Check the ends of an edge and whether it stands twice; returns the id of the node it starts at."""
    ids = []
    for name in (edge.source, edge.target):
        pages = ends.pages.all(name)
        found = ends.known(name)
        if not found:
            node = unknown(name.removeprefix("page:"))
            what = "an address outside" if node.kind == "external" else "a placeholder"
            near = "" if node.kind == "external" else ends.near(name)
            findings.add(
                row,
                "no_such_end",
                f"'{_shown(name)}' is no page and no node: it will be {what}.{near}",
                error=False,
            )
            found = node.id
        elif found in pages and len(pages) > 1:
            others = ", ".join(page.removeprefix("page:") for page in sorted(pages)[:4])
            findings.add(
                row,
                "ambiguous_end",
                f"'{_shown(name)}' is the name of {len(pages)} pages ({others}): write the slug",
            )
        ids.append(found)
    key = ("edge", *ids, edge.relation)
    if key in seen:
        findings.add(
            row, "duplicate", f"it says what edges[{seen[key].number - 1}] says: they become one", error=False
        )
    elif ids[0] == ids[1]:
        findings.add(row, "loop", "both ends are one node", error=False)
    seen.setdefault(key, row)
    return ids[0]


def _check_node(
    findings: _Findings, ends: _Ends, row: SidecarRow, node: SidecarNode, seen: dict[Any, SidecarRow]
) -> str:
    """Check whether a node stands twice, its page and its kind; returns its id."""
    key = ("node", fold(node.id))
    if key in seen:
        findings.add(
            row, "duplicate", f"nodes[{seen[key].number - 1}] has the same id: this one would be lost"
        )
    seen.setdefault(key, row)
    if node.path and not ends.pages.find(node.path):
        findings.add(
            row,
            "no_such_page",
            f"'{_shown(node.path)}' is no page: the node will be an entity of its own.{ends.near(node.path)}",
            error=False,
        )
    kind = kind_name(node.kind)
    if node.kind and kind not in (*ENTITY_KINDS, "page"):
        near = nearest(kind, ENTITY_KINDS, limit=1)
        hint = f" Did you mean {near[0]}?" if near else f" Known are {', '.join(ENTITY_KINDS)}."
        findings.add(
            row, "unknown_kind", f"kind '{_shown(kind)}' is none of the known kinds.{hint}", error=False
        )
    return ends.known(node.id)


def _check_predicate(
    findings: _Findings, ends: _Ends, row: SidecarRow, raw: Mapping[str, Any], relation: str
) -> None:
    if all(raw.get(name) is None for name in ("type", "relation", "predicate", "label")):
        findings.add(row, "no_type", "it has no type: related_to is taken", error=False)
    elif relation not in ends.relations:
        near = _near_predicate(relation)
        if near:
            message = f"unknown predicate '{_shown(relation)}'. Did you mean {near}?"
            findings.add(row, "unknown_predicate", message)
        else:
            message = f"'{_shown(relation)}' is none of the known predicates; it is kept as it is written"
            findings.add(row, "unknown_predicate", message, error=False)


def _evidence_of(
    findings: _Findings, ends: _Ends, row: SidecarRow, raw: Mapping[str, Any], start: str
) -> Iterator[_Evidence]:
    """Yield the spans that a row names, each with its page; what has none is a finding."""
    stated = raw.get("source_page")
    page = _page_named(ends, stated) if isinstance(stated, str) else ("", "")
    if isinstance(stated, str) and not page[0]:
        name = stated.partition("#")[0].partition(" @ ")[0]
        findings.add(row, "no_such_page", f"source_page '{_shown(stated)}' is no page.{ends.near(name)}")
        return
    said = raw.get("evidence")
    if said is None:
        return
    for item in said if isinstance(said, list) else [said]:
        span, where = item, page
        if isinstance(item, Mapping):
            span = item.get("span")
            if isinstance(named := item.get("page"), str):
                where = _page_named(ends, named)
                if not where[0]:
                    findings.add(row, "no_such_page", f"the evidence's page '{_shown(named)}' is no page")
                    continue
        if not isinstance(span, str) or not normalise_span(span):
            findings.add(
                row,
                "shape",
                "evidence is no text; write the words of the page, or {'page': ..., 'span': ...}",
            )
        elif len(span) > LONGEST_SPAN:
            findings.add(row, "evidence", f"the evidence is longer than {LONGEST_SPAN:,} characters")
        elif not where[0] and not start.startswith("page:"):
            findings.add(row, "evidence", "nothing says which page the evidence stands on: add source_page")
        else:
            yield _Evidence(row, where[0] or start, where[1], span)


def _page_named(ends: _Ends, name: str) -> tuple[str, str]:
    """Return the node id of a page and the heading, of ``slug``, ``slug#heading`` or ``slug @ version``."""
    whole = ends.pages.find(name)
    bare, _, heading = name.partition("#")
    page = ends.pages.find(bare.partition(" @ ")[0])
    if whole and whole != page:
        return whole, ""  # its own name holds the sign
    return page, heading.strip()


def _check_evidence(findings: _Findings, reading: Reading, evidence: Iterable[_Evidence]) -> None:
    """Look for each span in its page, exactly in the normal form of citations; a page is read once."""
    by_page: dict[str, list[_Evidence]] = {}
    for item in evidence:
        by_page.setdefault(item.page, []).append(item)
    left, suggested = _MOST_SCANNED, 0
    for node, items in by_page.items():
        page = reading.page(node.removeprefix("page:"))
        if page is None:
            continue
        text = reading.page_text(page)
        for item in items:
            left -= len(text.text)
            if left < 0:
                findings.add(item.row, "not_checked", "too much evidence to look for: check it in parts")
                return
            if message := _wrong_with(text, item):
                suggested += 1
                near = _nearest(text, item.span) if suggested <= _MOST_SUGGESTED else ""
                findings.add(item.row, "evidence", f"{message} {page.slug}.{near}")


def _wrong_with(text: PageText, item: _Evidence) -> str:
    places = text.places_of_text(item.span)
    if not places:
        return f"the evidence '{_shown(item.span)}' does not stand in"
    if item.heading:
        sections = text.resolve((item.heading,))
        if not sections:
            return f"there is no heading '{_shown(item.heading)}' in"
        trees = [section.subtree for section in sections]
        if not any(tree.start <= start and end <= tree.end for start, end in places for tree in trees):
            return f"the evidence does not stand below the heading '{_shown(item.heading)}' of"
    return ""


def _nearest(text: PageText, span: str) -> str:
    near = nearest_passage(text, span)
    if near is None or text.places_of_text(span):
        return ""
    first, last = text.lines(near.place)
    return f" Nearest, lines {first}-{last}: {_shown(near.text)}"


@lru_cache(maxsize=4_096)
def _near_predicate(relation: str) -> str:
    return next(iter(get_close_matches(relation, sorted(KNOWN_PREDICATES), n=1, cutoff=_ALIKE)), "")


@lru_cache(maxsize=4_096)
def _near_field(name: str) -> str:
    return next(iter(get_close_matches(name.casefold()[:80], sorted(ROW_FIELDS), n=1, cutoff=_ALIKE)), "")


def _shown(text: str) -> str:
    short = " ".join(text[: 2 * _LONGEST_SHOWN].split())
    short = short.encode("utf-8", "replace").decode()
    return short if len(short) <= _LONGEST_SHOWN else f"{short[:_LONGEST_SHOWN]}…"
