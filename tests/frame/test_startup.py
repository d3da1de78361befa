"""Start-up is part of the product: help and refusals import nothing heavy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = frozenset(
    {
        "mcp",
        "numpy",
        "tantivy",
        "pydantic",
        "rdflib",
        "networkx",
        "fastembed",
        "wordllama",
        "hnswlib",
        "tokenizers",
    }
    | {"yaml", "rich", "anyio", "starlette", "uvicorn", "asyncio", "sqlite3", "markdown_it", "pyromark"}
    | {"platformdirs", "importlib.metadata", "multiprocessing", "watchfiles", "pyoxigraph", "onnxruntime"}
)
_REPORT = """
import json, sys
before = set(sys.modules)
from wikimcp.cli import main
code = main(sys.argv[1:])
print(json.dumps([code, sorted(set(sys.modules) - before)]), file=sys.stderr)
"""


def _imported(*words: str) -> tuple[int, set[str]]:
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}){_REPORT}", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    code, names = json.loads(done.stderr.splitlines()[-1])
    return code, set(names)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["serve", "--help"], 0),
        (["eval", "--help"], 0),
        ([], 2),
        (["bundel"], 2),
        (["hook", "emacs"], 0),
        (["install", "--help"], 0),
        (["install", "cursr"], 2),
        (["keys", "create"], 2),
        (["call", "list_tags", "{"], 2),
    ],
    ids=lambda value: " ".join(value) or "nothing" if isinstance(value, list) else "",
)
def test_help_and_refusals_import_nothing_heavy(words: list[str], expected: int) -> None:
    code, names = _imported(*words)
    assert code == expected
    assert "wikimcp.cli.run" in names
    assert {name for name in names if name in HEAVY or name.split(".")[0] in HEAVY} == set()


def test_the_check_sees_a_heavy_import() -> None:
    code, names = _imported("tools", "--vault", str(ROOT / "sample_vault"), "--set", "http.port=x")
    assert code == 2
    assert "platformdirs" in names, "loading settings needs the user's folders: this list is not blind"


def test_the_package_itself_imports_nothing() -> None:
    listing = (
        "import sys; before = set(sys.modules); import wikimcp; print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {listing}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "['wikimcp']"
