"""Skills that go along with a wiki: put into the project's folders of skills, and kept up to date there.

A copy ends in a mark with its version and a digest of its text. A copy whose digest does not fit, or
that has no mark, is somebody's own and is never overwritten.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from wikimcp import __version__
from wikimcp.authoring.workspace import Area
from wikimcp.authoring.writing import Transaction
from wikimcp.errors import WikiError

SKILLS = ("wiki-maintainer", "wiki-rag")
FOLDERS = (Area.AGENTS_SKILLS, Area.CLAUDE_SKILLS)
_MARK = re.compile(r"\n<!-- wikimcp:wiki-skill (\S+) ([0-9a-f]{16}) -->\n?\Z")

State = Literal["created", "updated", "unchanged", "kept"]


@dataclass(frozen=True, slots=True)
class DeployedSkill:
    """One copy of a skill: its file in the workspace, and what was done; ``kept``: somebody changed it."""

    file: str
    state: State


def shipped(name: str) -> str | None:
    """Return a skill's text, from the installed package or the source tree beside it; None without it."""
    inside = Path(__file__).parent / "shipped" / name / "SKILL.md"
    beside = Path(__file__).parents[2] / "skills" / name / "SKILL.md"
    return next((file.read_text(encoding="utf-8") for file in (inside, beside) if file.is_file()), None)


def deploy_skills(change: Transaction) -> list[DeployedSkill]:
    """Plan the copies of all skills; returns one row for each copy. Raises WikiError when none is shipped."""
    texts = {name: text for name in SKILLS if (text := shipped(name)) is not None}
    if not texts:
        raise WikiError("the skills are missing from this installation", hint="Install wikimcp again.")
    rows: list[DeployedSkill] = []
    for area in FOLDERS:
        for name, text in texts.items():
            path = f"{name}/SKILL.md"
            state = _state(change.read_text(path, area=area), text)
            if state in ("created", "updated"):
                change.write(path, marked(text), area=area)
            rows.append(DeployedSkill(f"{area}/{path}", state))
    return rows


def marked(text: str) -> str:
    """Return a skill as it is deployed."""
    return f"{text.rstrip()}\n\n<!-- wikimcp:wiki-skill {__version__} {_digest(text.rstrip())} -->\n"


def _state(present: str | None, text: str) -> State:
    if present is None:
        return "created"
    plain = present.replace("\r\n", "\n")
    if plain in (marked(text), text):
        return "unchanged"
    found = _MARK.search(plain)
    ours = found is not None and _digest(plain[: found.start()].rstrip()) == found[2]
    if not ours:
        return "kept"
    assert found is not None
    return "unchanged" if plain[: found.start()].rstrip() == text.rstrip() else "updated"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
