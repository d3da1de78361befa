"""Whether a page may be seen, read from its publication keys and access directives; fails closed.

The verdict is made of what frontmatter and body hold. Whether a caller may see drafts is decided
elsewhere.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import Any

from wikimcp.models import Diagnostic

PUBLICATION_KEYS = frozenset(
    {"draft", "publish", "published", "public", "status", "reviewstate", "state", "visibility"}
)
OPEN_TO_ALL = frozenset(
    {"public", "all", "everyone", "everybody", "anyone", "any", "anonymous", "world", "*"}
)

_REVIEW_WITHHELD = frozenset({"draft", "proposed", "needs_review", "rejected"})
_STATUS_WITHHELD = frozenset(
    {"draft", "proposed", "needs_review", "blocked", "unpublished", "private", "hidden", "embargoed"}
    | {"confidential", "internal", "withheld"}
)
_WITHHELD_VALUES = {"status": _STATUS_WITHHELD, "state": _REVIEW_WITHHELD, "reviewstate": _REVIEW_WITHHELD}
_TRUE = frozenset({"true", "yes", "on", "y", "1"})
_FALSE = frozenset({"false", "no", "off", "n", "0"})
_SHOWN_WHEN = {"draft": False, "publish": True, "published": True, "public": True}

_DATE = re.compile(r"([12]\d{3})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2})(?:[T ].*)?)?)?")
_SEPARATORS = re.compile(r"[\W_]+")
_SEVERAL = re.compile(r"[,;/|]")
_DIRECTIVE = re.compile(r"(?<!\[)\[\{\s*(allow|deny)\b([^}\n]{0,400})\}\s*\]", re.IGNORECASE)
_VIEW = frozenset({"view", "read", "all", "*"})
_PLAIN_WORDS = re.compile(r"\w[\w \t.-]*")


@dataclass(frozen=True, slots=True)
class Flag:
    """One occurrence of a publication key, folded. ``certain`` is false when it was read leniently."""

    key: str
    value: Any
    line: int
    certain: bool = True


@dataclass(frozen=True, slots=True)
class Directive:
    """An inline ``[{ALLOW view A,B}]``: who may view, folded; None when it cannot be read or denies."""

    labels: frozenset[str] | None
    start: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """``withheld`` is empty for a page that may be seen, else the reason; ``labels`` restrict it."""

    withheld: str = ""
    labels: frozenset[str] = frozenset()
    diagnostics: tuple[Diagnostic, ...] = ()


SEEN_BY_ALL = Verdict()


def judge(
    flags: Sequence[Flag], directives: Sequence[Directive] = (), *, today: date | None = None
) -> Verdict:
    """Judge a page by all its flags (the most restrictive wins) and directives."""
    if not flags and not directives:
        return SEEN_BY_ALL
    today = today or datetime.now(UTC).date()
    reasons: list[str] = []
    notes: list[Diagnostic] = []
    restrictions: list[frozenset[str]] = []
    for flag in flags:
        if flag.key == "visibility":
            labels = _labels(flag)
            if labels is None:
                notes.append(_unreadable(flag, "label"))
                reasons.append("visibility: unreadable")
            elif labels:
                restrictions.append(labels)
            continue
        reason = restriction(flag, today=today)
        if reason:
            reasons.append(reason)
            if reason.endswith("unreadable"):
                notes.append(_unreadable(flag, "flag" if flag.key in _SHOWN_WHEN else "value"))
    allowed = _allowed(directives)
    if allowed is None:
        reasons.append("access directive: unreadable or denying")
    elif allowed:
        restrictions.append(allowed)
    labels = frozenset.intersection(*restrictions) if restrictions else frozenset()
    if restrictions and not labels:
        reasons.append("visibility: no label satisfies all restrictions")
    return Verdict(reasons[0] if reasons else "", labels, tuple(notes))


def restriction(flag: Flag, *, today: date) -> str:
    """Return why a flag (any but ``visibility``) withholds its page; empty when it does not."""
    if flag.key in _SHOWN_WHEN:
        return _flag_restriction(flag, today)
    texts = _texts(flag.value)
    if texts is None:
        return f"{flag.key}: unreadable"
    # What was not read as YAML must be clearly public: there a word that withholds under either key does.
    withheld = _WITHHELD_VALUES[flag.key] if flag.certain else _STATUS_WITHHELD | _REVIEW_WITHHELD
    for text in texts:
        for part in (text, *_SEVERAL.split(text)):
            folded = _fold_words(part)
            for word in withheld:
                if folded == word or folded.startswith(f"{word}_"):
                    return f"{flag.key}: {word}"
    readable = flag.certain or all(_PLAIN_WORDS.fullmatch(text.strip(" \t\"'")) for text in texts or [""])
    return "" if readable else f"{flag.key}: unreadable"


def find_directives(text: str) -> list[Directive]:
    """Return the directives about viewing in a text; the caller drops those that stand in code."""
    found = (_directive(match) for match in _DIRECTIVE.finditer(text))
    return [directive for directive in found if directive is not None]


@lru_cache(maxsize=4096)
def fold_key(key: str) -> str:
    """Fold a property's name: case, width, separators, quotes and invisible characters do not count."""
    if not key.isascii():
        key = _visible(key)
    return key.casefold().replace("_", "").replace("-", "").replace(" ", "").strip("\"'\t:")


def fold_label(label: str) -> str:
    """Fold an access label: width, case and surrounding blanks and quotes do not count."""
    return (label if label.isascii() else _visible(label)).strip().strip("\"'").strip().casefold()


def _flag_restriction(flag: Flag, today: date) -> str:
    shown_when = _SHOWN_WHEN[flag.key]
    value = flag.value
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool):
        return "" if value == shown_when else f"{flag.key}: {str(value).lower()}"
    if value is None and flag.key == "published" and flag.certain:
        return ""  # an empty publication date, as web clippers leave it: no flag was set
    if not isinstance(value, str | int):
        return f"{flag.key}: unreadable"
    folded = fold_label(str(value).strip(" []"))
    if folded in _TRUE or folded in _FALSE:
        return "" if (folded in _TRUE) == shown_when else f"{flag.key}: {folded}"
    day = _day(str(value)) if flag.key in ("publish", "published") else None
    if day is not None:
        return "" if day <= today else f"{flag.key}: scheduled"
    return f"{flag.key}: unreadable"


def _day(text: str) -> date | None:
    match = _DATE.fullmatch(text.strip().strip("\"'"))
    try:
        return date(int(match[1]), int(match[2] or 1), int(match[3] or 1)) if match else None
    except ValueError:
        return None


def _texts(value: Any) -> list[str] | None:  # noqa: ANN401 - any JSON value
    """Return a value's texts; None when it holds anything but scalars."""
    items = value if isinstance(value, list) else [value]
    if any(isinstance(item, dict | list) for item in items):
        return None
    return [str(item) for item in items if item is not None]


def _fold_words(text: str) -> str:
    """Fold a value to lower-case words joined by ``_``; signs, quotes and brackets around it do not count."""
    if text.isascii() and text.isalnum():
        return text.lower()
    return _SEPARATORS.sub("_", _visible(text).casefold()).strip("_")


def _visible(text: str) -> str:
    """Return a text without differences of width and without characters that show nothing."""
    return "".join(c for c in unicodedata.normalize("NFKC", text) if unicodedata.category(c) != "Cf")


def _labels(flag: Flag) -> frozenset[str] | None:
    """Return the labels of a ``visibility`` value: empty when it is open to all, None when unreadable."""
    texts = _texts(flag.value)
    parts = [part for text in texts or () for part in re.split(r"[,;\[\]]", text)]
    labels = frozenset(label for part in parts if (label := fold_label(part)))
    if not labels or (not flag.certain and not labels <= OPEN_TO_ALL):
        return None
    return frozenset() if labels & OPEN_TO_ALL else labels


def _directive(match: re.Match[str]) -> Directive | None:
    words = match[2].split(None, 1)
    permissions = {word.strip().casefold() for word in words[0].split(",")} if words else set()
    if not permissions & _VIEW:
        return None
    if match[1].casefold() == "deny" or len(words) < 2:
        return Directive(None, match.start())
    labels = frozenset(label for part in words[1].split(",") if (label := fold_label(part)))
    return Directive(labels or None, match.start())


def _allowed(directives: Iterable[Directive]) -> frozenset[str] | None:
    """Join directives: any of their labels will do; empty when they do not restrict, None when unreadable."""
    labels: set[str] = set()
    for directive in directives:
        if directive.labels is None:
            return None
        labels |= directive.labels
    return frozenset() if labels & OPEN_TO_ALL else frozenset(labels)


def _unreadable(flag: Flag, what: str) -> Diagnostic:
    message = f"{flag.key!r} holds no readable {what}; the page is withheld until it does"
    return Diagnostic("publication_unreadable", message, flag.line)
