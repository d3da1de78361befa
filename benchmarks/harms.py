"""What may happen to a state directory and a vault beside a kill: files harmed, a full disk, a vault gone."""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.crashing import (
    PATIENCE,
    Fault,
    Vault,
    answered_right,
    call,
    checked,
    forked,
    heard,
    served,
)
from wikimcp.errors import WikimcpError
from wikimcp.index.catalog import FORMAT

_UNIQUE = re.compile(r"(?<=index-)[0-9a-f-]+|(?<=building-)\d+|[0-9a-f]{12,}")
_HARMED_DIRECTLY = 300_000  # bytes of random noise, at most
_DISK = "8m"
_FILE_BYTES = 20_000


def kind_of(file: Path) -> str:
    """Return what kind of file it is: its name without what is unique in it."""
    return _UNIQUE.sub("*", file.name) or "nothing"


def cut(file: Path, chance: random.Random) -> None:
    """Cut a file somewhere."""
    os.truncate(file, int(file.stat().st_size * chance.random()))


def flip(file: Path, chance: random.Random) -> None:
    """Flip one to eight bits."""
    data = bytearray(file.read_bytes())
    for _ in range(chance.randint(1, 8)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)


def noise(file: Path, chance: random.Random) -> None:
    """Overwrite a stretch with noise."""
    size = file.stat().st_size
    start = chance.randrange(size)
    with file.open("r+b") as stream:
        stream.seek(start)
        stream.write(chance.randbytes(min(size - start, _HARMED_DIRECTLY)))


def empty(file: Path, _: random.Random) -> None:
    """Leave nothing in it."""
    os.truncate(file, 0)


def gone(file: Path, _: random.Random) -> None:
    """Remove it."""
    file.unlink()


HARMS: dict[str, Callable[[Path, random.Random], None]] = {
    "cut": cut,
    "bits flipped": flip,
    "noise": noise,
    "empty": empty,
    "gone": gone,
}


def files_by_kind(state: Path) -> dict[str, list[Path]]:
    """Return the files of a state directory that hold anything, by folder and kind."""
    found: dict[str, list[Path]] = {}
    for file in sorted(state.rglob("*")):
        if file.is_file() and file.stat().st_size:
            found.setdefault(f"{kind_of(file.parent)}/{kind_of(file)}", []).append(file)
    return found


def harm_files(
    vault: Vault, state: Path, work: Path, *, rounds: int, seed: int
) -> tuple[Counter[str], list[str]]:
    """Harm each kind of file in each way in a copy of a state and start on it; returns counts and faults.

    A ledger that is damaged beyond reading is set aside and begun anew from the index, so that versions
    stay; of one whose bytes were changed under it nothing more can be asked than that answers are right.
    """
    counts: Counter[str] = Counter()
    faults = []
    for kind in files_by_kind(state):
        for name, harm in HARMS.items():
            for number in range(rounds):
                chance = random.Random(f"{seed} {kind} {name} {number}")
                harmed = work / "harmed"
                shutil.copytree(state, harmed)
                try:
                    harm(chance.choice(files_by_kind(harmed)[kind]), chance)
                    mine = Vault(vault.root, dict(vault.told), Counter(vault.written), vault.number)
                    checked(mine, harmed)
                except Fault as fault:
                    faults.append(f"{kind}, {name}, {number}: {fault}")
                finally:
                    shutil.rmtree(harmed, ignore_errors=True)
                counts[name] += 1
                counts[f"file {kind}"] += 1
    return counts, faults


def newer_index(vault: Vault, state: Path, work: Path) -> str:
    """Start on an index of a newer version: under our key, and beside ours under its own."""
    copy = work / "newer"
    shutil.copytree(state, copy)
    (place,) = (folder for folder in copy.iterdir() if folder.is_dir())
    (pointer,) = place.glob("current-*")
    ours = place / pointer.read_text(encoding="ascii")
    theirs = place / "index-1-newer"
    shutil.copytree(ours, theirs)
    for folder in (ours, theirs):
        with sqlite3.connect(folder / "catalog.sqlite") as connection:
            connection.execute("UPDATE meta SET value=? WHERE key='format'", (str(FORMAT + 1),))
            connection.execute("ALTER TABLE pages RENAME COLUMN slug TO handle")
        connection.close()
    (place / "current-ffffffffffff").write_text(theirs.name, encoding="ascii")
    checked(vault, copy)
    if not (theirs / "catalog.sqlite").exists():
        raise Fault("the index of the newer version was removed")
    shutil.rmtree(copy)
    return "made anew beside, that of the newer version kept"


def full_disk(vault: Vault, state: Path, work: Path) -> str:
    """Fill the disk of the state directory under a server that follows edits, start on it, and free it."""
    with small_disk(work / "disk") as (disk, fill, free):
        copy = disk / "state"
        shutil.copytree(state, copy)
        for line in heard(*forked(lambda say: _under_full_disk(vault, copy, fill, free, say))):
            vault.hear(line)
        checked(vault, copy)
        for again in range(2):  # with the index there, and with none
            if again:
                for place in copy.glob("*/*-*"):
                    place.unlink() if place.is_file() else shutil.rmtree(place)
            fill()
            heard(*forked(lambda _: _starts_on_full_disk(vault, copy)))
            free()
            checked(vault, copy)
    return "right again once freed"


def _under_full_disk(
    vault: Vault, state: Path, fill: Callable[[], None], free: Callable[[], None], say: Callable[..., None]
) -> None:
    service = served(vault.root, state)
    words = vault.words()
    _wait_right(lambda: answered_right(service, words, sorted(words)[:2]))
    fill()
    path = sorted(words)[0]
    say("writes", path, vault.number + 1)
    old, new = words[path], vault.write(path)
    others = {name: word for name, word in words.items() if name != path}
    for _ in range(5):
        for name in sorted(others)[:3]:
            _must_find(service, name, others[name])
        found = call(service, "assemble_bundle", query=old)["sections"]
        if any(old in section["text"] for section in found):
            raise Fault("what is no longer in the file was served")
    free()
    _wait_right(lambda: answered_right(service, vault.words(), [path]))
    _must_find(service, path, new)
    service.close()


def _starts_on_full_disk(vault: Vault, state: Path) -> None:
    """Whatever is answered must be right; an error must say what is wrong."""
    service, words = served(vault.root, state), vault.words()
    deadline = time.monotonic() + 3.0
    while time.monotonic() < deadline:
        try:
            answered_right(service, words, sorted(words)[:2])
        except WikimcpError as error:
            if not error.message or str(state) in str(error):
                raise Fault(f"an error that does not help: {error}") from error
        time.sleep(0.2)
    service.close()


def _must_find(service: object, path: str, word: str) -> None:
    found = call(service, "assemble_bundle", query=word)  # type: ignore[arg-type]
    if not any(word in section["text"] for section in found["sections"]):
        raise Fault(f"the word of {path} is not found; index {found['index']}")


def _wait_right(ask: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE / 2
    last: Exception | None = None
    while time.monotonic() < deadline:
        try:
            if ask() is not None:
                return
        except (Fault, WikimcpError) as error:
            last = error
        time.sleep(0.02)
    raise Fault(f"never right: {last}")


@contextmanager
def small_disk(folder: Path) -> Iterator[tuple[Path, Callable[[], None], Callable[[], None]]]:
    """Give a folder on a small disk, and functions that fill and free it.

    Where nobody may mount one, a limit of the size of files stands in for it.
    """
    folder.mkdir()
    mounted = not subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={_DISK}", "tmpfs", str(folder)], capture_output=True
    ).returncode
    filler = folder / "filler"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill() -> None:
        if not mounted:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, before[1]))
            return
        with filler.open("wb", buffering=0) as stream:
            for size in (1 << 16, 1 << 10, 1):
                while _written(stream.fileno(), size):
                    pass

    def free() -> None:
        if mounted:
            filler.unlink(missing_ok=True)
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    try:
        yield folder, fill, free
    finally:
        free()
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def _written(descriptor: int, size: int) -> bool:
    try:
        return os.write(descriptor, b"x" * size) == size
    except OSError:
        return False


def vault_away(vault: Vault, state: Path, work: Path) -> str:
    """Take the vault away under a server and before a start, and bring it back."""
    away = work / "away"
    words = vault.words()

    def runs(_: object) -> None:
        service = served(vault.root, state)
        _wait_right(lambda: answered_right(service, words, sorted(words)[:2]))
        vault.root.rename(away)
        try:
            for _ in range(5):
                listed = call(service, "list_pages", limit=1)
                if listed["total"] != len(words):
                    raise Fault(f"{listed['total']} of {len(words)} pages were left")
        finally:
            away.rename(vault.root)
        _wait_right(lambda: answered_right(service, words, sorted(words)))
        service.close()

    def starts(_: object) -> None:
        try:
            service = served(vault.root, state)
            listed = call(service, "list_pages", limit=1)
        except WikimcpError as error:
            if not error.message:
                raise Fault("an error that says nothing") from error
            return
        if listed["total"] != len(words):
            raise Fault(f"a start without the vault lists {listed['total']} pages")

    for scene in (runs, starts):
        if scene is starts:
            vault.root.rename(away)
        try:
            heard(*forked(scene))
        finally:
            if away.exists():
                away.rename(vault.root)
        checked(vault, state)
    return "all pages kept, right once back"


SCENES: dict[str, Callable[[Vault, Path, Path], str]] = {
    "newer index": newer_index,
    "full disk": full_disk,
    "vault away": vault_away,
}
