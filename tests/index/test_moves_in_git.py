"""Pages that were renamed in git: found by the names they had, and counted on, committed or not."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.index.live_wiki import LiveWiki, until
from tests.index.test_git_history import ENV, NEVER, Repo, history_in
from wikimcp.index.view import Reading
from wikimcp.markdown.identity import derived_id

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

LONG = "A long line of text that fills the page. " * 9


@pytest.fixture
def wiki(tmp_path: Path) -> Iterator[LiveWiki]:
    made = LiveWiki(tmp_path, watch=True)
    git(made, "init", "-q", "-b", "main")
    yield made
    made.stop()


def git(wiki: LiveWiki, *words: str) -> None:
    subprocess.run(["git", *words], cwd=wiki.vault, env=dict(ENV), check=True, capture_output=True)


def commit(wiki: LiveWiki) -> None:
    git(wiki, "add", "-A")
    git(wiki, "commit", "-q", "--allow-empty", "-m", "A change")


def edited(wiki: LiveWiki, name: str, times: int) -> None:
    for number in range(times):
        wiki.write(f"{name}.md", f"# Page\n\n{LONG}\n\nWord{number}.\n")
        commit(wiki)


def reading(wiki: LiveWiki) -> Reading:
    return wiki.service.keeper.reading()


def version(wiki: LiveWiki, slug: str) -> int:
    return int(wiki.call("get_page", slug=slug)["version"])


def verdicts(wiki: LiveWiki, *cited: str) -> list[tuple[str, str]]:
    rows = wiki.call("list_stale_citations", verify=list(cited))["verified"]
    return [(row["status"], row.get("movedTo", {}).get("slug", "")) for row in rows]


def test_a_state_that_never_saw_the_old_name_knows_it_from_git(wiki: LiveWiki) -> None:
    edited(wiki, "old name", 2)
    git(wiki, "mv", "old name.md", "middle.md")
    commit(wiki)
    wiki.write("sub/x.md", "# X\n")
    git(wiki, "mv", "middle.md", "sub/new.md")
    commit(wiki)
    wiki.write("middle.md", "# Quite another page\n")
    commit(wiki)
    until(lambda: version(wiki, "sub/new") == 4, "the versions of git are there")
    cited = [f"cite://{derived_id('old name')}?v=1", "old name @ 2", f"cite://{derived_id('middle')}"]
    assert verdicts(wiki, *cited) == [("moved", "sub/new"), ("moved", "sub/new"), ("current", "")]
    assert verdicts(wiki, "never @ 1", f"cite://{derived_id('never')}") == [("target_missing", "")] * 2
    assert wiki.call("get_page_by_id", id=derived_id("old name"))["slug"] == "sub/new"


def test_a_page_is_known_by_the_id_it_had_before_it_declared_one(wiki: LiveWiki) -> None:
    wiki.write("a.md", "---\nid: OWN\n---\n# A\n\nText.\n")
    assert verdicts(wiki, f"cite://{derived_id('a')}", "cite://OWN") == [("moved", "a"), ("current", "")]


def test_a_withheld_page_is_not_found_under_an_old_name_either(wiki: LiveWiki) -> None:
    edited(wiki, "open", 1)
    git(wiki, "mv", "open.md", "shut.md")
    wiki.write("shut.md", f"---\ndraft: true\n---\n# Page\n\n{LONG}\n\nWord0.\n")
    commit(wiki)
    wiki.write("other.md", "# Other\n")
    commit(wiki)
    until(lambda: wiki.service.keeper.store.history.counts.moved, "git is read")  # type: ignore[union-attr]
    assert verdicts(wiki, "open @ 1", f"cite://{derived_id('open')}") == [("target_missing", "")] * 2


def test_a_move_that_is_not_committed_goes_on_from_the_old_count(wiki: LiveWiki) -> None:
    edited(wiki, "a", 5)
    until(lambda: version(wiki, "a") == 5, "the versions of git are there")
    git(wiki, "mv", "a.md", "b.md")
    until(lambda: reading(wiki).moved_slug("a") is not None, "the move is seen")
    assert version(wiki, "b") == 6
    changes = reading(wiki).recent_changes(reading(wiki).resolve("b"))
    assert [change.version for change in changes] == [6, 5, 4, 3, 2, 1]
    assert [change.subject for change in changes[:2]] == ["not committed yet", "A change"]
    wiki.write("b.md", f"# Page\n\n{LONG}\n\nAnother word.\n")
    assert version(wiki, "b") == 6
    assert verdicts(wiki, "a @ 5", "b @ 6", "b @ 7") == [("moved", "b"), ("current", ""), ("stale", "")]
    commit(wiki)
    history = wiki.service.keeper.store.history
    until(lambda: history is not None and history.counts.commits.get("b.md") == 6, "the commit is seen")
    assert version(wiki, "b") == 6


def test_a_state_that_is_new_sees_a_move_that_is_not_committed_by_its_content(wiki: LiveWiki) -> None:
    edited(wiki, "a", 3)
    wiki.write("twin.md", (wiki.vault / "a.md").read_text("utf-8"))
    commit(wiki)
    wiki.write("copy.md", (wiki.vault / "a.md").read_text("utf-8"))  # its original is still there
    (wiki.vault / "deep").mkdir()
    git(wiki, "mv", "a.md", "deep/a.md")
    until(lambda: version(wiki, "deep/a") == 4, "the versions of git are there")
    assert (version(wiki, "copy"), version(wiki, "twin")) == (1, 1)
    assert verdicts(wiki, "a @ 3", f"cite://{derived_id('a')}") == [("moved", "deep/a")] * 2


def test_a_page_that_goes_back_has_its_count_back(wiki: LiveWiki) -> None:
    edited(wiki, "a", 2)
    until(lambda: version(wiki, "a") == 2, "the versions of git are there")
    git(wiki, "mv", "a.md", "b.md")
    until(lambda: "b" in wiki.slugs() and version(wiki, "b") == 3, "the move is seen")
    git(wiki, "mv", "b.md", "a.md")
    until(lambda: "a" in wiki.slugs() and version(wiki, "a") == 2, "the way back is seen")
    assert not wiki.service.keeper.store.snapshot.moves  # type: ignore[union-attr]


def test_the_history_of_a_file_goes_on_when_it_is_moved_into_the_vault_and_out_of_it(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "work")
    (repo.top / "drafts").mkdir()
    for number in range(3):
        (repo.top / "drafts" / "a.MD").write_text(f"# A\n\n{LONG}\n\n{number}\n", "utf-8")
        repo.commit(f"Draft {number}")
    (repo.top / "README.md").write_text("# Read me\n", "utf-8")
    repo.write("secret.md", f"# Secret\n\n{LONG[::-1]}\n")
    repo.commit("With a readme")
    repo.git("mv", "drafts/a.MD", "docs/a.md")
    (repo.top / "README.md").write_text("# Read me twice\n", "utf-8")
    repo.commit("Taken over")
    state = tmp_path / "state"
    state.mkdir()
    going = history_in(state, repo.docs)
    assert going.refresh(NEVER) and going.counts.commits == {"a.md": 4, "secret.md": 1}
    assert going.counts.moved == {}  # a place outside of the vault is no name of a page
    newest, *older = going.touches("a.md", limit=9)
    assert (newest.subject, newest.paths) == ("Taken over", ("a.md",))
    assert [touch.subject for touch in older] == ["Draft 2", "Draft 1", "Draft 0"]
    repo.git("mv", "docs/secret.md", "drafts/secret.md")
    repo.write("a.md", f"# A\n\n{LONG}\n\nlast\n")
    repo.commit("One out")
    assert going.refresh(NEVER) and going.counts.commits == {"a.md": 5}
    # A page that has left still counts among those that a commit touched: it may have been withheld.
    assert set(going.touches("a.md", limit=1)[0].paths) == {"a.md", "/drafts/secret.md"}
    once = tmp_path / "once"
    once.mkdir()
    again = history_in(once, repo.docs)
    assert again.refresh(NEVER) and again.counts == going.counts


def test_a_short_look_continues_a_history_and_does_not_begin_one(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "work")
    repo.write("a.md", "one")
    repo.commit()
    assert not history_in(tmp_path, repo.docs).refresh(NEVER, seconds=1.0)
    assert history_in(tmp_path, repo.docs).refresh(NEVER, seconds=5.0)
    repo.write("a.md", "two")
    repo.commit()
    later = history_in(tmp_path, repo.docs)
    assert later.refresh(NEVER, seconds=1.0) and later.counts.commits == {"a.md": 2}


def test_a_history_that_took_too_long_is_left_to_those_with_more_time(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "work")
    repo.write("a.md", "one")
    repo.commit()
    slow, ran = tmp_path / "bin", tmp_path / "ran"
    slow.mkdir()
    (slow / "git").write_text(f"#!/bin/sh\necho >> '{ran}'\nexit 3\n", "utf-8")
    (slow / "git").chmod(0o755)
    failing = {**ENV, "PATH": f"{slow}:{ENV['PATH']}"}
    assert not history_in(tmp_path, repo.docs, failing).refresh(NEVER, seconds=5.0)
    assert not history_in(tmp_path, repo.docs, failing).refresh(NEVER, seconds=5.0)
    assert ran.read_text("utf-8") == "\n"  # not a second time
    assert history_in(tmp_path, repo.docs).refresh(NEVER)
    repo.write("a.md", "two")
    repo.commit()
    assert history_in(tmp_path, repo.docs).refresh(NEVER, seconds=5.0)


def test_where_head_has_not_moved_no_git_is_run(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "work")
    repo.write("a.md", "one")
    repo.commit()
    assert history_in(tmp_path, repo.docs).refresh(NEVER)
    nowhere = history_in(tmp_path, repo.docs, {**ENV, "PATH": str(tmp_path)})
    assert nowhere.refresh(NEVER) and nowhere.counts.commits == {"a.md": 1}
