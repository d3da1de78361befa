"""Symbols: what each language declares, on exactly which lines, whole files and broken ones."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("tree_sitter", reason="the extra `symbols` is not installed")

from wikimcp.authoring.symbols import MOST_CHARACTERS, language_of, read_symbols  # noqa: E402

ROOT = Path(__file__).parents[2]

PYTHON = '''\
LIMIT = 3
lower = 4


@register
@also(1)
class Store(Base):
    """Keeps."""

    SIZE = 9

    @property
    def size(self):
        def inner():
            pass
        return 1

    async def put(self): ...

    class Row:
        def cell(self): ...


if True:

    def either(): ...

else:
    try:

        def other(): ...

    except Exception:
        pass

type Alias = int
'''

JAVASCRIPT = """\
const fs = require("fs");
/** Says hello. */
export default class Greeter {
  #name = 1;
  /** In a field. */
  hello = () => {
    return 1;
  };
  static make() {}
}

// no doc
export const add = (a, b) => a + b,
  LIMIT = 3;
function* walk() {
  function inner() {}
}
let state;
const { a, b } = state;
const Shape = class {
  area() {}
};
"""

TYPESCRIPT = """\
@Injectable()
export abstract class Service {
  @Input() name: string;
  constructor(private a: A) {}
  abstract run(): void;
  @Once()
  start(): void {}
}
export interface Reader { read(): string }
namespace Deep.Down {
  export function f() {}
}
declare module "x" {
  export const y: number;
}
type Id = string;
function over(a: string): void;
function over(a: any) {}
enum Color { Red }
"""

GO = """\
package a

// Size is how many.
// Really.
const Size = 3

const (
\tA = 1
\tB, C = 2, 3
)

// Store keeps.
type Store struct {
\tn int
}

type (
\t// Reader reads.
\tReader interface {
\t\tRead(p []byte) (int, error)
\t}
)

// detached

func (s *Store) Put() {
\tf := func() {}
\tf()
}
func (s List[T]) Len() int { return 0 }
func Run() {}
"""

RUST = """\
/// A store.
#[derive(Debug)]
pub struct Store<T> {
    x: T,
}

impl<T> fmt::Display for Store<T> {
    /// Shows.
    #[inline]
    fn fmt(&self) -> i32 {
        1
    }
}

impl Store<u8> {
    const K: i32 = 1;
    fn new() {}
}

mod deep {
    pub fn f() {}
}
trait Shape {
    fn area(&self);
}
macro_rules! twice {
    () => {};
}
"""

JAVA = """\
package a;

/** Keeps. */
@Service
public class Store<T> extends Base {
  private int n;

  /** Makes. */
  public Store() {}

  @Override
  public void put() {}

  enum Kind {
    A {
      void q() {}
    };

    void r() {}
  }

  record Row(int a) {
    Row {}
  }
}
interface Shape {
  int area();
}
"""

EXPECTED = {
    "a.py": (
        PYTHON,
        "LIMIT constant 1-1; Store class 5-21; Store.SIZE constant 10-10; Store.size method 12-16; "
        "Store.put method 18-18; Store.Row class 20-21; Store.Row.cell method 21-21; either function 26-26; "
        "other function 31-31; Alias type 36-36",
    ),
    "a.mjs": (
        JAVASCRIPT,
        "Greeter class 2-10; Greeter.hello method 5-8; Greeter.make method 9-9; add function 13-13; "
        "LIMIT constant 14-14; walk function 15-17; state constant 18-18; Shape class 20-22; "
        "Shape.area method 21-21",
    ),
    "a.ts": (
        TYPESCRIPT,
        "Service class 1-8; Service.constructor method 4-4; Service.run method 5-5; "
        "Service.start method 6-7; Reader interface 9-9; Reader.read method 9-9; "
        "Deep.Down namespace 10-12; Deep.Down.f function 11-11; x namespace 13-15; x.y constant 14-14; "
        "Id type 16-16; over function 17-17; over function 18-18; Color enum 19-19",
    ),
    "a.go": (
        GO,
        "Size constant 3-5; A constant 8-8; B constant 9-9; C constant 9-9; Store struct 12-15; "
        "Reader interface 17-22; Reader.Read method 20-20; Store.Put method 26-29; List.Len method 30-30; "
        "Run function 31-31",
    ),
    "a.rs": (
        RUST,
        "Store struct 1-5; <Store as fmt::Display>::fmt method 8-12; Store::K constant 16-16; "
        "Store::new method 17-17; deep module 20-22; deep::f function 21-21; Shape trait 23-25; "
        "Shape::area method 24-24; twice macro 26-28",
    ),
    "a.java": (
        JAVA,
        "Store class 3-25; Store.Store constructor 8-9; Store.put method 11-12; Store.Kind enum 14-20; "
        "Store.Kind.r method 19-19; Store.Row class 22-24; Store.Row.Row constructor 23-23; "
        "Shape interface 26-28; Shape.area method 27-27",
    ),
}


def _listed(path: str, text: str) -> str:
    return "; ".join(f"{s.name} {s.kind} {s.first}-{s.last}" for s in read_symbols(path, text))


@pytest.mark.parametrize("path", EXPECTED)
def test_a_language_gives_its_declarations_with_what_belongs_to_them(path: str) -> None:
    text, expected = EXPECTED[path]
    assert _listed(path, text) == expected


@pytest.mark.parametrize("ends", ["\r\n", "\r"])
@pytest.mark.parametrize("path", EXPECTED)
def test_line_ends_change_no_line(path: str, ends: str) -> None:
    text, expected = EXPECTED[path]
    assert _listed(path, text.replace("\n", ends)) == expected


@pytest.mark.parametrize("path", EXPECTED)
def test_a_broken_file_gives_what_is_whole_in_it(path: str) -> None:
    text, expected = EXPECTED[path]
    broken = text + "\n%%% ((( {{{ class def func fn ???\n"
    found = _listed(path, broken).split("; ")
    missing = [symbol for symbol in expected.split("; ") if symbol not in found]
    assert len(missing) <= 2, missing


@pytest.mark.parametrize("path", EXPECTED)
def test_no_beginning_of_a_file_is_too_odd_to_read(path: str) -> None:
    text = EXPECTED[path][0]
    for end in range(0, len(text), 7):
        lines = text[:end].count("\n") + 1
        for symbol in read_symbols(path, text[:end]):
            assert 1 <= symbol.first <= symbol.line <= symbol.last <= lines
            assert symbol.name


def _declared(tree: ast.AST, scope: str = "") -> Iterator[tuple[str, int, int]]:
    """Yield classes and functions that are not inside of functions, by the compiler's own parser."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield f"{scope}{node.name}", first, node.end_lineno or 0
            if isinstance(node, ast.ClassDef):
                yield from _declared(node, f"{scope}{node.name}.")
        elif isinstance(node, ast.stmt | ast.ExceptHandler) and not isinstance(node, ast.For | ast.While):
            yield from _declared(node, scope)


def _comments_after(text: str, first: int, last: int) -> int:
    """Return the last line of a body with the comments that end it, which the compiler does not keep."""
    lines = text.splitlines()
    indent = len(lines[first - 1]) - len(lines[first - 1].lstrip())
    while last < len(lines) and lines[last].lstrip().startswith("#") and lines[last][: indent + 1].isspace():
        last += 1
    return last


def test_the_lines_of_every_declaration_of_this_package_are_those_that_python_gives() -> None:
    files = sorted((ROOT / "wikimcp").rglob("*.py"))
    count = 0
    for file in files:
        text = file.read_text("utf-8")
        kinds = ("class", "function", "method")
        found = [(s.name, s.first, s.last) for s in read_symbols(file.name, text) if s.kind in kinds]
        expected = [
            (n, first, _comments_after(text, first, last)) for n, first, last in _declared(ast.parse(text))
        ]
        assert sorted(found) == sorted(expected), file
        count += len(found)
    assert count > 2_000


def test_other_languages_have_no_symbols_and_neither_have_files_nobody_wrote_by_hand() -> None:
    assert read_symbols("notes.md", "# Title\n") == ()
    assert (language_of("A.PY"), language_of("x/y.tsx"), language_of("Makefile")) == ("python", "tsx", "")
    assert read_symbols("a.py", "def f(): ...\n" + "#" * MOST_CHARACTERS) == ()


def test_a_file_of_many_declarations_is_read_in_one_go() -> None:
    text = "".join(f"// F{i} does.\nfunc F{i}() {{}}\n" for i in range(5_000))
    symbols = read_symbols("a.go", f"package a\n{text}")
    assert len(symbols) == 5_000
    assert (symbols[-1].first, symbols[-1].last) == (10_000, 10_001)


def test_deep_nesting_does_not_end_the_process() -> None:
    nested = "class A:\n" + "".join(f"{' ' * i}if x:\n" for i in range(1, 80)) + " " * 80 + "y = 1\n"
    assert [symbol.name for symbol in read_symbols("a.py", nested)] == ["A"]
    read_symbols("a.py", "".join(f"{' ' * i}if x:\n" for i in range(1_000)))  # over the grammar's own limit
    read_symbols("a.java", "class A { " * 20_000)
    read_symbols("a.js", "(" * 100_000)


def test_without_the_extra_the_message_says_what_to_install() -> None:
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
sys.modules["tree_sitter"] = None
from wikimcp.authoring.symbols import read_symbols
from wikimcp.errors import Unavailable
assert read_symbols("a.md", "x") == ()
try:
    read_symbols("a.py", "x = 1")
except Unavailable as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'wikimcp-server[symbols]'" in done.stdout
