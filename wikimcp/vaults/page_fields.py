"""The fields of a page out of its frontmatter, tolerant of scalars, comma text and lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from wikimcp.markdown.dates import read_time
from wikimcp.markdown.inline import is_tag
from wikimcp.markdown.links import target_name
from wikimcp.markdown.publication import fold_key

SUMMARY_LENGTH = 240

_COMMA = re.compile(r"[,;]")
_NAMES = re.compile(r"(?:\[\[[^\[\]\n]*\]\]|[^,])+")
_WORDS = re.compile(r"\[\[[^\[\]\n]*\]\]|\S+")
_SNAKE = re.compile(r"[^\w]+")
_POSITIVE = re.compile(r"[1-9]\d{0,8}")


class Fields:
    """Frontmatter looked up by folded key, each reading in the form a field needs."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self._folded: dict[str, Any] = {}
        for key, value in data.items():
            self._folded.setdefault(fold_key(key), value)

    def value(self, *keys: str) -> Any:  # noqa: ANN401 - any JSON value
        """Return the value of the first key that has one; None when none has."""
        for key in keys:
            value = self._folded.get(key)
            if value is not None and value != "" and value != []:
                return value
        return None

    def text(self, *keys: str) -> str:
        """Return a value as one line of text; a list is joined by commas, a mapping is no text."""
        value = self.value(*keys)
        if value.__class__ is str:
            return value if value.isalnum() else " ".join(value.split())
        if value is None:
            return ""
        return ", ".join(_scalars(value))

    def texts(self, *keys: str) -> tuple[str, ...]:
        """Return a value as several texts: a list as it is, a text split at commas."""
        value = self.value(*keys)
        if value is None:
            return ()
        if isinstance(value, str):
            return unique(part.strip() for part in _COMMA.split(value.strip().strip("[]")))
        return unique(_scalars(value))

    def names(self, *keys: str) -> tuple[str, ...]:
        """Return the pages that a value names, freed of wikilink brackets."""
        value = self.value(*keys)
        if value is None:
            return ()
        parts = _NAMES.findall(value) if isinstance(value, str) else _references(value)
        return unique(target_name(part) if "[" in part else part.strip() for part in parts)


def canonical_id(data: Mapping[str, Any]) -> str:
    """Return the declared id; empty when there is none."""
    for key in ("canonical_id", "id", "object_id"):
        value = data.get(key)
        if isinstance(value, str | int | float) and value and not isinstance(value, bool):
            return str(value).strip()
    return ""


def unreadable_ids(data: Mapping[str, Any]) -> list[str]:
    """Return the keys of ids whose value is none: a flag, a mapping or several values."""
    keys = [key for key in ("canonical_id", "id", "object_id") if data.get(key) not in (None, "", [])]
    return [key for key in keys if not canonical_id({key: data[key]})]


def aliases(fields: Fields) -> tuple[str, ...]:
    """Return the other names of a page; an alias may hold no comma unless it stands in a list."""
    return unique(target_name(alias) for key in ("aliases", "alias") for alias in fields.texts(key))


def tags(fields: Fields, inline: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tags of frontmatter and text, without ``#``; equal ones by case count once."""
    values = [value for key in ("tags", "tag") if (value := fields.value(key)) is not None]
    if not values and not inline:
        return ()
    written = (tag for value in values for tag in _written_tags(value) if is_tag(tag))
    return unique((*written, *inline), fold=True)


def ignored_tags(fields: Fields) -> list[str]:
    """Return what stands among the tags and is none, being all digits."""
    return [tag for tag in _written_tags(fields.value("tags", "tag")) if tag and not is_tag(tag)]


def relations(fields: Fields) -> tuple[tuple[str, str], ...]:
    """Return typed relations: a list of ``{type, target}``, or a mapping of type to targets."""
    value = fields.value("relations")
    found: list[tuple[str, str]] = []
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict):
            found.extend(_relations_of(item))
    return tuple(dict.fromkeys(found))


def fixed_version(data: Mapping[str, Any]) -> int:
    """Return the version of the frontmatter if it is a positive integer, else 0."""
    value = data.get("version")
    if isinstance(value, bool) or not isinstance(value, int | str):
        return 0
    text = str(value).strip()
    return int(text) if _POSITIVE.fullmatch(text) else 0


_UPDATED = ("updatedat", "lastupdated", "updated", "generated.at")
_DATED = re.compile(
    r"(?:.*[_\- ])?(?:date|created|updated|modified|lastmod|due|deadline|expires|expiry)"
    r"|.*[_\- ](?:at|date|until|reviewed)|.*[a-z](?:At|Date|Until|Modified|Updated|Reviewed)"
    r"|(?:created|updated|modified|reviewed|verified|expires)at|last(?:updated|modified|reviewed)",
)
_NO_DATE = frozenset(("publish", "published", "publishdate"))  # read by who judges publication


def time_of(fields: Fields, *keys: str) -> str:
    """Return the first of several properties that holds a date or time, in ISO 8601; empty when none does."""
    return next((time for key in keys if (time := read_time(fields.text(key)))), "")


def updated_at(fields: Fields) -> str:
    """Return when the page says it was updated, in ISO 8601; empty when it does not, or not readably."""
    return next((time for _, text in _update_texts(fields) if (time := read_time(text))), "")


def unreadable_dates(fields: Fields) -> list[str]:
    """Return the keys that are named for a date and hold none that can be read; a link claims to be none."""
    found = [
        key
        for key, value in fields.data.items()
        if _is_dated(key) and any(not read_time(text) for text in _scalars(value) if _may_be_time(text))
    ]
    nested = [key for key, text in _update_texts(fields) if key == "generated" and not read_time(text)]
    return [*found, *nested]


_FLAGS = frozenset(("", "true", "false"))


def _may_be_time(text: str) -> bool:
    return text not in _FLAGS and ("[[" not in text or read_time(target_name(text)) != "")


@lru_cache(maxsize=4096)
def _is_dated(key: str) -> bool:
    """Say whether a property is named for a date or time (``created``, ``due_date``, ``reviewedAt``)."""
    named = _DATED.fullmatch(key) or _DATED.fullmatch(key.lower())
    return named is not None and fold_key(key) not in _NO_DATE


def _update_texts(fields: Fields) -> Iterator[tuple[str, str]]:
    """Yield what the page says of its last update, as (folded key, text), the best key first."""
    for key in _UPDATED:
        if text := fields.text(key):
            yield key, text
    generated = fields.value("generated")
    nested = generated.get("at") if isinstance(generated, dict) else None
    if isinstance(nested, str | int) and nested:
        yield "generated", str(nested)


def cut_at_word(text: str, length: int = SUMMARY_LENGTH) -> str:
    """Return a text of at most ``length`` characters, cut at a word where there is one."""
    if len(text) <= length:
        return text
    head = text[: length - 1]
    cut = head.rfind(" ")
    return (head[:cut] if cut > length // 2 and text[length - 1] != " " else head).rstrip(" ,;:-") + "…"


def unique(values: Iterable[str], *, fold: bool = False) -> tuple[str, ...]:
    """Return the non-empty values, each once, in order; ``fold`` compares without case."""
    if fold:
        folded: dict[str, str] = {}
        for value in values:
            if value:
                folded.setdefault(value.casefold(), value)
        return tuple(folded.values())
    return tuple(dict.fromkeys(value for value in values if value))


def _scalars(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Yield the texts of a value and of lists in it; numbers as written, flags in lower case."""
    if isinstance(value, str):
        yield " ".join(value.split())
    elif isinstance(value, bool):
        yield str(value).lower()
    elif isinstance(value, int | float):
        yield str(value)
    elif isinstance(value, list):
        for item in value:
            yield from _scalars(item)


def _references(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Yield what a list of references names; a mapping by the most telling of its keys."""
    if isinstance(value, dict):
        for key in ("id", "url", "path", "target", "ref", "title", "name"):
            if isinstance(value.get(key), str | int):
                yield str(value[key])
                return
    elif isinstance(value, list):
        for item in value:
            yield from _references(item)
    else:
        yield from _scalars(value)


def _written_tags(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Yield tags as written; a text is split at commas, or at blanks when it has no comma."""
    if isinstance(value, str):
        text = value.strip() if "[[" in value else value.strip().strip("[]")
        parts: Iterable[str] = _COMMA.split(text) if _COMMA.search(text) else _WORDS.findall(text)
    else:
        parts = _scalars(value)
    for part in parts:
        if "[" in part:
            part = target_name(part)
        yield part if part.isalnum() else part.strip("\"' ").lstrip("#")


_TYPE_KEYS = ("type", "relation", "predicate")
_TARGET_KEYS = ("target", "to", "page")


def _relations_of(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the relations of one row; one with a target and no type that can be read is ``related_to``."""
    kind = next((item[key] for key in _TYPE_KEYS if isinstance(item.get(key), str)), "")
    target = next((item[key] for key in _TARGET_KEYS if item.get(key)), None)
    a_row = kind or any(key in item for key in _TARGET_KEYS[:2])
    for name, targets in [(kind, target)] if a_row else list(item.items()):
        predicate = _SNAKE.sub("_", name.strip()).strip("_").lower() or "related_to"
        for target in _references(targets):
            if target.strip():
                yield predicate, target_name(target)
