"""sparql_query: read-only SPARQL over the wiki as RDF, for counts and joins that no search answers."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from wikimcp.errors import Unavailable
from wikimcp.index.triples import WikiTriples
from wikimcp.index.view import Reading
from wikimcp.ports import RdfTerm
from wikimcp.tools.contract import Params, Result, Tool, ToolContext
from wikimcp.tools.page_rows import IncludeDrafts
from wikimcp.tools.rendering import boundary, bounded, json_line, json_safe, plain
from wikimcp.triples.terms import RDF, XSD, shortened

_NEVER_CUT = 1 << 24  # characters: a part of a query is another query; the gate refuses long ones
_WHOLE = re.compile(r"[+-]?\d{1,15}")
_MARKS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_FRACTIONS = frozenset(("decimal", "double", "float"))
_NOT_FIXED = "the rows are a part of many; add ORDER BY to fix which ones"


class SparqlQueryParams(Params):
    """The query and the form of its answer."""

    query: Annotated[str, Field(max_length=_NEVER_CUT, description="SELECT, ASK, CONSTRUCT or DESCRIBE")]
    format: Annotated[
        Literal["json", "table"], Field(description="table: plain values; json: SPARQL JSON bindings")
    ] = "table"
    limit: Annotated[int, Field(ge=1, le=1_000, description="Rows at most")] = 1_000
    include_drafts: IncludeDrafts = False


class SparqlResult(Result):
    """Rows of a SELECT (``rows`` in the order of ``columns``, or ``bindings``), a truth, or Turtle lines."""

    columns: list[str] | None = None
    rows: list[list[Any]] | None = None
    bindings: list[dict[str, Any]] | None = None
    boolean: bool | None = None
    turtle: list[str] | None = None
    truncated: bool = False

    cuttable: ClassVar[tuple[str, ...]] = ("rows", "bindings", "turtle")

    def cut(self, name: str, keep: int) -> Self:
        """Cut as every result does, and say that it is truncated."""
        return super().cut(name, keep).model_copy(update={"truncated": True})


def triples_of(context: ToolContext) -> WikiTriples:
    """Return the triple store of a call. Raises Unavailable where there is none."""
    if context.triples is None:
        raise Unavailable("there is no triple store", hint="Other tools work.")
    return context.triples


def run(reading: Reading, params: SparqlQueryParams, context: ToolContext) -> SparqlResult:
    """Run the query over what the caller may see."""
    found = triples_of(context).ask(reading, params.query, limit=params.limit)
    if not found.fixed:
        context.note(_NOT_FIXED)
    if found.kind == "truth":
        return SparqlResult(boolean=found.truth)
    if found.truncated:
        context.note(f"there are more than the {len(found.rows or found.turtle)} shown; ask for less at once")
    if found.kind == "graph":
        return SparqlResult(turtle=[_marks_escaped(line) for line in found.turtle], truncated=found.truncated)
    columns = [plain(name) for name in found.columns]
    if params.format == "table":
        rows = [[_value(term) for term in row] for row in found.rows]
        return SparqlResult(columns=columns, rows=rows, truncated=found.truncated)
    bindings = [
        {name: _binding(term) for name, term in zip(columns, row, strict=True) if term is not None}
        for row in found.rows
    ]
    return SparqlResult(columns=columns, bindings=bindings, truncated=found.truncated)


def _value(term: RdfTerm | None) -> Any:  # noqa: ANN401 - a JSON scalar
    """Return a term as a plain value: numbers and truths as such, names by their prefix, null for unbound."""
    if term is None:
        return None
    kind, value, datatype, _ = term
    if kind == "iri":
        return plain(shortened(value))
    if kind == "blank":
        return f"_:{plain(value)}"
    local = datatype.removeprefix(XSD)
    if local == "integer" and _WHOLE.fullmatch(value):
        return int(value)
    if local in _FRACTIONS:
        return json_safe(_fraction(value))
    return value == "true" if local == "boolean" and value in ("true", "false") else plain(value)


def _fraction(value: str) -> float | str:
    try:
        return float(value)
    except ValueError:
        return value


def _binding(term: RdfTerm) -> dict[str, str]:
    """Return a term as the SPARQL 1.1 JSON results format has it."""
    kind, value, datatype, language = term
    binding = {"type": {"iri": "uri", "blank": "bnode"}.get(kind, "literal"), "value": plain(value)}
    if language:
        binding["xml:lang"] = plain(language)
    elif datatype and datatype != f"{RDF}langString":
        binding["datatype"] = plain(datatype)
    return binding


def _marks_escaped(line: str) -> str:
    return _MARKS.sub(lambda mark: f"\\u{ord(mark[0]):04X}", plain(line))


def render(result: SparqlResult) -> str:
    """Render each row as one line of JSON, each statement as one line of Turtle."""
    lines: list[str] = []
    if result.columns is not None:
        lines.append(f"columns={json_line(result.columns)}")
    if result.boolean is not None:
        lines.append(f"boolean={json_line(result.boolean)}")
    lines.extend(json_line(row) for row in (result.rows or result.bindings or ()))
    lines.extend(result.turtle or ())
    text = "\n".join(lines)
    return f"{bounded(text, boundary([text]))}\ntruncated={json_line(result.truncated)}"


TOOL = Tool(
    name="sparql_query",
    title="Query the wiki as RDF",
    description=(
        "Rows, a truth or Turtle for a SPARQL 1.1 query: use it for counts, joins and gaps over pages, tags, "
        "clusters, links and frontmatter that no search answers. get_ontology has terms and examples; the "
        "prefixes wm, wmf, dcterms, rdfs, page, tag, cluster ... need no PREFIX. Read-only and stopped after "
        "some seconds: no SERVICE, FROM or updates. wm:slug gives the name that other tools take."
    ),
    params=SparqlQueryParams,
    result=SparqlResult,
    run=run,
    render=render,
)
