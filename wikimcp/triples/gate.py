"""What stands before every query: what is never run is refused, with line, column and the nearest right name.

Bounds on the text are checked first, what a query does on its algebra, which the caller's parser makes.
Also places the modifiers by which the order of rows becomes a fixed one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from wikimcp.errors import QueryRejected, nearest
from wikimcp.triples.reach import Reach, reach_of
from wikimcp.triples.terms import PREFIXES, WM, WMF, XSD
from wikimcp.triples.tokens import Places, Token, declared_prefixes, tokens_of
from wikimcp.triples.vocabulary import vocabulary_terms

LONGEST_QUERY = 20_000
DEEPEST_QUERY = 40
_UPDATES = frozenset(["INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH"])
_FORMS = frozenset(["SELECT", "ASK", "CONSTRUCT", "DESCRIBE"])
_KINDS = {"SelectQuery": "rows", "AskQuery": "truth", "ConstructQuery": "graph", "DescribeQuery": "graph"}
_READ_ONLY = "Queries are SELECT, ASK, CONSTRUCT or DESCRIBE over this wiki alone."


@dataclass(frozen=True, slots=True)
class Plan:
    """A query that may run: ``text`` as it goes to the engine, ``kind`` rows, truth or graph.

    ``columns`` are the variables of the rows, ``reach`` is what the query can touch of the data. Where
    ``ordered`` is false the text has lost its own LIMIT and OFFSET: ``offset`` and ``length`` (None: all) are
    to be applied to the sorted rows.
    """

    text: str
    kind: str
    columns: tuple[str, ...] = ()
    ordered: bool = False
    offset: int = 0
    length: int | None = None
    reach: Reach = None


Parser = Callable[[str], Any]
"""Returns the nodes to walk, the algebra last: mappings with a ``name`` attribute, lists and plain terms.

Raises QueryRejected where the text is no query.
"""


def check_text(text: str) -> None:
    """Raise QueryRejected for text that is not even parsed: empty, too long, with escaped code points."""
    if not text.strip():
        raise QueryRejected("the query is empty", hint="As in SELECT ?page WHERE { ?page a wm:Page }.")
    if len(text) > LONGEST_QUERY:
        raise QueryRejected(
            f"the query has {len(text):,} characters; at most {LONGEST_QUERY:,} are taken",
            hint="Ask for less at once.",
        )
    for mark in ("\\u", "\\U"):  # readers differ in where these count, so that one could hide text from one
        if mark in text:
            where = Places(text).of(text.index(mark))
            raise QueryRejected(
                f"an escaped code point at {where}", hint="Write the character itself instead."
            )


def plan_query(
    text: str, parse: Parser, *, has_term: Callable[[str], bool], terms: Callable[[], Collection[str]]
) -> Plan:
    """Return how a query is to be run. Raises QueryRejected with what is wrong and where.

    ``has_term`` tells whether vocabulary or data have a class or property, of our own namespaces; ``terms``
    gives all of them, where one has to be suggested.
    """
    check_text(text)
    tokens, places = tokens_of(text), Places(text)
    _check_depth(tokens, places)
    _check_form(tokens, places)
    prefixes = {**PREFIXES, **declared_prefixes(tokens)}
    _check_prefixes(tokens, places, prefixes)
    nodes = parse(text)
    for node in _walk(nodes):
        _check_node(node, tokens, places)
    _check_terms(tokens, places, prefixes, has_term=has_term, terms=terms)
    plan = _planned(text, tokens, nodes[-1])
    return replace(plan, reach=reach_of(_walk(nodes[-1]), plan.kind))


def _check_depth(tokens: Sequence[Token], places: Places) -> None:
    deepest = max(tokens, key=lambda token: token.depth, default=None)
    if deepest is not None and deepest.depth > DEEPEST_QUERY:
        raise QueryRejected(
            f"brackets are nested {deepest.depth} deep at {places.of(deepest.start)}; at most "
            f"{DEEPEST_QUERY} are taken"
        )


def _check_form(tokens: Sequence[Token], places: Places) -> None:
    """Tell an update, and what is no query at all, by the first word after the prologue."""
    at = 0
    while at < len(tokens) and tokens[at].word in ("PREFIX", "BASE"):
        at += 3 if tokens[at].word == "PREFIX" else 2
    first = tokens[at] if at < len(tokens) else None
    word = first.word if first is not None else ""
    if first is None or word in _FORMS:
        return
    where = places.of(first.start)
    if word in _UPDATES:
        raise QueryRejected(f"{word} at {where} is an update; nothing is ever changed", hint=_READ_ONLY)
    near = nearest(first.text[:40], sorted(_FORMS), limit=1)
    hint = f"Did you mean {near[0]}?" if near else _READ_ONLY
    raise QueryRejected(f"a query begins with SELECT, not with {first.text[:40]!r} ({where})", hint=hint)


def _check_prefixes(tokens: Sequence[Token], places: Places, prefixes: Mapping[str, str]) -> None:
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.kind != "name" or (before is not None and before.word == "PREFIX"):
            continue
        prefix = token.text.partition(":")[0]
        if prefix not in prefixes:
            near = nearest(prefix[:40], list(prefixes), limit=2) if prefix else []
            known = f"Did you mean {' or '.join(f'{name}:' for name in near)}? " if near else ""
            raise QueryRejected(
                f"unknown prefix {prefix[:40]}: at {places.of(token.start)}",
                hint=f"{known}Known are {', '.join(prefixes)}; others need PREFIX.",
            )


def _walk(node: Any) -> Iterator[Any]:  # noqa: ANN401 - a tree of the parser's own types
    """Yield every named node of a tree, nested queries too; each object once."""
    waiting: list[Any] = [node]
    seen: dict[int, Any] = {}  # holds what it saw, so that no id is given anew
    while waiting:
        current = waiting.pop()
        if id(current) in seen or isinstance(current, (str, bytes, int, float)):
            continue
        seen[id(current)] = current
        if getattr(current, "name", None) and hasattr(current, "items"):
            yield current
        if hasattr(current, "items"):
            waiting.extend(value for _, value in list(current.items()))
        if hasattr(current, "__iter__") and not isinstance(current, dict):
            waiting.extend(current)


def _check_node(node: Any, tokens: Sequence[Token], places: Places) -> None:  # noqa: ANN401 - see _walk
    def at(word: str) -> str:
        found = next((token for token in tokens if token.word == word), None)
        return f" at {places.of(found.start)}" if found is not None else ""

    if "Service" in node.name:
        raise QueryRejected(f"SERVICE{at('SERVICE')}: other servers are never asked", hint=_READ_ONLY)
    if node.name == "DatasetClause" or dict(node.items()).get("datasetClause"):
        raise QueryRejected(f"FROM{at('FROM')}: no other data is ever read", hint=_READ_ONLY)
    if node.name == "Function":
        iri = str(dict(node.items()).get("iri", ""))
        if not iri.startswith(XSD):
            raise QueryRejected(
                f"there is no function <{iri[:120]}>", hint="Use those of SPARQL 1.1 and xsd casts."
            )


def _check_terms(
    tokens: Sequence[Token],
    places: Places,
    prefixes: Mapping[str, str],
    *,
    has_term: Callable[[str], bool],
    terms: Callable[[], Collection[str]],
) -> None:
    """Refuse terms of our own namespaces that neither vocabulary nor data have: they can only be slips."""
    known = vocabulary_terms()
    for token in tokens:
        iri = token.text[1:-1] if token.kind == "iri" else ""
        if token.kind == "name":
            prefix, _, local = token.text.partition(":")
            iri = prefixes[prefix] + local if local else ""
        namespace = next((space for space in (WMF, WM) if iri.startswith(space)), "")
        if not namespace or iri == namespace or iri in known:
            continue
        if not has_term(iri):
            shown = {WM: "wm:", WMF: "wmf:"}[namespace]
            names = [term.removeprefix(namespace) for term in terms() if term.startswith(namespace)]
            near = nearest(iri.removeprefix(namespace)[:80], sorted(names), limit=3)
            hint = f"Did you mean {' or '.join(shown + name for name in near)}? " if near else ""
            raise QueryRejected(
                f"unknown term {shown}{iri.removeprefix(namespace)[:80]} at {places.of(token.start)}",
                hint=f"{hint}get_ontology lists all terms.",
            )


def _planned(text: str, tokens: Sequence[Token], algebra: Any) -> Plan:  # noqa: ANN401 - see _walk
    kind = _KINDS.get(algebra.name, "")
    if not kind:
        raise QueryRejected(f"queries of the kind {algebra.name} are not run", hint=_READ_ONLY)
    if kind != "rows":
        return Plan(text, kind)
    top = [at for at, token in enumerate(tokens) if token.depth == 0]
    columns = _columns(tokens, [str(name) for name in algebra.PV])
    cuts = [at for at in top if tokens[at].word in ("LIMIT", "OFFSET") and at + 1 < len(tokens)]
    if any(tokens[at].word == "ORDER" for at in top):
        # Rows that the query's own order leaves equal come in the order of their values.
        ends = [tokens[at].start for at in top if tokens[at].word in ("LIMIT", "OFFSET", "VALUES")]
        end = min(ends, default=len(text))
        ties = " ".join(f"?{name}" for name in columns)
        return Plan(f"{text[:end]}\n{ties}\n{text[end:]}", kind, columns, ordered=True)
    offset, length = 0, None
    pieces, at_text = [], 0
    for at in cuts:
        word, number = tokens[at], tokens[at + 1]
        value = int(number.text)
        if word.word == "LIMIT":
            length = value
        else:
            offset = value
        pieces.append(text[at_text : word.start])
        at_text = number.start + len(number.text)
    return Plan("".join([*pieces, text[at_text:]]), kind, columns, offset=offset, length=length)


def _columns(tokens: Sequence[Token], names: Sequence[str]) -> tuple[str, ...]:
    """Return the variables of a SELECT as written; those of ``*`` in the order of their first mention."""
    at = next(at for at, token in enumerate(tokens) if token.word == "SELECT") + 1
    if tokens[at].word in ("DISTINCT", "REDUCED"):
        at += 1
    if tokens[at].text != "*":
        return tuple(names)
    written = dict.fromkeys(token.text[1:] for token in tokens if token.kind == "variable")
    order = {name: place for place, name in enumerate(written)}
    return tuple(sorted(names, key=lambda name: (order.get(name, len(order)), name)))
