"""Where the compiled wiki lies, what it is compiled from, and which names stay inside.

A `Workspace` is what every verb of the authoring profile is given. Containment is decided here and
nowhere else: first by the words of a path, then by where it really leads.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import Literal, get_args

from wikimcp.errors import AccessDenied, BadArgument, WikiError, nearest

Profile = Literal["codebase", "pkm", "hybrid", "auto"]
PROFILES: tuple[str, ...] = get_args(Profile)

WIKI_FOLDER = ".wiki"
STATE_FOLDER = ".state"
"""Within the wiki root: lock, intent and staged files of a change. No page ever lies there."""

_LONGEST_PATH = 1_000


class Area(StrEnum):
    """The folders that verbs may write in; nothing else is ever written."""

    WIKI = "wiki"
    STAGING = "raw/ingest"
    AGENTS_SKILLS = ".agents/skills"
    CLAUDE_SKILLS = ".claude/skills"


@dataclass(frozen=True, slots=True)
class RawRoot:
    """A named folder of raw sources; ``folder`` is relative to the workspace, ``.`` is all of it."""

    name: str
    folder: str


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Workspace:
    """One project with its compiled wiki. ``open`` makes one; ``clock`` returns an aware time."""

    workspace_root: Path
    wiki_root: Path
    raw_roots: tuple[RawRoot, ...] = (RawRoot("workspace", "."),)
    profile: Profile = "auto"
    dry_run: bool = False
    allow_secrets: bool = False
    clock: Callable[[], datetime] = _now

    @classmethod
    def open(
        cls,
        workspace_root: Path | str,
        *,
        wiki_root: Path | str = WIKI_FOLDER,
        raw_roots: Sequence[str] = (".",),
        profile: str = "auto",
        dry_run: bool = False,
        allow_secrets: bool = False,
        clock: Callable[[], datetime] = _now,
    ) -> Workspace:
        """Check the folders and return their workspace.

        A relative ``wiki_root`` lies inside the workspace, an absolute one is taken as it is.
        ``raw_roots`` are folders inside the workspace, each plain or as ``name=folder``. Raises WikiError,
        AccessDenied or BadArgument.
        """
        root = Path(os.path.realpath(workspace_root))
        if not root.is_dir():
            raise WikiError("the workspace is not a folder", hint="Name the project's folder.")
        wiki = Path(wiki_root)
        if not wiki.is_absolute():
            wiki = contained(root, str(wiki_root))
        wiki = Path(os.path.realpath(wiki))
        if wiki == root or root.is_relative_to(wiki):
            raise WikiError("the wiki root holds the whole workspace", hint=f"Use a folder: {WIKI_FOLDER}.")
        if wiki.exists() and not wiki.is_dir():
            raise WikiError("the wiki root is no folder", hint="Move that file away, or name another root.")
        return cls(
            root,
            wiki,
            _named_roots(root, raw_roots),
            _checked_profile(profile),
            dry_run,
            allow_secrets,
            clock,
        )

    @property
    def initialised(self) -> bool:
        """Whether the wiki root is there."""
        return self.wiki_root.is_dir()

    def require_wiki(self) -> None:
        """Raise WikiError when there is no compiled wiki yet."""
        if not self.initialised:
            raise WikiError("there is no compiled wiki here", hint="`wikimcp init` makes one.")

    def now(self) -> str:
        """Return the time as pages record it: ISO 8601 with offset, whole seconds."""
        return self.clock().replace(microsecond=0).isoformat()

    def area_root(self, area: Area) -> Path:
        """Return the folder of an area."""
        return self.wiki_root if area is Area.WIKI else self.workspace_root / str(area)

    def place(self, area: Area, path_text: str) -> Path:
        """Return where a file of an area really lies. Raises AccessDenied."""
        if area is Area.WIKI:  # its root was opened as a real path
            return _inside(str(self.wiki_root), path_text, lexical(path_text))
        lexical(path_text)
        place = contained(self.workspace_root, f"{area}/{path_text}")
        if not place.is_relative_to(self.workspace_root / str(area)):
            raise _refused(path_text, f"leads out of {area} by a symbolic link")
        return place

    def in_wiki(self, path_text: str) -> Path:
        """Return the real path of a name inside the wiki root. Raises AccessDenied."""
        return contained(self.wiki_root, path_text)

    def inside(self, path_text: str) -> Path:
        """Return the real path of a name inside the workspace. Raises AccessDenied."""
        return contained(self.workspace_root, path_text)

    def shown(self, path: Path) -> str:
        """Return a path as messages may show it: relative to workspace or wiki, never of the machine."""
        for root in (self.workspace_root, self.wiki_root.parent):
            if path.is_relative_to(root):
                return path.relative_to(root).as_posix()
        return path.name


def contained(root: Path, path_text: str) -> Path:
    """Return the real path of ``path_text`` below ``root``; it need not exist.

    Raises AccessDenied for ``..``, absolute paths, control characters and any component that is a
    symbolic link leading out of ``root``.
    """
    parts = lexical(path_text)
    return _inside(os.path.realpath(root), path_text, parts)


def _inside(real_root: str, path_text: str, parts: tuple[str, ...]) -> Path:
    """Return the real path of a name below a folder without links. Raises AccessDenied."""
    try:
        real = os.path.realpath(os.path.join(real_root, *parts))
    except (OSError, ValueError) as error:
        raise _refused(path_text, "cannot be followed") from error
    if real != real_root and not real.startswith(os.path.join(real_root, "")):
        raise _refused(path_text, "leads out of its folder by a symbolic link")
    return Path(real)


def lexical(path_text: str) -> tuple[str, ...]:
    """Return the components of a relative path, ``/``-separated. Raises AccessDenied by its words alone."""
    if not path_text.strip() or len(path_text) > _LONGEST_PATH:
        raise _refused(path_text, f"is empty or over {_LONGEST_PATH} characters")
    if not path_text.isprintable() and any(
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in path_text
    ):
        raise _refused(path_text, "holds control characters")
    if "\\" in path_text or path_text[0] in "/~" or path_text[1:2] == ":":
        raise _refused(path_text, "is absolute, or written with backslashes")
    parts = PurePosixPath(path_text).parts
    if ".." in parts:
        raise _refused(path_text, "holds '..'")
    return parts


def _refused(path_text: str, why: str) -> AccessDenied:
    name = "".join(c if c.isprintable() else "\ufffd" for c in path_text[:80])
    hint = "Give a path relative to the folder, with '/', that stays inside it."
    return AccessDenied(f"the path '{name}' {why}", hint=hint)


def _checked_profile(profile: str) -> Profile:
    for known in get_args(Profile):
        if profile == known:
            return known  # type: ignore[no-any-return]
    near = nearest(profile, PROFILES, limit=1) or list(PROFILES)
    raise BadArgument(f"there is no profile '{profile[:40]}'", hint=f"Did you mean {' or '.join(near)}?")


def _named_roots(root: Path, raw_roots: Sequence[str]) -> tuple[RawRoot, ...]:
    named: dict[str, RawRoot] = {}
    for text in raw_roots:
        name, equals, folder = text.partition("=")
        folder = folder if equals else text
        real = contained(root, folder)
        if not real.is_dir():
            raise WikiError(
                f"the raw root '{folder[:80]}' is no folder", hint="Name folders of the workspace."
            )
        relative = real.relative_to(os.path.realpath(root)).as_posix()
        name = name if equals and name else ("workspace" if relative == "." else relative)
        if name in named:
            raise BadArgument(f"two raw roots are called '{name[:40]}'", hint="Write name=folder.")
        named[name] = RawRoot(name, relative)
    if not named:
        raise BadArgument("there is no raw root", hint="Leave it out for the whole workspace.")
    return tuple(named.values())
