"""Config text to checked values: TOML or YAML into dotted keys with their lines, values by rule.

Pure: no file, no environment. Which keys exist and which source wins is for `settings.py` to say.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wikimcp.errors import SettingsError, nearest

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
_SHOWN = 80

MOST_CONFIG = 1 << 18
"""Bytes of a config file at most."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What a key takes: its kind, its inclusive bounds, and its choices (empty: any)."""

    kind: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """A raw value, where it stands (``wikimcp.toml line 3``), and what its paths are relative to."""

    value: object
    place: str
    base: Path


def parse_config(
    data: bytes, label: str, *, toml: bool, rules: Mapping[str, Rule]
) -> dict[str, tuple[object, str]]:
    """Parse a config file's bytes to ``{dotted key: (raw value, place)}``; ``label`` names the file.

    Raises SettingsError for what does not parse or is over ``MOST_CONFIG`` bytes, and for a key that
    ``rules`` does not know.
    """
    if len(data) > MOST_CONFIG:
        raise SettingsError(f"{label} is over {MOST_CONFIG:,} bytes", hint="Keep settings alone in it.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{label} is not UTF-8", hint="Save it as UTF-8.") from error
    tree = _parse_toml(text, label) if toml else _parse_yaml(text, label)
    lines = _lines_of_keys(text)

    def place(key: str) -> str:
        return f"{label} line {lines[key]}" if key in lines else label

    return {key: (value, place(key)) for key, value in _flatten(tree, rules=rules, place=place)}


def read_value(key: str, given: Given, *, rule: Rule) -> Any:  # noqa: ANN401 - the type its rule names
    """Read a value by its rule; text is taken as meant. Raises SettingsError that names key and place."""
    read, expected = _KINDS[rule.kind]
    raw = given.value
    try:
        value = read(raw, given.base)
    except (ValueError, TypeError) as error:
        shown = repr(raw)[:_SHOWN] if isinstance(raw, str | int | float) else f"a {type(raw).__name__}"
        raise SettingsError(
            f"{given.place}: {key} takes {expected}, not {shown}", hint="Correct the value."
        ) from error
    if rule.choices and value not in rule.choices:
        near = nearest(str(value), rule.choices, limit=1)
        hint = f"Did you mean {near[0]}?" if near else f"One of: {', '.join(rule.choices)}."
        raise SettingsError(f"{given.place}: {key} cannot be '{str(value)[:_SHOWN]}'", hint=hint)
    if rule.low is not None and rule.high is not None and not rule.low <= value <= rule.high:
        bounds = f"{_plain(rule.low)} to {_plain(rule.high)}"
        raise SettingsError(
            f"{given.place}: {key} is {value}, outside of {bounds}", hint="Choose a value in it."
        )
    return value


def unknown_key(key: str, place: str, known: list[str]) -> SettingsError:
    """Make the error for a key that does not exist, with the nearest that do."""
    near = nearest(key, known, limit=2)
    hint = f"Did you mean {' or '.join(near)}?" if near else f"The settings are: {', '.join(known)}."
    return SettingsError(f"{place}: '{key[:_SHOWN]}' is no setting", hint=hint)


def operators_key(key: str, place: str, own_file: str, variable: str) -> SettingsError:
    """Make the error for a key that a file which comes with a folder may not set."""
    return SettingsError(
        f"{place}: {key} cannot be set by a file that comes with a folder",
        hint=f"It is for whoever runs the server: set it in {own_file}, as {variable} or with --set {key}=…, "
        f"and take it out of {place.split()[0]}.",
    )


def _parse_toml(text: str, label: str) -> Mapping[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"^(.*?) \(at line (\d+)", str(error))
        what, line = (found[1], f" line {found[2]}") if found else (str(error), "")
        raise SettingsError(f"{label}{line} is not TOML: {what}", hint="Correct that line.") from error


def _parse_yaml(text: str, label: str) -> Mapping[str, object]:
    import yaml

    try:
        _refuse_aliases(yaml.parse(text, Loader=yaml.SafeLoader), label)
        tree = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}" if mark else ""
        what = getattr(error, "problem", None) or "it does not parse"
        raise SettingsError(f"{label}{line} is not YAML: {what}", hint="Correct that line.") from error
    if tree is None:
        return {}
    if not isinstance(tree, dict):
        raise SettingsError(f"{label} holds no keys", hint="Write one `key: value` on each line.")
    return tree


def _refuse_aliases(events: Iterable[object], label: str) -> None:
    """Raise SettingsError for an alias: a few lines of them can stand for more than fits in memory."""
    for event in events:
        if type(event).__name__ == "AliasEvent":
            line = getattr(event, "start_mark").line + 1  # noqa: B009 - the library is untyped here
            raise SettingsError(
                f"{label} line {line} holds an alias, which settings do not need", hint="Write the value out."
            )


def _flatten(
    tree: Mapping[str, object], prefix: str = "", *, rules: Mapping[str, Rule], place: Callable[[str], str]
) -> Iterator[tuple[str, object]]:
    """Walk nested tables to dotted keys; a dash in a key counts as an underscore."""
    for name, value in tree.items():
        key = prefix + str(name).replace("-", "_")
        inner = [known for known in rules if known.startswith(f"{key}.")]
        if key in rules:
            yield key, value
        elif not inner:
            raise unknown_key(key, place(key), list(rules))
        elif isinstance(value, dict):
            yield from _flatten(value, f"{key}.", rules=rules, place=place)
        elif value is not None:
            raise SettingsError(
                f"{place(key)}: {key} is a group of keys, not a value", hint=f"Set one of {', '.join(inner)}."
            )


def _lines_of_keys(text: str) -> dict[str, int]:
    """Find the line of each dotted key in TOML or YAML, by tables and indentation (first one wins)."""
    lines: dict[str, int] = {}
    above: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if table := re.match(r"\s*\[([\w.\s\"'-]+)\]", line):
            above = [(-1, table[1])]
        elif found := re.match(r"(\s*)([\w.\"'-]+)\s*[:=]", line):
            indent = len(found[1])
            above = [*((depth, name) for depth, name in above if depth < indent), (indent, found[2])]
        else:
            continue
        key = re.sub(r"[\s\"']", "", ".".join(name for _, name in above)).replace("-", "_")
        lines.setdefault(key, number)
    return lines


def _plain(number: float) -> str:
    return f"{number:,.0f}" if float(number).is_integer() else str(number)


def _flag(raw: object, _base: Path) -> bool:
    folded = str(raw).strip().casefold()
    if folded not in _TRUE | _FALSE:
        raise ValueError
    return folded in _TRUE


def _whole(raw: object, _base: Path) -> int:
    if isinstance(raw, bool) or not isinstance(raw, str | int):
        raise TypeError
    return int(raw)


def _number(raw: object, _base: Path) -> float:
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise TypeError
    return float(raw)


def _text(raw: object, _base: Path) -> str:
    if not isinstance(raw, str):
        raise TypeError
    return raw.strip()


def _path(raw: object, base: Path) -> Path:
    if not isinstance(raw, str | Path) or not str(raw).strip() or "\0" in str(raw):
        raise TypeError
    try:
        path = Path(raw).expanduser()
    except RuntimeError as error:  # `~name` of a user that does not exist
        raise ValueError from error
    return Path(os.path.normpath(base / path))


def _list(raw: object, _base: Path) -> tuple[str, ...]:
    if isinstance(raw, str):
        raw = json.loads(raw) if raw.lstrip().startswith("[") else raw.split(",")
    if not isinstance(raw, list | tuple) or not all(isinstance(item, str) for item in raw):
        raise TypeError
    return tuple(item.strip() for item in raw if item.strip())


_KINDS: Mapping[str, tuple[Callable[[object, Path], Any], str]] = {
    "flag": (_flag, "true or false"),
    "whole": (_whole, "a whole number"),
    "number": (_number, "a number"),
    "text": (_text, "text"),
    "path": (_path, "a path"),
    "list": (_list, "a list of texts"),
}
