"""Several processes serve one vault from one state directory: no process fails or waits for another."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.index.live_wiki import until
from tests.index.serving_process import Refused, ServingProcess, serving
from wikimcp.index.lock import ProcessLock

WORDS = ("barley", "quern", "lantern", "tidal", "valve", "ledger", "harbour", "sluice")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    root.mkdir()
    for number in range(12):
        (root / f"page-{number}.md").write_text(text_of(number, "first"), encoding="utf-8")
    return root


def text_of(number: int, mark: str) -> str:
    return f"# Page {number}\n\nThe {WORDS[number % len(WORDS)]} is {mark}.\n\nSee [[page-{number + 1}]].\n"


def marker(number: int) -> str:
    """Return a word of letters alone that stands nowhere else: digits would make an identifier of it."""
    return "zeb" + "".join(chr(ord("a") + int(digit)) for digit in str(number)) + "ra"


def several(stack: ExitStack, count: int, vault: Path, state: Path, **flags: object) -> list[ServingProcess]:
    processes = [stack.enter_context(serving(vault, state, **flags)) for _ in range(count)]
    for process in processes:
        process.started()
    return processes


def ready(processes: Sequence[ServingProcess]) -> None:
    for process in processes:
        until(partial(is_ready, process), lambda told=process.tell: f"a process is ready: {told('status')}")


def is_ready(process: ServingProcess) -> bool:
    return bool(process.tell("status")["index"]["state"] == "ready")


@pytest.mark.parametrize("count", [2, 4])
def test_the_index_is_made_once_and_used_by_all(tmp_path: Path, vault: Path, count: int) -> None:
    with ExitStack() as stack:
        processes = several(stack, count, vault, tmp_path / "state")
        ready(processes)
        assert len({process.tell("folder") for process in processes}) == 1
        assert len(list(Path(processes[0].tell("folder")).parent.glob("index-*"))) == 1
        for process in processes:
            assert process.found("barley")[0] == "page-0"
            assert process.tell("status")["files"]["indexed"] == 12


@pytest.mark.parametrize("watch", [True, False])
def test_an_edit_is_in_the_next_answer_of_every_process(tmp_path: Path, vault: Path, watch: bool) -> None:
    with ExitStack() as stack:
        processes = several(stack, 3, vault, tmp_path / "state", watch=watch)
        ready(processes)
        for number in range(6):
            (vault / f"page-{number}.md").write_text(text_of(number, marker(number)), encoding="utf-8")
            for process in processes[number % 3 :] + processes[: number % 3]:
                assert process.found(marker(number)) == [f"page-{number}"]
        assert {page: version for page, version in processes[0].tell("versions").items() if version == 2} == {
            f"page-{number}.md": 2 for number in range(6)
        }
        assert processes[0].tell("versions") == processes[2].tell("versions")


def test_a_page_set_to_draft_is_gone_from_every_process_at_its_next_call(tmp_path: Path, vault: Path) -> None:
    with ExitStack() as stack:
        processes = several(stack, 2, vault, tmp_path / "state")
        ready(processes)
        public = (vault / "page-3.md").read_text(encoding="utf-8")
        for _ in range(3):
            (vault / "page-3.md").write_text(f"---\ndraft: true\n---\n{public}", encoding="utf-8")
            assert all("page-3" not in process.found("tidal") for process in processes)
            (vault / "page-3.md").write_text(public, encoding="utf-8")
            assert all("page-3" in process.found("tidal") for process in processes)


def test_forty_searches_at_once_while_pages_change_fail_nowhere(tmp_path: Path, vault: Path) -> None:
    with ExitStack() as stack:
        processes = several(stack, 3, vault, tmp_path / "state")
        ready(processes)
        for turn in range(10):
            for process in processes:
                for word in WORDS[:4]:
                    process.send(ask="assemble_bundle", **{"with": {"query": f"{word} {marker(turn)}"}})
            page = vault / f"page-{turn}.md"
            page.write_text(text_of(turn, marker(turn)), encoding="utf-8")
            for process in processes:
                answers = [process.receive() for _ in WORDS[:4]]
                assert all(answer["sections"] for answer in answers)
        for process in processes:
            assert process.found(marker(9)) == ["page-9"]


def test_one_process_leads_and_another_takes_over_when_it_is_killed(tmp_path: Path, vault: Path) -> None:
    with ExitStack() as stack:
        processes = several(stack, 3, vault, tmp_path / "state")
        ready(processes)
        until(lambda: sum(p.tell("leads") for p in processes) == 1, "one leads")
        leader = next(process for process in processes if process.tell("leads"))
        others = [process for process in processes if process is not leader]
        leader.kill()
        until(lambda: sum(p.tell("leads") for p in others) == 1, "another leads")
        (vault / "new.md").write_text("# New\n\nA kestrel nests here.\n", encoding="utf-8")
        assert all(process.found("kestrel") == ["new"] for process in others)


def test_vectors_are_made_by_one_and_used_by_all(tmp_path: Path, vault: Path) -> None:
    with ExitStack() as stack:
        processes = several(stack, 2, vault, tmp_path / "state", embedder="wordllama")
        for process in processes:
            until(lambda p=process: p.tell("status")["index"]["dense"] == "ready", "vectors are there")
        (vault / "new.md").write_text("# New\n\nA kestrel nests here.\n", encoding="utf-8")
        for process in processes:
            until(lambda p=process: p.ask("list_pages")["index"]["pending"] == 0, "the new one too")
        folders = list((tmp_path / "state").glob("*/vectors/*/keys.u64"))
        assert len(folders) == 1
        assert folders[0].stat().st_size == 8 * 13


def test_servers_of_other_settings_keep_indexes_of_their_own_and_share_the_rest(
    tmp_path: Path, vault: Path
) -> None:
    (vault / "draft.md").write_text("---\ndraft: true\n---\n# Secret\n\nThe osprey.\n", encoding="utf-8")
    with ExitStack() as stack:
        (plain,) = several(stack, 1, vault, tmp_path / "state")
        (narrow,) = several(stack, 1, vault, tmp_path / "state", ignore=["page-1*.md"])
        ready([plain, narrow])
        folders = {plain.tell("folder"), narrow.tell("folder")}
        assert len(folders) == 2
        (vault / "page-2.md").write_text(text_of(2, "changed"), encoding="utf-8")
        for _ in range(3):
            assert plain.found("changed") == narrow.found("changed") == ["page-2"]
        assert {plain.tell("folder"), narrow.tell("folder")} == folders
        assert len(narrow.ask("list_pages", limit=200)["pages"]) == 9
        assert len(plain.ask("list_pages", limit=200)["pages"]) == 12
        assert plain.tell("versions")["page-2.md"] == narrow.tell("versions")["page-2.md"] == 2


def test_a_process_that_is_killed_at_any_moment_leaves_an_index_that_is_mended(
    tmp_path: Path, vault: Path
) -> None:
    chance = random.Random(7)
    marks = {}
    for turn in range(20):
        with serving(vault, tmp_path / "state") as process:
            process.started()
            for _ in range(chance.randint(0, 2)):
                number = chance.randrange(12)
                marks[number] = marker(turn * 100 + number)
                page = vault / f"page-{number}.md"
                page.write_text(text_of(number, marks[number]), encoding="utf-8")
                process.send(ask="assemble_bundle", **{"with": {"query": marks[number]}})
            pause_until(chance.random() * 0.25)
            process.kill()
    with serving(vault, tmp_path / "state") as process:
        process.started()
        ready([process])
        for number, mark in marks.items():
            assert process.found(mark) == [f"page-{number}"]
        assert len(process.ask("list_pages", limit=200)["pages"]) == 12
        process.end()


def pause_until(seconds: float) -> None:
    """Let a moment pass: which one is what the test tries out, not what it waits for."""
    deadline = time.monotonic() + seconds
    until(lambda: time.monotonic() > deadline, "time passes")


def test_a_lock_dies_with_its_folder_and_excludes_again_in_the_new_one(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    first, second = ProcessLock(folder / "write.lock"), ProcessLock(folder / "write.lock")
    assert first.acquire(timeout=0)
    assert not second.acquire(timeout=0.02)
    folder.rename(tmp_path / "gone")
    assert second.acquire(timeout=0)
    third = ProcessLock(folder / "write.lock")
    assert not third.acquire(timeout=0.02)
    second.release()
    assert third.acquire(timeout=1)
    third.release()
    first.release()
    assert not first.held


def test_a_lock_of_a_folder_that_was_made_anew_is_not_taken_for_the_one_that_counts(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    first, waiting, third = (ProcessLock(folder / "write.lock") for _ in range(3))
    assert first.acquire(timeout=0)
    taken = threading.Event()
    thread = threading.Thread(target=lambda: waiting.acquire(timeout=30) and taken.set())
    thread.start()
    until(lambda: waiting._mutex.locked(), "the other one waits")
    pause_until(0.05)
    folder.rename(tmp_path / "gone")
    assert third.acquire(timeout=1)
    first.release()
    pause_until(0.1)
    assert not taken.is_set()
    third.release()
    thread.join(30)
    assert taken.is_set()
    waiting.release()


def test_a_start_while_another_process_makes_the_first_index_says_so_and_then_answers(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(1_500):
        (vault / f"page-{number}.md").write_text(text_of(number, marker(number)), encoding="utf-8")
    with ExitStack() as stack:
        processes = several(stack, 2, vault, tmp_path / "state", **{"start.wait_seconds": 0.0})
        states = []
        for process in processes:
            process.send(ask="assemble_bundle", **{"with": {"query": marker(7)}})
        for process in processes:
            try:
                answer = process.receive()
                states.append(answer["index"]["state"])
                assert answer["sections"] or answer["index"]["state"] != "ready"
            except Refused as error:
                assert "the index is being built" in str(error)
                states.append("refused")
        assert len(states) == 2
        ready(processes)
        for process in processes:
            assert process.found(marker(7)) == ["page-7"]
        assert len({process.tell("folder") for process in processes}) == 1
        assert len(list(Path(processes[0].tell("folder")).parent.glob("index-*"))) == 1
