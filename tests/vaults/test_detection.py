"""Which adapter a folder gets: order, fall-through, override, and folders that carry two shapes at once."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from tests.vaults.dialects import DIALECTS, FIXTURES, fixture_copy, pages_of, paths_of, put, served
from wikimcp.errors import SettingsError, VaultError
from wikimcp.settings import ADAPTERS
from wikimcp.vaults.detect import DIALECTS as MEMBERS
from wikimcp.vaults.detect import VaultOptions, detect

PAGE = "# A page\n\nWords.\n"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_fixture_is_read_by_its_own_adapter(dialect: str) -> None:
    assert detect(FIXTURES / dialect).name == dialect


def test_the_order_of_the_dialects_is_the_contracts_and_the_settings_know_them_all() -> None:
    assert tuple(member.name for member in MEMBERS) == DIALECTS
    assert ("auto", *DIALECTS) == ADAPTERS


@pytest.mark.parametrize(
    ("files", "dialect"),
    [
        ({".obsidian/app.json": "{}", "a.md": PAGE}, "obsidian"),
        ({"logseq/config.edn": "{}", "pages/a.md": PAGE}, "logseq"),
        ({"pages/a.org": "* A\n", "journals/2031_02_03.md": "- b\n"}, "logseq"),
        ({"dendron.yml": "vaults:\n- fsPath: v\n", "v/a.md": PAGE}, "dendron"),
        ({".foam": "", "a.md": PAGE}, "foam"),
        ({".foam/templates/t.md": PAGE, "a.md": PAGE}, "foam"),
        ({".vscode/extensions.json": '{"recommendations": ["foam.foam-vscode"]}', "a.md": PAGE}, "foam"),
        (
            {
                ".vscode/extensions.json": '// x\n{"recommendations": ["a.b", "Foam.Foam-VSCode",]}',
                "a.md": PAGE,
            },
            "foam",
        ),
        ({".vscode/extensions.json": '{"recommendations": ["styrofoamy.x"]}', "a.md": PAGE}, "generic"),
        (
            {".vscode/extensions.json": '{// "foam.foam-vscode"\n"recommendations": []}', "a.md": PAGE},
            "generic",
        ),
        ({".vscode/extensions.json": "no json", "a.md": PAGE}, "generic"),
        ({"quartz.config.ts": "", "content/a.md": PAGE}, "quartz"),
        ({"quartz.config.js": "", "a.md": PAGE}, "quartz"),
        ({"quartz.config.yaml": "", "a.md": PAGE}, "quartz"),
        ({"quartz.config.yml": "", "a.md": PAGE}, "quartz"),
        ({".wiki-compiler.json": "{}", "a.md": PAGE}, "llmwiki"),
        ({"wiki/Index.MD": PAGE}, "llmwiki"),
        ({"wiki/concepts/a.md": PAGE}, "llmwiki"),
        ({"openwiki/critical_facts.md": PAGE}, "llmwiki"),
        ({"OVERVIEW.md": PAGE, "decisions/a.md": PAGE}, "llmwiki"),
        ({"index.md": PAGE, "notes/a.md": PAGE}, "generic"),
        ({"wiki/a.md": PAGE}, "generic"),
        ({"concepts/a.md": PAGE}, "generic"),
        ({"a.markdown": PAGE}, "generic"),
        ({}, "generic"),
    ],
)
def test_a_signal_with_a_page_decides(tmp_path: Path, files: dict[str, str], dialect: str) -> None:
    assert detect(put(tmp_path, files)).name == dialect


@pytest.mark.parametrize(
    "signal",
    [
        {"logseq/config.edn": "{}"},
        {"dendron.yml": "workspace:\n  vaults:\n  - fsPath: vault\n"},
        {"quartz.config.ts": "", "content/nothing.txt": ""},
        {"wiki/concepts/nothing.txt": ""},
        {
            "logseq/config.edn": "{}",
            "dendron.yml": "vaults: [{fsPath: v}]",
            "content/x.txt": "",
            "quartz.config.js": "",
        },
    ],
)
def test_a_signal_without_pages_falls_through(tmp_path: Path, signal: dict[str, str]) -> None:
    adapter = detect(put(tmp_path, {**signal, "notes/a.md": PAGE}))
    assert adapter.name == "generic"
    assert paths_of(adapter) == ["notes/a.md"]


def test_a_wiki_folder_without_pages_leaves_its_turn_to_the_next(tmp_path: Path) -> None:
    vault = put(tmp_path, {"wiki/concepts/x.txt": "", "openwiki/hot.md": PAGE})
    assert (detect(vault).name, detect(vault).source_folder) == ("llmwiki", "openwiki")


def test_a_folder_of_two_shapes_goes_to_the_first_of_the_order(tmp_path: Path) -> None:
    graph = fixture_copy("logseq", tmp_path)
    put(graph, {".obsidian/app.json": "{}", ".foam": "", "quartz.config.ts": ""})
    both = detect(graph)
    assert both.name == "obsidian"
    assert "README.md" in paths_of(both)
    assert pages_of(graph)["pages/wages"].withheld, "public:: false holds whatever adapter won"


def test_links_resolve_by_the_same_rules_whatever_adapter_won(tmp_path: Path) -> None:
    files = {
        "pages/Area___Pump.md": "- x\n",
        "pages/b.md": "[[c|the c]] [[D]]\n",
        "journals/2031_02_03.md": "- [[b]]\n",
    }
    vault = put(tmp_path / "v", {**files, "pages/c.md": "c", "pages/d.md": "d"})
    expected = ["c", "d"]
    with served(vault) as wiki:
        assert [slug for _, slug in wiki.resolved("b")] == expected
    put(vault, {".obsidian/app.json": "{}"})
    with served(vault) as wiki:
        assert [slug for _, slug in wiki.resolved("pages/b")] == [f"pages/{name}" for name in expected]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_any_adapter_can_be_asked_for_by_name(tmp_path: Path, dialect: str) -> None:
    vault = put(tmp_path, {"pages/a.md": PAGE})
    adapter = detect(vault, VaultOptions(adapter=dialect.upper()))
    assert adapter.name == dialect
    assert paths_of(adapter) == ["pages/a.md"]


def test_the_override_wins_over_a_signal(tmp_path: Path) -> None:
    vault = fixture_copy("quartz", tmp_path)
    adapter = detect(vault, VaultOptions(adapter="generic"))
    assert adapter.name == "generic"
    assert "content/private/diary.md" in paths_of(adapter)


def test_a_misspelt_adapter_is_told_the_near_match(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        detect(tmp_path, VaultOptions(adapter="logsec"))
    assert "'logseq'" in caught.value.hint
    assert "dendron" in caught.value.hint


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_adapter_reads_the_same_after_a_journey_to_another_process(dialect: str) -> None:
    adapter = detect(FIXTURES / dialect)
    other = pickle.loads(pickle.dumps(adapter))
    for path in paths_of(adapter):
        assert other.parse(other.read(path)) == adapter.parse(adapter.read(path))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_section_slices_its_own_text_and_hidden_ranges_are_whole_lines(dialect: str) -> None:
    adapter = detect(FIXTURES / dialect)
    for path in paths_of(adapter):
        content = adapter.read(path)
        body = adapter.parse(content).body
        for section in body.sections:
            text = content.text[section.own.start : section.own.end]
            assert content.text.count("\n", 0, section.own.start) + 1 == section.own.first_line
            assert text.strip()
            assert not section.heading or section.heading.split()[0] in text.split("\n")[0]
        for start, end in body.hidden:
            assert content.text[end - 1] == "\n"
            assert content.text[start:end].strip()


@pytest.mark.parametrize("dialect", ["content", "wiki"])
def test_a_source_folder_that_leads_out_of_the_vault_is_not_followed(tmp_path: Path, dialect: str) -> None:
    put(tmp_path / "outside", {"index.md": "marker-outside"})
    vault = put(tmp_path / "vault", {"quartz.config.ts": "", "a.md": PAGE})
    (vault / dialect).symlink_to(tmp_path / "outside")
    assert paths_of(detect(vault)) == ["a.md"]
    assert paths_of(detect(vault, VaultOptions(adapter="llmwiki"))) == ["a.md"]


@pytest.mark.parametrize(
    "glob", ["content/secret/**", "content/secret", "secret", "*/secret/", "/secret/**", "**/secret"]
)
def test_globs_of_the_settings_hold_from_the_root_and_from_the_source_folder(
    tmp_path: Path, glob: str
) -> None:
    vault = put(tmp_path, {"quartz.config.ts": "", "content/secret/a.md": PAGE, "content/b.md": PAGE})
    pages = pages_of(vault, VaultOptions(private=(glob,)))
    assert {slug: bool(page.withheld) for slug, page in pages.items()} == {"secret/a": True, "b": False}
    assert paths_of(detect(vault, VaultOptions(ignore=(glob,)))) == ["b.md"]


def test_the_folder_a_glob_names_may_be_the_source_folder_itself(tmp_path: Path) -> None:
    vault = put(tmp_path, {"quartz.config.ts": "", "content/b.md": PAGE})
    assert pages_of(vault, VaultOptions(private=("content/**",)))["b"].withheld
    assert pages_of(vault, VaultOptions(private=("content",)))["b"].withheld


def test_a_vault_that_is_not_there_is_told_before_any_dialect_is_tried(tmp_path: Path) -> None:
    with pytest.raises(VaultError, match="no folder 'gone'"):
        detect(tmp_path / "gone")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_nothing_withheld_hidden_or_outside_shows_in_any_answer(tmp_path: Path, dialect: str) -> None:
    vault = fixture_copy(dialect, tmp_path)
    marked = [file for file in vault.rglob("*") if file.is_file() and b"marker-" in file.read_bytes()]
    assert marked
    with served(vault) as wiki:
        said = wiki.everything()
        assert "marker-" not in said
        assert wiki.call("list_pages")["total"] == len(wiki.view.pages)
