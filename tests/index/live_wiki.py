"""A real vault with a real service over it, for tests that edit files and ask."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from wikimcp.app import build_service
from wikimcp.models import Caller
from wikimcp.service import WikiService
from wikimcp.settings import load_settings

DEADLINE = 20.0


class LiveWiki:
    """One vault folder and a service that is started on demand."""

    def __init__(self, folder: Path, **flags: object) -> None:
        self.vault = folder / "vault"
        self.state = folder / "state"
        self.vault.mkdir(exist_ok=True)
        self._flags = flags
        self._service: WikiService | None = None

    @property
    def service(self) -> WikiService:
        """The running service; started at the first use."""
        if self._service is None:
            flags = {
                "vault": str(self.vault),
                "state_dir": str(self.state),
                "embedder": "none",
                **self._flags,
            }
            self._service = build_service(load_settings(flags, env={}, cwd=self.vault))
            self._service.wait_ready("floor")
        return self._service

    def stop(self) -> None:
        """Stop the service; the next use starts another over the same state."""
        if self._service is not None:
            self._service.close()
            self._service = None

    def write(self, path: str, text: str) -> Path:
        """Write one file of the vault."""
        file = self.vault / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def call(self, tool: str, caller: Caller | None = None, /, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its structured content."""
        answer = self.service.call(tool, arguments, caller or Caller())
        assert answer.structured is not None
        return answer.structured

    def found(self, query: str, **arguments: object) -> list[str]:
        """Return the slugs of a bundle's sections, each once, in order."""
        sections = self.call("assemble_bundle", query=query, **arguments)["sections"]
        return list(dict.fromkeys(section["slug"] for section in sections))

    def slugs(self) -> list[str]:
        """Return the slugs of all listed pages."""
        return [page["slug"] for page in self.call("list_pages", limit=200)["pages"]]


def until(true: Callable[[], object], what: str | Callable[[], str]) -> None:
    """Wait until a condition holds, looking again and again; fail after a deadline."""
    deadline = time.monotonic() + DEADLINE
    pause = threading.Event()
    while not true():
        said = what() if callable(what) else what
        assert time.monotonic() < deadline, f"not within {DEADLINE} s: {said}"
        pause.wait(0.002)  # what is waited for may need the processor


def same_stamp(file: Path, text: str) -> None:
    """Rewrite a file with text of the same size and put its old times back."""
    before = file.stat()
    assert len(text.encode()) == before.st_size
    file.write_text(text, encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
