"""WikiService, the only door to a vault: every edge lists, calls and reads through it.

It knows no JSON-RPC, no HTTP status and no argv; edges turn its answers and errors into those.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from wikimcp import __version__
from wikimcp.citations.anchors import SourceRoots
from wikimcp.errors import NotFound, Unavailable, nearest
from wikimcp.graph.export import to_graphml, to_json
from wikimcp.graph.picture import Picture
from wikimcp.guide.completions import complete
from wikimcp.guide.graphs import graph_payload, neighborhood_payload
from wikimcp.guide.ladder import PROMPTS, instructions, prompt_text
from wikimcp.guide.pictures import picture
from wikimcp.guide.resources import TEMPLATES, list_resources, read_resource
from wikimcp.guide.sidecar_check import check_sidecar
from wikimcp.guide.specs import (
    BriefingAnswer,
    PromptArgument,
    PromptSpec,
    ResourceSpec,
    ToolAnswer,
    ToolExtension,
    ToolHints,
    ToolSpec,
)
from wikimcp.guide.status import full_status, manifest
from wikimcp.index.history import COMMAND_SECONDS
from wikimcp.index.keeper import IndexKeeper, Report
from wikimcp.index.rereading import read_as_it_is
from wikimcp.index.triples import WikiTriples, turtle_text
from wikimcp.index.view import Reading
from wikimcp.models import ANONYMOUS, Audience, Caller
from wikimcp.tools.answers import finish
from wikimcp.tools.arguments import bind_arguments
from wikimcp.tools.contract import AnyTool, BriefingSettings, CoverageSettings, IndexStamp, ToolContext
from wikimcp.tools.registry import TOOLS, Backends, available, load
from wikimcp.tools.schemas import input_schema, output_schema
from wikimcp.tools.source_refs import TOOL as SOURCE_REFS

__all__ = [
    "BriefingAnswer",
    "PromptArgument",
    "PromptSpec",
    "ResourceSpec",
    "ServiceOptions",
    "ToolAnswer",
    "ToolHints",
    "ToolSpec",
    "WikiService",
]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServiceOptions:
    """What the operator set that shapes answers.

    ``notes`` go with every answer: what was asked for and cannot be had. ``reasons`` say why a
    backend is off, by backend.
    """

    answer_tokens: int = 8_000
    allow_drafts: bool = False
    allow_file_urls: bool = False
    graph: bool = True
    coverage: CoverageSettings = CoverageSettings()
    sources: SourceRoots | None = None
    briefing: BriefingSettings = BriefingSettings()
    notes: tuple[str, ...] = ()
    reasons: Mapping[str, str] | None = None
    facts: Mapping[str, Any] | None = None


class WikiService:
    """Serves one vault. Safe to call from several threads; raises nothing but WikimcpError."""

    name = "wikimcp"
    version = __version__

    def __init__(
        self,
        keeper: IndexKeeper,
        options: ServiceOptions,
        *,
        triples: WikiTriples | None = None,
        extension: ToolExtension | None = None,
    ) -> None:
        self.keeper = keeper
        self._extension = extension
        self.options = options
        self._triples = triples
        self._listeners: list[Callable[[], None]] = []
        self._mutex = threading.Lock()
        self._schemas: dict[str, ToolSpec] = {}
        self._listed = self._names()
        keeper.on_change(self._compare_tools)
        keeper.work_ahead(self._prepare_triples)

    # Life

    def start(self) -> None:
        """Start background work and return at once."""
        self.keeper.start()

    def close(self) -> None:
        """Stop threads and processes and release locks. Idempotent and fast."""
        if self._extension is not None:
            self._extension.close()
        if self._triples is not None:
            self._triples.close()
        self.keeper.close()

    def ready(self) -> bool:
        """Tell whether the first index is in use."""
        return self.keeper.settled and self.keeper.store.snapshot is not None

    def _prepare_triples(self) -> None:
        if self._triples is not None:
            self._triples.prepare(self.keeper.reading().view)

    def wait_ready(
        self,
        vectors: str = "floor",
        progress: Report | None = None,
        *,
        history_seconds: float = COMMAND_SECONDS,
    ) -> None:
        """Wait, or work here, until the index answers; ``vectors`` is none, floor or all.

        Where the work is done here, reading git's history may take ``history_seconds``.
        """
        self.keeper.wait(vectors=vectors, history_seconds=history_seconds, report=progress)

    def rebuild(self, progress: Report | None = None) -> None:
        """Make the index anew beside the old one and swap it in."""
        for vectors in (self.keeper.floor, self.keeper.better):
            if vectors is not None:
                vectors.discard()
        self.keeper.rebuild(report=progress)

    def verify(self, progress: Report | None = None) -> None:
        """Read every file again and take in those that changed without a new time or size."""
        self.keeper.verify(report=progress)

    # Tools

    @property
    def instructions(self) -> str:
        """The server instructions, under 2,000 characters."""
        return instructions(self._names())

    def _available(self, audience: Audience = ANONYMOUS) -> tuple[tuple[str, ...], Mapping[str, str]]:
        return available(self._backends(audience))

    def _names(self) -> tuple[str, ...]:
        return self._available()[0]

    def _backends(self, audience: Audience) -> Backends:
        """Tell what is present and healthy; a vault that is still being read counts as having pages.

        Where no page is open to all, whose labels open some has pages all the same.
        """
        keeper, reasons = self.keeper, dict(self.options.reasons or {})
        snapshot = keeper.store.snapshot
        if snapshot is not None:
            pages = not snapshot.complete or bool(snapshot.visible(audience))
        else:
            pages = keeper.failure is None
            if keeper.failure is not None:
                reasons["pages"] = keeper.failure.message
        embedder = keeper.floor is not None or keeper.better is not None
        citations = keeper.failure is None  # they are read with the pages and are as complete as these
        triples = self._triples is not None
        if self._triples is not None and (trouble := self._triples.trouble):
            triples, reasons["triples"] = False, trouble
        return Backends(
            pages=pages,
            embedder=embedder,
            graph=self.options.graph,
            triples=triples,
            citations=citations,
            reasons=reasons,
        )

    def tools(self, caller: Caller | None = None) -> list[ToolSpec]:
        """Return the tools whose backends are present now, for a caller or for anybody."""
        own = [self._spec(load(name)) for name in self._available(_audience(caller))[0]]
        return own + self._extra_tools(caller)

    def _extra_tools(self, caller: Caller | None) -> list[ToolSpec]:
        return [] if self._extension is None else self._extension.tools(caller)

    def off_tools(self) -> dict[str, str]:
        """Return the tools that are not registered, with the reason for each."""
        return dict(self._available()[1])

    def _spec(self, tool: AnyTool) -> ToolSpec:
        found = self._schemas.get(tool.name)
        if found is None:
            found = ToolSpec(tool.name, tool.title, tool.description, input_schema(tool), output_schema(tool))
            self._schemas[tool.name] = found
        return found

    def subscribe(self, on_tools_changed: Callable[[], None]) -> None:
        """Call ``on_tools_changed`` from any thread whenever ``tools()`` changes."""
        self._listeners.append(on_tools_changed)

    def _compare_tools(self) -> None:
        names = self._names()
        with self._mutex:
            before, self._listed = self._listed, names
        if before != names:
            for listener in self._listeners:
                listener()

    def call(self, name: str, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        """Run one tool.

        Raises NotFound with the nearest names for a tool that does not exist, Unavailable with the
        reason for one that is off, and the tool's own WikimcpError.
        """
        if self._extension is not None and any(tool.name == name for tool in self._extension.tools(caller)):
            answer = self._extension.call(name, arguments, caller)
            self.keeper.freshen()  # it may have written pages of this very vault
            return answer
        return self._finished(self._tool(name, _audience(caller)), arguments, caller)

    def source_refs(self, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        """Return the sources that pages name, as a tool would; its arguments are in ``source_refs_spec``."""
        return self._finished(SOURCE_REFS, arguments, caller)

    def source_refs_spec(self) -> ToolSpec:
        """Return the arguments and the result of ``source_refs``, which is no tool of the MCP list."""
        return self._spec(SOURCE_REFS)

    def _finished(self, tool: AnyTool, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        result, context = self._run(tool, arguments, caller)
        answer = finish(tool, result, context)
        return ToolAnswer(answer.text, dict(answer.structured) if answer.structured is not None else None)

    def briefing(self, arguments: Mapping[str, Any], caller: Caller) -> BriefingAnswer:
        """Return what get_briefing gives, and the facts of this markdown. Raises like ``call``."""
        result, _ = self._run(self._tool("get_briefing", _audience(caller)), arguments, caller)
        return BriefingAnswer(result.text, result.facts.wire())

    def briefing_data(self, arguments: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
        """Return a briefing as JSON that is itself within the budget. Raises like ``call``."""
        self._tool("get_briefing", _audience(caller))  # whether it is on
        from wikimcp.tools.get_briefing import AS_DATA

        data: dict[str, Any] = self._run(AS_DATA, arguments, caller)[0].data
        return data

    def _run(self, tool: AnyTool, arguments: Mapping[str, Any], caller: Caller) -> tuple[Any, ToolContext]:
        """Bind the arguments and run the tool over what the caller may see."""
        params, notes = bind_arguments(tool, arguments)
        asked = bool(getattr(params, "include_drafts", False))
        audience = Audience(drafts=asked and caller.may_see_drafts, labels=caller.labels)

        def run(reading: Reading) -> tuple[Any, ToolContext]:
            context = ToolContext(
                index=self._stamp(reading),
                cap_tokens=self.options.answer_tokens,
                allow_file_urls=self.options.allow_file_urls,
                vault_root=Path(self.keeper.store.adapter.source_root),
                coverage=self.options.coverage,
                sources=self.options.sources,
                briefing=self.options.briefing,
                tools=frozenset(self._names()),
                triples=self._triples,
                drafts_ignored=asked and not caller.may_see_drafts,
                notes=[*notes, *self._notes(reading)],
            )
            return tool.run(reading, params, context), context

        try:
            return self._read(audience, run)
        finally:
            if "triples" in TOOLS.get(tool.name, ()):
                self._compare_tools()  # only asking shows whether its worker runs

    def _tool(self, name: str, audience: Audience) -> AnyTool:
        names, off = self._available(audience)
        if name in off:  # perhaps no longer: its backend may have come since somebody looked
            self.keeper.freshen()
            names, off = self._available(audience)
        if name in names:
            return load(name)
        if name in off:
            raise Unavailable(f"the tool {name} is off: {off[name]}", hint="See `wikimcp tools`.")
        close = nearest(name[:60], names)
        hint = f"Nearest: {', '.join(close)}." if close else "See the list of tools."
        raise NotFound(f"no tool named {name[:60]!r}", hint=hint)

    def _read(self, audience: Audience, run: Callable[[Reading], T]) -> T:
        return read_as_it_is(self.keeper, audience, run)

    def _stamp(self, reading: Reading) -> IndexStamp:
        stamp = self.keeper.stamp(reading)
        return IndexStamp.model_validate(
            {
                "generation": stamp.generation,
                "state": stamp.state,
                "pages": stamp.pages,
                "pending": stamp.pending,
                "skipped": stamp.skipped,
                "age_seconds": stamp.age_seconds,
                "dense": stamp.dense,
            }
        )

    def _notes(self, reading: Reading) -> list[str]:
        store = self.keeper.store
        notes = [note for note in (store.degraded, store.state.note, *self.options.notes) if note]
        if reading.left_out:
            notes.append(f"{len(reading.left_out)} pages are changing right now and are left out")
        if not reading.view.snapshot.complete:
            notes.append(f"{store.progress()}; ask again for the rest")
        return notes

    # Beside the tools

    def resources(self, caller: Caller, cursor: str | None) -> tuple[list[ResourceSpec], str | None]:
        """Return one page of resources and the next cursor. Raises BadArgument for a wrong cursor."""
        found, more = self._read(_audience(caller), lambda reading: list_resources(reading, cursor))
        return [
            ResourceSpec(r.uri, r.name, r.title, r.description, "text/markdown", r.tokens) for r in found
        ], more

    def resource_templates(self) -> list[tuple[str, str, str]]:
        """Return ``(uri_template, name, description)`` of each template."""
        return list(TEMPLATES)

    def read_resource(self, uri: str, caller: Caller) -> str:
        """Return the markdown behind a URI. Raises NotFound or BadArgument."""
        return self._read(_audience(caller), lambda reading: read_resource(reading, uri))

    def prompts(self, caller: Caller | None = None) -> list[PromptSpec]:
        """Return the prompts, for a caller or for anybody."""
        own = [
            PromptSpec(p.name, p.title, p.description, tuple(PromptArgument(*a) for a in p.arguments))
            for p in PROMPTS
        ]
        return own + ([] if self._extension is None else self._extension.prompts(caller))

    def prompt(self, name: str, arguments: Mapping[str, str], caller: Caller) -> str:
        """Return a prompt's text. Raises NotFound or BadArgument."""
        if self._extension is not None and any(p.name == name for p in self._extension.prompts(caller)):
            return self._extension.prompt(name, arguments)
        return prompt_text(name, arguments, self._names())

    def complete(self, kind: str, argument: str, value: str, caller: Caller) -> list[str]:
        """Return values for an argument that begin like ``value``; ``kind`` is a prompt or template."""
        return self._read(_audience(caller), lambda reading: complete(reading, argument, value))

    def status(self, caller: Caller, *, details: bool = True) -> dict[str, Any]:
        """Return the state of index and backends; files and reasons for the operator only.

        Without ``details`` no page is named, which spares reading every page's links.
        """
        self.keeper.freshen()
        names, off = self._available()
        facts = self.options.facts or {}
        return full_status(self.keeper, caller, facts=facts, tools=names, off=off, details=details)

    def graph(self, caller: Caller) -> dict[str, Any]:
        """Return the graph projection that a caller sees: ``nodes``, ``edges``, ``counts``, ``diagnostics``.

        Raises Unavailable where the graph is off.
        """
        self._need_graph()
        return self._read(_audience(caller), graph_payload)

    def neighborhood(self, node: str, caller: Caller, *, depth: int = 1, limit: int = 200) -> dict[str, Any]:
        """Return what lies within ``depth`` (1..4) edges of a node: as ``graph``, with ``left_out``.

        ``node`` is a node id or any name of a page; ``limit`` (1..2,000) bounds the nodes. Raises
        BadArgument, NotFound, Ambiguous or Unavailable.
        """
        self._need_graph()
        return self._read(
            _audience(caller),
            lambda reading: neighborhood_payload(reading, node, depth=depth, limit=limit),
        )

    def export_graph(self, caller: Caller, form: str) -> str:
        """Return the graph projection as text, ``json`` or ``graphml``, or all triples as ``turtle``."""
        self._need_graph()
        if form == "turtle":
            return self._read(_audience(caller), turtle_text)
        write = to_graphml if form == "graphml" else to_json
        return self._read(_audience(caller), lambda reading: write(reading.graphs.projection()[0]))

    def check_sidecar(self, data: bytes, caller: Caller) -> dict[str, Any]:
        """Return what is wrong with a sidecar: ``valid``, ``counts``, ``findings``, ``left_out``.

        Raises Unavailable where the graph is off.
        """
        self._need_graph()
        return self._read(_audience(caller), lambda reading: check_sidecar(reading, data))

    def examine(self, caller: Caller, work: Callable[[Reading], T], *, include_drafts: bool = False) -> T:
        """Return what ``work`` finds in the pages that a caller sees, over files as they are now.

        It may be run several times, and must keep nothing of what it reads. Withheld pages as in ``call``.
        """
        drafts = include_drafts and caller.may_see_drafts
        return self._read(Audience(drafts=drafts, labels=caller.labels), work)

    def picture(self, caller: Caller) -> Picture:
        """Return the graph that a caller sees as one page of HTML that loads nothing."""
        self._need_graph()
        return self._read(_audience(caller), picture)

    def _need_graph(self) -> None:
        if not self.options.graph:
            raise Unavailable("the graph is off", hint="Set graph.enabled to true.")

    def manifest(self, caller: Caller) -> dict[str, Any]:
        """Return what this wiki is: title, description, counts, clusters, tools."""
        return self._read(
            _audience(caller), lambda reading: manifest(reading, tools=self._names(), version=self.version)
        )


def _audience(caller: Caller | None) -> Audience:
    return Audience(labels=caller.labels) if caller is not None and caller.labels else ANONYMOUS
