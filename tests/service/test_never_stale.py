"""No answer is older than the moment it was asked for."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.index.live_wiki import LiveWiki, until
from wikimcp.errors import NotFound, Unavailable
from wikimcp.index.view import Reading
from wikimcp.models import ANONYMOUS, Caller


@pytest.fixture(params=[True, False], ids=["watched", "walked"])
def wiki(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveWiki]:
    live = LiveWiki(tmp_path, watch=request.param)
    for number in range(8):
        live.write(f"page-{number}.md", f"# Page {number}\n\nThe lantern of room {number}. Count 0.\n")
    live.slugs()
    yield live
    live.stop()


def test_a_page_that_newly_fits_is_in_the_very_next_answer(wiki: LiveWiki) -> None:
    for number in range(30):
        word = "osprey" + "".join(chr(ord("a") + int(digit)) for digit in str(number))
        wiki.write(f"page-{number % 8}.md", f"# Page\n\nNow of {word}.\n")
        assert wiki.found(word) == [f"page-{number % 8}"]


def test_a_new_a_renamed_and_a_deleted_page_are_seen_at_once(wiki: LiveWiki) -> None:
    for number in range(10):
        wiki.write(f"new/{number}.md", "# New\n\nA kestrel.\n")
        assert wiki.found("kestrel") == [f"new/{number}"]
        (wiki.vault / "new").rename(wiki.vault / "moved")
        assert wiki.found("kestrel") == [f"moved/{number}"]
        (wiki.vault / f"moved/{number}.md").unlink()
        (wiki.vault / "moved").rmdir()
        assert wiki.found("kestrel") == []
        assert f"moved/{number}" not in wiki.slugs()


def test_counts_lists_and_links_follow_at_once(wiki: LiveWiki) -> None:
    for number in range(10):
        wiki.write(
            "tagged.md", f"---\ntags: [mark{number}x]\ncluster: c{number}x\n---\nSee [[page-{number % 8}]].\n"
        )
        assert [tag["tag"] for tag in wiki.call("list_tags")["tags"]] == [f"mark{number}x"]
        assert [c["name"] for c in wiki.call("list_clusters")["clusters"]] == [f"c{number}x"]
        assert wiki.call("get_page", slug=f"page-{number % 8}")["backlinkCount"] == 1
        assert wiki.service.complete("page", "tag", "mark", Caller()) == [f"mark{number}x"]


@pytest.mark.parametrize("change", ["edited", "deleted", "withheld"])
def test_a_file_that_changes_while_an_answer_is_made_makes_it_again(wiki: LiveWiki, change: str) -> None:
    file = wiki.vault / "page-3.md"
    runs: list[str] = []

    def run(reading: Reading) -> str:
        page = reading.page("page-3")
        if page is None:
            runs.append("absent")
            return "absent"
        text = reading.text(page)
        runs.append(text)
        if len(runs) == 1:
            if change == "edited":
                file.write_text("# Page 3\n\nAnother lantern.\n", encoding="utf-8")
            elif change == "deleted":
                file.unlink()
            else:
                file.write_text(f"---\ndraft: true\n---\n{text}", encoding="utf-8")
        return text

    answer = wiki.service._read(ANONYMOUS, run)
    assert len(runs) == 2
    assert answer == ("# Page 3\n\nAnother lantern.\n" if change == "edited" else "absent")


def test_an_edit_elsewhere_while_an_answer_is_made_makes_it_again_where_it_is_watched(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=True)
    wiki.write("a.md", "# A\n\nOne.\n")
    totals: list[int] = []

    def run(reading: Reading) -> int:
        totals.append(len(reading.pages))
        if len(totals) == 1:
            wiki.write("b.md", "# B\n\nTwo.\n")
        return totals[-1]

    try:
        assert wiki.service._read(ANONYMOUS, run) == 2
    finally:
        wiki.stop()


def test_an_error_is_checked_too_before_it_leaves(tmp_path: Path) -> None:
    wiki = LiveWiki(tmp_path, watch=True)
    wiki.write("a.md", "# A\n\nOne.\n")

    def run(reading: Reading) -> str:
        if len(reading.pages) == 1:
            wiki.write("late.md", "# Late\n\nHere now.\n")
            reading.resolve("late")
        return reading.text(reading.resolve("late"))

    try:
        assert "Here now" in wiki.service._read(ANONYMOUS, run)
    finally:
        wiki.stop()


def test_no_answer_is_older_than_its_question_while_a_page_is_written_without_pause(wiki: LiveWiki) -> None:
    written = 0
    stop = threading.Event()
    faults: list[str] = []
    counts: list[int] = []

    def write() -> None:
        nonlocal written
        while not stop.is_set():
            text = f"# Page 5\n\nThe lantern of room 5. Count {written + 1}.\n"
            spare = wiki.vault / ".spare"
            spare.write_text(text, encoding="utf-8")
            spare.replace(wiki.vault / "page-5.md")
            written += 1
            stop.wait(0.004 if written % 4 else 0.15)

    def ask() -> None:
        for _ in range(12):
            before = written
            try:
                page = wiki.call("read_pages", slugs=["page-5"])["pages"][0]
            except Unavailable:
                continue
            if "content" not in page:
                assert "changing" in page["error"]
                continue
            counts.append(int(re.findall(r"Count (\d+)", page["content"])[0]))
            if counts[-1] < before:
                faults.append(f"{counts[-1]} is older than {before}")

    writer = threading.Thread(target=write)
    askers = [threading.Thread(target=ask) for _ in range(3)]
    writer.start()
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    stop.set()
    writer.join()
    assert faults == [] and counts
    assert f"Count {written}." in wiki.call("read_pages", slugs=["page-5"])["pages"][0]["content"]


def test_a_page_that_never_holds_still_is_left_out_and_the_rest_is_answered(wiki: LiveWiki) -> None:
    restless = wiki.vault / "page-5.md"
    turns = 0

    def run(reading: Reading) -> list[str]:
        nonlocal turns
        if any(page.slug == "page-5" for page in reading.pages):
            turns += 1
            restless.write_text(f"# Restless\n\nrestless {turns}\n", encoding="utf-8")
        return [reading.text(page) for page in reading.pages]

    assert len(wiki.service._read(ANONYMOUS, run)) == 7
    assert 2 <= turns <= 6


def test_a_page_that_changes_behind_each_look_is_answered_as_it_was_at_the_last(wiki: LiveWiki) -> None:
    restless = wiki.vault / "page-5.md"
    turns = 0

    def run(reading: Reading) -> list[str]:
        nonlocal turns
        shown = [reading.text(page) for page in reading.pages]
        turns += 1
        restless.write_text(f"# Restless\n\nrestless {turns}\n", encoding="utf-8")
        return shown

    shown = wiki.service._read(ANONYMOUS, run)
    assert len(shown) == 8
    assert f"# Restless\n\nrestless {turns - 1}\n" in shown
    assert f"restless {turns}" in wiki.call("read_pages", slugs=["page-5"])["pages"][0]["content"]


def test_many_threads_see_an_edit_that_one_of_them_learned_of(wiki: LiveWiki) -> None:
    for turn in range(10):
        word = "heron" + "".join(chr(ord("a") + int(digit)) for digit in str(turn))
        wiki.write("page-2.md", f"# Page 2\n\n{word}\n")
        found: list[list[str]] = []
        threads = [
            threading.Thread(target=lambda w=word, into=found: into.append(wiki.found(w))) for _ in range(5)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [["page-2"]] * 5


def test_a_resource_is_as_fresh_as_a_tool(wiki: LiveWiki) -> None:
    caller = Caller()
    for number in range(6):
        wiki.write("page-1.md", f"# Page 1\n\nText {number}.\n")
        assert f"Text {number}." in wiki.service.read_resource("wiki://page/page-1", caller)
        wiki.write("hot.md", f"# Hot\n\nHot {number}.\n")
        assert f"Hot {number}." in wiki.service.read_resource("wiki://hot", caller)
        (wiki.vault / "hot.md").unlink()
        assert "Edited last" in wiki.service.read_resource("wiki://hot", caller)
    (wiki.vault / "page-1.md").unlink()
    with pytest.raises(NotFound):
        wiki.service.read_resource("wiki://page/page-1", caller)


def test_a_touched_page_is_neither_read_twice_nor_taken_for_changed(wiki: LiveWiki) -> None:
    before = wiki.call("read_pages", slugs=["page-4"])
    for _ in range(3):
        (wiki.vault / "page-4.md").touch()
        after = wiki.call("read_pages", slugs=["page-4"])
        assert after["pages"] == before["pages"]
        assert after["index"]["generation"] == before["index"]["generation"]


def test_what_another_process_commits_is_taken_over_in_the_background(tmp_path: Path) -> None:
    first = LiveWiki(tmp_path, watch=True)
    first.write("a.md", "# A\n\nOne.\n")
    second = LiveWiki(tmp_path, watch=True)
    assert first.slugs() == second.slugs() == ["a"]
    told: list[int] = []
    second.service.keeper.on_change(lambda: told.append(1))
    first.write("b.md", "# B\n\nTwo.\n")
    assert first.slugs() == ["a", "b"]
    until(lambda: told, "the other process has it without being asked")
    first.stop()
    second.stop()
