"""Edit to visible: change a file, ask at once, and see whether that very answer is right."""

from __future__ import annotations

import os
import time
import uuid
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.bench import Bench, until
from benchmarks.figures import BenchError, Recorder
from benchmarks.stdio_client import StdioClient
from benchmarks.workload import all_slugs, spread

TITLE = "Edit to visible"
_PATIENCE = 60.0
Answer = dict[str, Any]
KINDS = {
    "new": "new page",
    "edited": "page written in place",
    "replaced": "page replaced by rename",
    "draft": "page flipped to draft",
    "deleted": "page deleted",
}


class Edits:
    """Changes files of a vault and takes the time until a server's answers follow."""

    def __init__(self, bench: Bench, client: StdioClient, recorder: Recorder) -> None:
        self._bench = bench
        self._client = client
        self._recorder = recorder
        self.right: Counter[str] = Counter()
        self.made: Counter[str] = Counter()

    def take(
        self, kind: str, query: str, good: Callable[[Answer], bool], change: Callable[[], object]
    ) -> None:
        """Make a change, ask, and record the first call's time and the time until the right answer.

        The server has embedded what changed before: edits come one by one, not all at once.
        """
        self._bench.rested(self._client)
        change()
        written = time.perf_counter()
        answer = self._client.call("assemble_bundle", {"query": query})
        self._record(kind, "call", self._client.seconds * 1000)
        first = good(answer)
        if not first:
            try:
                until(self._client, query, good, patience=_PATIENCE)
            except BenchError as error:
                self._recorder.remark(f"a {KINDS[kind]} was never right: {error}")
        self._record(kind, "visible", (time.perf_counter() - written) * 1000)
        self.made[kind] += 1
        self.right[kind] += first

    def _record(self, kind: str, what: str, milliseconds: float) -> None:
        label = KINDS[kind] + (", the next answer" if what == "call" else ", until it is right")
        self._recorder.add(f"edits.{kind}.{what}", milliseconds, label=label, unit="ms")


def measure(bench: Bench, recorder: Recorder) -> None:
    """Make every kind of change several times over one running server, then put the vault back."""
    right: Counter[str] = Counter()
    made: Counter[str] = Counter()
    for _ in bench.repeat("edits"):
        with bench.client(bench.warm_state) as client:
            client.handshake()
            bench.settled(client)
            edits = Edits(bench, client, recorder)
            for number, path in enumerate(_pages(client, bench.effort.edits)):
                _new_and_deleted(edits, bench.vault / f"bench-new-{number}.md")
                _edited_and_drafted(edits, bench.vault / path, bench.vault)
        right += edits.right
        made += edits.made
    for kind, name in KINDS.items():
        share = 100 * right[kind] / made[kind]
        recorder.add(f"edits.{kind}.right", share, label=f"{name}, right in the next answer", unit="%")


def _new_and_deleted(edits: Edits, page: Path) -> None:
    word = _word()
    text = f"# A page about {word}\n\nThe word {word} stands on this page alone.\n"
    edits.take("new", word, _holds(word), lambda: page.write_text(text, encoding="utf-8"))
    edits.take("deleted", word, _lacks(word), page.unlink)


def _edited_and_drafted(edits: Edits, page: Path, vault: Path) -> None:
    before = page.read_bytes()
    first, second = _word(), _word()
    spare = vault / ".bench-spare"
    try:
        edited = before + f"\n\nOne more paragraph, about {first} only.\n".encode()
        edits.take("edited", first, _holds(first), lambda: page.write_bytes(edited))
        spare.write_bytes(before + f"\n\nAnother paragraph, about {second} only.\n".encode())
        edits.take("replaced", second, _holds(second), lambda: os.replace(spare, page))
        draft = as_draft(page.read_bytes())
        edits.take("draft", second, _lacks(second), lambda: page.write_bytes(draft))
    finally:
        spare.unlink(missing_ok=True)
        page.write_bytes(before)


def as_draft(text: bytes) -> bytes:
    """Return a page with ``draft: true`` in its frontmatter."""
    for line_end in (b"\r\n", b"\n"):
        if text.startswith(b"---" + line_end):
            return text.replace(line_end, line_end + b"draft: true" + line_end, 1)
    return b"---\ndraft: true\n---\n" + text


def _holds(word: str) -> Callable[[Answer], bool]:
    return lambda answer: any(word in section["text"] for section in answer["sections"])


def _lacks(word: str) -> Callable[[Answer], bool]:
    return lambda answer: not any(word in section["text"] for section in answer["sections"])


def _word() -> str:
    """Return a word of letters that nobody has used."""
    return "q" + uuid.uuid4().hex.translate(str.maketrans("0123456789", "ghijklmnop"))[:11]


def _pages(client: StdioClient, count: int) -> list[str]:
    """Return the paths of so many served pages, spread evenly over the vault."""
    return [client.call("get_page", {"slug": slug})["path"] for slug in spread(all_slugs(client), count)]
