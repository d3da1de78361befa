"""Edits on the text of a JSON file that change nothing else in it, and that can be taken back to the byte.

`append` and `remove` are each other's inverse. The style of the file (line ends, indent, one line
or many, trailing commas) is kept; comments stay where they are.
"""

from __future__ import annotations

import json
import re
from typing import Any

from wikimcp.clients.jsonc import Element, Node

_INDENT = re.compile(r"[ \t]*")


def newline_of(text: str) -> str:
    """Return the line end that a text uses first; a line feed when it has none."""
    found = re.search(r"\r\n|\n|\r", text)
    return found[0] if found else "\n"


def append(text: str, root: Node, container: Node, *, key: str, value: Any) -> tuple[str, bool]:  # noqa: ANN401
    """Put one more element at the end of a container (``key`` empty: an array).

    Returns the new text, and whether ``{}`` or ``[]`` was opened up to several lines (`remove` needs
    to know that, for ``{`` and ``}`` on two lines look the same afterwards).
    """
    newline, unit = newline_of(text), indent_unit(text, root)
    base = _line_indent(text, container.start)
    last = container.elements[-1] if container.elements else None
    opened = container.bare and container.end - container.start == 2
    indent = base + unit
    if last is not None:
        own = _own_line_indent(text, last.start)
        several = own is not None or container.ends_in_line_comment
        indent = indent if own is None else own
    elif opened:
        several = opened = "\n" in text or "\r" in text or container is root
    else:
        several = _has_newline(text[container.content_end : container.end])
    name = f"{json.dumps(key, ensure_ascii=False)}: " if key else ""
    if several:
        shown = newline + indent + name + rendered(value, newline=newline, indent=indent, unit=unit)
    else:
        tight = last is None and container.end - container.start == 2
        shown = ("" if tight else " ") + name + json.dumps(value, ensure_ascii=False)
    at, comma_at = container.content_end, None
    if last is not None and last.comma is not None:
        shown += ","
    elif last is not None:
        comma_at = last.value.end
    if opened:
        shown += newline + base
    text = text[:at] + shown + text[at:]
    if comma_at is not None:
        text = text[:comma_at] + "," + text[comma_at:]
    return text, opened


def remove(text: str, container: Node, element: Element, *, opened: bool = False) -> str:
    """Take an element out again; the inverse of `append` where nothing was put behind it meanwhile."""
    place = container.elements.index(element)
    is_last = place == len(container.elements) - 1
    end = element.value.end if element.comma is None else element.comma + 1
    if opened and len(container.elements) == 1 and not text[end : container.end - 1].strip():
        end = container.end - 1
    text = text[: element.before] + text[end:]
    if is_last and place and element.comma is None:
        comma = container.elements[place - 1].comma
        assert comma is not None  # the grammar has one between two elements
        text = text[:comma] + text[comma + 1 :]
    return text


def replace(text: str, root: Node, element: Element, value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Put another value in an element's place, in the layout of the one that stands there."""
    old = element.value
    if _has_newline(text[old.start : old.end]) or _own_line_indent(text, element.start) is not None:
        shown = rendered(
            value,
            newline=newline_of(text),
            indent=_line_indent(text, element.start),
            unit=indent_unit(text, root),
        )
    else:
        shown = json.dumps(value, ensure_ascii=False)
    return text[: old.start] + shown + text[old.end :]


def rendered(value: Any, *, newline: str, indent: str, unit: str) -> str:  # noqa: ANN401 - any JSON value
    """Render a value over several lines; a list of scalars stays on one."""
    if isinstance(value, dict) and value:
        rows = [
            f"{json.dumps(key, ensure_ascii=False)}: "
            + rendered(item, newline=newline, indent=indent + unit, unit=unit)
            for key, item in value.items()
        ]
        brackets = "{}"
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        rows = [rendered(item, newline=newline, indent=indent + unit, unit=unit) for item in value]
        brackets = "[]"
    else:
        return json.dumps(value, ensure_ascii=False)
    inner = ("," + newline + indent + unit).join(rows)
    return f"{brackets[0]}{newline}{indent}{unit}{inner}{newline}{indent}{brackets[1]}"


def indent_unit(text: str, root: Node) -> str:
    """Return what one level of indent is in this text: its own first one, else two spaces."""
    waiting: list[tuple[Node, str]] = [(root, _line_indent(text, root.start))]
    while waiting:
        node, base = waiting.pop(0)
        for element in node.elements:
            own = _own_line_indent(text, element.start)
            if own is not None and own.startswith(base) and own != base:
                return own[len(base) :]
            waiting.append((element.value, _line_indent(text, element.value.start)))
    return "  "


def _line_indent(text: str, at: int) -> str:
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    found = _INDENT.match(text, start)
    return found[0][: at - start] if found else ""


def _own_line_indent(text: str, at: int) -> str | None:
    """Return the indent of a token that is the first of its line; None for any other."""
    start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
    return text[start:at] if start and not text[start:at].strip(" \t") else None


def _has_newline(text: str) -> bool:
    return "\n" in text or "\r" in text
