"""The symbols of a source file with the exact lines they stand on, by tree-sitter.

The only user of tree-sitter, which comes with the extra ``symbols``; languages without a grammar have no
symbols, and anchors to their lines work all the same. A symbol's lines are those of its whole declaration:
with decorators, annotations, attributes and ``export``, and with the documentation comment right above it, as
in Python the docstring is inside. What is declared inside of a function is the function's own matter. A file
that does not parse gives what is whole in it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from posixpath import splitext
from typing import TYPE_CHECKING

from wikimcp.authoring.grammars import GRAMMARS, SUFFIXES, Grammar
from wikimcp.errors import Unavailable

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MOST_CHARACTERS = 2 * 1024 * 1024
"""Of a larger file no symbols are read: nobody wrote it by hand."""

_FUNCTIONS = frozenset(("arrow_function", "function_expression", "generator_function", "function"))
_SPACES = frozenset(("module", "namespace"))
_SHAPES = {"struct_type": "struct", "interface_type": "interface"}
_LONGEST_NAME = 200
_COMMENTS = frozenset(("comment", "line_comment", "block_comment"))


@dataclass(frozen=True, slots=True)
class Symbol:
    """A declaration: its qualified name, its kind, and its first and last line (from 1, both inclusive).

    ``line`` is where the declaration itself begins, behind comments and decorators.
    """

    name: str
    kind: str
    first: int
    last: int
    line: int


def language_of(path: str) -> str:
    """Return the language whose symbols can be read from a file of that name; empty when there is none."""
    return SUFFIXES.get(splitext(path)[1].lower(), "")


def read_symbols(path: str, text: str) -> tuple[Symbol, ...]:
    """Return the symbols of a file's text in the order of their first lines; none for other languages.

    Lines end at LF, CRLF or CR. Raises Unavailable when the parser or the language's grammar is not
    installed.
    """
    language = language_of(path)
    if not language or len(text) > MOST_CHARACTERS:
        return ()
    parser = _parser(language)
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    root = parser.parse(lines.encode("utf-8", "replace")).root_node
    found = set(_symbols(root, GRAMMARS[language]))
    return tuple(sorted(found, key=lambda symbol: (symbol.first, -symbol.last, symbol.name)))


@cache
def _parser(language: str) -> Parser:
    grammar = GRAMMARS[language]
    try:
        tree_sitter = importlib.import_module("tree_sitter")
        module = importlib.import_module(grammar.module)
    except ImportError:
        raise Unavailable(
            f"the symbols of {language} files cannot be read: the parser is not installed",
            hint="Install it with `pip install 'wikimcp-server[symbols]'`.",
        ) from None
    parser: Parser = tree_sitter.Parser(tree_sitter.Language(getattr(module, grammar.function)()))
    return parser


def _symbols(root: Node, grammar: Grammar) -> Iterator[Symbol]:
    """Walk a tree down to what may hold declarations and no further, in no promised order."""
    pending = [_Place(root, root, (), member=False)]
    while pending:
        place = pending.pop()
        kind = place.node.type
        if kind in grammar.wrappers:
            pending.extend(_wrapped(place, grammar))
            if (default := place.node.child_by_field_name("value")) is not None:
                yield from _default_export(place, default, grammar)
            continue
        if kind in grammar.kinds:
            names = _names(place.node, grammar)
            described = _kind(place, grammar) if names else ""
            if described:
                first, last = _lines(place.outer, grammar)
                line = place.node.start_point.row + 1
                yield from (
                    Symbol(grammar.separator.join((*place.scope, name)), described, first, last, line)
                    for name in names
                )
            pending.extend(_members(place, names, grammar))
        elif kind == "impl_item":
            pending.extend(_children(place.node, (*place.scope, _implemented(place.node)), member=True))
        elif kind in grammar.scopes or kind in grammar.through:
            pending.extend(_children(place.node, place.scope, member=place.member))


@dataclass(frozen=True, slots=True)
class _Place:
    """A node on the way: ``outer`` is what its lines are taken of, ``scope`` the names it stands in."""

    node: Node
    outer: Node
    scope: tuple[str, ...]
    member: bool


def _children(node: Node, scope: tuple[str, ...], *, member: bool) -> Iterator[_Place]:
    return (_Place(child, child, scope, member) for child in node.named_children)


def _wrapped(place: _Place, grammar: Grammar) -> list[_Place]:
    """Return what a wrapper holds; the wrapper's lines are those of its only declaration."""
    inside = grammar.kinds.keys() | grammar.wrappers | grammar.scopes | grammar.through
    held = [child for child in place.node.named_children if child.type in inside]
    alone = len(held) == 1
    return [_Place(child, place.outer if alone else child, place.scope, place.member) for child in held]


def _members(place: _Place, names: list[str], grammar: Grammar) -> Iterator[_Place]:
    """Return what may hold the members of a declaration, under its name."""
    node = place.node
    if len(names) == 1 and node.type in grammar.scopes:
        member = grammar.kinds[node.type] not in _SPACES
        yield from _children(node, (*place.scope, names[0]), member=member)
    value = node.child_by_field_name("value")
    if len(names) == 1 and value is not None and value.type == "class":
        yield from _children(value, (*place.scope, names[0]), member=True)


def _default_export(place: _Place, value: Node, grammar: Grammar) -> Iterator[Symbol]:
    """Yield the nameless function or class of ``export default``."""
    if value.type in _FUNCTIONS or value.type == "class":
        first, last = _lines(place.outer, grammar)
        kind = "class" if value.type == "class" else "function"
        yield Symbol("default", kind, first, last, value.start_point.row + 1)


def _names(node: Node, grammar: Grammar) -> list[str]:
    """Return the names that a node declares; none where the parser had to make one up."""
    for field in grammar.name_fields:
        found = [child for child in node.children_by_field_name(field) if not child.is_missing]
        if found:
            texts = [_text(child).strip("\"'") for child in found if child.is_named]
            if node.type == "method_declaration" and (receiver := _receiver(node)):
                texts = [f"{receiver}.{text}" for text in texts]
            return [text for text in texts if text and len(text) <= _LONGEST_NAME]
    return []


def _kind(place: _Place, grammar: Grammar) -> str:
    """Say what a declaration is; empty for variables and fields that are no symbols."""
    node, kind = place.node, grammar.kinds[place.node.type]
    if kind == "function":
        return "method" if place.member else "function"
    if node.type == "type_spec":
        shape = node.child_by_field_name("type")
        return _SHAPES.get(shape.type, kind) if shape is not None else kind
    if node.type == "assignment":
        left = node.child_by_field_name("left")
        named = left is not None and left.type == "identifier" and _text(left).isupper()
        return kind if named else ""
    if node.type in ("variable_declarator", "field_definition", "public_field_definition"):
        return _variable_kind(node, kind)
    return kind


def _variable_kind(node: Node, kind: str) -> str:
    """Say what a variable or field of JavaScript is by its value: a function has its name from there."""
    value = node.child_by_field_name("value")
    if value is not None and value.type in _FUNCTIONS:
        return "method" if kind == "field" else "function"
    if value is not None and value.type == "class":
        return "class"
    name = node.child_by_field_name("name")
    if kind == "field" or name is None or name.type != "identifier":
        return ""
    imported = value is not None and _text(value).startswith(("require(", "await import("))
    return "" if imported else kind


def _receiver(node: Node) -> str:
    """Return the type of a Go method's receiver, without pointer and type parameters."""
    receiver = node.child_by_field_name("receiver")
    words = _text(receiver).strip("()").partition("[")[0].split() if receiver is not None else []
    return words[-1].lstrip("*(") if words else ""


def _implemented(node: Node) -> str:
    """Return what an ``impl`` is for: the type, or ``<type as trait>``."""
    target, trait = node.child_by_field_name("type"), node.child_by_field_name("trait")
    if target is not None and target.type == "generic_type":
        target = target.child_by_field_name("type")
    name = " ".join(_text(target).split()) if target is not None else "?"
    return f"<{name} as {' '.join(_text(trait).split())}>" if trait is not None else name


def _lines(node: Node, grammar: Grammar) -> tuple[int, int]:
    """Return the first and last line of a declaration with what stands before it and belongs to it."""
    first, before = node.start_point.row, node.prev_sibling
    while before is not None and first - 1 <= _last_row(before) <= first and _belongs(before, grammar):
        first, before = before.start_point.row, before.prev_sibling
    return first + 1, _last_row(node) + 1


def _belongs(node: Node, grammar: Grammar) -> bool:
    """Say whether a node belongs to the declaration after it: an attribute, or a comment of its own lines."""
    if node.type in grammar.leading:
        return True
    if node.type not in _COMMENTS or not _text(node).startswith(grammar.doc_marks or ("\0",)):
        return False
    before = node.prev_sibling
    return before is None or _last_row(before) < node.start_point.row


def _last_row(node: Node) -> int:
    """Return the last row that a node has a character in."""
    row, column = node.end_point
    return row - 1 if column == 0 and row > node.start_point.row else row


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
