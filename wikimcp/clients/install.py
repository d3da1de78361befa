"""Installing into a client and out of it: plan every file first, then write all or nothing."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from wikimcp.clients import antigravity, claude_code, codex, cursor, gemini, vscode
from wikimcp.clients.parts import InstallRefused, Part
from wikimcp.clients.project_files import Change, ProjectFolder, decoded, write_all
from wikimcp.clients.wiring import Wiring

CLIENTS: Mapping[str, Callable[[Wiring], Sequence[Part]]] = {
    module.CLIENT: module.parts for module in (claude_code, antigravity, cursor, vscode, codex, gemini)
}
"""Every client, with what is written for it."""

_NOBODY = Wiring(command=("wikimcp",), vault="", extractor=True)


@dataclass(frozen=True, slots=True)
class Plan:
    """What would change, in the order of writing; ``notes`` say what stays and why."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...] = ()

    def diff(self) -> str:
        """Return the changes as a unified diff."""
        return "".join(line for change in self.changes for line in _diff(change))

    def apply(self) -> None:
        """Write all of it or nothing. Raises InstallRefused."""
        write_all(self.changes)


@dataclass(slots=True)
class _Draft:
    """One file while its parts are worked in."""

    before: bytes | None
    text: str | None
    bom: str
    folders: int = 0
    gone: bool = field(default=False)

    @property
    def after(self) -> bytes | None:
        return None if self.gone or self.text is None else (self.bom + self.text).encode("utf-8")


def plan_install(client: str, project: ProjectFolder, wiring: Wiring) -> Plan:
    """Plan an installation; a second one over the first changes nothing. Raises InstallRefused."""
    drafts: dict[str, _Draft] = {}
    made: set[str] = set()
    for part in CLIENTS[client](wiring):
        draft = _draft(drafts, project, part.file)
        if draft.text is None:
            draft.folders = _new_folders(project, part.file, made)
        draft.text = part.install(draft.text, folders=draft.folders)
        _encodable(part.file, draft)
    return _checked(project, drafts)


def plan_uninstall(client: str, project: ProjectFolder) -> Plan:
    """Plan the way back: exactly what was added goes. Raises InstallRefused."""
    drafts: dict[str, _Draft] = {}
    notes: list[str] = []
    for part in reversed(CLIENTS[client](_NOBODY)):
        draft = _draft(drafts, project, part.file)
        if draft.text is None or draft.gone:
            continue
        removed = part.uninstall(draft.text)
        if removed is None:
            if part.state(draft.text) == "by hand":
                notes.append(f"{part.file} holds an entry that was made by hand: it stays")
            continue
        draft.text, draft.gone, draft.folders = removed.text, removed.made_file, removed.folders
        notes += [removed.note] if removed.note else []
    return _checked(project, drafts, notes)


def client_states(project: ProjectFolder) -> Iterator[tuple[str, str, str]]:
    """Yield ``(client, file, state)`` for every file of a client that is in the project.

    The state is ``installed``, ``installed in part``, ``by hand``, ``absent`` or ``broken: why``.
    """
    for client, parts in CLIENTS.items():
        states: dict[str, list[str]] = {}
        for part in parts(_NOBODY):
            try:
                text, _ = decoded(part.file, project.read(part.file))
            except InstallRefused as error:
                states.setdefault(part.file, []).append(f"broken: {error.message}")
                continue
            if text is not None:
                states.setdefault(part.file, []).append(part.state(text))
        yield from ((client, file, _together(found)) for file, found in states.items())


def _together(states: Sequence[str]) -> str:
    """Return the state of a file from those of the parts in it."""
    broken = [state for state in states if state.startswith("broken")]
    if broken:
        return broken[0]
    if len(set(states)) == 1:
        return states[0]
    return "installed in part" if "installed" in states else "by hand"


def _draft(drafts: dict[str, _Draft], project: ProjectFolder, file: str) -> _Draft:
    if file not in drafts:
        before = project.read(file)
        text, bom = decoded(file, before)
        drafts[file] = _Draft(before, text, bom)
    return drafts[file]


def _new_folders(project: ProjectFolder, file: str, made: set[str]) -> int:
    """Count the folders that this file is the first to need."""
    missing = project.missing_folders(file)
    parents = [file.rsplit("/", depth)[0] for depth in range(1, missing + 1)]
    new = [parent for parent in parents if parent not in made]
    made.update(new)
    return len(new)


def _encodable(file: str, draft: _Draft) -> None:
    try:
        _ = draft.after
    except UnicodeEncodeError as error:
        raise InstallRefused(
            f"{file} cannot hold the path of the vault or the command: it is not UTF-8",
            hint="Nothing was written. Rename the folder.",
        ) from error


def _checked(project: ProjectFolder, drafts: Mapping[str, _Draft], notes: Sequence[str] = ()) -> Plan:
    changes = [
        Change(file, project.path_of(file), draft.before, draft.after, draft.folders)
        for file, draft in drafts.items()
        if draft.after != draft.before
    ]
    for change in changes:
        project.check_writable(change)
    return Plan(tuple(changes), tuple(notes))


def _diff(change: Change) -> Iterator[str]:
    def lines(data: bytes | None) -> list[str]:
        return data.decode("utf-8").splitlines(keepends=True) if data else []

    old, new = ("/dev/null" if data is None else change.file for data in (change.before, change.after))
    for line in difflib.unified_diff(lines(change.before), lines(change.after), old, new):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at the end of the file\n"
