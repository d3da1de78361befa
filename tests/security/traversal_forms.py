"""Ways to name a file that is not one's to name, and a vault that has such files in it and beside it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from tests.index.live_wiki import LiveWiki

SECRET = "kqzsecretword"
"""Stands in every file that no caller may read, and nowhere else."""

_TARGETS = (
    *("../outside/secret.md", "notes/../../outside/secret"),
    *("../../../../../../../../etc/passwd", ".obsidian/secret.json", "attic/secret.txt", ".git/config"),
)


def _written(target: str) -> Iterator[str]:
    """Yield one relative target in many spellings."""
    up = target.replace("../", "{}")
    steps = (
        *("../", "..\\", "..//", ".././", "....//", "..;/", "%2e%2e/", "..%2f", "%2e%2e%2f", "..%5c"),
        *("..%252f", "%252e%252e%252f", "..%c0%af", "..%ef%bc%8f", "..\uff0f", "\u2025/", "\uff0e\uff0e/"),
        *(" ../", "../ ", "..\0/", ".\u200b./", "..\u2215", "..\t/", "..%00/"),
    )
    if up == target:
        yield from (target, f"./{target}", f"/{target}", target.replace("/", "\\"), target.replace("/", "//"))
        yield from (quote(target, safe=""), f"open/../{target}", target.upper(), f"{target}\0.md")
    else:
        yield from (up.replace("{}", step) for step in steps)


def forms(outside: Path) -> list[str]:
    """Return well over a hundred names of files outside of the pages of a vault beside ``outside``."""
    secret = str(outside / "secret.md")
    found = [form for target in _TARGETS for form in _written(target)]
    found += [secret, f"//{secret}", f"file://{secret}", f"file://localhost{secret}", f"FILE:{secret}"]
    found += [f"wiki://page/{quote(secret, safe='')}", f"wiki://page/../..{secret}", f"cite://..{secret}#x"]
    found += [f"file:{secret}#L1-L3", "file:../outside/secret.md#L1", "file:..%2foutside%2fsecret.md#L1-L2"]
    found += [
        "/etc/passwd",
        "/proc/self/environ",
        "/proc/self/cwd/../outside/secret.md",
        "~/secret.md",
        "$HOME",
    ]
    found += [
        "C:\\secret.md",
        "\\\\host\\share\\secret.md",
        "\\\\?\\C:\\secret.md",
        "CON",
        "NUL.md",
        "secret.md:x",
    ]
    found += [
        "link",
        "link.md",
        "linked/secret",
        "linked/secret.md",
        "-rf",
        "--vault=/",
        "$(cat /etc/passwd)",
    ]
    found += [
        f"{{{secret}}}",
        f"<{secret}>",
        f'"{secret}"',
        "*",
        "**/*",
        "?",
        "[a-z]*",
        ".",
        "..",
        "/",
        "\\",
        "\0",
    ]
    found += [
        "../" * 500 + "etc/passwd",
        "a/" * 2000,
        "%" * 500,
        "\u202e" + secret,
        "'; ATTACH '/tmp/x' AS y; --",
    ]
    return list(dict.fromkeys(found))


def is_told(form: str, text: str) -> bool:
    """Tell whether a text holds what the secret files hold, leaving out what was asked."""
    return SECRET in text or "root:x:0" in text.replace(form, "")


class GuardedWiki(LiveWiki):
    """A wiki with secrets around it: beside the vault, in hidden folders, in files that are no pages."""

    def __init__(self, folder: Path, **flags: object) -> None:
        super().__init__(folder, **flags)
        self.outside = folder / "outside"
        self.outside.mkdir()
        (self.outside / "secret.md").write_text(f"# {SECRET}\n\n{SECRET} barley\n")
        self.write(
            "open.md", "---\ntags: [ops]\ncluster: works\ntype: note\n---\n# Open\n\nBarley. [[mill]]\n"
        )
        self.write(
            "notes/mill.md", "---\nid: M-1\ncluster: works\n---\n# Mill\n\nIt grinds barley. [[open]]\n"
        )
        for hidden in (".obsidian/secret.json", ".git/config", "attic/secret.txt", "node_modules/secret.md"):
            self.write(hidden, f"{SECRET}\n")
        (self.vault / "link.md").symlink_to(self.outside / "secret.md")
        (self.vault / "linked").symlink_to(self.outside)

    def files(self) -> dict[str, bytes]:
        """Return every file of the vault and beside it, with its bytes."""
        places = (self.vault, self.outside)
        return {
            str(file): file.read_bytes()
            for place in places
            for file in sorted(place.rglob("*"))
            if file.is_file() and not file.is_symlink()
        }


_WATCHED = ("open", "os.listdir", "os.scandir")
_opened: list[str] | None = None


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if _opened is not None and event in _WATCHED and isinstance(arguments[0], str | bytes):
        _opened.append(os.fsdecode(arguments[0]))


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """Give the list of all paths that this process opens or lists while the block runs."""
    global _opened
    if _hear not in _hooks:
        sys.addaudithook(_hear)
        _hooks.append(_hear)
    _opened = []
    try:
        yield _opened
    finally:
        _opened = None


_hooks: list[object] = []
