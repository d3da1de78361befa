"""One of several servers on a vault: asked without end in a thread of its own, ended at any moment.

Also what is asked to compare servers with one another, and who of them leads.
"""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import BenchError
from benchmarks.processes import environment, serve
from benchmarks.stdio_client import StdioClient

Asked = tuple[str, dict[str, Any]]
_BUILDING = "the index is being built"
_RANKED = ("assemble_bundle", "retrieve_context")
_TROUBLE = ("locked", "busy", "Traceback", "Error:")
_CHURN: tuple[Asked, ...] = (
    ("assemble_bundle", {"query": "how is the work at this desk done"}),
    ("assemble_bundle", {"query": "replaced page"}),
    ("retrieve_context", {"query": "backup and restore of a database"}),
    ("list_pages", {"limit": 50, "sort": "updated"}),
    ("list_tags", {}),
    ("list_clusters", {}),
)
_SAME: tuple[Asked, ...] = (
    *_CHURN,
    ("assemble_bundle", {"query": "which page was edited", "token_budget": 2_000}),
    ("assemble_bundle", {"query": "nothing holds zyxwvut or qponmlk"}),
    ("list_metadata_values", {}),
)
_TOLERANCE = 0.05
"""Of a score. The library's average length of texts counts deleted ones until segments are merged, so an
index with a history scores by a few hundredths otherwise than one without."""
PATIENCE = 120.0


class Server:
    """A running server and the thread that asks it.

    ``settled`` once it has answered from a finished index that is in line with the disk, vectors
    included. ``faults`` are answers that must not be, ``waits`` those that said the first build goes on.
    """

    def __init__(self, vault: Path, folder: Path, *, state: Path, embedder: str, seed: float) -> None:
        command = serve(vault, state=state, embedder=embedder)
        home = folder / "home"
        home.mkdir(exist_ok=True)
        self.client = StdioClient(command, env=environment(home), cwd=home, patience=PATIENCE)
        self.pid = self.client.process.pid
        self.settled = False
        self.calls = self.waits = 0
        self.faults: list[str] = []
        self._chance = random.Random(seed)
        self._ending = self._greeted = False
        self._answered = False
        self._may_ask, self._stop = threading.Event(), threading.Event()
        self._may_ask.set()
        self._talking = threading.Lock()
        self._thread = threading.Thread(target=self._ask_on, daemon=True)
        self._thread.start()

    def _ask_on(self) -> None:
        try:
            with self._talking:
                self.client.handshake()
            self._greeted = True
            while not self._stop.is_set():
                if self._may_ask.wait(0.05):
                    with self._talking:
                        self.ask(*self._chance.choice(_CHURN))
                    self._stop.wait(0.02)
        except BenchError as error:
            if not self._ending:
                self.faults.append(f"server {self.pid}: {error}")

    def ask(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Call a tool; None for an answer that says the first build goes on, or that is a fault."""
        answer = self.client.try_call(tool, arguments)
        self.calls += 1
        if answer is None:
            if _BUILDING in self.client.last_text and not self._answered:
                self.waits += 1
            else:
                self.faults.append(f"{tool} failed: {self.client.last_text[:300]}")
            return None
        self._answered = True
        stamp = answer["index"]
        if stamp["state"] == "degraded":
            self.faults.append(f"{tool}: the index is degraded")
        self.settled = stamp["state"] == "ready" and stamp["dense"] in ("ready", "off")
        if stamp["state"] == "ready" and not stamp["pages"]:
            self.faults.append(f"{tool}: no page is there")
        return answer

    def rest(self) -> None:
        """Ask no more of its own accord; returns when no question is under way."""
        self._may_ask.clear()
        with self._talking:
            pass

    def go(self) -> None:
        """Ask again."""
        self._may_ask.set()

    def end(self, *, kill: bool) -> None:
        """End the process, whatever it does just now."""
        self._ending, greeted = True, self._greeted
        self.client.process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        self.client.process.wait(PATIENCE)
        if not kill and greeted and self.client.process.returncode != 0:  # before, nobody handles it
            self.faults.append(f"SIGTERM ended it with {self.client.process.returncode}")
        self.close()

    def close(self) -> None:
        """End the process as a client does, by closing its stdin, and look at what it complained of."""
        self._stop.set()
        self._may_ask.set()
        self._thread.join(PATIENCE)
        said = self.client.said()
        if any(word in said for word in _TROUBLE):
            self.faults.append(f"it said: {said[-400:]}")
        self.client.close()


def answers_of(server: Server, words: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Ask a server what all must answer alike; ``words`` are (path, word of that page alone)."""
    found: dict[str, Any] = {}
    own = {word: path for path, word in words}
    wanted = [*_SAME, *(("assemble_bundle", {"query": word}) for _, word in words)]
    for tool, arguments in wanted:
        answer = server.ask(tool, arguments)
        found[f"{tool} {arguments}"] = bare(answer)
        sections = answer["sections"] if answer and "sections" in answer else []
        word = arguments.get("query")
        if word in own and not any(word in section["text"] for section in sections):
            raise BenchError(f"server {server.pid}: no section holds {word}, which stands in {own[word]}")
    pages = list(_all_pages(server))
    found["pages"] = bare(pages)
    for page in pages[:: max(1, len(pages) // 12)]:
        found[f"get_page {page['slug']}"] = bare(server.ask("get_page", {"slug": page["slug"]}))
    return found


def _all_pages(server: Server) -> Iterator[dict[str, Any]]:
    cursor: str | None = None
    while True:
        answer = server.ask("list_pages", {"limit": 200} | ({"cursor": cursor} if cursor else {}))
        if answer is None:
            return
        yield from answer["pages"]
        cursor = answer.get("nextCursor")
        if cursor is None:
            return


def bare(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return an answer without the stamps of its index."""
    if isinstance(value, dict):
        return {key: bare(item) for key, item in value.items() if key not in ("index", "nextCursor")}
    return [bare(item) for item in value] if isinstance(value, list) else value


def differences(right: dict[str, Any], found: dict[str, Any], *, most: int = 3) -> list[str]:
    """Return what differs between two sets of answers, shortly: ranked ones by ``ranked_apart``."""
    told = []
    for key in sorted(right.keys() | found.keys()):
        one, other = right.get(key), found.get(key)
        ranked = key.startswith(_RANKED) and one is not None and other is not None
        apart = ranked_apart if ranked else _apart
        if (where := apart(one, other)) is not None:  # type: ignore[arg-type]
            told.append(f"{key}: {where}"[:500])
    return told[:most]


def ranked_apart(right: dict[str, Any], found: dict[str, Any]) -> str | None:
    """Return where two ranked answers differ; scores and what hangs on them may by the tolerance.

    What scores better than the last of the other answer must be there, by the same citation of the same
    version, or cut otherwise: whether one more paragraph goes into the budget hangs on scores. Whatever is
    in both has the same text.
    """
    if right["query"] != found["query"]:
        return "another query"
    ours, theirs = _scored(right), _scored(found)
    for these, those in ((ours, theirs), (theirs, ours)):
        last = min((score for score, _ in those.values()), default=0.0)
        for key, (score, _) in these.items():
            if key not in those and score > last + _TOLERANCE and not _cut_otherwise(key, these, those):
                return f"{key} with {score} is in one answer alone"
    for key in ours.keys() & theirs.keys():
        if abs(ours[key][0] - theirs[key][0]) > _TOLERANCE:
            return f"{key}: score {ours[key][0]} and {theirs[key][0]}"
        if (where := _apart(ours[key][1], theirs[key][1], key)) is not None:
            return where
    return None


_Scored = dict[str, tuple[float, list[Any]]]


def _cut_otherwise(key: str, these: _Scored, those: _Scored) -> bool:
    """Say whether a section of the same page, of about the same score, holds this one's text or a part."""
    page, mark, _ = key.partition(" cite://")
    score, (_, text, *_) = these[key]
    return bool(mark) and any(
        other.startswith(f"{page} cite://")
        and abs(score - about) <= _TOLERANCE
        and (text in own or own in text)
        for other, (about, (_, own, *_)) in those.items()
    )


def _scored(answer: dict[str, Any]) -> _Scored:
    """Return score and unranked facts of each section, or of each page where it lists pages."""
    if "sections" in answer:
        return {
            f"{row['slug']} {row['citation']['uri']}": (row["score"], [row["title"], row["text"]])
            for row in answer["sections"]
        }
    kept = ("title", "summary", "cluster", "tags", "type")
    return {row["slug"]: (row["score"], [row.get(name) for name in kept]) for row in answer["pages"]}


def _apart(right: Any, found: Any, at: str = "") -> str | None:  # noqa: ANN401 - any JSON
    """Return where two answers differ at first; None when they are equal."""
    if type(right) is type(found) and isinstance(right, dict):
        parts = [(right.get(key), found.get(key), f"{at}.{key}") for key in right.keys() | found.keys()]
    elif isinstance(right, list) and isinstance(found, list) and len(right) == len(found):
        parts = [(a, b, f"{at}[{n}]") for n, (a, b) in enumerate(zip(right, found, strict=True))]
    else:
        return None if right == found else f"{at}: {right!r:.150} and {found!r:.150}"
    return next((told for part in parts if (told := _apart(*part)) is not None), None)


def leader_of(state: Path) -> int | None:
    """Return the process that holds the lock of the leader, by /proc/locks; None when nobody does."""
    inodes = {str(file.stat().st_ino) for file in state.glob("*/leader-*.lock")}
    for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
        fields = line.split()
        if fields[1] == "FLOCK" and fields[5].rpartition(":")[2] in inodes:
            return int(fields[4])
    return None


def with_ledger_of(state: Path, fresh: Path) -> Path:
    """Make a state directory that holds nothing but the ledger of another: versions then count on."""
    for ledger in state.glob("*/ledger.sqlite"):
        place = fresh / ledger.parent.name
        place.mkdir(parents=True)
        source, target = sqlite3.connect(ledger), sqlite3.connect(place / ledger.name)
        source.backup(target)
        source.close()
        target.close()
    if not fresh.is_dir():
        shutil.rmtree(fresh, ignore_errors=True)
        raise BenchError("there is no ledger")
    return fresh
