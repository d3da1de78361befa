"""The skill that goes along with the server: one file, closed by a comment that says whose it is.

The comment holds a digest of the text before it, so that a copy that somebody edited is told from
one that nobody did and is never overwritten or deleted.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

from wikimcp.clients.marks import Mark
from wikimcp.clients.parts import InstallRefused, Removed

SKILL, EXTRACTOR = "wiki-context", "wiki-extractor"
_CLOSING = re.compile(r"\n<!-- wikimcp:skill ([a-z0-9]+) ([0-9a-f]{16}) [^\n]*-->\n?\Z")


def shipped_skill(name: str = SKILL) -> str:
    """Return the text of a skill: from the installed package, else from the source tree beside it."""
    inside = Path(__file__).parent / "shipped" / name / "SKILL.md"
    beside = Path(__file__).parents[2] / "skills" / name / "SKILL.md"
    for file in (inside, beside):
        if file.is_file():
            return file.read_text(encoding="utf-8")
    raise InstallRefused(f"the skill {name} is missing from this installation", hint="Install wikimcp again.")


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A copy of a skill in a client's folder of skills."""

    file: str
    skill: str = SKILL

    def install(self, text: str | None, *, folders: int) -> str:
        """Write the skill, or bring an unedited copy of ours up to date."""
        body = shipped_skill(self.skill)
        if text is None:
            return _closed(body, Mark(whole=True, folders=folders))
        owner, mark = _owner(text)
        if owner == "ours":
            return _closed(body, mark)
        if owner == "by hand" and _plain(text) == body:
            return text
        what = "was edited since it was installed" if owner == "edited" else "is not ours"
        raise InstallRefused(
            f"{self.file} {what}",
            hint="Nothing was written. Move that file away and try again, or leave it as it is.",
        )

    def uninstall(self, text: str) -> Removed | None:
        """Delete an unedited copy of ours; an edited one stays."""
        owner, mark = _owner(text)
        if owner == "ours":
            return Removed("", made_file=True, folders=mark.folders or 0)
        if owner == "edited":
            return Removed(text, note=f"{self.file} was edited since it was installed: it stays")
        return None

    def state(self, text: str) -> str:
        """Tell whether the skill is there and whose it is."""
        owner, _ = _owner(text)
        return "by hand" if owner == "by hand" else "installed"


def skills_in(folder: str, *, extractor: bool) -> list[SkillFile]:
    """Return the skills for a client's folder of skills.

    The one that writes a graph is for those who ask for it: every skill costs each session a few words.
    """
    names = [SKILL, EXTRACTOR] if extractor else [SKILL]
    return [SkillFile(f"{folder}/{name}/SKILL.md", name) for name in names]


def _closed(body: str, mark: Mark) -> str:
    about = "written by `wikimcp install`, removed by `wikimcp uninstall`"
    return f"{body}\n<!-- wikimcp:skill {mark} {_digest(body)} ({about}) -->\n"


def _owner(text: str) -> tuple[str, Mark]:
    plain = _plain(text)
    found = _CLOSING.search(plain)
    mark = Mark.read(found[1]) if found else None
    if found is None or mark is None:
        return ("edited" if "<!-- wikimcp:skill " in plain else "by hand"), Mark()
    return ("ours" if _digest(plain[: found.start()]) == found[2] else "edited"), mark


def _plain(text: str) -> str:
    """Return the text with plain line ends: a version control system may have given it others."""
    return text.replace("\r\n", "\n")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
