"""What counts as a symbol in each language: which nodes of its syntax tree declare one, and of what kind.

Plain data over the node names of the tree-sitter grammars; ``symbols`` walks the trees.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Grammar:
    """One language: the module and function that give its grammar, and what its nodes mean.

    ``kinds`` are nodes that declare a symbol, named by one of ``name_fields``. Members are looked for in
    nodes of ``scopes`` (their names are put before those of the members) and in ``through`` (nothing is
    put). ``wrappers`` stand around one declaration and belong to its lines, ``leading`` stand before it and
    belong to it as well, as do comments that begin with one of ``doc_marks``.
    """

    module: str
    kinds: Mapping[str, str]
    scopes: frozenset[str]
    through: frozenset[str]
    wrappers: frozenset[str] = frozenset()
    leading: frozenset[str] = frozenset()
    doc_marks: tuple[str, ...] = ()
    function: str = "language"
    name_fields: tuple[str, ...] = ("name",)
    separator: str = "."


_PYTHON = Grammar(
    module="tree_sitter_python",
    kinds={
        "class_definition": "class",
        "function_definition": "function",
        "type_alias_statement": "type",
        "assignment": "constant",
    },
    scopes=frozenset(("class_definition",)),
    through=frozenset(
        ("module", "block", "if_statement", "elif_clause", "else_clause", "try_statement", "with_statement")
        + ("except_clause", "finally_clause", "expression_statement", "ERROR")
    ),
    wrappers=frozenset(("decorated_definition",)),
    name_fields=("name", "left"),
)

_JAVASCRIPT = Grammar(
    module="tree_sitter_javascript",
    kinds={
        "function_declaration": "function",
        "generator_function_declaration": "function",
        "class_declaration": "class",
        "method_definition": "method",
        "variable_declarator": "constant",
        "field_definition": "field",
    },
    scopes=frozenset(("class_declaration", "class")),
    through=frozenset(("program", "class_body", "ERROR")),
    wrappers=frozenset(("export_statement", "lexical_declaration", "variable_declaration")),
    leading=frozenset(("decorator",)),
    doc_marks=("/**",),
    name_fields=("name", "property"),
)

_TYPESCRIPT = Grammar(
    module="tree_sitter_typescript",
    function="language_typescript",
    kinds={
        **_JAVASCRIPT.kinds,
        "abstract_class_declaration": "class",
        "interface_declaration": "interface",
        "type_alias_declaration": "type",
        "enum_declaration": "enum",
        "internal_module": "namespace",
        "module": "namespace",
        "function_signature": "function",
        "method_signature": "method",
        "abstract_method_signature": "method",
        "public_field_definition": "field",
    },
    scopes=frozenset(
        ("class_declaration", "abstract_class_declaration", "class", "interface_declaration")
        + ("internal_module", "module")
    ),
    through=frozenset(("program", "class_body", "interface_body", "object_type", "statement_block", "ERROR")),
    wrappers=_JAVASCRIPT.wrappers | {"ambient_declaration", "expression_statement"},
    leading=_JAVASCRIPT.leading,
    doc_marks=_JAVASCRIPT.doc_marks,
    name_fields=_JAVASCRIPT.name_fields,
)

_GO = Grammar(
    module="tree_sitter_go",
    kinds={
        "function_declaration": "function",
        "method_declaration": "method",
        "type_spec": "type",
        "type_alias": "type",
        "const_spec": "constant",
        "var_spec": "variable",
        "method_elem": "method",
    },
    scopes=frozenset(("type_spec",)),
    through=frozenset(("source_file", "interface_type", "var_spec_list", "ERROR")),
    wrappers=frozenset(("type_declaration", "const_declaration", "var_declaration")),
    doc_marks=("//", "/*"),
)

_RUST = Grammar(
    module="tree_sitter_rust",
    kinds={
        "function_item": "function",
        "function_signature_item": "function",
        "struct_item": "struct",
        "union_item": "struct",
        "enum_item": "enum",
        "trait_item": "trait",
        "mod_item": "module",
        "const_item": "constant",
        "static_item": "constant",
        "type_item": "type",
        "macro_definition": "macro",
    },
    scopes=frozenset(("trait_item", "mod_item", "impl_item")),
    through=frozenset(("source_file", "declaration_list", "foreign_mod_item", "ERROR")),
    leading=frozenset(("attribute_item",)),
    doc_marks=("///", "/**"),
    separator="::",
)

_JAVA = Grammar(
    module="tree_sitter_java",
    kinds={
        "class_declaration": "class",
        "interface_declaration": "interface",
        "enum_declaration": "enum",
        "record_declaration": "class",
        "annotation_type_declaration": "annotation",
        "method_declaration": "method",
        "constructor_declaration": "constructor",
        "compact_constructor_declaration": "constructor",
    },
    scopes=frozenset(
        ("class_declaration", "interface_declaration", "enum_declaration", "record_declaration")
        + ("annotation_type_declaration",)
    ),
    through=frozenset(
        ("program", "class_body", "interface_body", "enum_body", "enum_body_declarations")
        + ("annotation_type_body", "ERROR")
    ),
    doc_marks=("/**",),
)

GRAMMARS: Mapping[str, Grammar] = {
    "python": _PYTHON,
    "javascript": _JAVASCRIPT,
    "typescript": _TYPESCRIPT,
    "tsx": replace(_TYPESCRIPT, function="language_tsx"),
    "go": _GO,
    "rust": _RUST,
    "java": _JAVA,
}

SUFFIXES: Mapping[str, str] = {
    ".py": "python",
    ".pyi": "python",
    ".js": "javascript",
    ".jsx": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "tsx",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
}
