"""Settings of a dialect that leave pages out, and cannot be read: never is more served than they allow."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.vaults.dialects import put, served
from wikimcp.models import Caller
from wikimcp.vaults.detect import detect
from wikimcp.vaults.folder import FolderAdapter

PLAIN = {"a.md": "kestrel", "own/b.md": "Markerword"}
PAGES = {
    "obsidian": {".obsidian/x": "", **PLAIN},
    "foam": {".foam": "", **PLAIN},
    "quartz": {f"content/{path}": text for path, text in PLAIN.items()},
    "logseq": {"journals/j.md": "- x\n", "pages/a.md": "- kestrel\n", "pages/own.md": "- Markerword\n"},
}
APP, CODE, TS, YML, EDN = (
    ".obsidian/app.json",
    ".vscode/settings.json",
    "quartz.config.ts",
    "quartz.config.yml",
    "logseq/config.edn",
)


def shown(adapter: FolderAdapter) -> list[str]:
    """Return the paths of the pages that anybody may see."""
    pages = [adapter.parse(adapter.read(stamp.path)) for stamp in adapter.scan().files]
    return [page.path for page in pages if not page.withheld]


def notes(adapter: FolderAdapter) -> list[str]:
    return [note.message for path, note in adapter.scan().diagnostics if not path]


@pytest.mark.parametrize(
    ("dialect", "name", "text"),
    [
        ("obsidian", APP, ""),
        ("obsidian", APP, "{broken"),
        ("obsidian", APP, '{"promptDelete": false, "userIgnore'),
        ("obsidian", APP, '{"userIgnoreFilters": ["own/"'),
        ("obsidian", APP, '{"userIgnoreFilters": ["own/", x], "a" 1}'),
        ("obsidian", APP, '{"userIgnoreFilters": [{"path": "own/"}]}'),
        ("obsidian", APP, '{"userIgnoreFilters": ["/[/"]}'),
        ("obsidian", APP, "[" * 100_000),
        ("foam", CODE, "{"),
        ("foam", CODE, '{"foam.files.ignore": ["own/**"'),
        ("foam", CODE, '{"foam.files.ignore": true}'),
        ("quartz", TS, "ignorePatterns: patterns(),"),
        ("quartz", TS, "ignorePatterns: [...usual, 'own'],"),
        ("quartz", TS, "ignorePatterns: [\n"),
        ("quartz", YML, "configuration:\n  ignorePatterns: [own\n"),
        ("quartz", YML, "a: b: c\nplugins: [explicit-publish]\n"),
        ("logseq", EDN, '{:hidden ["/pages/own.md"'),
        ("logseq", EDN, '{:hidden #{"/pages/own.md"}}'),
    ],
)
def test_where_nobody_can_tell_what_is_left_out_every_page_is_withheld(
    tmp_path: Path, dialect: str, name: str, text: str
) -> None:
    adapter = detect(put(tmp_path / "v", {**PAGES[dialect], name: text}))
    assert adapter.name == dialect
    assert adapter.scan().files
    assert shown(adapter) == []
    (note,) = notes(adapter)
    assert name in note and "every page is withheld until it is mended" in note
    assert adapter.dialect_settings.startswith("unread: ")


@pytest.mark.parametrize(
    ("dialect", "name", "text"),
    [
        ("obsidian", APP, '{"userIgnoreFilters": "own/"}'),
        ("obsidian", APP, '{"userIgnoreFilters": ["own/",], "a": 1,}'),
        ("obsidian", APP, '{"userIgnoreFilters": ["own/"], "a" 1'),
        ("foam", CODE, '{"foam.files.ignore": ["own/**"], "a" 1}'),
        ("foam", CODE, '{"foam.files.exclude": {"own/**": true}}'),
        ("foam", CODE, '{"a": "b /* , "foam.files.exclude": ["own"], "c": "*/"}'),
        ("quartz", TS, "ignorePatterns: ['own'] as string[], a: b("),
        ("logseq", EDN, '{:hidden "/pages/own.md"}'),
        ("logseq", EDN, '{:hidden ["/pages/own.md"] :x {'),
    ],
)
def test_what_is_left_out_is_read_wherever_it_stands_whole(
    tmp_path: Path, dialect: str, name: str, text: str
) -> None:
    adapter = detect(put(tmp_path / "v", {**PAGES[dialect], name: text}))
    assert adapter.name == dialect
    served_paths = shown(adapter)
    assert served_paths and not any("own" in path for path in served_paths)
    assert notes(adapter) == []


@pytest.mark.parametrize(
    ("dialect", "name", "text"),
    [
        ("obsidian", APP, "[]"),
        ("obsidian", APP, '{"a" 1}'),
        ("obsidian", APP, '{"userIgnoreFilters": null}'),
        ("foam", CODE, "\n"),
        ("foam", CODE, '{"editor.x": }'),
        ("quartz", TS, "// ignorePatterns: patterns()\nlet x = ["),
        ("quartz", YML, "a: b: c\n"),
        ("logseq", EDN, "{:hidden nil :block-hidden-properties #{:a} ;; :hidden [\n"),
    ],
)
def test_broken_settings_that_leave_nothing_out_cost_no_page(
    tmp_path: Path, dialect: str, name: str, text: str
) -> None:
    adapter = detect(put(tmp_path / "v", {**PAGES[dialect], name: text}))
    assert adapter.name == dialect
    assert any("own" in path for path in shown(adapter))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read every file")
@pytest.mark.parametrize(
    ("dialect", "name"), [("obsidian", APP), ("foam", CODE), ("quartz", TS), ("logseq", EDN)]
)
def test_settings_that_may_not_be_opened_hold_back_every_page(
    tmp_path: Path, dialect: str, name: str
) -> None:
    vault = put(tmp_path / "v", {**PAGES[dialect], name: "{}"})
    (vault / name).chmod(0)
    assert shown(detect(vault)) == []


@pytest.mark.parametrize(("dialect", "name"), [("foam", CODE), ("quartz", TS), ("logseq", EDN)])
def test_settings_that_lead_out_of_the_vault_hold_back_every_page(
    tmp_path: Path, dialect: str, name: str
) -> None:
    vault = put(tmp_path / "v", PAGES[dialect])
    (vault / name).parent.mkdir(exist_ok=True)
    (vault / name).symlink_to(put(tmp_path, {"out": "{}"}) / "out")
    assert shown(detect(vault)) == []


def test_a_broken_recommendation_of_foam_is_taken_for_one(tmp_path: Path) -> None:
    settings = {CODE: '{"foam.files.ignore": ["own"]}', ".vscode/extensions.json": '["foam.foam-vscode",'}
    adapter = detect(put(tmp_path / "v", {**settings, "a.md": "x", "own/b.md": "x"}))
    assert (adapter.name, shown(adapter)) == ("foam", ["a.md"])


def test_rules_that_break_while_they_are_served_stay_and_those_that_are_mended_count(tmp_path: Path) -> None:
    rules = '{"userIgnoreFilters": ["own/"]}'
    vault = put(tmp_path / "v", {APP: rules, "a.md": "kestrel", "own/b.md": "Markerword"})
    with served(vault) as wiki:
        for text in (rules, rules[:-6], "", rules):
            put(vault, {APP: text})
            assert [page["slug"] for page in wiki.call("list_pages")["pages"]] == ["a"]
        put(vault, {APP: rules[:-6]})
    with served(vault) as wiki:
        assert wiki.service.graph(Caller())["nodes"] == []
        assert wiki.service.status(Caller(operator=True))["files"]["withheld"] == 2
        put(vault, {APP: rules})
        assert wiki.service.graph(Caller())["nodes"] == []
    with served(vault) as wiki:
        assert [page["slug"] for page in wiki.call("list_pages")["pages"]] == ["a"]
