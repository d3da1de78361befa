"""Versions by git: commits counted through renames and merges, uncommitted changes, and a hostile repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.index.live_wiki import LiveWiki, until
from wikimcp.index.git_log import content_hash, find_repository
from wikimcp.index.history import GitHistory
from wikimcp.index.view import Reading
from wikimcp.tools.page_changes import recent_changes

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

ENV: Mapping[str, str] = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ann Öst",
    "GIT_AUTHOR_EMAIL": "ann@example.org",
    "GIT_COMMITTER_NAME": "Ann Öst",
    "GIT_COMMITTER_EMAIL": "ann@example.org",
}
NEVER = threading.Event()


class Repo:
    """A repository whose folder ``docs`` is the vault."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.docs = top / "docs"
        self.docs.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.top, env=dict(ENV), capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def write(self, name: str, text: str) -> None:
        (self.docs / name).parent.mkdir(parents=True, exist_ok=True)
        (self.docs / name).write_text(text, encoding="utf-8")

    def commit(self, subject: str = "A change") -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "work")


def history_of(repo: Repo, state: Path) -> GitHistory:
    state.mkdir(exist_ok=True)
    return history_in(state, repo.docs)


def history_in(state: Path, docs: Path, env: Mapping[str, str] = ENV) -> GitHistory:
    return GitHistory(state, docs, env, slug=lambda path: path.removesuffix(".md"))


def counted(repo: Repo, state: Path) -> dict[str, int]:
    history = history_of(repo, state)
    history.refresh(NEVER)
    return dict(history.counts.commits)


def test_commits_are_counted_through_renames_merges_and_deletions(repo: Repo, tmp_path: Path) -> None:
    repo.write("a ü.md", "# A\n\n" + "A long line of text. " * 9)
    repo.write("b.md", "# B\n\n" + "Another long line of text. " * 9)
    repo.write("c.txt", "no page")
    repo.commit("First: ü")
    repo.write("a ü.md", "# A\n\n" + "A long line of text. " * 9 + "More.")
    repo.commit()
    repo.git("mv", "docs/b.md", "docs/deep.md")
    repo.commit()
    repo.git("checkout", "-q", "-b", "side", "HEAD~1")
    repo.write("b.md", "# B\n\n" + "Another long line of text. " * 9 + "On the side.")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-edit", "side")
    assert counted(repo, tmp_path / "state") == {"a ü.md": 2, "deep.md": 4}  # the merge made new content
    repo.write("b.md", "# Quite another page\n")
    repo.git("rm", "-q", "docs/a ü.md")
    repo.commit()
    repo.write("a ü.md", "# Back\n")
    repo.commit()
    assert counted(repo, tmp_path / "state") == {"a ü.md": 4, "deep.md": 4, "b.md": 1}


def test_files_that_change_places_keep_their_own_counts(repo: Repo, tmp_path: Path) -> None:
    for name, word in (("a.md", "anchor "), ("b.md", "bollard ")):
        repo.write(name, word * 60)
    repo.commit()
    repo.write("a.md", "anchor " * 60 + "more")
    repo.commit()
    repo.git("mv", "docs/a.md", "docs/x.md")
    repo.git("mv", "docs/b.md", "docs/a.md")
    repo.git("mv", "docs/x.md", "docs/b.md")
    repo.commit()
    found = counted(repo, tmp_path / "state")
    assert sum(found.values()) == 5 and set(found) == {"a.md", "b.md"}


steps = st.lists(
    st.tuples(st.sampled_from(["edit", "rename", "delete", "branch", "merge"]), st.integers(0, 3)),
    min_size=2,
    max_size=7,
)


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(doing=steps)
def test_what_is_continued_commit_by_commit_is_what_one_pass_counts(
    tmp_path_factory: pytest.TempPathFactory, doing: list[tuple[str, int]]
) -> None:
    folder = tmp_path_factory.mktemp("history")
    repo = Repo(folder / "work")
    for number in range(4):
        repo.write(f"{number}.md", f"word{number} " * 60)
    repo.commit()
    going = folder / "going"
    for number, (step, at) in enumerate(doing):
        file = repo.docs / f"{at}.md"
        if step == "edit" and file.exists():
            file.write_text(f"{file.read_text()} step{number}")
        elif step == "rename" and file.exists():
            file.rename(repo.docs / f"renamed-{number}.md")
        elif step == "delete" and file.exists():
            file.unlink()
        elif step == "branch":
            repo.git("checkout", "-q", "-b", f"side{number}")
            repo.write(f"side{number}.md", f"side{number} " * 40)
            repo.commit()
            repo.git("checkout", "-q", "main")
        elif step == "merge":
            sides = [
                name for name in repo.git("branch", "--format=%(refname:short)").split() if name != "main"
            ]
            if sides:
                repo.git("merge", "-q", "--no-edit", sides[-1])
        repo.commit()
        counted(repo, going)
    assert counted(repo, going) == counted(repo, folder / "once")


def test_a_history_that_was_rewritten_is_counted_anew(repo: Repo, tmp_path: Path) -> None:
    for number in range(3):
        repo.write("a.md", f"text {number}")
        repo.commit()
    assert counted(repo, tmp_path / "state") == {"a.md": 3}
    repo.git("reset", "-q", "--hard", "HEAD~2")
    assert counted(repo, tmp_path / "state") == {"a.md": 1}


def test_nothing_is_known_without_a_repository_a_commit_or_the_whole_history(
    repo: Repo, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    assert find_repository(tmp_path / "plain", ENV) is None
    assert counted(repo, tmp_path / "state") == {}
    for number in range(3):
        repo.write("a.md", f"text {number}")
        repo.commit()
    subprocess.run(
        ["git", "clone", "-q", "--depth", "1", f"file://{repo.top}", str(tmp_path / "shallow")],
        env=dict(ENV),
        check=True,
        capture_output=True,
    )
    history = history_in(tmp_path / "state", tmp_path / "shallow" / "docs")
    assert not history.refresh(NEVER) and history.counts.commits == {}
    without_git = history_in(tmp_path / "none", repo.docs, {**ENV, "PATH": str(tmp_path / "plain")})
    (tmp_path / "none").mkdir()
    assert not without_git.refresh(NEVER) and without_git.counts.commits == {}


def test_a_linked_work_tree_has_its_own_head(repo: Repo, tmp_path: Path) -> None:
    repo.write("a.md", "one")
    repo.commit()
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "linked")
    repo.write("a.md", "two")
    repo.commit()
    linked = history_in(tmp_path, tmp_path / "linked" / "docs")
    assert linked.refresh(NEVER) and linked.counts.commits == {"a.md": 1}
    assert counted(repo, tmp_path) == {"a.md": 2}


def test_what_a_hostile_repository_names_is_not_run_and_nothing_is_written(
    repo: Repo, tmp_path: Path
) -> None:
    repo.write("a.md", "one\n")
    repo.commit()
    (repo.docs / ".gitattributes").write_text("*.md diff=evil filter=evil\n")
    repo.write("a.md", "two\n")
    repo.commit()
    trap, sprung = tmp_path / "trap.sh", tmp_path / "sprung"
    trap.write_text(f"#!/bin/sh\necho $0 >> {sprung}\ncat\n")
    trap.chmod(0o755)
    for key in (
        *("core.fsmonitor", "diff.external", "core.pager", "pager.log", "gpg.program", "core.editor"),
        *("diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge"),
        *("filter.evil.process", "core.sshCommand", "credential.helper", "core.alternateRefsCommand"),
    ):
        repo.git("config", key, str(trap))
    for key, value in (
        ("log.showSignature", "true"),
        ("core.hooksPath", str(tmp_path)),
        ("diff.relative", "true"),
    ):
        repo.git("config", key, value)
    hooks = repo.top / ".git" / "hooks"
    for hook in ("post-index-change", "reference-transaction", "post-checkout"):
        (hooks / hook).write_bytes(trap.read_bytes())
        (hooks / hook).chmod(0o755)
    sprung.unlink(missing_ok=True)
    repo.write("a.md", "three\n")  # a file that is not as committed is not asked about either
    before = _everything(repo.top / ".git")
    assert counted(repo, tmp_path / "state") == {"a.md": 2}
    assert not sprung.exists()
    assert _everything(repo.top / ".git") == before


def _everything(folder: Path) -> dict[str, tuple[int, int]]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file): (file.stat().st_mtime_ns, file.stat().st_size) for file in files}


def test_variables_of_git_itself_do_not_lead_elsewhere(repo: Repo, tmp_path: Path) -> None:
    repo.write("a.md", "one")
    repo.commit()
    elsewhere = {"GIT_DIR": str(tmp_path), "GIT_WORK_TREE": str(tmp_path), "GIT_INDEX_FILE": "x"}
    history = history_in(tmp_path, repo.docs, {**ENV, **elsewhere})
    assert history.refresh(NEVER) and history.counts.commits == {"a.md": 1}


def test_a_stopped_server_does_not_wait_for_git(repo: Repo, tmp_path: Path) -> None:
    repo.write("a.md", "one")
    repo.commit()
    slow = tmp_path / "bin"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec sleep 60\n")
    (slow / "git").chmod(0o755)
    stop = threading.Event()
    stop.set()
    history = history_in(tmp_path, repo.docs, {**ENV, "PATH": f"{slow}:{ENV['PATH']}"})
    assert not history.refresh(stop) and history.counts.commits == {}


def test_a_damaged_history_is_made_anew(repo: Repo, tmp_path: Path) -> None:
    repo.write("a.md", "one")
    repo.commit()
    history = history_of(repo, tmp_path)
    history.refresh(NEVER)
    history.file.write_bytes(b"noise" * 4_000)
    again = history_of(repo, tmp_path)
    again.refresh(NEVER)
    assert again.refresh(NEVER) or again.counts.commits == {"a.md": 1}


# Behind a server


@pytest.fixture
def wiki(tmp_path: Path) -> Iterator[LiveWiki]:
    (tmp_path / "vault").mkdir()
    made = LiveWiki(tmp_path, watch=True)
    yield made
    made.stop()


def version(wiki: LiveWiki, slug: str = "a") -> int:
    return int(wiki.call("get_page", slug=slug)["version"])


def vault_git(wiki: LiveWiki, *words: str) -> None:
    subprocess.run(["git", *words], cwd=wiki.vault, env=dict(ENV), check=True, capture_output=True)


def test_a_server_takes_over_git_s_numbers_and_no_citation_turns_stale(wiki: LiveWiki) -> None:
    vault_git(wiki, "init", "-q", "-b", "main")
    for number in range(4):
        wiki.write("a.md", f"# A\n\nText number {number} of the page.\n")
        vault_git(wiki, "add", "-A")
        vault_git(wiki, "commit", "-q", "-m", f"Change {number}")
    wiki.write("fixed.md", "---\nversion: 9\n---\n# Fixed\n\nText.\n")
    wiki.write("new.md", "# New\n\nText.\n")
    first = wiki.call("read_pages", slugs=["a", "new"])["pages"]
    cited = [text for page in first for text in (page["citation"]["uri"], page["citation"]["handle"])]
    until(lambda: version(wiki) == 4, "the versions of git are there")
    assert (version(wiki, "fixed"), version(wiki, "new")) == (9, 1)
    rows = wiki.call("list_stale_citations", verify=cited)["verified"]
    assert {row["status"] for row in rows} == {"current"}
    wiki.write("a.md", "# A\n\nText that is not committed.\n")
    assert version(wiki) == 5
    wiki.write("a.md", "# A\n\nText that is not committed either.\n")
    assert version(wiki) == 5
    changes = reading(wiki).recent_changes(reading(wiki).resolve("a"))
    assert [(c.version, c.author, c.subject) for c in changes[:2]] == [
        (5, "", "not committed yet"),
        (4, "Ann Öst", "Change 3"),
    ]
    assert all(change.at[:2] == "20" for change in changes) and len(changes) == 5
    vault_git(wiki, "commit", "-q", "-a", "-m", "Change 4")
    until(
        lambda: reading(wiki).recent_changes(reading(wiki).resolve("a"))[0].subject == "Change 4",
        "the commit",
    )
    assert version(wiki) == 5
    wiki.stop()
    until(lambda: version(wiki) == 5, "a restart has them from what is kept")
    wiki.write("a.md", "# A\n\nText number 3 of the page.\n")
    assert version(wiki) == 6


def reading(wiki: LiveWiki) -> Reading:
    return wiki.service.keeper.reading()


def test_a_subject_is_not_told_when_the_commit_touched_a_withheld_page(wiki: LiveWiki) -> None:
    vault_git(wiki, "init", "-q", "-b", "main")
    wiki.write("a.md", "# A\n\nText.\n")
    wiki.write("secret.md", "---\ndraft: true\n---\n# Secret\n")
    vault_git(wiki, "add", "-A")
    vault_git(wiki, "commit", "-q", "-m", "The merger is on")
    wiki.write("a.md", "# A\n\nMore text.\n")
    vault_git(wiki, "commit", "-q", "-a", "-m", "More text")
    until(lambda: version(wiki) == 2, "the versions of git are there")
    changes = reading(wiki).recent_changes(reading(wiki).resolve("a"))
    assert [(change.version, change.subject) for change in changes] == [(2, "More text"), (1, "")]
    told = recent_changes(reading(wiki), reading(wiki).resolve("a"), limit=5)
    assert [(change.author, change.subject) for change in told] == [
        ("Ann Öst", "More text"),
        ("Ann Öst", "content changed"),  # by a commit: not what the index saw first
    ]


def test_without_git_the_ledger_tells_of_changes(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=False)
    wiki.write("a.md", "# A\n\none\n")
    try:
        assert version(wiki) == 1
        wiki.write("a.md", "# A\n\ntwo\n")
        assert version(wiki) == 2
        changes = reading(wiki).recent_changes(reading(wiki).resolve("a"))
        assert [(change.version, change.author, change.subject) for change in changes] == [
            (2, "", ""),
            (1, "", ""),
        ]
        assert not list((tmp_path / "state").rglob("history-*"))
    finally:
        wiki.stop()


def test_line_ends_of_a_work_tree_on_windows_are_no_change(repo: Repo, tmp_path: Path) -> None:
    repo.write("a.md", "one\ntwo\n")
    repo.commit()
    history = history_of(repo, tmp_path)
    history.refresh(NEVER)
    assert content_hash(b"one\r\ntwo\r\n") in history.counts.committed["a.md"]
    assert content_hash(b"one\ntwo\n") in history.counts.committed["a.md"]
