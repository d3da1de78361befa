"""What a tool is: its parameters, its result, its context, and the values that go on the wire.

A call is four steps, and the service owns their order: ``arguments.bind_arguments`` makes the
params, ``Tool.run`` reads the visible pages through a Reading, the service checks the files that the
Reading noted, and ``answers.finish`` stamps, fits to the size cap and renders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from wikimcp.citations.anchors import SourceRoots
from wikimcp.index.triples import WikiTriples
from wikimcp.index.view import Reading
from wikimcp.tools.cursors import Continuation

DEFAULT_CAP_TOKENS = 8_000
DRAFTS_IGNORED = "include_drafts was ignored: the operator has not allowed drafts"


class Params(BaseModel):
    """Arguments of a tool, snake_case on the wire.

    A field has a plain type (str, int, float, bool, a Literal, ``tuple[str, ...]``, a mapping), or
    one of these or None, and a description. ``arguments.bind_arguments`` is the way in.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Wire(BaseModel):
    """A value of a result: snake_case in Python, camelCase on the wire, nulls omitted."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid", defer_build=True
    )

    schema_in_full: ClassVar[bool] = True
    """False: the output schema says only that it is an object (saves tokens in every tool)."""

    def wire(self) -> dict[str, Any]:
        """Return the JSON form: camelCase keys, None left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class IndexStamp(Wire):
    """The state of the index that an answer was made from; ``age_seconds`` since its last check."""

    schema_in_full = False

    generation: int = 0
    state: Literal["ready", "building", "reconciling", "degraded"] = "ready"
    pages: int = 0
    pending: int = 0
    skipped: int = 0
    age_seconds: float = 0.0
    dense: Literal["ready", "warming", "off"] = "off"


class Result(Wire):
    """What ``run`` returns; ``finish`` fills in ``index`` and adds the notes of the call.

    ``cuttable`` names the lists and mappings that may be shortened to meet the size cap, in the
    order in which they are given up.
    """

    notes: list[str] = Field(default_factory=list)
    index: IndexStamp | None = None

    cuttable: ClassVar[tuple[str, ...]] = ()

    def wire(self) -> dict[str, Any]:
        """Return the JSON form, the facts first, ``notes`` and ``index`` last."""
        data = super().wire()
        for key in ("notes", "index"):
            if key in data:
                data[key] = data.pop(key)
        return data

    def cut(self, name: str, keep: int) -> Self:
        """Return a copy with the first ``keep`` items of field ``name``, and a note of what is gone."""
        items = getattr(self, name)
        kept = dict(islice(items.items(), keep)) if isinstance(items, dict) else items[:keep]
        note = f"{to_camel(name)}: {len(items) - keep} of {len(items)} left out to keep the answer short"
        return self.model_copy(update={name: kept, "notes": [*self.notes, note]})


class ListResult(Result):
    """One answer of a longer list: its items are the first of ``cuttable``.

    ``total`` counts the whole list. ``more`` tells ``cut`` how to continue and is not on the wire.
    """

    total: int
    returned: int
    next_cursor: str | None = None
    more: Annotated[Continuation | None, Field(exclude=True)] = None

    def cut(self, name: str, keep: int) -> Self:
        """Cut the items so that ``next_cursor`` continues after the last one kept."""
        if name != self.cuttable[0] or self.more is None:
            return super().cut(name, keep)
        items = getattr(self, name)
        skipped = 0 if keep else 1  # an item over the cap by itself must not block the rest
        if skipped:
            note = f"{to_camel(name)}: one item is over the size cap by itself and was left out"
        else:
            note = f"{to_camel(name)}: cut after {keep} of {len(items)} by the size cap; nextCursor goes on"
        position = self.more.offset + keep + skipped
        return self.model_copy(
            update={
                name: items[:keep],
                "returned": keep,
                "next_cursor": self.more.at(position) if position < self.total else None,
                "notes": [*self.notes, note],
            }
        )


class Markdown(Result):
    """The result of a tool that answers in text only."""

    text: str


@dataclass(frozen=True, slots=True)
class CoverageSettings:
    """The operator's word on coverage; thresholds None are the embedder's own calibrated ones."""

    strong_similarity: float | None = None
    partial_similarity: float | None = None
    lexical_lift: bool = True

    def thresholds(self, calibrated: tuple[float, float]) -> tuple[float, float]:
        """Return (strong, partial) in force, ``calibrated`` being the embedder's."""
        strong, partial = self.strong_similarity, self.partial_similarity
        return (
            calibrated[0] if strong is None else strong,
            calibrated[1] if partial is None else partial,
        )


@dataclass(frozen=True, slots=True)
class BriefingSettings:
    """The operator's word on briefings: the share of the prompt beside pages, and the hot page first."""

    prompt_share: float = 0.4
    hot: bool = True


@dataclass(slots=True)
class ToolContext:
    """What a call needs beside the View, and what it collects.

    ``vault_root`` is the folder that page paths are relative to, ``sources`` those of source anchors.
    ``now`` is aware. ``notes`` are shown to the caller, so they hold no machine paths. ``tools`` are
    the names of those that can be called now; empty where that is not known.
    """

    index: IndexStamp = field(default_factory=IndexStamp)
    cap_tokens: int = DEFAULT_CAP_TOKENS
    allow_file_urls: bool = False
    vault_root: Path | None = None
    drafts_ignored: bool = False
    coverage: CoverageSettings = field(default_factory=CoverageSettings)
    sources: SourceRoots | None = None
    briefing: BriefingSettings = field(default_factory=BriefingSettings)
    tools: frozenset[str] = frozenset()
    triples: WikiTriples | None = None
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    notes: list[str] = field(default_factory=list)
    composed: tuple[Result, Answer] | None = None
    """A result that ``run`` had to put into its final form already, and that form."""

    def note(self, text: str) -> None:
        """Add a note once."""
        if text not in self.notes:
            self.notes.append(text)


P = TypeVar("P", bound=Params)
R = TypeVar("R", bound=Result)


@dataclass(frozen=True, slots=True)
class Tool(Generic[P, R]):
    """One tool of the contract.

    ``result`` is None for a tool that answers in markdown only (its ``run`` returns Markdown).
    ``render`` gives the text form of the same facts without notes and index stamp, which ``finish``
    adds. ``own_budget`` tools keep a budget of their own and are not fitted to the cap.
    """

    name: str
    title: str
    description: str
    params: type[P]
    result: type[R] | None
    run: Callable[[Reading, P, ToolContext], R]
    render: Callable[[R], str]
    own_budget: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A finished answer: ``structured`` (None for markdown tools) and ``text``, each complete."""

    structured: Mapping[str, Any] | None
    text: str


AnyTool = Tool[Any, Any]
