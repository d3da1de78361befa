"""Starting a wiki: everything is there, twice changes nothing, nobody's file is overwritten."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from wikimcp.authoring import init_wiki as init_by_api
from wikimcp.authoring.init import detect_profile, init_wiki
from wikimcp.authoring.okf import read_head
from wikimcp.authoring.okf_check import check_okf
from wikimcp.authoring.opening import open_workspace
from wikimcp.authoring.pages import CATEGORIES
from wikimcp.authoring.skills import SKILLS, shipped
from wikimcp.authoring.workspace import Workspace
from wikimcp.errors import WikiError
from wikimcp.setting_groups import Authoring


def everything(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def test_a_new_wiki_has_protocol_indexes_log_hot_page_ledger_and_skills(workspace: Workspace) -> None:
    (workspace.workspace_root / "main.py").write_text("x = 1\n")
    report = init_wiki(workspace)
    assert (report.status, report.profile) == ("initialized", "codebase")
    made = set(everything(workspace.workspace_root))
    wiki = {".wiki/SCHEMA.md", ".wiki/index.md", ".wiki/log.md", ".wiki/hot.md", ".wiki/.manifest.json"}
    wiki |= {f".wiki/{name}/index.md" for name in CATEGORIES}
    skills = {
        f"{folder}/{name}/SKILL.md"
        for folder in (".agents/skills", ".claude/skills")
        for name in SKILLS
        if shipped(name)
    }
    assert made == wiki | skills | {"main.py", ".wiki/.state/.gitignore", ".wiki/.state/lock"}
    assert {change.file for change in report.changes} == wiki | skills
    assert read_head((workspace.wiki_root / "SCHEMA.md").read_text()).type == "Protocol"
    checked = check_okf(workspace.wiki_root)
    assert (checked.declared, checked.findings) == ("0.2", ())


def test_a_second_time_nothing_is_written(workspace: Workspace) -> None:
    init_wiki(workspace)
    before = everything(workspace.workspace_root)
    report = init_wiki(workspace)
    assert (report.status, report.changes) == ("unchanged", ())
    assert everything(workspace.workspace_root) == before


def test_what_somebody_changed_or_wrote_before_stays(workspace: Workspace) -> None:
    root = workspace.workspace_root
    (root / ".wiki" / "concepts").mkdir(parents=True)
    mine = {".wiki/SCHEMA.md": "mine\n", ".wiki/index.md": "# Mine\n", ".wiki/concepts/index.md": "mine\n"}
    skill = ".claude/skills/wiki-maintainer/SKILL.md"
    for name, text in mine.items():
        (root / name).write_text(text)
    init_wiki(workspace)
    (root / skill).write_text((root / skill).read_text().replace("Keeping", "My way of keeping"))
    (root / ".wiki" / "hot.md").write_text("# Hot\n")
    changed = (root / skill).read_text()
    report = init_wiki(workspace)
    assert {name: (root / name).read_text() for name in mine} == mine
    assert (root / skill).read_text() == changed
    assert (root / ".wiki" / "hot.md").read_text() == "# Hot\n"
    assert report.notes == (f"{skill} was changed here and is kept",)


def test_an_unchanged_copy_of_an_older_skill_is_brought_up_to_date(workspace: Workspace) -> None:
    from wikimcp.authoring.skills import marked

    init_wiki(workspace)
    skill = workspace.workspace_root / ".agents/skills/wiki-maintainer/SKILL.md"
    now = skill.read_text()
    skill.write_text(marked("# What the skill said before\n").replace("\n", "\r\n"), newline="")
    report = init_wiki(workspace)
    assert skill.read_text() == now
    assert [row.state for row in report.skills if row.file.startswith(".agents/skills/wiki-maintainer")] == [
        "updated"
    ]


def test_a_dry_run_shows_every_file_and_makes_none(workspace: Workspace) -> None:
    report = init_wiki(replace(workspace, dry_run=True))
    assert list(workspace.workspace_root.iterdir()) == []
    assert any("+# How this wiki is kept" in change.diff for change in report.changes)
    assert report.status == "initialized"


def test_a_skill_folder_that_leads_away_is_refused_and_nothing_is_made(
    workspace: Workspace, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (workspace.workspace_root / ".claude").symlink_to(elsewhere)
    with pytest.raises(Exception, match="symbolic link"):
        init_wiki(workspace)
    assert list(elsewhere.iterdir()) == []
    assert not (workspace.wiki_root / "index.md").exists()


@pytest.mark.parametrize(
    ("names", "profile"),
    [
        (["a.py", "b.ts", "node_modules/c.md", ".git/d.md"], "codebase"),
        (["a.md", "b.pdf", "c.txt"], "pkm"),
        (["a.py", "b.md"], "hybrid"),
        ([], "hybrid"),
    ],
)
def test_the_profile_is_told_by_the_files(workspace: Workspace, names: list[str], profile: str) -> None:
    for name in names:
        (workspace.workspace_root / name).parent.mkdir(exist_ok=True)
        (workspace.workspace_root / name).write_text("x")
    assert detect_profile(workspace) == profile


def test_the_wiki_remembers_how_it_was_made_and_is_found_from_below(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    init_by_api(tmp_path, profile="pkm", raw_roots=["code=src"], deploy_skills=False)
    found = open_workspace(Authoring(), cwd=tmp_path / "src" / "deep")
    assert (found.workspace_root, found.profile) == (tmp_path, "pkm")
    assert [(root.name, root.folder) for root in found.raw_roots] == [("code", "src")]
    assert init_by_api(tmp_path, deploy_skills=False).status == "unchanged"
    assert init_by_api(tmp_path, profile="hybrid", deploy_skills=False).profile == "hybrid"
    assert open_workspace(Authoring(), cwd=tmp_path / "src", upwards=False).workspace_root == tmp_path / "src"


def test_a_broken_ledger_stops_init_and_loses_nothing(workspace: Workspace) -> None:
    init_wiki(workspace)
    (workspace.wiki_root / ".manifest.json").write_text("{")
    before = everything(workspace.workspace_root)
    with pytest.raises(WikiError, match="manifest"):
        init_wiki(workspace)
    assert everything(workspace.workspace_root) == before
