"""After any sequence of edits the index says what one made anew would say, watched or walked."""

from __future__ import annotations

import os
import shutil
import tempfile
from itertools import combinations
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tests.index.index_facts import Served, facts, index_of, lexical_facts, view_of

# In memory where that is possible: a thousand commits wait for a disk else.
QUICK_DISK = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
FOLDERS = ("", "mill", "mill/low", "harbour")
STEMS = ("Oak", "oak", "Ana Ruiz", "tide", "lamp-room", "index", "日本語 メモ")
WORDS = ("barley", "lantern", "ADR-0042", "valve", "巡検", "tidal", "quern", "C++")
QUERIES = ("barley", "lantern valve", "ADR-0042", "巡検", "tidal quern barley", "C++", "nothing here")
paths = st.builds(
    lambda folder, stem, suffix: f"{folder}/{stem}{suffix}".lstrip("/"),
    st.sampled_from(FOLDERS),
    st.sampled_from(STEMS),
    st.sampled_from((".md", ".md", ".md", ".markdown")),
)
words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6)
links = st.lists(
    st.sampled_from((*STEMS, "mill/Oak", "../tide.md", "map.png", "the lamp", "Plan")), max_size=3
)


@st.composite
def frontmatters(draw: st.DrawFn) -> str:
    lines = []
    if draw(st.booleans()):
        lines.append(f"title: {draw(st.sampled_from(('Plan', 'Old Mill', 'Tide tables')))}")
    if draw(st.booleans()):
        lines.append(f"id: {draw(st.sampled_from(('01A', '01B', '01C')))}")
    if draw(st.booleans()):
        lines.append(f"tags: {draw(st.sampled_from(('[ops]', '[Ops, water]', 'sea')))}")
    if draw(st.booleans()):
        lines.append(f"cluster: {draw(st.sampled_from(('works', 'works/mill', 'sea')))}")
    if draw(st.integers(0, 4)) == 0:
        lines.append("type: hub")
    if draw(st.integers(0, 3)) == 0:
        lines.append("aliases: [the lamp]")
    if draw(st.integers(0, 3)) == 0:
        lines.append("draft: true")
    return "".join(f"{line}\n" for line in lines)


@st.composite
def texts(draw: st.DrawFn) -> str:
    front = draw(frontmatters())
    body = [f"# {draw(st.sampled_from(('Works', 'Sea', 'Notes')))}", " ".join(draw(words))]
    body += [f"See [[{target}]]." for target in draw(links)]
    if draw(st.booleans()):
        body += ["## More", " ".join(draw(words))]
    head = f"---\n{front}---\n" if front else ""
    return head + "\n\n".join(body) + "\n"


class EditedVault(RuleBasedStateMachine):
    """A vault that is edited in every way, and a served index of it."""

    watch = False

    @initialize(first=st.dictionaries(paths, texts(), min_size=2, max_size=6))
    def begin(self, first: dict[str, str]) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="wikimcp-test-", dir=QUICK_DISK))
        self.vault = self.folder / "vault"
        self.vault.mkdir()
        (self.vault / "anchor.md").write_text("# Anchor\n\nAlways here.\n", encoding="utf-8")
        self.dateless: set[str] = set()
        for path, text in first.items():
            self._write(path, text)
        self.served = Served(index_of(self.vault, self.folder / "state"), watch=self.watch)
        self.served.view()

    def _write(self, path: str, text: str) -> None:
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        self.dateless.discard(path)

    def _files(self) -> list[str]:
        found = (file for file in self.vault.rglob("*") if file.is_file() and file.name != "anchor.md")
        return sorted(file.relative_to(self.vault).as_posix() for file in found)

    def _some(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from(self._files()))

    @rule(path=paths, text=texts())
    def write(self, path: str, text: str) -> None:
        self._write(path, text)

    @precondition(lambda self: self._files())
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        (self.vault / self._some(data)).unlink()

    @precondition(lambda self: self._files())
    @rule(data=st.data(), to=paths)
    def rename(self, data: st.DataObject, to: str) -> None:
        target = self.vault / to
        target.parent.mkdir(parents=True, exist_ok=True)
        was = self._some(data)
        (self.vault / was).replace(target)
        self.dateless.discard(to)
        if was in self.dateless:
            os.utime(target)

    @precondition(lambda self: self._files())
    @rule(data=st.data(), time=st.integers(10**18, 2 * 10**18))
    def touch(self, data: st.DataObject, time: int) -> None:
        path = self._some(data)
        os.utime(self.vault / path, ns=(time, time))
        self.dateless.add(path)

    @precondition(lambda self: (self.vault / "mill").is_dir())
    @rule(name=st.sampled_from(("quay", "low", "mill")))
    def rename_the_folder(self, name: str) -> None:
        source, target = self.vault / "mill", self.vault / name
        if name != "mill" and not target.exists():
            source.rename(target)
            self.dateless -= {path for path in self.dateless if path.startswith(("mill/", f"{name}/"))}
            for file in target.rglob("*.m*"):
                os.utime(file)

    @precondition(lambda self: (self.vault / "harbour").is_dir())
    @rule()
    def remove_a_folder(self) -> None:
        shutil.rmtree(self.vault / "harbour")

    @rule(there=st.booleans(), name=st.sampled_from(("map.png", "mill/map.png", "harbour/broken.md")))
    def put_a_file_that_is_no_page(self, there: bool, name: str) -> None:
        file = self.vault / name
        if there:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00\x00")
        else:
            file.unlink(missing_ok=True)
        self.dateless.discard(name)

    @rule()
    def look(self) -> None:
        self.served.view()

    @rule()
    def restart(self) -> None:
        self.served.close()
        self.served = Served(index_of(self.vault, self.folder / "state"), watch=self.watch)

    @rule()
    def compare_with_a_new_index(self) -> None:
        self.served.freshness.walk()  # files that are no pages may be noticed a moment later
        view = self.served.view()
        fresh = index_of(self.vault, self.folder / f"fresh-{len(os.listdir(self.folder))}")
        fresh.rebuild()
        assert fresh.snapshot is not None
        expected = view_of(fresh)
        try:
            assert facts(view, dateless=self.dateless) == facts(expected, dateless=self.dateless)
            for query in QUERIES:
                same_answers(lexical_facts(view, query), lexical_facts(expected, query))
        finally:
            fresh.close()

    def teardown(self) -> None:
        if hasattr(self, "served"):
            self.compare_with_a_new_index()
            self.served.close()
            shutil.rmtree(self.folder)


def same_answers(now: dict[str, Any], expected: dict[str, Any]) -> None:
    """Terms, counts and hits are the same; where scores are clearly apart, so is the order.

    The scores themselves may differ a little: deleted texts count in the average length until the
    segments they lie in are merged.
    """
    assert now["terms"] == expected["terms"]
    assert now["count"] == expected["count"]
    for kind in ("chunks", "pages"):
        assert now[kind].keys() == expected[kind].keys()
        for better, worse in combinations(expected[kind], 2):
            if expected[kind][better] > 1.5 * expected[kind][worse]:
                assert now[kind][better] > now[kind][worse]


class WatchedVault(EditedVault):
    """The same with a watcher on."""

    watch = True


_SOME = settings(
    max_examples=20,
    stateful_step_count=14,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestWalked = EditedVault.TestCase
TestWalked.settings = _SOME
TestWatched = WatchedVault.TestCase
TestWatched.settings = _SOME
