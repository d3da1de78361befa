"""Reads the syntax tree of every module of a package and lists what breaks the rules of the house.

The rules stand in `design`: floors, families, one owner per heavy library, one reader of the
environment, no circles, short files and functions. Imports inside functions, under TYPE_CHECKING
and by ``importlib.import_module("literal")`` count like any other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE = "wikimcp"

FLOORS: Mapping[str, int] = {
    "errors": 0,
    **dict.fromkeys(("models", "config_text", "regular_files", "layers"), 1),
    **dict.fromkeys(("ports", "setting_groups", "vault_places"), 2),
    **dict.fromkeys(("markdown", "settings"), 3),
    **dict.fromkeys(
        ("vaults", "embedders", "lexical", "dense", "triples", "graph", "retrieval", "citations"), 4
    ),
    "index": 5,
    **dict.fromkeys(("tools", "guide", "authoring", "access"), 6),
    **dict.fromkeys(("service", "authoring_tools"), 7),
    **dict.fromkeys(("edges", "clients"), 8),
    **dict.fromkeys(("app", "evaluation"), 9),
    "cli": 10,
    "__main__": 11,
}
"""The floor of each unit (a module or a package directly under the package); imports go down."""

SHARED: Mapping[str, frozenset[str]] = {
    "vaults": frozenset(
        {
            "decoding",
            "dialect_files",
            "folder",
            "globs",
            "opening",
            "options",
            "page_fields",
            "pages",
            "sidecars",
            "conflict_copies",
            "walking",
        }
    ),
    "embedders": frozenset(
        {"bert_onnx", "catalog", "hub", "model_directory", "model_store", "staging", "weights", "wheel"}
    ),
    "lexical": frozenset(
        {"documents", "identifiers", "segments", "statistics", "terms", "vocabulary", "words", "writers"}
    ),
    "dense": frozenset({"scoring"}),
    "triples": frozenset(
        {
            "answers",
            "copies",
            "data_set",
            "forking",
            "frames",
            "gate",
            "processes",
            "reach",
            "running",
            "serving",
            "terms",
            "tokens",
            "vocabulary",
            "worker",
        }
    ),
}
"""The families, each with those of its modules that are no members but what members stand on."""

CHOOSERS = frozenset(
    {"vaults.detect", "embedders.resolve", "dense.selection", "triples.selection", "triples.engines"}
)
"""Modules of families that choose between members: only an assembler may use them."""

ASSEMBLERS = frozenset({"app"})
"""The units that may name members of a family; everyone else is given them as ports."""

UPWARDS: frozenset[tuple[str, str]] = frozenset({("wikimcp.authoring", "wikimcp.app")})
"""The one way up: the Python API of the compiled wiki asks the composition root for what a caller would have to.

Nothing in the package stands on that module, so no circle comes of it.
"""

OWNERS: Mapping[str, str] = {
    "mcp": "edges",
    "tantivy": "lexical",
    "hnswlib": "dense",
    "fastembed": "embedders",
    "rdflib": "triples",
    "pyoxigraph": "triples",
    "a2a": "edges",
    "pypdf": "authoring",
    "docx": "authoring",
    "pathspec": "authoring",
    "tree_sitter": "authoring",
}
"""Heavy libraries that exactly one file of one unit may import."""

HOMES: Mapping[str, str] = {"networkx": "graph", "platformdirs": "setting_groups", "rich": "cli"}
"""Libraries that stay within one unit, in as many files as it likes."""

MOST_FILE_LINES = 450
MOST_FUNCTION_LINES = 70


@dataclass(frozen=True)
class Import:
    """One import: the dotted target and the line it stands on."""

    target: str
    line: int


@dataclass(frozen=True)
class Module:
    """One module with its dotted name, syntax tree and imports."""

    name: str
    tree: ast.Module
    lines: int
    imports: tuple[Import, ...] = field(default=())

    @property
    def unit(self) -> str:
        """The unit it belongs to; empty for the package's own ``__init__``."""
        return _unit(self.name)


def read_package(root: Path) -> dict[str, Module]:
    """Parse every module under ``root`` (the package's folder), by dotted name."""
    files = {_dotted(file, root): file for file in sorted(root.rglob("*.py"))}
    modules: dict[str, Module] = {}
    for name, file in files.items():
        text = file.read_text("utf-8")
        tree = ast.parse(text, filename=str(file))
        package = name if file.name == "__init__.py" else name.rpartition(".")[0]
        imports = tuple(_imports(tree, package, frozenset(files)))
        modules[name] = Module(name, tree, len(text.splitlines()), imports)
    return modules


def violations(modules: Mapping[str, Module], shared: Mapping[str, frozenset[str]] = SHARED) -> list[str]:
    """List every broken rule as ``module:line: what``; ``shared`` as SHARED."""
    rules = (_floors, _owners, _environment, _circles, _lengths)
    found = [message for rule in rules for message in rule(modules)]
    return [*found, *_families(modules, shared), *_assembly(modules, shared)]


def _dotted(file: Path, root: Path) -> str:
    parts = [root.name, *file.relative_to(root).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _unit(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def _imports(tree: ast.Module, package: str, known: frozenset[str]) -> Iterator[Import]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base] if base else above)
            for alias in node.names:
                inner = f"{base}.{alias.name}"
                yield Import(inner if inner in known else base, node.lineno)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield Import(first.value, node.lineno)


def _inside(module: Module) -> Iterator[Import]:
    yield from (i for i in module.imports if i.target.split(".")[0] == PACKAGE)


def _floors(modules: Mapping[str, Module]) -> Iterator[str]:
    for module in modules.values():
        if module.unit and module.unit not in FLOORS:
            yield f"{module.name}:1: the unit '{module.unit}' has no floor"
            continue
        for item in _inside(module):
            unit = _unit(item.target)
            if (module.name, item.target) in UPWARDS:
                continue
            if unit in ("", module.unit):
                if not module.unit:
                    yield f"{module.name}:{item.line}: the package's __init__ imports {item.target}"
            elif unit not in FLOORS:
                yield f"{module.name}:{item.line}: imports {item.target}, which has no floor"
            elif not module.unit or FLOORS[unit] >= FLOORS[module.unit]:
                yield f"{module.name}:{item.line}: imports {item.target}, which is not on a lower floor"


def _is_member(name: str, shared: Mapping[str, frozenset[str]]) -> bool:
    """Tell whether a module is a member of a family: neither shared nor a chooser."""
    parts = name.split(".")
    return (
        len(parts) > 2
        and parts[1] in shared
        and parts[2] not in shared[parts[1]]
        and ".".join(parts[1:3]) not in CHOOSERS
    )


def _families(modules: Mapping[str, Module], shared: Mapping[str, frozenset[str]]) -> Iterator[str]:
    """No member reaches another, neither directly nor through other modules of its family."""
    for name in sorted(name for name in modules if _is_member(name, shared)):
        family, own = name.split(".")[1:3]
        prefix = f"{PACKAGE}.{family}."
        seen, waiting = {name}, [name]
        while waiting:
            for item in modules[waiting.pop()].imports:
                if item.target in modules and item.target.startswith(prefix) and item.target not in seen:
                    seen.add(item.target)
                    waiting.append(item.target)
        for sibling in sorted(seen):
            if _is_member(sibling, shared) and sibling.split(".")[2] != own:
                yield f"{name}:1: a member of {family} reaches its sibling {sibling}"


def _assembly(modules: Mapping[str, Module], shared: Mapping[str, frozenset[str]]) -> Iterator[str]:
    for module in modules.values():
        for item in _inside(module):
            unit = _unit(item.target)
            chosen = _is_member(item.target, shared) or item.target.removeprefix(f"{PACKAGE}.") in CHOOSERS
            if chosen and module.unit not in ASSEMBLERS | {unit}:
                yield f"{module.name}:{item.line}: names {item.target}; only app.py puts parts together"


def _owners(modules: Mapping[str, Module]) -> Iterator[str]:
    for library, unit in {**OWNERS, **HOMES}.items():
        users = {
            module.name: item.line
            for module in modules.values()
            for item in module.imports
            if item.target.split(".")[0] == library
        }
        for name, line in users.items():
            if _unit(name) != unit:
                yield f"{name}:{line}: imports {library}, which belongs to {unit}"
        if library in OWNERS and len(users) > 1:
            yield f"{min(users)}:1: {library} has {len(users)} owners: {', '.join(sorted(users))}"


def _environment(modules: Mapping[str, Module]) -> Iterator[str]:
    readers = {"environ", "environb", "getenv", "getenvb", "expandvars"}
    for module in modules.values():
        if module.unit == "settings":
            continue
        for node in ast.walk(module.tree):
            named = (isinstance(node, ast.Attribute) and node.attr in readers) or (
                isinstance(node, ast.ImportFrom)
                and (node.module or "").split(".")[0] == "os"
                and any(alias.name in readers for alias in node.names)
            )
            if named:
                yield f"{module.name}:{getattr(node, 'lineno', 1)}: reads the environment; only settings may"


def _circles(modules: Mapping[str, Module]) -> Iterator[str]:
    """Find circles of modules by depth-first search; each is reported once."""
    targets = {
        name: sorted({i.target for i in module.imports if i.target in modules and i.target != name})
        for name, module in modules.items()
    }
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> Iterator[str]:
        if name in path:
            yield f"{name}:1: a circle: {' -> '.join([*path[path.index(name) :], name])}"
        elif name not in done:
            for target in targets[name]:
                yield from visit(target, [*path, name])
            done.add(name)

    for name in targets:
        yield from visit(name, [])


def _lengths(modules: Mapping[str, Module]) -> Iterator[str]:
    for module in modules.values():
        if module.lines > MOST_FILE_LINES:
            yield f"{module.name}:1: {module.lines} lines; at most {MOST_FILE_LINES}"
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > MOST_FUNCTION_LINES:
                    yield f"{module.name}:{node.lineno}: {node.name} has {length} lines"
