"""The rules of the house hold for the package, and the checker finds each kind of breach."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.frame.floors import CHOOSERS, FLOORS, PACKAGE, SHARED, read_package, violations

ROOT = Path(__file__).parents[2] / PACKAGE


def _package(folder: Path, files: Mapping[str, str]) -> Path:
    root = folder / PACKAGE
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return root


def test_the_package_keeps_every_rule() -> None:
    modules = read_package(ROOT)
    assert len(modules) > 40
    assert violations(modules) == []


def test_every_module_of_the_package_is_read() -> None:
    names = {f"{PACKAGE}.{unit}" for unit in FLOORS}
    assert {name for name in read_package(ROOT) if name.count(".") == 1} <= names
    for family, shared in SHARED.items():
        present = {file.stem for file in (ROOT / family).glob("*.py")} | {"__init__"}
        chosen = {name.split(".")[1] for name in CHOOSERS if name.startswith(f"{family}.")}
        assert shared | chosen <= present, f"{family} lists modules that do not exist"


BREACHES: Mapping[str, tuple[Mapping[str, str], str]] = {
    "upwards": (
        {"models.py": "from wikimcp.index import view\n", "index/view.py": ""},
        "wikimcp.models:1: imports wikimcp.index.view, which is not on a lower floor",
    ),
    "sideways": (
        {"graph/a.py": "import wikimcp.retrieval.b\n", "retrieval/b.py": ""},
        "not on a lower floor",
    ),
    "inside a function": (
        {"models.py": "def f():\n    from wikimcp import service\n", "service.py": ""},
        "wikimcp.models:2: imports wikimcp.service",
    ),
    "under TYPE_CHECKING": (
        {"errors.py": "if TYPE_CHECKING:\n    from wikimcp.models import Page\n", "models.py": ""},
        "wikimcp.errors:2: imports wikimcp.models",
    ),
    "relative": (
        {"index/a.py": "from ..service import WikiService\n", "service.py": ""},
        "wikimcp.index.a:1: imports wikimcp.service",
    ),
    "by name": (
        {"models.py": "m = importlib.import_module('wikimcp.app')\n", "app.py": ""},
        "wikimcp.models:1: imports wikimcp.app",
    ),
    "a unit without a floor": ({"helpers.py": "x = 1\n"}, "the unit 'helpers' has no floor"),
    "an import of a unit without a floor": ({"app.py": "import wikimcp.helpers\n"}, "which has no floor"),
    "an __init__ that imports": (
        {"__init__.py": "from wikimcp import app\n", "app.py": ""},
        "not on a lower floor",
    ),
    "a sibling": (
        {"vaults/foam.py": "from wikimcp.vaults import quartz\n", "vaults/quartz.py": ""},
        "reaches its sibling wikimcp.vaults.quartz",
    ),
    "a sibling through another module": (
        {
            "vaults/foam.py": "from wikimcp.vaults.base import x\n",
            "vaults/base.py": "from .quartz import x\n",
            "vaults/quartz.py": "x = 1\n",
        },
        "wikimcp.vaults.foam:1: a member of vaults reaches its sibling wikimcp.vaults.quartz",
    ),
    "a part named outside of app": (
        {"index/build.py": "from wikimcp.dense.exact import Exact\n", "dense/exact.py": "Exact = 1\n"},
        "only app.py puts parts together",
    ),
    "a choice made outside of app": (
        {"service.py": "from wikimcp.vaults.detect import detect\n", "vaults/detect.py": "detect = 1\n"},
        "wikimcp.service:1: names wikimcp.vaults.detect; only app.py puts parts together",
    ),
    "a second owner": (
        {"lexical/a.py": "import tantivy\n", "lexical/b.py": "def f():\n    import tantivy\n"},
        "tantivy has 2 owners",
    ),
    "a foreign owner": (
        {"tools/a.py": "from mcp.server import Server\n"},
        "imports mcp, which belongs to edges",
    ),
    "a library away from home": (
        {"index/a.py": "import networkx as nx\n"},
        "networkx, which belongs to graph",
    ),
    "os.environ": ({"app.py": "import os\nx = os.environ['A']\n"}, "wikimcp.app:2: reads the environment"),
    "getenv": ({"app.py": "from os import getenv\n"}, "wikimcp.app:1: reads the environment"),
    "a circle": (
        {"index/a.py": "import wikimcp.index.b\n", "index/b.py": "def f():\n    from .a import x\n"},
        "a circle: wikimcp.index.a -> wikimcp.index.b -> wikimcp.index.a",
    ),
    "a long file": ({"app.py": "x = 1\n" * 451}, "451 lines; at most 450"),
    "a long function": ({"app.py": "def f():\n" + "    x = 1\n" * 70}, "wikimcp.app:1: f has 71 lines"),
}


@pytest.mark.parametrize(("files", "expected"), BREACHES.values(), ids=BREACHES.keys())
def test_each_kind_of_breach_is_found(tmp_path: Path, files: Mapping[str, str], expected: str) -> None:
    found = violations(read_package(_package(tmp_path, files)))
    assert any(expected in message for message in found), found


def test_what_the_rules_allow_is_not_reported(tmp_path: Path) -> None:
    root = _package(
        tmp_path,
        {
            "__init__.py": "__version__ = '1'\n",
            "models.py": "from wikimcp.errors import E\nfrom wikimcp import __version__\n",
            "errors.py": "E = 1\n",
            "setting_groups.py": "import platformdirs\n",
            "settings.py": "import os\nx = os.environ\n",
            "vaults/foam.py": "from wikimcp.markdown.links import link\nfrom .foam_config import y\n",
            "vaults/foam_config.py": "y = 1\n",
            "cli/models.py": "from wikimcp.vaults import foam_config\n",
            "markdown/links.py": "def link():\n" + "    x = 1\n" * 69,
            "lexical/tantivy.py": "import tantivy\n",
            "app.py": "from wikimcp.vaults.foam import link\n" + "x = 1\n" * 449,
        },
    )
    assert violations(read_package(root), {"vaults": frozenset({"foam_config"})}) == []
