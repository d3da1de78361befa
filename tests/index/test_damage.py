"""An index that is damaged, torn or gone is noticed and made anew; answers are never empty because of it."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.index.index_facts import index_of
from tests.index.live_wiki import LiveWiki, until
from wikimcp.app import open_lexical
from wikimcp.index.lock import ProcessLock
from wikimcp.index.state import StateDir
from wikimcp.index.store import IndexStore
from wikimcp.lexical.tantivy import TantivyIndex
from wikimcp.models import Caller
from wikimcp.ports import AnalyzedPage, LexicalIndex, LexicalSearcher, PageAnalysis
from wikimcp.vaults.detect import detect

PAGES = 40


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    root.mkdir()
    for number in range(PAGES):
        text = f"# Page {number}\n\n{word(number)} stands here. See [[page-{number + 1}]].\n"
        (root / f"page-{number}.md").write_text(text, encoding="utf-8")
    return root


def word(number: int) -> str:
    return "quern" + "".join(chr(ord("a") + int(digit)) for digit in str(number))


@pytest.fixture
def wiki(tmp_path: Path, vault: Path) -> Iterator[LiveWiki]:
    live = LiveWiki(tmp_path, watch=False, embedder="wordllama")
    assert live.vault == vault
    assert holds(live, word(7)) == ["page-7"]
    live.write("page-3.md", f"# Page 3\n\n{word(3)} was changed.\n")
    assert live.call("get_page", slug="page-3")["version"] == 2
    yield live
    live.stop()


def holds(wiki: LiveWiki, query: str) -> list[str]:
    """Return the pages that hold a word, by the lexical index alone."""
    return wiki.found(query, mode="lexical")


def folder_of(wiki: LiveWiki) -> tuple[Path, Path]:
    """Return the state folder and the current index folder in it."""
    (state,) = (path for path in wiki.state.iterdir() if path.is_dir())
    (pointer,) = state.glob("current-*")
    return state, state / pointer.read_text(encoding="ascii").strip()


def all_is_right(wiki: LiveWiki) -> None:
    for number in (0, 7, PAGES - 1):
        assert holds(wiki, word(number)) == [f"page-{number}"]
        assert wiki.found(word(number))[0] == f"page-{number}"
    assert len(wiki.slugs()) == PAGES
    assert wiki.call("get_page", slug="page-3")["version"] == 2
    assert wiki.call("get_page", slug="page-8")["backlinkCount"] == 1
    assert wiki.service.status(Caller())["index"]["state"] == "ready"


def cut(path: Path, share: float) -> None:
    os.truncate(path, int(path.stat().st_size * share))


def fill_with_noise(path: Path, start: float, end: float) -> None:
    size = path.stat().st_size
    first, last = int(size * start), int(size * end)
    with path.open("r+b") as file:
        file.seek(first)
        file.write(random.Random(5).randbytes(last - first))


Harm = Callable[[Path, Path], object]
HARMS: dict[str, Harm] = {
    "catalog cut in half": lambda _, index: cut(index / "catalog.sqlite", 0.5),
    "catalog cut by a little": lambda _, index: cut(index / "catalog.sqlite", 0.97),
    "catalog header overwritten": lambda _, index: fill_with_noise(index / "catalog.sqlite", 0, 0.01),
    "catalog overwritten in the middle": lambda _, index: fill_with_noise(
        index / "catalog.sqlite", 0.3, 0.95
    ),
    "catalog empty": lambda _, index: cut(index / "catalog.sqlite", 0),
    "catalog a folder": lambda _, index: as_folder(index / "catalog.sqlite"),
    "no index folder": lambda _, index: shutil.rmtree(index),
    "pointer of noise": lambda state, _: next(state.glob("current-*")).write_bytes(b"\xff\xfe\x00"),
    "pointer out of the folder": lambda state, _: next(state.glob("current-*")).write_text("index-/../../x"),
    "lexical generation of another catalog": lambda _, index: other_generation(index),
    "one half of the lexical index gone": lambda _, index: shutil.rmtree(index / "lexical" / "pages"),
    "lexical segments cut": lambda _, index: each(index / "lexical" / "chunks", lambda f: cut(f, 0.3)),
    "lexical segments gone": lambda _, index: each(index / "lexical" / "chunks", Path.unlink),
    "lexical terms overwritten": lambda _, index: each(
        index / "lexical" / "pages", lambda f: fill_with_noise(f, 0, 0.9), ".term"
    ),
    "keys cut": lambda state, _: cut(vectors(state) / "keys.u64", 0.53),
    "rows cut": lambda state, _: cut(vectors(state) / "rows.f32", 0.41),
    "tokens cut": lambda state, _: cut(vectors(state) / "tokens.u16", 0.2),
    "ends overwritten": lambda state, _: fill_with_noise(vectors(state) / "ends.i64", 0.2, 0.7),
    "all vectors gone": lambda state, _: shutil.rmtree(vectors(state)),
    "rows alone gone": lambda state, _: (vectors(state) / "rows.f32").unlink(),
}


def as_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def other_generation(index: Path) -> None:
    with sqlite3.connect(index / "catalog.sqlite") as connection:
        connection.execute("UPDATE meta SET value='7' WHERE key='generation'")
    connection.close()


def each(folder: Path, harm: Callable[[Path], object], *suffixes: str) -> None:
    for file in folder.iterdir():
        if file.suffix in (suffixes or (".idx", ".term", ".fast", ".fieldnorm", ".pos", ".store")):
            harm(file)


def vectors(state: Path) -> Path:
    (folder,) = (state / "vectors").iterdir()
    return folder


@pytest.mark.parametrize("harm", HARMS)
def test_what_was_damaged_while_nothing_ran_is_right_after_the_start(wiki: LiveWiki, harm: str) -> None:
    wiki.stop()
    HARMS[harm](*folder_of(wiki))
    all_is_right(wiki)
    assert wiki.call("list_pages")["index"]["pending"] == 0
    wiki.write("page-9.md", f"# Page 9\n\n{word(99)} is new.\n")
    assert holds(wiki, word(99)) == ["page-9"]
    wiki.stop()
    all_is_right(wiki)


RUNNING = [harm for harm in HARMS if "catalog" in harm and "cut" not in harm] + [
    "no index folder",
    "all vectors gone",
]


@pytest.mark.parametrize("harm", RUNNING)
def test_what_is_damaged_under_a_running_server_is_made_anew(wiki: LiveWiki, harm: str) -> None:
    HARMS[harm](*folder_of(wiki))
    wiki.write("page-5.md", f"# Page 5\n\n{word(55)} is new.\n")
    until(lambda: asked(wiki, word(55)) == ["page-5"], "the edit is found")
    until(lambda: asked(wiki, word(7)) == ["page-7"], "so is all else")
    assert len(wiki.slugs()) == PAGES


@pytest.mark.parametrize("cell", ["links", "sections", "traits", "frontmatter"])
def test_what_only_reading_brings_to_light_is_mended_within_the_call(wiki: LiveWiki, cell: str) -> None:
    wiki.stop()
    wiki = LiveWiki(wiki.vault.parent, watch=True)  # where nothing moves, nothing but the reading tells
    _, index = folder_of(wiki)
    wiki.write("page-9.md", f"---\nstatus: open\n---\n# Page 9\n\n{word(9)} stands here. See [[page-10]].\n")
    assert wiki.call("list_pages")["total"] == PAGES
    with sqlite3.connect(index / "catalog.sqlite") as connection:
        connection.execute(f"UPDATE bodies SET {cell} = substr({cell}, 1, 5) WHERE {cell} <> ''")
    connection.close()
    assert holds(wiki, word(7)) == ["page-7"]
    assert wiki.call("get_page", slug="page-8")["backlinkCount"] == 1
    assert wiki.call("list_metadata_values", field="status")["values"]
    assert wiki.call("list_pages")["total"] == PAGES
    wiki.stop()


def asked(wiki: LiveWiki, query: str) -> list[str] | None:
    """Ask; None while the index is being made anew."""
    try:
        return holds(wiki, query)
    except Exception as error:
        assert "index" in str(error), error
        return None


def test_a_state_folder_removed_under_a_running_server_is_made_anew(wiki: LiveWiki) -> None:
    wiki.state.rename(wiki.state.with_name("gone"))
    wiki.write("page-5.md", f"# Page 5\n\n{word(55)} is new.\n")
    until(lambda: asked(wiki, word(55)) == ["page-5"], "the edit is found")
    assert len(wiki.slugs()) == PAGES
    assert list(wiki.state.glob("*/current-*"))


def test_a_damaged_ledger_is_kept_aside_told_of_and_versions_do_not_go_back(wiki: LiveWiki) -> None:
    wiki.stop()
    state, _ = folder_of(wiki)
    (state / "ledger.sqlite").write_bytes(os.urandom(4_096))
    for beside in ("ledger.sqlite-wal", "ledger.sqlite-shm"):
        (state / beside).unlink(missing_ok=True)
    wiki.write("page-3.md", f"# Page 3\n\n{word(3)} was changed again.\n")
    assert wiki.call("get_page", slug="page-3")["version"] == 3
    assert wiki.call("get_page", slug="page-7")["version"] == 1
    assert (state / "ledger.sqlite.bad-1").exists()
    status = wiki.service.status(Caller(operator=True))
    assert any("ledger.sqlite.bad-1" in note for note in status["notes"])
    assert status["index"]["state"] == "ready"


class Halfway:
    """A lexical index whose writes stop after their commit until they are let on, or end there."""

    def __init__(self, folder: Path) -> None:
        self.inner = TantivyIndex(folder)
        self.committed, self.let_on = threading.Event(), threading.Event()
        self.dies, self.worn = False, 0.0

    @property
    def analysis(self) -> PageAnalysis:
        """Return that of the index inside."""
        return self.inner.analysis

    def write(
        self, *, generation: int, removed: Iterable[int], added: Iterable[AnalyzedPage], fresh: bool = False
    ) -> None:
        self.inner.write(generation=generation, removed=removed, added=added, fresh=fresh)
        if fresh:
            return
        self.committed.set()
        if self.dies:
            raise KeyboardInterrupt  # as abrupt as an end of the process: nobody handles it
        assert self.let_on.wait(30)

    def waste(self) -> float:
        """Return what the test says it is."""
        return self.worn

    def searcher(self) -> LexicalSearcher:
        return self.inner.searcher()

    def close(self) -> None:
        self.inner.close()


def halfway_store(vault: Path, state: Path) -> tuple[IndexStore, list[Halfway]]:
    opened: list[Halfway] = []

    def open_halfway(folder: Path) -> LexicalIndex:
        opened.append(Halfway(folder))
        return opened[-1]

    store = IndexStore(
        adapter=detect(vault),
        state=StateDir.open(state),
        open_lexical=open_halfway,
        fingerprint={"hidden": "False"},
    )
    return store, opened


def test_a_reader_that_meets_a_writer_between_its_commits_waits_and_rebuilds_nothing(
    tmp_path: Path, vault: Path
) -> None:
    writer, opened = halfway_store(vault, tmp_path / "state")
    writer.refresh()
    reader = index_of(vault, tmp_path / "state")
    assert reader.open()
    folder = reader.state.current(reader.key)
    (vault / "page-1.md").write_text("# Page 1\n\nosprey\n", encoding="utf-8")
    writing = threading.Thread(target=writer.refresh, args=(["page-1.md"],))
    writing.start()
    assert opened[-1].committed.wait(30)
    reader.sync()
    late = index_of(vault, tmp_path / "state")
    assert not late.open()  # there is no whole generation to be had now
    assert reader.snapshot is not None and reader.snapshot.generation == 1
    assert not reader.needs_rebuild and not reader.refresh(["page-1.md"])
    opened[-1].let_on.set()
    writing.join()
    for store in (reader, late):
        store.sync()
        assert store.snapshot is not None and store.snapshot.generation == 2
        assert not store.needs_rebuild and store.state.current(store.key) == folder
    for store in (writer, reader, late):
        store.close()


@pytest.mark.parametrize("survivor", ["a running process", "a later start"])
def test_a_writer_that_dies_between_its_commits_is_found_out_before_the_next_write(
    tmp_path: Path, vault: Path, survivor: str
) -> None:
    writer, opened = halfway_store(vault, tmp_path / "state")
    writer.refresh()
    other = index_of(vault, tmp_path / "state")
    folder = other.state.current(other.key)
    if survivor == "a running process":
        assert other.open()
    opened[-1].dies = True
    (vault / "page-1.md").write_text("# Page 1\n\nosprey\n", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        writer.refresh(["page-1.md"])
    opened[-1].inner.close()
    (vault / "page-2.md").write_text("# Page 2\n\nkestrel\n", encoding="utf-8")
    assert other.refresh(["page-2.md"])
    assert other.state.current(other.key) != folder
    assert other.snapshot is not None and not other.needs_rebuild
    searcher = other.snapshot.searcher
    found = {query: len(searcher.search(query, limit=9).page_revs) for query in ("osprey", "kestrel")}
    assert found == {"osprey": 1, "kestrel": 1}
    assert len(other.snapshot.records) == PAGES
    other.close()


def test_those_who_look_for_news_all_the_time_do_not_keep_a_torn_index_from_being_mended(
    tmp_path: Path, vault: Path
) -> None:
    writer, opened = halfway_store(vault, tmp_path / "state")
    writer.refresh()
    opened[-1].dies = True
    (vault / "page-1.md").write_text("# Page 1\n\nosprey\n", encoding="utf-8")
    with pytest.raises(KeyboardInterrupt):
        writer.refresh(["page-1.md"])
    opened[-1].inner.close()
    store = index_of(vault, tmp_path / "state")
    stop = threading.Event()

    def look() -> None:
        while not stop.is_set():
            store.sync()

    lookers = [threading.Thread(target=look) for _ in range(4)]
    mending = threading.Thread(target=store.refresh)
    for thread in (*lookers, mending):
        thread.start()
    mending.join(30)
    mended = not mending.is_alive()
    stop.set()
    for thread in (*lookers, mending):
        thread.join()
    assert mended and store.snapshot is not None and len(store.snapshot.records) == PAGES
    store.close()


def test_a_disk_that_refuses_leaves_what_was_indexed_and_says_so(tmp_path: Path, vault: Path) -> None:
    store = index_of(vault, tmp_path / "state")
    store.refresh()
    before = store.snapshot
    lexical = store.state.current(store.key)
    assert lexical is not None
    for part in ("pages", "chunks"):
        as_file(lexical / "lexical" / part)
    (vault / "page-1.md").write_text("# Page 1\n\nosprey\n", encoding="utf-8")
    store.refresh(["page-1.md"])
    assert store.snapshot is not None and before is not None
    assert store.refresh(["page-1.md"])
    assert len(store.snapshot.searcher.search("osprey", limit=3).page_revs) == 1
    store.close()


def as_file(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("in the way")


def test_a_state_folder_that_cannot_be_used_any_more_leaves_the_last_answers(
    tmp_path: Path, vault: Path
) -> None:
    store = index_of(vault, tmp_path / "state")
    store.refresh()
    shutil.rmtree(tmp_path / "state")
    (tmp_path / "state").write_text("in the way")
    (vault / "page-1.md").write_text("# Page 1\n\nosprey\n", encoding="utf-8")
    assert not store.refresh(["page-1.md"])
    assert "cannot" in store.degraded or "refuses" in store.degraded
    assert str(tmp_path) not in store.degraded
    assert store.snapshot is not None and len(store.snapshot.records) == PAGES
    (tmp_path / "state").unlink()
    assert store.refresh(["page-1.md"]) or store.refresh(["page-1.md"])
    assert store.degraded == "" and not store.needs_rebuild
    store.close()


def test_a_write_that_another_process_holds_up_is_put_off_not_failed(tmp_path: Path, vault: Path) -> None:
    store = index_of(vault, tmp_path / "state")
    store.refresh()
    holder = ProcessLock(store.state.root / "write.lock")
    assert holder.acquire(timeout=0)
    (vault / "page-1.md").write_text("# Page 1\n\nosprey\n", encoding="utf-8")
    assert not store.refresh(["page-1.md"])
    assert store.degraded == "" and not store.needs_rebuild
    holder.release()
    assert store.refresh(["page-1.md"])
    store.close()


def test_an_index_left_half_made_by_a_killed_build_is_not_served_as_whole(
    tmp_path: Path, vault: Path
) -> None:
    store = index_of(vault, tmp_path / "state")
    store.refresh()
    store.close()
    folder = store.state.current(store.key)
    assert folder is not None
    with sqlite3.connect(folder / "catalog.sqlite") as connection:
        connection.execute("UPDATE meta SET value='0' WHERE key='complete'")
        connection.execute("DELETE FROM pages WHERE path > 'page-2'")
    connection.close()
    again = index_of(vault, tmp_path / "state")
    assert again.open()
    assert again.snapshot is not None and not again.snapshot.complete
    again.refresh()
    assert again.snapshot.complete and len(again.snapshot.records) == PAGES
    again.close()


def test_replaced_index_folders_do_not_pile_up(tmp_path: Path, vault: Path) -> None:
    store = index_of(vault, tmp_path / "state")
    for _ in range(5):
        store.rebuild()
    assert len(list((tmp_path / "state").glob("index-*"))) == 2
    store.close()


def test_an_index_that_many_edits_have_worn_out_is_made_anew(tmp_path: Path, vault: Path) -> None:
    store, opened = halfway_store(vault, tmp_path / "state")
    store.refresh()
    folder = store.state.current(store.key)
    assert not store.renew() and store.state.current(store.key) == folder
    opened[-1].worn = 0.4
    assert store.renew() and store.state.current(store.key) != folder
    assert store.snapshot is not None and len(store.snapshot.records) == PAGES
    assert not store.renew()
    store.close()


def test_an_index_of_settings_that_nobody_uses_any_more_is_dropped(tmp_path: Path, vault: Path) -> None:
    old = IndexStore(
        adapter=detect(vault),
        state=StateDir.open(tmp_path / "state"),
        open_lexical=open_lexical,
        fingerprint={"of": "long ago"},
    )
    old.refresh()
    old.close()
    (pointer,) = (tmp_path / "state").glob("current-*")
    os.utime(pointer, (0, 0))
    store = index_of(vault, tmp_path / "state")
    store.refresh()
    assert old.state.current(old.key) is None
    assert store.state.current(store.key) is not None
    store.close()
