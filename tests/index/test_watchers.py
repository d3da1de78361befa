"""A watcher tells, at the next drain, of everything that happened before it."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.index.live_wiki import until
from wikimcp.index.inotify import InotifyWatcher
from wikimcp.index.moves import Moves, Watcher
from wikimcp.index.watch import LibraryWatcher, watch_folder

MEMBERS: list[Callable[[Path], Watcher]] = [LibraryWatcher]
if sys.platform == "linux":
    MEMBERS.append(InotifyWatcher)

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="inotify is of Linux")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    (root / "deep" / "er").mkdir(parents=True)
    (root / "a.md").write_text("a")
    (root / "deep" / "er" / "b.md").write_text("b")
    return root


@pytest.fixture(params=MEMBERS, ids=lambda member: member.__name__)
def watcher(request: pytest.FixtureRequest, vault: Path) -> Iterator[Watcher]:
    member: Watcher = request.param(vault)
    yield member
    member.close()


@pytest.fixture
def inotify(vault: Path) -> Iterator[InotifyWatcher]:
    if sys.platform != "linux":
        pytest.skip("inotify is of Linux")
    member = InotifyWatcher(vault)
    yield member
    member.close()


def drained(watcher: Watcher, told: Callable[[Moves], object]) -> Moves:
    """Drain until what came in so far tells of something: a library's thread may lag behind."""
    moves = Moves()

    def look() -> object:
        moves.take(watcher.drain())
        return told(moves)

    until(look, "the watcher tells of it")
    return moves


def test_an_edited_page_is_told(watcher: Watcher, vault: Path) -> None:
    (vault / "deep" / "er" / "b.md").write_text("bb")
    moves = drained(watcher, lambda m: m.pages)
    assert moves.pages == {"deep/er/b.md"}
    assert watcher.healthy


def test_new_replaced_moved_and_deleted_pages_are_told_under_all_their_names(
    watcher: Watcher, vault: Path
) -> None:
    (vault / "new.md").write_text("n")
    (vault / ".tmp-1").write_text("x")
    os.replace(vault / ".tmp-1", vault / "a.md")
    (vault / "deep" / "er" / "b.md").rename(vault / "moved.md")
    (vault / "new.md").unlink()
    wanted = {"new.md", "a.md", "deep/er/b.md", "moved.md"}
    assert drained(watcher, lambda m: wanted <= m.pages or m.folders).pages <= wanted


def test_a_folder_that_comes_goes_or_moves_asks_for_a_walk(watcher: Watcher, vault: Path) -> None:
    (vault / "deep").rename(vault / "high")
    drained(watcher, lambda m: m.folders)
    (vault / "fresh" / "er").mkdir(parents=True)
    drained(watcher, lambda m: m.folders)
    shutil.rmtree(vault / "high")
    drained(watcher, lambda m: m.folders)


def test_pages_in_new_and_renamed_folders_are_told_afterwards(watcher: Watcher, vault: Path) -> None:
    (vault / "deep").rename(vault / "high")
    (vault / "fresh" / "er").mkdir(parents=True)
    drained(watcher, lambda m: m.folders)
    (vault / "high" / "er" / "b.md").write_text("after the move")
    (vault / "fresh" / "er" / "c.md").write_text("c")
    assert drained(watcher, lambda m: len(m.pages) >= 2).pages >= {"high/er/b.md", "fresh/er/c.md"}


def test_what_lies_below_dot_folders_is_nothing_but_the_vaults_own_settings(
    watcher: Watcher, vault: Path
) -> None:
    (vault / ".git").mkdir()
    (vault / ".git" / "note.md").write_text("x")
    (vault / ".obsidian").mkdir()
    drained(watcher, lambda m: m.folders)
    (vault / ".obsidian" / "workspace.md").write_text("x")
    (vault / ".git" / "other.md").write_text("x")
    (vault / "a.md").write_text("mark")
    assert drained(watcher, lambda m: m.pages).pages == {"a.md"}
    (vault / ".obsidian" / "app.json").write_text("{}")
    assert drained(watcher, lambda m: m.folders).pages <= {"a.md"}


def test_a_folder_named_like_a_page_asks_for_a_walk(watcher: Watcher, vault: Path) -> None:
    (vault / "odd.md").mkdir()
    drained(watcher, lambda m: m.folders)
    (vault / "odd.md" / "inner.md").write_text("x")
    assert "odd.md/inner.md" in drained(watcher, lambda m: "odd.md/inner.md" in m.pages).pages


def test_other_files_are_told_apart_from_pages(watcher: Watcher, vault: Path) -> None:
    (vault / "map.png").write_bytes(b"1")
    moves = drained(watcher, lambda m: m.others or m.folders)
    assert not moves.pages


def test_a_closed_watcher_is_not_healthy_and_tells_nothing(watcher: Watcher, vault: Path) -> None:
    watcher.close()
    watcher.close()
    (vault / "a.md").write_text("x")
    assert not watcher.healthy and not watcher.drain()


def test_the_loss_of_the_watched_folder_is_noticed(watcher: Watcher, vault: Path) -> None:
    vault.rename(vault.with_name("elsewhere"))
    until(lambda: not (watcher.drain() and watcher.healthy) and not watcher.healthy, "it is not healthy")


@linux_only
def test_every_edit_is_in_the_very_next_drain_however_busy_the_machine(
    inotify: InotifyWatcher, vault: Path
) -> None:
    stop = threading.Event()
    busy = [threading.Thread(target=lambda: [None for _ in iter(stop.is_set, True)]) for _ in range(4)]
    for thread in busy:
        thread.start()
    try:
        for number in range(300):
            (vault / "deep" / "er" / f"{number % 7}.md").write_text(str(number))
            assert f"deep/er/{number % 7}.md" in inotify.drain().pages
    finally:
        stop.set()
        for thread in busy:
            thread.join()


@linux_only
def test_content_alone_does_not_make_other_files_come_or_go(inotify: InotifyWatcher, vault: Path) -> None:
    (vault / "map.png").write_bytes(b"1")
    assert inotify.drain().others
    (vault / "map.png").write_bytes(b"22")
    assert not inotify.drain()


@linux_only
def test_ignored_folders_cost_no_watch(inotify: InotifyWatcher, vault: Path) -> None:
    (vault / "node_modules" / "left").mkdir(parents=True)
    (vault / ".git" / "objects").mkdir(parents=True)
    assert not inotify.drain()
    (vault / "node_modules" / "left" / "README.md").write_text("x")
    assert not inotify.drain()


@linux_only
def test_a_queue_that_overflows_asks_for_a_walk(inotify: InotifyWatcher, vault: Path) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 100_000:
        pytest.skip(f"this machine queues {most} events")
    first, second = vault / "a.md", vault / "deep" / "er" / "b.md"
    for _ in range(most // 2 + 10):  # two files in turn: equal events in a row are one
        os.utime(first)
        os.utime(second)
    assert inotify.drain().folders
    first.write_text("after")
    assert "a.md" in inotify.drain().pages


@linux_only
def test_a_link_to_a_folder_elsewhere_is_watched_once_it_is_known_to_hold_pages(
    inotify: InotifyWatcher, vault: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (vault / "linked").symlink_to(tmp_path / "elsewhere")
    inotify.drain()
    assert inotify.cover({"linked", "deep"})
    assert not inotify.cover({"linked", "deep"})
    (tmp_path / "elsewhere" / "x.md").write_text("x")
    assert inotify.drain().pages == {"linked/x.md"}
    (vault / "linked").unlink()
    assert inotify.drain().folders


def test_a_folder_that_is_not_there_cannot_be_watched(tmp_path: Path) -> None:
    assert watch_folder(tmp_path / "nowhere") is None
