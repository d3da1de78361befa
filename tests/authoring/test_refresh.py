"""Refreshing: what follows the sources, what is left alone, and what is said about the rest."""

from __future__ import annotations

import random
import re
import shutil
from dataclasses import replace

import pytest

from tests.authoring.compiled_wiki import CHECKS, Project, files_below, page_of, small_project
from wikimcp.authoring.anchors import Drift
from wikimcp.authoring.manifest import load_manifest
from wikimcp.authoring.refresh import refresh_wiki
from wikimcp.authoring.workspace import Workspace
from wikimcp.errors import WikiError

pytest.importorskip("tree_sitter", reason="the extra `symbols` is not installed")

REGION = "<!-- wikimcp:begin symbols -->\n<!-- wikimcp:end symbols -->\n"
SHIFTED = "import os\n\n" + CHECKS


@pytest.fixture
def project(workspace: Workspace) -> Project:
    return small_project(workspace)


def _prose(text: str) -> str:
    """Return what the author wrote: the page without its head and its generated parts."""
    body = text.split("---\n", 2)[2]
    return re.sub(r"(?s)(begin symbols -->\n).*?(<!-- wikimcp:end)", r"\1\2", body)


def test_the_first_refresh_records_everything_and_the_second_writes_not_a_byte(project: Project) -> None:
    first = project.refresh()
    assert (first.status, first.sources, first.diff.added) == ("compiled", 1, ("src/checks.py",))
    manifest = load_manifest(project.workspace)
    assert manifest is not None
    assert [(entry.path, [*entry.files]) for entry in manifest.folders] == [(".", []), ("src", ["checks.py"])]
    assert [(page.page, page.sources[0].path) for page in manifest.pages] == [
        ("entities/checks.md", "src/checks.py")
    ]
    assert "* [Checks](checks.md)" in project.text("entities/index.md")
    assert "* **Compiled**: sources 1 added" in project.text("log.md")
    before = files_below(project.root)
    second = project.refresh()
    assert (second.status, second.changes) == ("clean", ())
    assert files_below(project.root) == before


def test_nothing_but_the_wiki_is_ever_written(project: Project) -> None:
    before = files_below(project.root / "src")
    project.refresh()
    project.refresh(full=True)
    assert files_below(project.root / "src") == before
    assert {path.name for path in project.root.iterdir()} == {".wiki", "src"}


def test_moved_lines_are_followed_in_the_head_in_whatever_form_it_names_them(project: Project) -> None:
    head = (
        "anchors:\n  - src/checks.py#L4-L6\n  - 'file:src/checks.py#L9'  # why\n"
        '  - "../../src/checks.py#L10-L11"\n'
    )
    text = page_of("Lines", ["../../src/checks.py#L4-L6"], "Prose names `src/checks.py#L4-L6`.\n", head=head)
    project.page("entities/lines.md", text)
    project.refresh()
    project.source("src/checks.py", SHIFTED)
    report = project.refresh()
    expected = text.replace("resource: ../../src/checks.py#L4-L6", "resource: ../../src/checks.py#L6-L8")
    expected = expected.replace("- src/checks.py#L4-L6", "- src/checks.py#L6-L8")
    expected = expected.replace("'file:src/checks.py#L9'", "'file:src/checks.py#L11'")
    expected = expected.replace('"../../src/checks.py#L10-L11"', '"../../src/checks.py#L12-L13"')
    assert project.text("entities/lines.md") == expected
    assert [(d.line, d.drift, d.rewritten) for d in report.anchors] == [
        (6, Drift.MOVED, True),
        (8, Drift.MOVED, True),
        (9, Drift.MOVED, True),
        (10, Drift.MOVED, True),
        (15, Drift.MOVED, False),
    ]
    assert report.anchors[-1].now == "src/checks.py#L6-L8", "prose is told where its lines are, not edited"
    before = files_below(project.wiki)
    assert project.refresh().status == "clean"
    assert files_below(project.wiki) == before


def test_prose_is_byte_for_byte_the_same_whatever_its_bytes_are(project: Project) -> None:
    body = (
        "Tab\there, `src/checks.py#L4-L6`,  two blanks  \r\n\r\n\u2028 \u00e9 e\u0301 \U0001f600\r\n---\r\n"
        + REGION
    )
    text = page_of("Odd", ["../../src/checks.py#L4-L6"], body).replace("\r\n", "\n").replace("\n", "\r\n")
    project.page("entities/odd.md", text)
    project.refresh()
    project.source("src/checks.py", SHIFTED)
    project.refresh()
    after = project.text("entities/odd.md")
    assert "resource: ../../src/checks.py#L6-L8\r\n" in after
    assert "* function `verify` [`src/checks.py#L6-L8`](../../src/checks.py#L6-L8)\r\n" in after
    assert not re.search(r"[^\r]\n", after), "the region has the line ends of its page"
    assert _prose(after.replace("\r\n", "\n")) == _prose(text.replace("\r\n", "\n"))


def test_the_region_lists_what_the_sources_declare_and_ends_where_its_markers_are(project: Project) -> None:
    project.page("entities/checks.md", page_of("Checks", ["../../src"], f"Before.\n\n{REGION}\nAfter.\n"))
    project.source("src/deep/b.js", "export class Far {}\n")
    project.refresh()
    assert project.text("entities/checks.md").split("---\n", 2)[2] == (
        "\n# Checks\n\nBefore.\n\n<!-- wikimcp:begin symbols -->\n\n"
        "[`src/checks.py`](../../src/checks.py)\n\n"
        "* function `verify` [`src/checks.py#L4-L6`](../../src/checks.py#L4-L6)\n"
        "* class `Store` [`src/checks.py#L9-L11`](../../src/checks.py#L9-L11)\n"
        "  * method `Store.revoke` [`src/checks.py#L10-L11`](../../src/checks.py#L10-L11)\n\n"
        "[`src/deep/b.js`](../../src/deep/b.js)\n\n"
        "* class `Far` [`src/deep/b.js#L1`](../../src/deep/b.js#L1)\n\n"
        "<!-- wikimcp:end symbols -->\n\nAfter.\n"
    )


def test_a_list_of_very_many_symbols_says_where_it_ends(project: Project) -> None:
    for name, count in (("a", 390), ("b", 30), ("c", 5), ("d", 5)):
        project.source(
            f"many/{name}.go", "package a\n" + "".join(f"func F{i}() {{}}\n" for i in range(count))
        )
    project.page("entities/many.md", page_of("Many", ["../../many"], REGION))
    project.refresh()
    text = project.text("entities/many.md")
    assert text.count("* function `F") == 400
    assert "\n20 more of this file are not listed.\n\n2 more files are not listed.\n" in text


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (f"```html\n{REGION}```\n", ""),
        ("`<!-- wikimcp:begin symbols -->` opens one.\n", ""),
        ("<!-- wikimcp:begin symbols -->\n\nMy words.\n", "region_unclosed"),
        ("<!-- wikimcp:end symbols -->\n\nMy words.\n", "region_unclosed"),
        (f"<!-- wikimcp:begin symbols -->\n\nMine.\n\n{REGION}", "region_unclosed"),
        ("<!-- wikimcp:begin symbols -->\n\nMine.\n\n<!-- wikimcp:end other -->\n", "region_unclosed"),
    ],
    ids=["shown in a fence", "shown in code", "not closed", "not opened", "nested", "closed as another"],
)
def test_markers_that_are_shown_or_broken_leave_the_page_alone(
    project: Project, body: str, code: str
) -> None:
    text = page_of("Checks", ["../../src/checks.py"], body)
    project.page("entities/checks.md", text)
    report = project.refresh()
    assert project.text("entities/checks.md") == text
    assert {note.code for note in report.notes} == ({code} if code else set())


def test_only_pages_whose_sources_changed_are_written_and_who_links_to_them_is_named(
    project: Project,
) -> None:
    project.source("src/other.py", "def other(): ...\n")
    project.page("entities/other.md", page_of("Other", ["../../src/other.py"], REGION))
    project.page("entities/checks.md", page_of("Checks", ["../../src/checks.py"], REGION))
    project.page("concepts/near.md", "---\ntype: Concept\n---\n\nSee [it](../entities/checks.md#checks).\n")
    project.page("concepts/far.md", "---\ntype: Concept\n---\n\nSee [near](near.md).\n")
    project.refresh()
    before = files_below(project.wiki)
    project.source("src/checks.py", SHIFTED)
    report = project.refresh()
    after = files_below(project.wiki)
    changed = {path for path in after if after[path] != before.get(path)}
    assert changed - {".state/stamps.json"} == {"entities/checks.md", "log.md", ".manifest.json"}
    assert [(page.page, page.sources) for page in report.affected] == [
        ("entities/checks.md", ("src/checks.py",))
    ]
    assert report.dependents == ("concepts/near.md",)
    assert (report.diff.modified, report.stale) == (("src/checks.py",), ("entities/checks.md",))


def test_a_link_counts_however_it_is_written_and_not_in_code_or_generated_parts(project: Project) -> None:
    project.page("entities/a_b c.md", page_of("Checks", ["../../src/checks.py"]))
    bodies = {
        "encoded": "[x](../entities/a_b%20c.md)",
        "brackets": "[x](<../entities/a_b c.md>)",
        "escaped": r"[x](<../entities/a\_b c.md>)",
        "root": "[x](/entities/a_b%20c.md#part)",
        "code": "`[x](../entities/a_b%20c.md)`",
        "generated": "<!-- wikimcp:begin other -->\n[x](../entities/a_b%20c.md)\n\n<!-- wikimcp:end other -->",
        "name": "a_b c.md",
    }
    for name, body in bodies.items():
        project.page(f"concepts/{name}.md", f"---\ntype: Concept\n---\n\n{body}\n")
    project.refresh()
    project.source("src/checks.py", SHIFTED)
    expected = [f"concepts/{name}.md" for name in ("brackets", "encoded", "escaped", "root")]
    assert list(project.refresh().dependents) == expected


def test_a_page_is_stale_until_it_is_filed_again(project: Project) -> None:
    head = "generated: { by: me/1, at: 2026-03-01T00:00:00+00:00 }\n"
    text = page_of("Checks", ["../../src/checks.py"], head=head)
    project.page("entities/checks.md", text)
    project.refresh()
    project.source("src/checks.py", SHIFTED)
    assert project.refresh().stale == ("entities/checks.md",)
    assert project.refresh().stale == ("entities/checks.md",), "looking at it does not make it fresh"
    project.page("entities/checks.md", text.replace("What it does", "What it did"))
    assert project.refresh().stale == ("entities/checks.md",), (
        "a slip of the pen that was mended is no filing"
    )
    project.page("entities/checks.md", text.replace("03-01T", "03-02T"))
    assert project.refresh().stale == ()


def test_a_page_without_a_date_is_filed_again_by_editing_it(project: Project) -> None:
    project.refresh()
    project.source("src/checks.py", SHIFTED)
    assert project.refresh().stale == ("entities/checks.md",)
    project.page("entities/checks.md", project.text("entities/checks.md") + "\nIt imports os.\n")
    assert project.refresh().stale == ()


def test_a_page_that_points_at_lines_is_stale_only_when_these_changed(project: Project) -> None:
    project.page("entities/checks.md", page_of("Checks", ["../../src/checks.py#L4-L6"]))
    project.refresh()
    project.source("src/checks.py", SHIFTED.replace("self.gone", "self.lost"))
    assert project.refresh().stale == (), "verify only moved"
    project.source("src/checks.py", SHIFTED.replace('"good"', '"fine"'))
    report = project.refresh()
    assert report.stale == ("entities/checks.md",)
    assert [(d.drift, d.why) for d in report.anchors] == [(Drift.CHANGED, "verify was changed")]
    project.source("src/checks.py", SHIFTED)
    assert project.refresh().stale == (), "and when they are as they were they are not"


def test_a_symbol_that_changed_and_moved_is_pointed_at_in_its_new_lines(project: Project) -> None:
    project.page("entities/checks.md", page_of("Checks", ["../../src/checks.py#L10-L11"]))
    project.refresh()
    longer = SHIFTED.replace("self.gone.add(token)", "self.gone.add(token)\n        return token")
    project.source("src/checks.py", longer)
    report = project.refresh()
    assert "resource: ../../src/checks.py#L12-L14\n" in project.text("entities/checks.md")
    assert [(d.drift, d.symbol, d.rewritten) for d in report.anchors] == [
        (Drift.CHANGED, "Store.revoke", True)
    ]
    assert project.refresh().stale == ("entities/checks.md",)


def test_two_places_with_the_same_lines_are_said_and_the_page_is_left(project: Project) -> None:
    project.source("notes.txt", "same\nlines\n")
    text = page_of("Notes", ["../../notes.txt#L1-L2"])
    project.page("entities/notes.md", text)
    project.refresh()
    project.source("notes.txt", "new\nsame\nlines\nsame\nlines\n")
    report = project.refresh()
    assert [drift.drift for drift in report.anchors] == [Drift.AMBIGUOUS]
    assert project.text("entities/notes.md") == text


def test_a_moved_source_is_followed_and_a_deleted_one_is_a_contradiction_until_it_is_back(
    project: Project,
) -> None:
    project.page(
        "entities/checks.md", page_of("Checks", ["../../src/checks.py", "../../src/checks.py#L4-L6"])
    )
    project.refresh()
    (project.root / "lib").mkdir()
    (project.root / "src" / "checks.py").rename(project.root / "lib" / "checks.py")
    report = project.refresh()
    assert report.diff.moved == (("src/checks.py", "lib/checks.py"),)
    assert "resource: ../../lib/checks.py\n" in project.text("entities/checks.md")
    assert "resource: ../../lib/checks.py#L4-L6\n" in project.text("entities/checks.md")
    assert (report.contradictions, report.stale) == ((), ())
    (project.root / "lib" / "checks.py").unlink()
    assert [(c.kind, c.about) for c in project.refresh().contradictions] == [("source_gone", "lib/checks.py")]
    queue = project.text("contradictions.md")
    assert "* `lib/checks.py`\n  * [Checks](entities/checks.md), line 6\n" in queue
    assert project.refresh().status == "clean"
    assert project.text("contradictions.md") == queue
    project.source("lib/checks.py", CHECKS)
    assert project.refresh().contradictions == ()
    assert "Nothing is open." in project.text("contradictions.md")


def test_a_symbol_that_is_gone_is_a_contradiction_with_its_place(project: Project) -> None:
    project.page("entities/checks.md", page_of("Checks", ["../../src/checks.py#L4-L6"]))
    project.refresh()
    project.source("src/checks.py", CHECKS.replace("def verify", "def examine"))
    for _ in range(2):
        found = project.refresh().contradictions
        assert [(c.kind, c.about, c.evidence[0].line) for c in found] == [("symbol_gone", "verify", 6)]
    assert "* `verify`\n  * [Checks](entities/checks.md), line 6: `src/checks.py#L4-L6`" in project.text(
        "contradictions.md"
    )


def test_pages_that_claim_one_key_differently_are_a_contradiction(project: Project) -> None:
    claims = "claims:\n  port: 8080\n  name: main\n"
    project.page("entities/a.md", page_of("A", [], head=f"id: one\n{claims}").replace("sources:\n", ""))
    other = claims.replace("8080", "9090")
    project.page("entities/b.md", page_of("a", [], head=f"id: ONE\n{other}").replace("sources:\n", ""))
    found = {
        c.about: [(e.page, e.line, e.says) for e in c.evidence] for c in project.refresh().contradictions
    }
    assert found == {
        "id: one": [("entities/a.md", 4, "one"), ("entities/b.md", 4, "ONE")],
        "title: a": [("entities/a.md", 3, "A"), ("entities/b.md", 3, "a")],
        "claims: port": [("entities/a.md", 6, "8080"), ("entities/b.md", 6, "9090")],
    }
    project.page("entities/b.md", page_of("B", [], head=claims).replace("sources:\n", ""))
    assert project.refresh().contradictions == ()


def test_the_queue_holds_no_word_of_a_page_that_not_everybody_may_see(project: Project) -> None:
    project.page("entities/a.md", page_of("Alpha", ["../../src/nowhere.py"], head="claims: {port: 1}\n"))
    secret = page_of("Omega", ["../../src/absent.py"], head="status: proposed\nclaims: {port: 2}\n")
    project.page("entities/hidden.md", secret)
    report = project.refresh()
    assert {c.about for c in report.contradictions} == {"src/nowhere.py", "src/absent.py", "claims: port"}
    queue = project.text("contradictions.md")
    assert "Alpha" in queue
    for word in ("Omega", "hidden", "absent", "port"):
        assert word not in queue
    assert "1 contradiction open." in project.text("log.md"), "the log counts what the queue holds"


def test_a_claim_that_looks_like_a_secret_is_not_repeated(project: Project) -> None:
    key = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"
    for name, value in (("a", key), ("b", "none")):
        head = f"claims:\n  token: {value}\n"
        project.page(f"entities/{name}.md", page_of(name, [], head=head).replace("sources:\n", ""))
    report = project.refresh()
    assert [c.about for c in report.contradictions] == ["claims: token"]
    assert key not in project.text("contradictions.md")


def test_a_page_in_the_place_of_the_queue_that_somebody_else_wrote_stays(project: Project) -> None:
    mine = "---\ntype: Note\n---\n\nMy own list.\n"
    project.page("contradictions.md", mine)
    project.page("entities/checks.md", page_of("Checks", ["../../src/nowhere.py"]))
    report = project.refresh()
    assert project.text("contradictions.md") == mine
    assert [note.code for note in report.notes] == ["queue_not_ours"]


def test_scopes_in_words_addresses_and_other_pages_are_no_sources(project: Project) -> None:
    listed = [
        "https://example.com/a.py#L1-L2",
        '"talks with the team"',
        "other.md",
        "../../../outside.py",
        "../..",
    ]
    project.page("entities/checks.md", page_of("Checks", listed))
    project.page("entities/other.md", "---\ntype: Note\n---\n\nx\n")
    report = project.refresh()
    assert (report.contradictions, report.stale, report.anchors) == ((), (), ())


def test_folders_without_a_page_are_named_by_the_profile(project: Project) -> None:
    project.source("lib/a.py", "")
    project.source("lib/b.go", "")
    project.source("docs/guide.md", "")
    project.source("data/x.bin", "")
    project.source("top.py", "")
    report = project.refresh()
    assert [(gap.folder, gap.files) for gap in report.gaps] == [("lib", 2), (".", 1), ("docs", 1)]
    code = refresh_wiki(replace(project.workspace, profile="codebase"))
    assert [gap.folder for gap in code.gaps] == ["lib", "."]
    project.page("domains/lib.md", page_of("Lib", ["../../lib"]))
    assert [gap.folder for gap in project.refresh().gaps] == [".", "docs"]


def test_a_dry_run_says_everything_and_writes_nothing(project: Project) -> None:
    project.page("entities/checks.md", page_of("Checks", ["../../src/checks.py#L4-L6"], REGION))
    project.refresh()
    project.source("src/checks.py", SHIFTED)
    before = files_below(project.root)
    told = refresh_wiki(replace(project.workspace, dry_run=True))
    assert files_below(project.root) == before
    diffs = {change.path: change.diff for change in told.changes}
    assert "-    resource: ../../src/checks.py#L4-L6\n" in diffs["entities/checks.md"]
    assert "+    resource: ../../src/checks.py#L6-L8\n" in diffs["entities/checks.md"]
    done = project.refresh()
    assert [(c.path, c.after) for c in told.changes] == [(c.path, c.after) for c in done.changes]


def test_without_a_wiki_there_is_nothing_to_refresh(workspace: Workspace) -> None:
    with pytest.raises(WikiError, match="wikimcp init"):
        refresh_wiki(workspace)


def test_staged_sources_count_even_where_they_are_ignored(project: Project) -> None:
    project.source(".gitignore", "raw/\n")
    project.source("raw/ingest/20260314T120000Z-paper/source.md", "A paper.\n")
    project.source("raw/other.md", "Not staged.\n")
    assert "raw/ingest/20260314T120000Z-paper/source.md" in project.refresh().diff.added
    project.page("sources/paper.md", page_of("Paper", ["../../raw/ingest/20260314T120000Z-paper/source.md"]))
    report = project.refresh()
    assert (report.contradictions, report.diff.added) == ((), ())


def test_a_refresh_after_any_edits_ends_as_a_full_compilation_does(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Edit at random, refresh step by step here, and compile everything again in a copy: the same bytes."""
    chance = random.Random(12)
    names = ["src/checks.py", "src/b.py", "lib/c.py"]
    project.source("src/b.py", SHIFTED)
    project.source("lib/c.py", CHECKS.replace("verify", "prove"))
    for number, source in enumerate(names):
        listed = [f"../../{source}", f"../../{source}#L4-L6", "../../src"]
        project.page(
            f"entities/p{number}.md", page_of(f"P{number}", listed, f"`{source}#L9-L11`\n\n{REGION}")
        )
    project.refresh()
    for step in range(12):
        edited = project.root / chance.choice(names)
        match chance.randrange(5):
            case 0 if edited.exists():
                edited.unlink()
            case 1 if edited.exists():
                edited.write_text(f"# {step}\n" + edited.read_text())
            case 2 if edited.exists():
                edited.write_text(edited.read_text().replace("def ", f"def x{step}_", 1))
            case 3 if edited.exists():
                edited.rename(edited.with_name(f"moved{step}.py"))
            case _:
                edited.write_text(SHIFTED)
        copy = tmp_path_factory.mktemp("copy") / "project"
        shutil.copytree(project.root, copy)
        there = Project(replace(project.workspace, workspace_root=copy, wiki_root=copy / ".wiki"))
        here = project.refresh()
        full = there.refresh(full=True)
        assert _pages(project) == _pages(there)
        assert (here.contradictions, here.stale) == (full.contradictions, full.stale)
        before = files_below(project.wiki)
        assert project.refresh().changes == ()
        assert files_below(project.wiki) == before


def _pages(project: Project) -> dict[str, str]:
    """Return all files of a wiki but its state, without the times of its sources, which a copy has anew."""
    return {
        path: re.sub(r'"mtime_ns": \d+', "", data.decode())
        for path, (data, _) in files_below(project.wiki).items()
        if not path.startswith(".state/")
    }


def test_a_line_of_a_claim_is_that_of_its_own_key_in_whatever_form(project: Project) -> None:
    forms = (
        "sources:\n  - resource: ../../src/checks.py\n    id: x\n    title: B\ntitle: Same\nclaims: {port: 1}\n",
        "port: 7\ntitle: Same\nclaims:\n  host: a\n  port: 2\n",
        'claims:\n  {"host": b,\n   "port": 3}\ntitle: Same\n',
    )
    for name, head in zip("abc", forms, strict=True):
        project.page(f"entities/{name}.md", f"---\ntype: Module\n{head}---\n\nWords.\n")
    found = {c.about: [e.line for e in c.evidence] for c in project.refresh().contradictions}
    assert found == {"title: same": [7, 4, 6], "claims: host": [6, 4], "claims: port": [8, 7, 5]}


def test_what_an_ingest_has_at_work_is_no_source(project: Project) -> None:
    staging = project.root / "raw/ingest"
    project.source("raw/ingest/20260314T120000Z-note/source.md", "A note.\n")
    project.source("raw/ingest/20260314T120000Z-note/.hidden", "Part of the source.\n")
    project.source("raw/ingest/.state/unfinished-1a2b/source.md", "Half a note.\n")
    (staging / ".state" / "lock").touch()
    assert project.refresh().diff.added == (
        "raw/ingest/20260314T120000Z-note/.hidden",
        "raw/ingest/20260314T120000Z-note/source.md",
        "src/checks.py",
    )


def test_a_title_or_description_is_text_in_an_index_and_no_link(project: Project) -> None:
    head = 'description: "About [a](gone.md) and `x[0]` in [[Gone]]."\n'
    project.page("entities/b.md", page_of('"The [odd] one"', [], head=head).replace("sources:\n", ""))
    project.refresh()
    assert r"* [The \[odd\] one](b.md) - About \[a\](gone.md) and `x[0]` in \[\[Gone\]\]." in project.text(
        "entities/index.md"
    )
    assert project.refresh().status == "clean"
