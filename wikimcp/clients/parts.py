"""The parts of an installation: each puts its piece into one file of a project, and takes it out again.

Pure: a part is given the text of its file and returns the new one. Reading, checking and writing
the files is the matter of `project_files`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from wikimcp.clients import jsonc_edit
from wikimcp.clients.jsonc import BrokenText, Element, Node, line_of, parse
from wikimcp.clients.marks import Mark, mark_in
from wikimcp.errors import WikimcpError

NAME = "wikimcp"
MadeFrom = Callable[[Mark], Any]
"""Makes the value of an entry, given the mark that it has to carry."""


class InstallRefused(WikimcpError):
    """A file of the client is not in a state to be edited; nothing was written."""

    code = "install"


@dataclass(frozen=True, slots=True)
class Removed:
    """What is left of a file: its text, whether ``install`` had made it (then it goes), and a remark."""

    text: str
    made_file: bool = False
    folders: int = 0
    note: str = ""


class Part(Protocol):
    """One piece of an installation, in one file (``file`` is relative to the project)."""

    @property
    def file(self) -> str:
        """The file, with forward slashes."""
        ...

    def install(self, text: str | None, *, folders: int) -> str:
        """Return the text with the piece in it; ``folders`` are to be made for it. Raises InstallRefused."""
        ...

    def uninstall(self, text: str) -> Removed | None:
        """Return what is left without the piece; None when it is not there. Raises InstallRefused."""
        ...

    def state(self, text: str) -> str:
        """Return ``installed``, ``by hand``, ``absent`` or ``broken: why``."""
        ...


@dataclass(frozen=True, slots=True)
class JsonEntry:
    """A member of nested objects (``keys`` from the root), or an item of the array they lead to."""

    file: str
    keys: tuple[str, ...]
    made: MadeFrom
    item: bool = False

    def install(self, text: str | None, *, folders: int) -> str:
        """Add the entry, or bring one of ours up to date."""
        root = None if text is None else self._root(text)
        if text is None:
            return self._document(Mark(whole=True, folders=folders), newline="\n") + "\n"
        if root is None:
            newline = jsonc_edit.newline_of(text)
            return self._document(Mark(whole=True), newline=newline) + text
        found, parent, missing = self._find(text, root)
        if found is not None:
            mark = mark_in(found[-1].value.plain)
            if mark is None:
                raise self._by_hand(text, found[-1])
            value = self.made(mark)
            return (
                text if found[-1].value.plain == value else jsonc_edit.replace(text, root, found[-1], value)
            )
        # Whether `{}` gets opened up shows in the edit only: the mark is written into its second run.
        _, opened = self._added(text, root, parent, missing, Mark(levels=len(missing)))
        return self._added(text, root, parent, missing, Mark(levels=len(missing), opened=opened))[0]

    def uninstall(self, text: str) -> Removed | None:
        """Take the entry out, with the containers that were made for it and hold nothing else."""
        root = self._root(text)
        if root is None:
            return None
        found, _, _ = self._find(text, root)
        mark = mark_in(found[-1].value.plain) if found else None
        if not found or mark is None:
            return None
        levels = len(found) if mark.whole else mark.levels
        target = len(found) - 1
        while levels > 1 and target and self._only_child(text, found[target - 1].value):
            target, levels = target - 1, levels - 1
        container = found[target - 1].value if target else root
        if mark.whole and not target and self._only_child(text, root):
            left = text[: root.start] + text[root.end :]
            made = mark.folders is not None and not left.strip()
            return Removed(left, made_file=made, folders=mark.folders or 0)
        opened = mark.opened and levels == 1
        return Removed(jsonc_edit.remove(text, container, found[target], opened=opened))

    def state(self, text: str) -> str:
        """Tell whether the entry is there and whose it is."""
        try:
            root = self._root(text)
            found = self._find(text, root)[0] if root else None
        except InstallRefused as error:
            return f"broken: {error.message}"
        if not found:
            return "absent"
        return "installed" if mark_in(found[-1].value.plain) else "by hand"

    def _root(self, text: str) -> Node | None:
        try:
            root = parse(text)
        except BrokenText as error:
            raise InstallRefused(
                f"{self.file} line {error.line} is broken: {error.message}",
                hint="Nothing was written. Correct that line and try again.",
            ) from error
        if root is not None and root.kind != "object":
            raise self._wrong(text, root, "the file", "an object")
        return root

    def _wrong(self, text: str, node: Node, what: str, kind: str) -> InstallRefused:
        return InstallRefused(
            f"{self.file} line {line_of(text, node.start)}: {what} is not {kind}",
            hint="Nothing was written. Correct that and try again.",
        )

    def _by_hand(self, text: str, element: Element) -> InstallRefused:
        return InstallRefused(
            f"{self.file} line {line_of(text, element.start)} has an entry '{element.key}' that "
            "`wikimcp install` did not write",
            hint="Nothing was written. Remove or rename that entry and try again, or leave it as it is.",
        )

    def _find(self, text: str, root: Node) -> tuple[list[Element] | None, Node, tuple[str, ...]]:
        """Return the elements down to the entry, or None; the deepest container; and what is missing.

        An item counts as one missing key, the empty one.
        """
        way: list[Element] = []
        node, wanted = root, self.keys
        for depth, key in enumerate(wanted):
            inside = [element for element in node.elements if element.key == key]
            if len(inside) > 1:
                raise InstallRefused(
                    f"{self.file} line {line_of(text, inside[1].start)}: '{key}' is there a second time",
                    hint="Nothing was written. Remove one of the two and try again.",
                )
            if not inside:
                return None, node, (*wanted[depth:], *([""] if self.item else []))
            way.append(inside[0])
            node = inside[0].value
            leads_on = depth + 1 < len(wanted)
            if leads_on and node.kind != "object":
                raise self._wrong(text, node, f"'{key}'", "an object")
        if not self.item:
            return way, node, ()
        if node.kind != "array":
            raise self._wrong(text, node, f"'{self.keys[-1]}'", "a list")
        ours = [element for element in node.elements if mark_in(element.value.plain)]
        return ([*way, ours[0]] if ours else None), node, ("",)

    def _added(
        self, text: str, root: Node, parent: Node, missing: tuple[str, ...], mark: Mark
    ) -> tuple[str, bool]:
        value = self._nested(missing[1:], mark)
        return jsonc_edit.append(text, root, parent, key=missing[0], value=value)

    def _nested(self, keys: tuple[str, ...], mark: Mark) -> Any:  # noqa: ANN401 - any JSON value
        value = self.made(mark)
        for key in reversed(keys):
            value = {key: value} if key else [value]
        return value

    def _document(self, mark: Mark, *, newline: str) -> str:
        whole = self._nested((*self.keys, *([""] if self.item else [])), mark)
        return jsonc_edit.rendered(whole, newline=newline, indent="", unit="  ")

    @staticmethod
    def _only_child(text: str, container: Node) -> bool:
        """Whether a container holds one element and nothing beside it, not even a comment."""
        if len(container.elements) != 1:
            return False
        [element] = container.elements
        around = text[container.start + 1 : element.start] + text[element.value.end : container.end - 1]
        return not around.strip(" \t\r\n,")
