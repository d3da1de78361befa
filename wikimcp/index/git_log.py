"""What git knows of a folder: its commits file by file, and the content at HEAD. Only this module runs git.

Nothing is written into the repository, and nothing that its configuration names is run: no hook, monitor,
pager, external diff, filter, signature check, or fetch. Each call is bounded in time.
"""

from __future__ import annotations

import hashlib
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from wikimcp.regular_files import read_regular

_HARMLESS = (
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat"),
    *("-c", "log.showSignature=false", "-c", "protocol.allow=never", "-c", "diff.external="),
    *(
        "-c",
        "i18n.logOutputEncoding=UTF-8",
        "-c",
        "diff.orderFile=/dev/null",
        "-c",
        "core.untrackedCache=false",
    ),
)
_ENVIRONMENT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_LOG = (
    *("log", "--topo-order", "--reverse", "--full-history", "-M", "-l400", "-c", "--name-status", "-z"),
    *("--no-color", "--no-notes", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-relative"),
    "--format=%x01%H%x02%cI%x02%an%x02%s",
)
OUTSIDE = "/"
"""What the path of a file outside of the folder begins with; the rest is its path in the repository."""
_CHUNK = 1 << 16
_MOST_TEXT = 1 << 14
_MOST_BLOB = 64 * 2**20


class GitError(Exception):
    """Git is not there, refuses, or took too long. ``code`` is its exit code, 0 where it gave none."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Change:
    """One file in one commit: ``status`` is git's letter; ``before`` the path a renamed file had."""

    status: str
    path: str
    before: str = ""


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit with the files it touched; ``at`` is its committer's time (ISO 8601 with offset)."""

    sha: str
    at: str
    author: str
    subject: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class Repository:
    """The work tree that a folder lies in. ``prefix`` is the folder's path in it, with a slash, or empty."""

    folder: Path
    git_dir: Path
    common_dir: Path
    prefix: str
    env: Mapping[str, str]

    def mark(self) -> tuple[object, ...]:
        """Return what changes when HEAD moves, by a few looks at files: no process is started."""
        files = [self.git_dir / "HEAD", self.git_dir / "logs" / "HEAD", self.common_dir / "packed-refs"]
        files.append(self.common_dir / "reftable" / "tables.list")
        with suppress(OSError, UnicodeDecodeError):
            name = _small_text(self.git_dir / "HEAD").removeprefix("ref: ")
            if name.startswith("refs/") and ".." not in name:
                files.append(self.common_dir / name)
        marks: list[object] = []
        for file in files:
            try:
                facts = file.stat()
                marks.append((facts.st_mtime_ns, facts.st_size, facts.st_ino))
            except OSError:
                marks.append(None)
        return tuple(marks)

    @property
    def whole(self) -> bool:
        """Whether all of its history is here: neither a shallow clone nor a partial one."""
        with suppress(OSError):
            if (self.common_dir / "shallow").stat().st_size:
                return False
        with suppress(OSError):
            return not any((self.common_dir / "objects" / "pack").glob("*.promisor"))
        return True

    def head(self, *, stop: threading.Event, seconds: float) -> str:
        """Return the id of the commit at HEAD; empty when there is none yet. Raises GitError."""
        try:
            found = b"".join(self._run(("rev-parse", "--verify", "-q", "HEAD^{commit}"), stop, seconds))
        except GitError as error:
            if error.code == 1:
                return ""
            raise
        return found.decode("ascii", "replace").strip()

    def follows(self, old: str, new: str, *, stop: threading.Event, seconds: float) -> bool:
        """Whether ``new`` goes on from ``old``, so that the commits between them are all that is new.

        False for a commit that is not there any more. Raises GitError.
        """
        try:
            b"".join(self._run(("merge-base", "--is-ancestor", old, new), stop, seconds))
        except GitError as error:
            if error.code:
                return False
            raise
        return True

    def commits(
        self, old: str, new: str, suffixes: Iterable[str], *, stop: threading.Event, seconds: float
    ) -> Iterator[Commit]:
        """Yield the commits of files with these endings, parents first, from ``old`` (empty: all) to ``new``.

        Those of the whole repository, so that a file that was moved into the folder keeps its history.
        Paths are relative to the folder, or begin with ``OUTSIDE``. Raises GitError.
        """
        span = f"{old}..{new}" if old else new
        files = [f":(top,icase)*{suffix}" for suffix in suffixes]
        yield from _parsed(_tokens(self._run((*_LOG, span, "--", *files), stop, seconds)), self.prefix)

    def tree(self, commit: str, *, stop: threading.Event, seconds: float) -> dict[str, str]:
        """Return the object id of every file of the folder in a commit, by path. Raises GitError."""
        found: dict[str, str] = {}
        for token in _tokens(self._run(("ls-tree", "-r", "-z", commit), stop, seconds)):
            facts, _, path = token.partition("\t")
            parts = facts.split()
            if len(parts) == 3 and parts[1] == "blob" and parts[0] != "120000":
                found[path] = parts[2]
        return found

    def content_hashes(
        self, ids: Sequence[str], *, stop: threading.Event, seconds: float
    ) -> Iterator[tuple[str, str, str]]:
        """Yield (object id, content hash, the same with CRLF line ends) of blobs. Raises GitError."""
        if not ids:
            return
        asked = "".join(f"{name}\n" for name in ids).encode("ascii")
        reader = _Reader(self._run(("cat-file", "--batch"), stop, seconds, given=asked))
        for name in ids:
            header = reader.line().split()
            if len(header) != 3 or not header[2].isdigit() or int(header[2]) > _MOST_BLOB:
                raise GitError("an object of HEAD cannot be read")
            data = reader.take(int(header[2]))
            reader.take(1)
            windows = data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
            yield name, content_hash(data), content_hash(windows)

    def _run(
        self, words: Iterable[str], stop: threading.Event, seconds: float, *, given: bytes = b""
    ) -> Iterator[bytes]:
        """Run git and yield what it prints. Raises GitError when it fails or does not end in time."""
        command = ["git", "--no-pager", *_HARMLESS, *words]
        with (
            _started(command, self.folder, self.env) as process,
            _ended_in_time(process, stop, seconds) as late,
        ):
            feeder = threading.Thread(target=_feed, args=(process, given), daemon=True)
            feeder.start()
            assert process.stdout is not None
            while chunk := process.stdout.read(_CHUNK):
                yield chunk
            code = process.wait()
            feeder.join(timeout=1.0)
        if late.is_set():
            raise GitError("git took too long")
        if code:
            raise GitError("git cannot read this repository", code)


def find_repository(folder: Path, env: Mapping[str, str]) -> Repository | None:
    """Return the work tree that a folder lies in; None when no ``.git`` is above. Starts no process.

    ``env`` is the environment for git; what it holds of git itself is not passed on.
    """
    real = folder.resolve()
    for top in (real, *real.parents):
        mark = top / ".git"
        git_dir = mark if mark.is_dir() else _linked(mark)
        if git_dir is None:
            continue
        common_dir = git_dir
        with suppress(OSError, UnicodeDecodeError):
            common_dir = (git_dir / _small_text(git_dir / "commondir")).resolve()
        prefix = real.relative_to(top).as_posix()
        clean = {name: value for name, value in env.items() if not name.startswith("GIT_")}
        return Repository(
            real, git_dir, common_dir, "" if prefix == "." else f"{prefix}/", {**clean, **_ENVIRONMENT}
        )
    return None


def content_hash(data: bytes) -> str:
    """Return the hash that a file of this content has in the index: 16 hex of its SHA-256."""
    return hashlib.sha256(data).hexdigest()[:16]


def _small_text(file: Path) -> str:
    """Return the text of one of git's small files, trimmed. Raises OSError or UnicodeDecodeError."""
    return read_regular(file, most=_MOST_TEXT, follow=True).decode("utf-8").strip()


def _linked(mark: Path) -> Path | None:
    """Return the folder that a ``.git`` file names, as in a linked work tree or a submodule."""
    try:
        text = _small_text(mark)
    except (OSError, UnicodeDecodeError):
        return None
    if not text.startswith("gitdir:"):
        return None
    folder = (mark.parent / text.removeprefix("gitdir:").strip()).resolve()
    return folder if folder.is_dir() else None


@contextmanager
def _started(
    command: Sequence[str], folder: Path, env: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    try:
        process = subprocess.Popen(  # nosec B603 # our own words, no shell
            command,
            cwd=folder,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError as error:
        raise GitError("git cannot be started") from error
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


@contextmanager
def _ended_in_time(
    process: subprocess.Popen[bytes], stop: threading.Event, seconds: float
) -> Iterator[threading.Event]:
    """Kill a process that takes longer than it may, or when the server stops; the event tells of it."""
    late, over = threading.Event(), threading.Event()

    def watch() -> None:
        left = seconds
        while left > 0 and not over.wait(timeout=min(_LOOK, left)):
            left -= _LOOK
            if stop.is_set():
                break
        if not over.is_set():
            late.set()
            process.kill()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield late
    finally:
        over.set()
        watcher.join(timeout=1.0)


_LOOK = 0.1


def _feed(process: subprocess.Popen[bytes], given: bytes) -> None:
    assert process.stdin is not None
    with suppress(OSError, ValueError):
        process.stdin.write(given)
        process.stdin.close()


def _tokens(chunks: Iterable[bytes]) -> Iterator[str]:
    """Yield what stands between zero bytes."""
    rest = b""
    for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\0")
        yield from (token.decode("utf-8", "surrogateescape") for token in whole)
    if rest:
        yield rest.decode("utf-8", "surrogateescape")


def _parsed(tokens: Iterator[str], prefix: str) -> Iterator[Commit]:
    header: str | None = None
    changes: list[Change] = []
    for token in tokens:
        if token.startswith("\x01"):
            if header is not None:
                yield _commit(header, changes)
            header, changes = token, []
            continue
        status = token.lstrip("\n")
        if not status:
            continue
        path = next(tokens, "")
        if status[0] in "RC" and status[1:].isdigit():
            before, path = path, next(tokens, "")
            changes.append(Change(status[0], _placed(path, prefix), _placed(before, prefix)))
        else:  # a merge has a letter for each parent
            changes.append(Change(status[-1], _placed(path, prefix)))
    if header is not None:
        yield _commit(header, changes)


def _placed(path: str, prefix: str) -> str:
    """Return a path as seen from the folder."""
    return path[len(prefix) :] if path.startswith(prefix) else OUTSIDE + path


def _commit(header: str, changes: Sequence[Change]) -> Commit:
    shown = header[1:].rstrip("\n").encode("utf-8", "replace").decode("utf-8")
    sha, at, author, subject, *_ = [*shown.split("\x02", 3), "", "", ""]
    return Commit(sha, at, author, subject, tuple(changes))


class _Reader:
    """Reads lines and counted bytes from what a process prints."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._held = bytearray()

    def _more(self) -> None:
        chunk = next(self._chunks, b"")
        if not chunk:
            raise GitError("git ended too early")
        self._held += chunk

    def line(self) -> str:
        while (end := self._held.find(b"\n")) < 0:
            self._more()
        line = self._held[:end].decode("ascii", "replace")
        del self._held[: end + 1]
        return line

    def take(self, count: int) -> bytes:
        while len(self._held) < count:
            self._more()
        data = bytes(self._held[:count])
        del self._held[:count]
        return data
