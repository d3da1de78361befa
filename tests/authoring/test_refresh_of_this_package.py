"""A wiki over a copy of this very package: started, written by hand, refreshed, edited, refreshed again."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.authoring.compiled_wiki import files_below
from wikimcp.authoring import init_wiki, refresh_wiki
from wikimcp.authoring.anchors import Drift
from wikimcp.authoring.symbols import read_symbols

pytest.importorskip("tree_sitter", reason="the extra `symbols` is not installed")

PACKAGE = Path(__file__).parents[2] / "wikimcp"
GENERATED = re.compile(r"(?s)(<!-- wikimcp:begin symbols -->\n).*?(<!-- wikimcp:end symbols -->)")


def _lines(root: Path, path: str, symbol: str) -> str:
    """Return the lines of a symbol as an anchor's fragment."""
    found = [s for s in read_symbols(path, (root / path).read_text("utf-8")) if s.name == symbol]
    assert len(found) == 1, symbol
    return f"L{found[0].first}-L{found[0].last}"


def _page(root: Path, title: str, sources: dict[str, str], prose: str) -> str:
    """Return a page on symbols by their files, with all that a page may hold."""
    listed = "".join(
        f"  - id: {symbol}\n    resource: ../../{path}#{_lines(root, path, symbol)}  # by hand\n"
        for symbol, path in sources.items()
    )
    return (
        f"---\ntype: Module\ntitle: {title}\ndescription: On {title}.\n# a comment\nsources:\n{listed}"
        "generated: { by: somebody/1, at: 2026-03-01T10:00:00+01:00 }\nown-key:   kept as it is\n---\n\n"
        f"# {title}\n\n{prose}\n\n<!-- wikimcp:begin symbols -->\n<!-- wikimcp:end symbols -->\n\nThe end.  \n"
    )


def _by_hand(text: str) -> str:
    """Return what a person wrote: all but anchors in the head and generated parts."""
    head, body = text.split("\n---\n", 1)
    return re.sub(r"#L\d+-L\d+", "", head) + GENERATED.sub(r"\1\2", body)


def test_edits_of_three_files_touch_the_pages_on_them_and_nothing_else(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "wikimcp", ignore=shutil.ignore_patterns("__pycache__"))
    init_wiki(tmp_path, profile="codebase")
    entities = tmp_path / ".wiki" / "entities"
    pages = {
        "errors": ({"nearest": "wikimcp/errors.py"}, "Errors teach. [Lock](lock.md)"),
        "lock": (
            {
                "ProcessLock.hold": "wikimcp/index/lock.py",
                "ProcessLock.release": "wikimcp/index/lock.py",
                "ProcessLock.held": "wikimcp/index/lock.py",
            },
            f"It is held: `wikimcp/index/lock.py#{_lines(tmp_path, 'wikimcp/index/lock.py', 'ProcessLock.hold')}`.",
        ),
        "globs": ({"compile_globs": "wikimcp/vaults/globs.py"}, "| a | b |\n|---|---|\n| `*` | **any** |"),
        "dates": ({"read_time": "wikimcp/markdown/dates.py"}, "Untouched by all this."),
    }
    for name, (sources, prose) in pages.items():
        (entities / f"{name}.md").write_text(_page(tmp_path, name.title(), sources, prose), newline="")
    by_hand = {name: _by_hand((entities / f"{name}.md").read_text()) for name in pages}

    first = refresh_wiki(tmp_path)
    assert (first.status, first.pages) == ("compiled", 4)
    assert first.sources == sum(1 for path in (tmp_path / "wikimcp").rglob("*") if path.is_file())
    assert {gap.folder for gap in first.gaps} >= {"wikimcp/cli", "wikimcp/tools"}
    assert not {gap.folder for gap in first.gaps} & {"wikimcp", "wikimcp/index", "wikimcp/vaults"}
    compiled = files_below(tmp_path)
    assert refresh_wiki(tmp_path).changes == ()
    assert files_below(tmp_path) == compiled, "without a change not a byte is written"

    lock = tmp_path / "wikimcp" / "index" / "lock.py"
    text = lock.read_text("utf-8").replace(
        "import os\n", "import os\nimport stat\n\n\ndef fresh() -> None: ...\n\n"
    )
    text = text.replace("def release(self)", "def let_go(self)").replace(
        "return self._descriptor is", "return None is"
    )
    lock.write_text(text, "utf-8")
    errors = tmp_path / "wikimcp" / "errors.py"
    errors.write_text(
        errors.read_text("utf-8").replace("from __future__", "# One line more.\nfrom __future__"), "utf-8"
    )
    (tmp_path / "wikimcp" / "vaults" / "globs.py").rename(tmp_path / "wikimcp" / "vaults" / "patterns.py")

    second = refresh_wiki(tmp_path)
    assert second.diff.modified == ("wikimcp/errors.py", "wikimcp/index/lock.py")
    assert second.diff.moved == (("wikimcp/vaults/globs.py", "wikimcp/vaults/patterns.py"),)
    affected = {"entities/errors.md", "entities/globs.md", "entities/lock.md"}
    assert {page.page for page in second.affected} == affected
    after = files_below(tmp_path / ".wiki")
    written = {path for path, kept in after.items() if compiled.get(f".wiki/{path}") != kept}
    books = {"contradictions.md", "log.md", ".manifest.json"}
    assert written - {".state/stamps.json"} == affected | books

    drifts = {
        drift.symbol: drift
        for drift in second.anchors
        if drift.page == "entities/lock.md" and drift.line < 20
    }
    assert drifts["ProcessLock.hold"].drift is Drift.MOVED
    assert drifts["ProcessLock.held"].drift is Drift.CHANGED
    assert drifts["ProcessLock.release"].symbol_gone
    assert [c.about for c in second.contradictions] == ["ProcessLock.release"]
    hold = f"wikimcp/index/lock.py#{_lines(tmp_path, 'wikimcp/index/lock.py', 'ProcessLock.hold')}"
    page = (entities / "lock.md").read_text()
    assert f"resource: ../../{hold}  # by hand\n" in page
    assert f"* method `ProcessLock.hold` [`{hold}`](../../{hold})\n" in page
    assert f"`{hold}`." not in page, "prose keeps the lines that its author wrote"
    assert "resource: ../../wikimcp/vaults/patterns.py#L" in (entities / "globs.md").read_text()
    assert second.stale == ("entities/lock.md",), "the others only moved"
    expected = {**by_hand, "globs": by_hand["globs"].replace("vaults/globs.py", "vaults/patterns.py")}
    assert {name: _by_hand((entities / f"{name}.md").read_text()) for name in pages} == expected

    settled = files_below(tmp_path)
    assert refresh_wiki(tmp_path).changes == ()
    assert files_below(tmp_path) == settled
    assert refresh_wiki(tmp_path, full=True).changes == (), "compiling everything again comes to the same"
