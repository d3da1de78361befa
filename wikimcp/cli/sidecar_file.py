"""Placing a sidecar in a vault: the one file that the command line writes there, when somebody asks for it.

What goes into it is decided before; here it is put in its place at once and whole, or not at all.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from wikimcp.errors import BadArgument, Unavailable, VaultError

SIDECAR = "graph/graph.json"
_UNTOUCHED = "Nothing was written."


@dataclass(frozen=True, slots=True)
class Place:
    """Where a sidecar lies: ``path`` in the vault, the ``real`` file, its bytes as read (None: no file)."""

    path: str
    real: Path
    before: bytes | None


def find_place(root: Path, path: str) -> Place:
    """Return the place of a sidecar, ``path`` being relative to the root of the vault.

    Raises VaultError when it leads out of the vault, is no regular file or cannot be read.
    """
    inside = Path(os.path.realpath(root))
    try:
        real = Path(os.path.realpath(root / path))
        if real == inside or not real.is_relative_to(inside):
            raise VaultError(
                f"{path} is a symbolic link that leads out of the vault",
                hint=f"{_UNTOUCHED} Remove the link.",
            )
        return Place(path, real, _bytes_of(real, path))
    except OSError as error:
        raise VaultError(f"{path} cannot be read ({error.strerror})", hint=_UNTOUCHED) from error


def put(place: Place, text: str) -> None:
    """Write the new text in one step, with the rights of the file it replaces.

    Raises Unavailable when the file changed since it was read, VaultError when it cannot be written.
    """
    folder = place.real.parent
    made = not folder.exists()
    try:
        folder.mkdir(exist_ok=True)
        try:
            _swap_in(place, text.encode("utf-8"))
        except BaseException:
            if made:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise
    except OSError as error:
        raise VaultError(
            f"{place.path} cannot be written ({error.strerror})",
            hint=f"{_UNTOUCHED} Check the rights and the free space.",
        ) from error


def _swap_in(place: Place, data: bytes) -> None:
    descriptor, spare = tempfile.mkstemp(prefix=".graph-", suffix=".part", dir=place.real.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(spare, _rights(place.real))
        if (
            os.path.realpath(place.real) != str(place.real)
            or _bytes_of(place.real, place.path) != place.before
        ):
            raise Unavailable(f"{place.path} changed meanwhile", hint=f"{_UNTOUCHED} Try again.")
        os.replace(spare, place.real)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(spare)
        raise


def _rights(file: Path) -> int:
    try:
        return stat.S_IMODE(file.stat().st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _bytes_of(file: Path, path: str) -> bytes | None:
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise VaultError(f"{path} is no regular file", hint=_UNTOUCHED)
        return file.read_bytes()
    except FileNotFoundError:
        return None


def read_given(name: str, *, cap: int) -> bytes:
    """Return the bytes of a file that was named on the command line, ``cap`` plus one at most."""
    try:
        if not Path(name).is_file():
            raise BadArgument(f"'{name[:200]}' is no file", hint="Name the JSON file to check.")
        with open(name, "rb") as file:
            return file.read(cap + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its name is not possible"
        raise BadArgument(
            f"'{name[:200]}' cannot be read ({why})", hint="Check its name and rights."
        ) from error
