"""list_metadata_values: the frontmatter keys of the wiki, and the values of one key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from wikimcp.index.names import fold
from wikimcp.index.view import Reading
from wikimcp.tools.contract import ListResult, Params, Tool, ToolContext, Wire
from wikimcp.tools.filters import unknown_value
from wikimcp.tools.page_rows import Cursor, IncludeDrafts, open_list, page_of
from wikimcp.tools.rendering import clip, compact_json, flatten, json_safe, render_data

_LONGEST_VALUE = 300
_EMPTY = "(empty)"


class ListMetadataValuesParams(Params):
    """The field whose values are wanted."""

    field: Annotated[
        str, Field(description="Frontmatter key; without it the keys are listed", examples=["status"])
    ] = ""
    limit: Annotated[int, Field(ge=1, le=1_000, description="Values per answer")] = 100
    cursor: Cursor = ""
    include_drafts: IncludeDrafts = False


class ValueRow(Wire):
    """One value (or key), and the number of pages that have it."""

    value: str
    count: int


class ValueList(ListResult):
    """A part of the values of ``field``; without ``field`` the values are the keys themselves."""

    field: str | None = None
    page_count: int
    values: list[ValueRow]

    cuttable: ClassVar[tuple[str, ...]] = ("values",)


def run(reading: Reading, params: ListMetadataValuesParams, context: ToolContext) -> ValueList:
    """Count values by pages, most frequent first, then by value."""
    at = open_list("list_metadata_values", params, reading)
    mappings = list(reading.frontmatters().values())
    wanted = params.field.strip()
    field = _spelling(mappings, wanted, context) if wanted else None
    pages, counted = _count_keys(mappings) if field is None else _count_values(mappings, field)
    if wanted and field is None:
        pages, counted = 0, Counter()
    ranked = sorted(counted.items(), key=lambda found: (-found[1], found[0]))
    part, counts = page_of(ranked, at, params.limit)
    if any(len(value) > _LONGEST_VALUE for value, _ in part):
        context.note(f"values over {_LONGEST_VALUE} characters are shown shortened")
    return ValueList(
        field=None if not wanted else clip(flatten(field or wanted), _LONGEST_VALUE),
        page_count=pages,
        values=[ValueRow(value=clip(value, _LONGEST_VALUE), count=count) for value, count in part],
        **counts,
    )


def _spelling(mappings: list[Mapping[str, Any]], wanted: str, context: ToolContext) -> str | None:
    """Return the key as pages write it; None, with a note, when no page has it."""
    known = Counter(key for mapping in mappings for key in mapping)
    if wanted in known:
        return wanted
    same = [key for key, _ in known.most_common() if fold(key) == fold(wanted)]
    if not same:
        context.note(unknown_value("field", wanted, known.keys()))
    return same[0] if same else None


def _count_keys(mappings: list[Mapping[str, Any]]) -> tuple[int, Counter[str]]:
    counted = Counter(flatten(str(key)) or _EMPTY for mapping in mappings for key in mapping)
    return sum(bool(mapping) for mapping in mappings), counted


def _count_values(mappings: list[Mapping[str, Any]], field: str) -> tuple[int, Counter[str]]:
    """Count each element of a list; a value that a page repeats counts once."""
    having = [mapping[field] for mapping in mappings if field in mapping]
    return len(having), Counter(text for value in having for text in set(_texts(value)))


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield flatten(value) or _EMPTY
    elif value is None:
        yield _EMPTY
    else:
        yield flatten(compact_json(json_safe(value)))


TOOL = Tool(
    name="list_metadata_values",
    title="Metadata values",
    description=(
        "The distinct values of a frontmatter key with page counts, or all keys: use it before filtering "
        "by a value, or to see how consistent the metadata is."
    ),
    params=ListMetadataValuesParams,
    result=ValueList,
    run=run,
    render=render_data,
)
