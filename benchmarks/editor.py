"""An editor that works on a vault by itself: adds, edits, renames, hides and deletes pages without end.

Run as ``python -m benchmarks.editor VAULT SEED``. A line on stdin is an order, ``pause`` or ``go``; each is
answered with a JSON line of what was done so far, after the last change has reached the disk. It ends with
its stdin. Pages that it made carry a word of their own, which no other page has.
"""

from __future__ import annotations

import json
import os
import random
import select
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.processes import ROOT

LONGEST_PAUSE = 0.15  # seconds between two changes, at most
_LETTERS = "abcdefghij"
_FOLDERS = ("", "desk", "desk/notes", "archive")
_NO_PAGES = ("templates",)
_FEWEST, _MOST = 0.8, 1.2  # of the pages that were there first: a vault neither dies out nor bursts


def own_word(number: int) -> str:
    """Return a word for a number: letters alone, as digits would make an identifier of it."""
    return "qev" + "".join(_LETTERS[int(digit)] for digit in str(number)) + "quz"


def _is_page(path: Path) -> bool:
    """Whether a file is a page of its vault; templates are not."""
    return not any(part.startswith(".") or part in _NO_PAGES for part in path.parts)


class Desk:
    """The pages of a vault and what may happen to them."""

    def __init__(self, vault: Path, seed: int) -> None:
        self._vault = vault
        self._chance = random.Random(seed)
        self._pages = sorted(path for path in vault.rglob("*.md") if _is_page(path.relative_to(vault)))
        self._first = len(self._pages)
        self._number = 0
        self.done: Counter[str] = Counter()
        self.words: dict[str, str] = {}

    def change(self) -> None:
        """Make one change, whichever chance says."""
        kinds: dict[str, Callable[[], None]] = {
            "edited": self._edit,
            "replaced": self._replace,
            "renamed": self._rename,
            "hidden": self._hide,
        }
        if len(self._pages) < self._first * _MOST:
            kinds["added"] = self._add
        if len(self._pages) > self._first * _FEWEST:
            kinds["deleted"] = self._delete
        kind = self._chance.choice(sorted(kinds))
        kinds[kind]()
        self.done[kind] += 1

    def told(self) -> dict[str, Any]:
        """Return what was done: changes by kind, pages there, the newest words by path."""
        newest = list(self.words.items())[-20:]
        return {"done": dict(self.done), "pages": len(self._pages), "words": dict(newest)}

    def _add(self) -> None:
        folder = self._vault / self._chance.choice(_FOLDERS)
        folder.mkdir(parents=True, exist_ok=True)
        page = folder / f"note-{self._number + 1}.md"
        page.write_text(self._text(page, "A new page"), encoding="utf-8")
        self._pages.append(page)

    def _edit(self) -> None:
        page = self._chance.choice(self._pages)
        page.write_text(self._text(page, "An edited page"), encoding="utf-8")

    def _replace(self) -> None:
        page = self._chance.choice(self._pages)
        spare = page.with_name(f".{page.name}.tmp")
        spare.write_text(self._text(page, "A replaced page"), encoding="utf-8")
        os.replace(spare, page)

    def _rename(self) -> None:
        at = self._chance.randrange(len(self._pages))
        page = self._pages[at]
        self._number += 1
        place = page.with_name(f"moved-{self._number}.md")
        page.rename(place)
        self._pages[at] = place
        self._move_word(page, place)

    def _hide(self) -> None:
        page = self._chance.choice(self._pages)
        text = self._text(page, "A withheld page")
        page.write_text(f"---\ndraft: true\n---\n{text}", encoding="utf-8")
        del self.words[self._name(page)]

    def _delete(self) -> None:
        page = self._pages.pop(self._chance.randrange(len(self._pages)))
        page.unlink()
        self.words.pop(self._name(page), None)

    def _text(self, page: Path, what: str) -> str:
        self._number += 1
        word = own_word(self._number)
        self.words.pop(self._name(page), None)
        self.words[self._name(page)] = word
        other = self._chance.choice(self._pages).stem
        return (
            f"# {what} {self._number}\n\nThe word {word} stands here alone. See [[{other}]].\n\n"
            f"## Details\n\nIt was written for step {self._number} of the work at this desk.\n"
        )

    def _move_word(self, page: Path, place: Path) -> None:
        word = self.words.pop(self._name(page), None)
        if word is not None:
            self.words[self._name(place)] = word

    def _name(self, page: Path) -> str:
        return page.relative_to(self._vault).as_posix()


class Editor:
    """The editor as a process of its own, for a block."""

    def __init__(self, vault: Path, seed: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.editor", str(vault), str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def __enter__(self) -> Editor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._process:
            self._process.kill()

    def order(self, word: str) -> dict[str, Any]:
        """Have it ``pause`` or ``go``; returns what it has done so far."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        told: dict[str, Any] = json.loads(self._process.stdout.readline())
        return told


def main() -> None:
    """Work until stdin ends; begin with the first ``go``."""
    desk, chance, works = Desk(Path(sys.argv[1]), int(sys.argv[2])), random.Random(int(sys.argv[2])), False
    while True:
        pause = chance.uniform(0, LONGEST_PAUSE) if works else None
        if select.select([sys.stdin], [], [], pause)[0]:
            order = sys.stdin.readline()
            if not order:
                return
            works = order.strip() == "go"
            print(json.dumps(desk.told()), flush=True)
        else:
            desk.change()


if __name__ == "__main__":
    main()
