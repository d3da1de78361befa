"""The file of API keys: hashes only, for its owner's eyes only, replaced as a whole under a lock.

Readers look at its stamp before each use, so that a new or revoked key counts at once everywhere.
"""

from __future__ import annotations

import json
import os
import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from wikimcp.access.keys import SCOPES, ApiKey
from wikimcp.errors import BadArgument, NotFound, StateError, nearest
from wikimcp.index.lock import ProcessLock

_VERSION = 1
_LOCK_SECONDS = 5.0
_MOST_BYTES = 4 << 20
_HEX = frozenset("0123456789abcdef")


class KeyFile:
    """The keys of one user, shared by all servers that read the same file. Safe to use from threads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._mutex = threading.Lock()
        self._stamp: tuple[int, ...] | None = None
        self._keys: tuple[ApiKey, ...] = ()
        self._trouble: StateError | None = None

    def read(self) -> tuple[ApiKey, ...]:
        """Return the keys on disk now, expired ones too; none where there is no file.

        Costs one stat while the file stays the same. Raises StateError for a file that cannot be read.
        """
        with self._mutex:
            stamp = self._look()
            if stamp is None:
                self._stamp, self._keys, self._trouble = None, (), None
            elif stamp != self._stamp:
                self._stamp = stamp
                try:
                    self._keys, self._trouble = self._load(), None
                except StateError as error:
                    self._keys, self._trouble = (), error
            if self._trouble is not None:
                raise self._trouble
            return self._keys

    def add(self, key: ApiKey) -> None:
        """Store a new key. Raises BadArgument when its name is taken, StateError when that fails."""

        def change(keys: Sequence[ApiKey]) -> list[ApiKey]:
            if any(known.name == key.name for known in keys):
                raise BadArgument(
                    f"there is a key named '{key.name}' already",
                    hint=f"Choose another name, or revoke it first: wikimcp keys revoke {key.name}",
                )
            return [*keys, key]

        self._change(change)

    def revoke(self, name: str) -> None:
        """Remove a key. Raises NotFound with the nearest names, StateError when that fails."""

        def change(keys: Sequence[ApiKey]) -> list[ApiKey]:
            kept = [known for known in keys if known.name != name]
            if len(kept) == len(keys):
                near = nearest(name[:64], [known.name for known in keys])
                hint = f"Nearest: {', '.join(near)}." if near else "See `wikimcp keys list`."
                raise NotFound(f"there is no key named '{name[:64]}'", hint=hint)
            return kept

        self._change(change)

    def _look(self) -> tuple[int, ...] | None:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateError(f"the file of API keys cannot be read ({error.strerror})") from error
        return status.st_mtime_ns, status.st_size, status.st_ino

    def _load(self) -> tuple[ApiKey, ...]:
        try:
            with self.path.open("rb") as file:
                content = file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StateError(f"the file of API keys cannot be read ({error.strerror})") from error
        try:
            if len(content) > _MOST_BYTES:
                raise ValueError("too large")
            stored = json.loads(content)
            if stored["version"] != _VERSION:
                raise ValueError("another version")
            return tuple(_key(entry) for entry in stored["keys"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise StateError(
                f"the file of API keys ({self.path.name}) is damaged: no key is accepted",
                hint="Restore it from a copy, or remove it and create the keys anew.",
            ) from None

    def _change(self, change: Callable[[Sequence[ApiKey]], list[ApiKey]]) -> None:
        lock = ProcessLock(self.path.with_name(f"{self.path.name}.lock"))
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with lock.hold(timeout=_LOCK_SECONDS) as mine:
                if not mine:
                    raise StateError("another process is changing the API keys", hint="Try again.")
                keys = change(self._load())
                stored = {"version": _VERSION, "keys": [_entry(key) for key in keys]}
                self._write(json.dumps(stored, indent=1))
        except OSError as error:
            raise StateError(
                f"the file of API keys cannot be written ({error.strerror})",
                hint="Name another place with --set http.keys_file=FILE.",
            ) from error

    def _write(self, text: str) -> None:
        """Put a new file in the place of the old one, never less than whole, never open to others."""
        spare = self.path.with_name(f".{self.path.name}-{uuid.uuid4().hex}")
        descriptor = os.open(spare, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(spare, self.path)
        except BaseException:
            with suppress(OSError):
                spare.unlink()
            raise


def _entry(key: ApiKey) -> dict[str, Any]:
    return {
        "name": key.name,
        "sha256": key.sha256,
        "scopes": sorted(key.scopes),
        "labels": sorted(key.labels),
        "created": key.created,
        "expires": key.expires,
    }


def _key(entry: dict[str, Any]) -> ApiKey:
    """Read one entry. Raises ValueError, KeyError or TypeError for what is none."""
    texts = [entry[name] for name in ("name", "sha256", "created", "expires")]
    lists = [entry[name] for name in ("scopes", "labels")]
    if not all(isinstance(text, str) for text in texts):
        raise TypeError
    if not all(isinstance(items, list) and all(isinstance(i, str) for i in items) for items in lists):
        raise TypeError
    name, sha256, created, expires = texts
    if len(sha256) != 64 or not set(sha256) <= _HEX:
        raise ValueError(sha256)
    scopes = frozenset(lists[0])
    return ApiKey(name, sha256, scopes & frozenset(SCOPES), frozenset(lists[1]), created, expires)
