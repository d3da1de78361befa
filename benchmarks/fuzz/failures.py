"""Failures kept for later: the page shrunk to what still fails, written with what is wrong with it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.fuzz.mutating import FuzzedFile
from benchmarks.fuzz.reading import Failure

_SHRINKING = 10.0
"""Seconds that shrinking one page may take."""


def shrunk(
    file: FuzzedFile, fails: Callable[[FuzzedFile], bool], *, seconds: float = _SHRINKING
) -> FuzzedFile:
    """Return the smallest page found that still ``fails``: plain name, fewer lines, then fewer bytes."""
    until = time.monotonic() + seconds
    plain = FuzzedFile("p", file.data)
    if file.name != "p" and fails(plain):
        file = plain
    for parts in (file.data.splitlines(keepends=True), None):
        pieces = parts if parts is not None else [bytes((byte,)) for byte in file.data]
        kept = _fewest(pieces, lambda few, name=file.name: fails(FuzzedFile(name, b"".join(few))), until)  # type: ignore[misc]
        file = FuzzedFile(file.name, b"".join(kept))
    return file


def _fewest(
    pieces: Sequence[bytes], fails: Callable[[Sequence[bytes]], bool], until: float
) -> Sequence[bytes]:
    """Take runs of pieces out, each half as long as those before, as long as the rest still fails."""
    size = max(len(pieces) // 2, 1)
    while pieces:
        at = 0
        while at < len(pieces):
            if time.monotonic() > until:
                return pieces
            fewer = [*pieces[:at], *pieces[at + size :]]
            if fails(fewer):
                pieces = fewer
            else:
                at += size
        if size == 1:
            break
        size //= 2
    return pieces


def write_failure(folder: Path, name: str, file: FuzzedFile, failures: Sequence[Failure]) -> Path:
    """Write a page and, beside it, what is wrong with it; return the page's path."""
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / f"{name}.md"
    page.write_bytes(file.data)
    facts = {
        "name": file.name,
        "failures": [{"dialect": failure.dialect, "message": failure.message} for failure in failures],
    }
    page.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n", encoding="ascii")
    return page


def read_failure(page: Path) -> FuzzedFile:
    """Read a page to replay, with its own name where it was kept. Raises OSError."""
    data = page.read_bytes()
    try:
        name = json.loads(page.with_suffix(".json").read_text("ascii"))["name"]
    except (OSError, ValueError, KeyError, TypeError):
        name = "p"
    return FuzzedFile(name if isinstance(name, str) and "/" not in name else "p", data)
