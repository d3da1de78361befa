"""What a source tree leaves out by its own word: the ``.gitignore`` files that are in force in a folder.

The only user of pathspec. Patterns count as git counts them: those of a deeper folder win over those above,
the last one that fits decides, and nothing below an ignored folder comes back. Rules of the user's own git
configuration are not read: what a wiki is compiled from must not hang on who compiles it.
"""

from __future__ import annotations

from dataclasses import dataclass

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

MOST_BYTES = 1024 * 1024
"""Bytes of one ``.gitignore`` that are read."""


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The patterns in force in one folder, those of the deepest folder first."""

    layers: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    def below(self, folder: str, text: str) -> IgnoreRules:
        """Return the rules with those of a ``.gitignore`` that lies in ``folder`` (empty: the top)."""
        spec = GitIgnoreSpec([pattern for line in text.splitlines() for pattern in _patterns(line)])
        if not spec.patterns:
            return self
        prefix = f"{folder}/" if folder else ""
        return IgnoreRules(((prefix, spec), *self.layers))

    def ignore(self, path: str, *, folder: bool) -> bool:
        """Say whether a path, relative to the top, is left out; what lies above it is taken to be in."""
        for prefix, spec in self.layers:
            decided = spec.check_file(path[len(prefix) :] + ("/" if folder else "")).include
            if decided is not None:
                return decided
        return False


def _patterns(line: str) -> list[GitIgnoreSpecPattern]:
    """Compile one line; a line that is no pattern says nothing, as for git."""
    try:
        spec = GitIgnoreSpec.from_lines([line])
    except ValueError:
        return []
    return [pattern for pattern in spec.patterns if pattern.include is not None]
