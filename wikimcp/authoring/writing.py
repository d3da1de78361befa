"""The only way in which verbs write: a transaction over the files of the wiki, one at a time.

Under one lock for all processes a verb reads, decides and names what it writes; all of it is then
made as one change (`intent`). A file is replaced only when it still is what the verb, or its caller,
has read. A dry run does the same without lock and without writing.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any

from wikimcp.authoring import intent
from wikimcp.authoring.intent import content_hash
from wikimcp.authoring.secrets import Finding, scan
from wikimcp.authoring.workspace import STATE_FOLDER, Area, Workspace, lexical
from wikimcp.errors import AccessDenied, Conflict, Refused, TooLarge, Unavailable, WikiError
from wikimcp.index.lock import ProcessLock

MOST_BYTES = 32 * 2**20
"""The largest file that is read or written: the cap of a staged source."""

LOCK_SECONDS = 30.0
_SHORTEST_HASH = 16


class Expect(Enum):
    """What a write expects of the file it replaces, where no content hash says it."""

    ANY = "any"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that was written, or would be: ``before`` and ``after`` are content hashes, None when absent.

    ``file`` is relative to the workspace. ``diff`` is filled in a dry run.
    """

    area: Area
    path: str
    file: str
    before: str | None
    after: str | None
    diff: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        action = "create" if self.before is None else "remove" if self.after is None else "update"
        shown = {"file": self.file, "action": action, "before": self.before, "after": self.after}
        shown["diff"] = self.diff or None
        return {key: value for key, value in shown.items() if value is not None}


@contextmanager
def transaction(workspace: Workspace, *, create: bool = False) -> Iterator[Transaction]:
    """Hold the lock for a block, complete what was interrupted, and make the block's changes at its end.

    Nothing is written when the block raises. With ``create`` the wiki root need not exist. Raises
    WikiError, Conflict, Refused, AccessDenied, or Unavailable when another process writes too long.
    """
    if not create:
        workspace.require_wiki()
    if workspace.dry_run:
        yield Transaction(workspace)
        return
    try:
        folder = intent.state_folder(workspace)
        lock = ProcessLock(folder / "lock")
        with lock.hold(timeout=LOCK_SECONDS) as held:
            if not held:
                raise Unavailable("another process is writing this wiki", hint="Try again when it is done.")
            change = Transaction(workspace, notes=intent.complete(workspace, folder))
            yield change
            change.commit()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise WikiError(f"the wiki cannot be written ({reason})", hint="Check its rights.") from error


class Transaction:
    """Reads files as they will be, gathers writes, and makes them as one. Made by ``transaction`` only."""

    def __init__(self, workspace: Workspace, *, notes: tuple[str, ...] = ()) -> None:
        self.workspace = workspace
        self.notes = notes
        self._read: dict[tuple[Area, str], bytes | None] = {}
        self._pending: dict[tuple[Area, str], bytes | None] = {}

    def read(self, path: str, *, area: Area = Area.WIKI) -> bytes | None:
        """Return a file's bytes, as this transaction leaves it; None when it is not there.

        Raises AccessDenied, TooLarge, WikiError.
        """
        key = _key(area, path)
        if key in self._pending:
            return self._pending[key]
        if key not in self._read:
            self._read[key] = read_file(self.workspace, *key)
        return self._read[key]

    def read_text(self, path: str, *, area: Area = Area.WIKI) -> str | None:
        """Return a file's text; None when it is not there. Raises WikiError when it is not UTF-8."""
        data = self.read(path, area=area)
        return None if data is None else decoded(data, path)

    def digest(self, path: str, *, area: Area = Area.WIKI) -> str | None:
        """Return the content hash of a file as this transaction leaves it; None when it is not there."""
        return _hash(self.read(path, area=area))

    def write(
        self,
        path: str,
        content: str | bytes,
        *,
        expect: str | None | Expect = Expect.ANY,
        area: Area = Area.WIKI,
        scanned: bool = True,
    ) -> bool:
        """Plan to write a file; returns whether that changes anything.

        ``expect`` is the content hash (64 hex, or its first 16) that the caller has seen, or None when
        the file must be new. ``scanned=False`` leaves out the scan for secrets: for originals in the
        staging area. Raises Conflict, Refused, TooLarge, AccessDenied.
        """
        data = content.encode() if isinstance(content, str) else content
        if len(data) > MOST_BYTES:
            raise TooLarge(f"{path} would be over {MOST_BYTES >> 20} MiB", hint="Write less, or in parts.")
        before = self._expected(path, expect, area)
        if before == data:
            return False
        if scanned and not self.workspace.allow_secrets:
            refuse_secrets(data, before, path)
        self._pending[_key(area, path)] = data
        return True

    def remove(self, path: str, *, expect: str | None | Expect = Expect.ANY, area: Area = Area.WIKI) -> bool:
        """Plan to remove a file; returns whether it was there. Raises Conflict or AccessDenied."""
        if self._expected(path, expect, area) is None:
            return False
        self._pending[_key(area, path)] = None
        return True

    def pending(self, area: Area = Area.WIKI) -> dict[str, bool]:
        """Return the paths this transaction writes (True) or removes (False) in an area."""
        return {path: data is not None for (where, path), data in self._pending.items() if where is area}

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """What is written, in the order of the writes; with diffs in a dry run."""
        workspace = self.workspace
        found: list[FileChange] = []
        for (area, path), before, after in self._differing():
            file = workspace.shown(workspace.area_root(area) / path)
            diff = _diff(file, before, after) if workspace.dry_run else ""
            found.append(FileChange(area, path, file, _hash(before), _hash(after), diff))
        return tuple(found)

    def commit(self) -> None:
        """Make all changes as one. Raises Conflict when a file changed since it was read, or WikiError."""
        planned = self._differing()
        if not planned:
            return
        for (area, path), before, _ in planned:
            now = read_file(self.workspace, area, path)
            if now != before:
                raise _conflict(path, now)
        folder = intent.state_folder(self.workspace)
        intent.carry_out(
            self.workspace, folder, [(area, path, before, after) for (area, path), before, after in planned]
        )

    def _expected(self, path: str, expect: str | None | Expect, area: Area) -> bytes | None:
        before = self.read(path, area=area)
        if isinstance(expect, Expect):
            return before
        digest = _hash(before)
        fits = digest is None if expect is None else _same_hash(digest, expect)
        if not fits:
            raise _conflict(path, before)
        return before

    def _differing(self) -> list[tuple[tuple[Area, str], bytes | None, bytes | None]]:
        planned = ((key, self._read.get(key), after) for key, after in self._pending.items())
        return [item for item in planned if item[1] != item[2]]


def read_file(workspace: Workspace, area: Area, path: str) -> bytes | None:
    """Return a file's bytes; None when it is not there. Raises AccessDenied, TooLarge or WikiError."""
    place = workspace.place(area, path)
    try:
        if not place.is_file():
            if place.exists():
                raise WikiError(f"{path} is no regular file", hint="Move it away.")
            return None
        with place.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WikiError(f"{path} cannot be read ({error.strerror})", hint="Check its rights.") from error
    if len(data) > MOST_BYTES:
        raise TooLarge(f"{path} is over {MOST_BYTES >> 20} MiB", hint="Such a file is not kept in a wiki.")
    return data


def decoded(data: bytes, path: str) -> str:
    """Return a page's text. Raises WikiError when it is not UTF-8: writing it back would change it."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise WikiError(f"{path} line {line} is not UTF-8", hint="Save it as UTF-8 and try again.") from error


def refuse_secrets(data: bytes, before: bytes | None, path: str) -> None:
    """Raise Refused when ``data`` holds a secret that ``before`` does not hold."""
    found = scan(data.decode("utf-8", "replace"))
    if not found:
        return
    known = Counter(item.fingerprint for item in scan((before or b"").decode("utf-8", "replace")))
    fresh: list[Finding] = []
    for item in found:
        if known[item.fingerprint] > 0:
            known[item.fingerprint] -= 1
        else:
            fresh.append(item)
    if fresh:
        named = "; ".join(f"{item.rule} on line {item.line}: {item.excerpt}" for item in fresh[:3])
        more = f" and {len(fresh) - 3} more" if len(fresh) > 3 else ""
        hint = "Nothing was written. Take it out, or say that secrets are allowed if it is none."
        raise Refused(f"{path} would hold secrets or personal data: {named}{more}", hint=hint)


def _conflict(path: str, now: bytes | None) -> Conflict:
    if now is None:
        return Conflict(f"{path} is not there (any more)", hint="Read the wiki again before writing.")
    digest = content_hash(now)
    return Conflict(
        f"{path} is not what was expected: its content_hash is {digest[:_SHORTEST_HASH]}",
        current=now.decode("utf-8", "replace"),
        content_hash=digest,
        hint="Read it, merge your change into its present text and write with that content_hash.",
    )


def _key(area: Area, path: str) -> tuple[Area, str]:
    """Return a file's area and its path in one form. Raises AccessDenied, also for the folder of the lock."""
    parts = lexical(path)
    if area is Area.WIKI and parts[0] == STATE_FOLDER:
        raise AccessDenied(f"nothing is read or written in {STATE_FOLDER}/", hint="Name a page of the wiki.")
    return area, "/".join(parts)


def _same_hash(digest: str | None, expected: str) -> bool:
    wanted = expected.strip().lower()
    return digest is not None and len(wanted) >= _SHORTEST_HASH and digest.startswith(wanted)


def _hash(data: bytes | None) -> str | None:
    return None if data is None else content_hash(data)


def _diff(path: str, before: bytes | None, after: bytes | None) -> str:
    try:
        old, new = (data.decode("utf-8") if data is not None else "" for data in (before, after))
    except UnicodeDecodeError:
        return f"Binary file {path} differs\n"
    lines = difflib.unified_diff(
        old.splitlines(keepends=True),
        new.splitlines(keepends=True),
        "/dev/null" if before is None else f"a/{path}",
        "/dev/null" if after is None else f"b/{path}",
    )
    unended = "\n\\ No newline at end of file\n"
    return "".join(line if line.endswith("\n") else line + unended for line in lines)
