"""From what an engine yields to an answer: a fixed order, the caps on rows and bytes, Turtle.

Terms are tuples ``(kind, value, datatype, language)``, kind being iri, literal or blank; the datatype of a
plain string is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from wikimcp.triples.gate import Plan
from wikimcp.triples.terms import PREFIXES, XSD, shortened, text_literal

Term = tuple[str, str, str, str]
Row = tuple[Term | None, ...]

SORTED_AT_MOST = 50_000
"""Rows that are put into a fixed order; of more, the first that come are."""

_UNBOUND: tuple[Any, ...] = (0,)
_RANKS = {"blank": 1, "iri": 2, "literal": 3}
_NUMBERS = frozenset(("integer", "decimal", "double", "float", "long", "int", "nonNegativeInteger"))


def rows_answer(plan: Plan, rows: Iterable[Row], *, limit: int, most_bytes: int) -> dict[str, Any]:
    """Return the rows of a SELECT as JSON holds them, in a fixed order, within both caps.

    ``fixed`` is false when there were too many rows to sort, so that another run may give others.
    """
    fixed = True
    if plan.ordered:
        found = list(islice(rows, limit + 1))
    else:
        found = list(islice(rows, SORTED_AT_MOST + 1))
        fixed = len(found) <= SORTED_AT_MOST
        found.sort(key=_row_key)
        found = found[plan.offset :]
        if plan.length is not None:
            found = found[: plan.length]
    kept = _within(found[:limit], most_bytes)
    truncated = len(kept) < len(found)
    return {"columns": list(plan.columns), "rows": kept, "truncated": truncated, "fixed": fixed}


def graph_answer(triples: Iterable[Row], *, limit: int, most_bytes: int) -> dict[str, Any]:
    """Return the triples of a CONSTRUCT or DESCRIBE as lines of Turtle, each once, in a fixed order."""
    found = list(islice(_each_once(triples), SORTED_AT_MOST + 1))
    fixed = len(found) <= SORTED_AT_MOST
    found.sort(key=_row_key)
    kept = _within(found[:limit], most_bytes)
    used: dict[str, str] = {}
    lines = [f"{' '.join(_turtle(term, used) for term in triple if term)} ." for triple in kept]
    head = [f"@prefix {prefix}: <{namespace}> ." for prefix, namespace in PREFIXES.items() if prefix in used]
    return {"turtle": [*head, *lines], "truncated": len(kept) < len(found), "fixed": fixed}


def _each_once(triples: Iterable[Row]) -> Iterator[Row]:
    seen = set()
    for triple in triples:
        if triple not in seen:
            seen.add(triple)
            yield triple


def _within(rows: Sequence[Row], most_bytes: int) -> list[Row]:
    """Return the first rows whose values take at most ``most_bytes`` together."""
    left = most_bytes
    for count, row in enumerate(rows):
        left -= sum(len(term[1].encode("utf-8", "replace")) + 4 for term in row if term)
        if left < 0:
            return list(rows[:count])
    return list(rows)


def _row_key(row: Row) -> tuple[Any, ...]:
    return tuple(_UNBOUND if term is None else _term_key(term) for term in row)


def _term_key(term: Term) -> tuple[Any, ...]:
    kind, value, datatype, language = term
    if datatype.startswith(XSD) and datatype[len(XSD) :] in _NUMBERS:
        try:
            return (_RANKS[kind], 0, float(value), value, datatype)
        except ValueError:
            pass
    return (_RANKS[kind], 1, value, datatype, language)


def _turtle(term: Term, used: dict[str, str]) -> str:
    kind, value, datatype, language = term
    if kind == "iri":
        return _iri(value, used)
    if kind == "blank":
        return f"_:{value}"
    text = text_literal(value)
    if language:
        return f"{text}@{language}"
    return f"{text}^^{_iri(datatype, used)}" if datatype else text


def _iri(iri: str, used: dict[str, str]) -> str:
    short = shortened(iri)
    if not short.startswith("<"):
        used[short.partition(":")[0]] = iri
    return short
