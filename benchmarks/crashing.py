"""What the crash benchmark works on: a vault whose pages can be told apart, forked servers, and their check.

Every page carries a word of its own, so that an answer can be told right or wrong by the files alone. A
server lives in a fork, which has the product imported and nothing running, and is killed with it.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import logging
import os
import random
import re
import select
import signal
import struct
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.editor import own_word
from wikimcp.app import build_service
from wikimcp.errors import Unavailable, WikimcpError
from wikimcp.models import Caller
from wikimcp.service import WikiService
from wikimcp.settings import load_settings

PATIENCE = 90.0
_WORD = re.compile(r"\bqev[a-j]+quz\b")
_ONCE = 3  # pages whose words are asked for at a first answer
_CALLER = Caller()


class Fault(Exception):
    """Something that must never happen has happened."""


@dataclass
class Vault:
    """The vault on disk, and what servers have told of versions: those never go back."""

    root: Path
    told: dict[str, int] = field(default_factory=dict)
    written: Counter[str] = field(default_factory=Counter)
    number: int = 0

    @classmethod
    def make(cls, root: Path, pages: int) -> Vault:
        """Write a vault of so many pages."""
        vault = cls(root)
        (root / "notes").mkdir(parents=True)
        for _ in range(pages):
            vault.write(f"notes/page-{vault.number + 1}.md")
        return vault

    def write(self, path: str) -> str:
        """Write a page anew, with another word; returns the word."""
        self.number += 1
        word = own_word(self.number)
        (self.root / path).write_text(
            f"# {Path(path).stem}\n\nThe word {word} stands on this page alone. See [[page-3]].\n\n"
            f"## More\n\nStep {self.number} of the work, told in some more words.\n",
            encoding="utf-8",
        )
        return word

    def words(self) -> dict[str, str]:
        """Return the word of every page by path, as the files say."""
        found = {}
        for file in sorted(self.root.rglob("*.md")):
            match = _WORD.search(file.read_text(encoding="utf-8"))
            assert match is not None
            found[file.relative_to(self.root).as_posix()] = match[0]
        return found

    def mend(self) -> None:
        """Write anew what a kill left half written."""
        for file in sorted(self.root.rglob("*.md")):
            if _WORD.search(file.read_text(encoding="utf-8")) is None:
                path = file.relative_to(self.root).as_posix()
                self.write(path)
                self.written[path] += 1

    def hear(self, line: str) -> None:
        """Take in what a server's fork has said: of a write or a move to come, or of a version."""
        kind, *facts = json.loads(line)
        if kind == "writes":
            self.written[facts[0]] += 1
            self.number = max(self.number, facts[1])
        elif kind == "moves" and not (self.root / facts[0]).exists():  # no name is used twice
            self.written[facts[1]] = self.written.pop(facts[0], 0)
            self.number = max(self.number, facts[2])
            self.told[facts[1]] = self.told.pop(facts[0], 1)
        elif kind == "version":
            self.told[facts[0]] = max(facts[1], self.told.get(facts[0], 1))


def served(vault: Path, state: Path, embedder: str = "wordllama") -> WikiService:
    """Start a service as a server does, working in the background."""
    flags = {"vault": str(vault), "state_dir": str(state), "embedder": embedder}
    return build_service(load_settings(flags, env={}, cwd=vault.parent))


def forked(work: Callable[[Callable[..., None]], None]) -> tuple[int, int]:
    """Run ``work`` in a fork; it gets a function that says facts. Returns process and pipe to read from."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    code = 1
    try:
        os.close(reading)
        work(lambda *facts: _say(writing, *facts))
        code = 0
    except BaseException as error:
        _say(writing, "fault", f"{type(error).__name__}: {error}")
    finally:
        os._exit(code)


def _say(pipe: int, *facts: object) -> None:
    os.write(pipe, json.dumps(facts).encode() + b"\n")


def heard(child: int, pipe: int, seconds: float = PATIENCE) -> list[str]:
    """Return what a fork says until it ends. Raises Fault when it hangs or tells of one."""
    deadline, data = time.monotonic() + seconds, b""
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        chunk = os.read(pipe, 1 << 16)
        if not chunk:
            break
        data += chunk
    else:
        os.kill(child, signal.SIGKILL)
    os.close(pipe)
    status = os.waitpid(child, 0)[1]
    lines = data.decode().splitlines()
    for line in lines:
        if line.startswith('["fault"'):
            raise Fault(json.loads(line)[1])
    if status and not os.WIFSIGNALED(status):
        raise Fault(f"a process ended with {os.waitstatus_to_exitcode(status)}")
    if time.monotonic() >= deadline:
        raise Fault(f"a process did not come to its end in {seconds:.0f} s")
    return lines


def checked(vault: Vault, state: Path) -> dict[str, float]:
    """Start on a state directory and hold every answer against the files; returns seconds by stage.

    Until the index is there an answer may say so; any other must be right, from the first one on.
    Raises Fault.
    """
    words = vault.words()
    lines = heard(*forked(lambda say: _check(served(vault.root, state), vault, words, say)))
    facts = [json.loads(line) for line in lines]
    for kind, *rest in facts:
        if kind == "version":
            vault.told[rest[0]] = rest[1]
    return {kind: rest[0] for kind, *rest in facts if kind in ("first", "ready")}


def _check(service: WikiService, vault: Vault, words: dict[str, str], say: Callable[..., None]) -> None:
    begin, chance = time.monotonic(), random.Random(len(words))
    asked = chance.sample(sorted(words), min(_ONCE, len(words)))
    first = 0.0
    while True:
        stamp = answered_right(service, words, asked)
        if stamp is not None and not first:
            first = time.monotonic() - begin
            say("first", first)
        if stamp is not None and stamp["state"] == "ready" and stamp["dense"] == "ready":
            break
        if time.monotonic() - begin > PATIENCE * 0.8:
            raise Fault(f"not ready in {PATIENCE * 0.8:.0f} s: {stamp}")
        time.sleep(0.01)
    say("ready", time.monotonic() - begin)
    answered_right(service, words, sorted(words))
    for path in words:
        version = int(call(service, "get_page", slug=Path(path).stem)["version"])
        # A file that is written in place is empty for a moment, which may be seen and counted, too.
        low, high = vault.told.get(path, 1), 1 + 2 * vault.written[path]
        if not low <= version <= high:
            raise Fault(f"{path} is told at version {version}, not from {low} to {high}")
        say("version", path, version)


def answered_right(service: WikiService, words: dict[str, str], asked: list[str]) -> dict[str, Any] | None:
    """Ask for pages by their words; returns the stamp, None while the index is made. Raises Fault."""
    stamp: dict[str, Any] = {}
    for path in asked:
        try:
            answer = call(service, "assemble_bundle", query=words[path])
        except Unavailable:
            return None
        stamp = answer["index"]
        if stamp["state"] == "building":
            return None
        if not any(words[path] in section["text"] for section in answer["sections"]):
            slugs = [section["slug"] for section in answer["sections"]][:3]
            raise Fault(f"the word of {path} is not found; found were {slugs}; index {stamp}")
    listed = call(service, "list_pages", limit=1)
    if listed["total"] != len(words) and listed["index"]["state"] != "building":
        raise Fault(f"{listed['total']} of {len(words)} pages are listed; index {listed['index']}")
    return stamp


def call(service: WikiService, tool: str, **arguments: object) -> dict[str, Any]:
    """Call a tool; returns its structured answer. Raises WikimcpError."""
    structured = service.call(tool, arguments, _CALLER).structured
    assert structured is not None
    return structured


def work_on(vault: Vault, state: Path, seed: int, say: Callable[..., None]) -> None:
    """Serve, edit and ask without end: what is killed."""
    service, chance = served(vault.root, state), random.Random(seed)
    while True:
        paths = sorted(vault.words())
        path = chance.choice(paths)
        if chance.random() < 0.25:
            vault.number += 1
            place = f"notes/moved-{vault.number}.md"
            say("moves", path, place, vault.number)
            (vault.root / path).rename(vault.root / place)
            path = place
        else:
            say("writes", path, vault.number + 1)
            vault.write(path)
        try:
            say("version", path, call(service, "get_page", slug=Path(path).stem)["version"])
        except WikimcpError as error:
            if not isinstance(error, Unavailable):
                raise


class StateWatch:
    """Counts what the kernel tells of writes, renames and removals in a state directory (inotify)."""

    _EVENT = struct.Struct("iIII")
    _WANTED = 0x2 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200  # modify, close, moves, create, delete
    _CREATE, _ISDIR = 0x100, 0x40000000

    def __init__(self, root: Path) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        self._folders: dict[int, Path] = {}
        self.last = ""
        self._add(root)

    def _add(self, folder: Path) -> None:
        watch = self._libc.inotify_add_watch(self._descriptor, os.fsencode(folder), self._WANTED)
        if watch < 0:
            return
        self._folders[watch] = folder
        for entry in folder.iterdir():
            if entry.is_dir():
                self._add(entry)

    def after(self, events: int, seconds: float) -> bool:
        """Wait for so many events; False when they did not come in time. ``last`` names their file."""
        deadline = time.monotonic() + seconds
        while events > 0:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._descriptor], [], [], left)[0]:
                return False
            for watch, mask, name in self._read():
                events -= 1
                folder = self._folders.get(watch)
                self.last = name
                if folder is not None and mask & self._CREATE and mask & self._ISDIR:
                    self._add(folder / name)
        return True

    def _read(self) -> Iterator[tuple[int, int, str]]:
        data, at = os.read(self._descriptor, 64), 0
        while at < len(data):
            watch, mask, _, length = self._EVENT.unpack_from(data, at)
            at += self._EVENT.size
            yield watch, mask, data[at : at + length].rstrip(b"\0").decode(errors="replace")
            at += length

    def close(self) -> None:
        """Watch no more."""
        os.close(self._descriptor)


def ready_to_fork(vault: Path, state: Path) -> None:
    """Import what a server imports late, so that a fork starts at once; the product's log goes nowhere."""
    logging.getLogger("wikimcp").addHandler(logging.NullHandler())
    logging.getLogger("wikimcp").propagate = False

    def tell(say: Callable[..., None]) -> None:
        call(served(vault, state), "list_pages", limit=1)
        for name in sorted(sys.modules):
            say(name)

    for line in heard(*forked(tell)):
        (name,) = json.loads(line)
        with contextlib.suppress(ImportError):
            if "__main__" not in name:
                importlib.import_module(name)
