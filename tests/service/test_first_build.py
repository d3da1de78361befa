"""While the first index is made calls say so, with the progress; nothing waits that need not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.index.live_wiki import until
from wikimcp.app import build_service
from wikimcp.errors import Unavailable
from wikimcp.index.lock import ProcessLock
from wikimcp.index.state import StateDir
from wikimcp.models import Caller
from wikimcp.service import WikiService
from wikimcp.settings import Settings, load_settings

CALLER = Caller()


def settings_of(tmp_path: Path, **flags: object) -> Settings:
    vault = tmp_path / "vault"
    vault.mkdir(exist_ok=True)
    given = {"vault": str(vault), "state_dir": str(tmp_path / "state"), "embedder": "none", **flags}
    return load_settings(given, {})


def fill(tmp_path: Path, count: int) -> None:
    for number in range(count):
        (tmp_path / "vault" / f"page-{number:04d}.md").write_text(f"# Page {number}\n\nThe lantern burns.\n")


class OtherBuilder:
    """Another process that is making the index: it holds the lock and tells how far it is."""

    def __init__(self, settings: Settings) -> None:
        self.state = StateDir.open(settings.state_dir)
        self.lock = ProcessLock(self.state.root / "write.lock")
        assert self.lock.acquire(timeout=0)
        self.state.tell_progress(300, 1_000)

    def end(self) -> None:
        """Give up, as a process that dies does: its lock is free, its note stays."""
        self.lock.release()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_of(tmp_path, **{"start.wait_seconds": 0.0})


@pytest.fixture
def builder(settings: Settings) -> Iterator[OtherBuilder]:
    made = OtherBuilder(settings)
    yield made
    made.end()


@pytest.fixture
def waiting(settings: Settings, builder: OtherBuilder, tmp_path: Path) -> Iterator[WikiService]:
    fill(tmp_path, 20)
    service = build_service(settings)
    yield service
    service.close()


def test_tools_and_instructions_are_there_before_there_is_an_index(waiting: WikiService) -> None:
    assert "assemble_bundle" in [tool.name for tool in waiting.tools()]
    assert "assemble_bundle" in waiting.instructions
    assert waiting.prompts() and waiting.resource_templates()
    assert not waiting.ready()


def test_calls_tell_how_far_another_process_is_with_the_index(waiting: WikiService) -> None:
    for ask in (
        lambda: waiting.call("assemble_bundle", {"query": "lantern"}, CALLER),
        lambda: waiting.call("list_pages", {}, CALLER),
        lambda: waiting.resources(CALLER, None),
        lambda: waiting.read_resource("wiki://index", CALLER),
        lambda: waiting.complete("page", "slug", "p", CALLER),
        lambda: waiting.manifest(CALLER),
    ):
        with pytest.raises(Unavailable, match="being built: 300 of 1000 files so far.*Ask again"):
            ask()
    assert waiting.status(CALLER)["index"]["state"] == "building"


def test_when_the_other_process_is_gone_the_index_is_made_here(
    waiting: WikiService, builder: OtherBuilder
) -> None:
    builder.end()
    until(waiting.ready, "the index is made here")
    answer = waiting.call("list_pages", {}, CALLER).structured
    assert answer is not None
    assert (answer["total"], answer["index"]["state"]) == (20, "ready")


def test_one_that_waits_in_the_foreground_hears_of_the_progress_and_goes_on(
    settings: Settings, builder: OtherBuilder, tmp_path: Path
) -> None:
    fill(tmp_path, 20)
    service = build_service(settings, background=False)
    heard: list[tuple[str, int, int]] = []
    thread = threading.Thread(
        target=service.wait_ready, args=("none", lambda *told: heard.append(told)), daemon=True
    )
    thread.start()
    until(lambda: ("reading", 300, 1_000) in heard, "the progress is told")
    builder.end()
    thread.join(60)
    assert service.ready()
    service.close()


def test_the_first_pages_answer_before_the_last_ones_are_read(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    fill(tmp_path, 2_300)
    service = build_service(settings)
    states: list[str] = []

    def look() -> bool:
        try:
            answer = service.call("retrieve_context", {"query": "lantern", "max_pages": 1}, CALLER).structured
        except Unavailable as error:
            assert "being built" in str(error)
            states.append("refused")
            return False
        assert answer is not None and answer["pages"]
        state = answer["index"]["state"]
        if state == "building":
            assert answer["index"]["pages"] == 2_000
            assert any("the index is being built" in note for note in answer["notes"])
        states.append(state)
        return state == "ready"

    until(look, "the index is whole")
    assert answer_total(service) == 2_300
    assert states[-1] == "ready" and states == sorted(states, key=("refused", "building", "ready").index)
    service.close()


def answer_total(service: WikiService) -> int:
    answer = service.call("list_pages", {"limit": 1}, CALLER).structured
    assert answer is not None
    return int(answer["total"])


def test_edits_made_during_the_first_build_are_not_lost(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    fill(tmp_path, 700)
    service = build_service(settings)
    vault = tmp_path / "vault"
    for number in range(0, 700, 70):
        (vault / f"page-{number:04d}.md").write_text(f"# Page\n\nA kestrel of {number}.\n")
    (vault / "page-0001.md").unlink()
    (vault / "late.md").write_text("# Late\n\nA kestrel too.\n")
    until(service.ready, "the index is whole")
    answer = service.call("retrieve_context", {"query": "kestrel", "max_pages": 20}, CALLER).structured
    assert answer is not None
    assert answer["totalMatched"] == 11
    assert answer_total(service) == 700
    service.close()


def test_a_service_that_is_closed_while_it_builds_leaves_no_thread_waiting(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    fill(tmp_path, 400)
    service = build_service(settings)
    service.close()
    service.close()
    again = build_service(settings)
    until(again.ready, "another makes the index")
    assert answer_total(again) == 400
    again.close()
