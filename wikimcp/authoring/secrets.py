"""Finds secrets and common personal data in a text before it is written.

Rules are few and of a form that prose and code seldom have by chance: known prefixes, check on
length and variety of characters, names reserved for examples left out. What is found is never shown
whole.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

PERSONAL = frozenset(("email", "phone"))
"""Rules that find personal data, which belongs into many a wiki; the others find secrets."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One secret: the rule that found it, its line (from 1) and an excerpt that gives nothing away.

    ``fingerprint`` tells two findings of one rule apart and is for comparing only.
    """

    rule: str
    line: int
    excerpt: str
    fingerprint: str = field(repr=False)


def scan(text: str) -> list[Finding]:
    """Return what looks like a secret or personal data, in the order of the text, one per place."""
    found: list[tuple[int, int, Finding]] = []
    taken: list[tuple[int, int]] = []
    folded = text.lower()
    for rule in _RULES:
        if (marks := _MARKS.get(rule.name)) and not any(mark in folded for mark in marks):
            continue
        for match in rule.pattern.finditer(text):
            group = "secret" if "secret" in rule.pattern.groupindex else 0
            start, end = match.span(group)
            value = match[group]
            if any(start < upper and lower < end for lower, upper in taken):
                continue
            if _is_placeholder(value) or not rule.holds(match):
                continue
            taken.append((start, end))
            digest = hashlib.sha256(f"{rule.name}\0{value}".encode("utf-8", "surrogatepass")).hexdigest()
            finding = Finding(rule.name, text.count("\n", 0, start) + 1, _masked(value), digest)
            found.append((start, end, finding))
    return [finding for _, _, finding in sorted(found, key=lambda item: item[:2])]


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    pattern: re.Pattern[str]
    holds: Callable[[re.Match[str]], bool] = lambda _match: True


def _entropy(text: str) -> float:
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())


def _is_random(match: re.Match[str]) -> bool:
    """Tell a generated value from a word: letters and digits mixed, and much variety."""
    value = match["secret"]
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return mixed and _entropy(value) >= 3.2


_PLACEHOLDER = re.compile(
    r"x{4,}|\*{3,}|\.{3}|0{8,}|1234567|example|placeholder|changeme|redacted|dummy|your[-_ ]?"
    r"|<[^>]*>|\$\{|\{\{",
    re.IGNORECASE,
)


def _is_placeholder(value: str) -> bool:
    return bool(_PLACEHOLDER.search(value))


def _masked(value: str) -> str:
    line = " ".join(value.split())
    shown = 4 if len(line) > 12 else 1
    return f"{line[:shown]}…({len(line)} characters)"


_EXAMPLE_HOSTS = re.compile(
    r"(?:^|\.)(?:example|test|invalid|localhost|local|internal)$"
    r"|(?:^|\.)example\.(?:com|org|net|edu)$|^users\.noreply\.github\.com$",
    re.IGNORECASE,
)
_SHARED_NAMES = frozenset(("git", "noreply", "no-reply", "user", "username", "name", "me", "you", "hg"))


def _is_personal(match: re.Match[str]) -> bool:
    """Tell a person's address from an example, the login of a service and a file such as a@2x.png."""
    name, _, host = match[0].rpartition("@")
    if name.casefold() in _SHARED_NAMES or _EXAMPLE_HOSTS.search(host):
        return False
    return host.rpartition(".")[2].casefold() not in (
        "png",
        "jpg",
        "jpeg",
        "gif",
        "svg",
        "webp",
        "md",
        "service",
    )


def _is_phone(match: re.Match[str]) -> bool:
    digits = "".join(c for c in match[0] if c.isdigit())
    return 9 <= len(digits) <= 15 and len(set(digits)) > 2 and not re.search(r"555-?\s?01\d\d$", match[0])


_NAMED = r"[\w.-]{0,30}(?:api[_-]?key|secret|token|passw(?:or)?d|access[_-]?key)[\w.-]{0,10}"
_WORD = r"(?<![A-Za-z0-9_\-/+.])"
_END = r"(?![A-Za-z0-9_\-])"

_RULES: tuple[_Rule, ...] = (
    _Rule("private-key", re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")),
    _Rule("aws-access-key", re.compile(rf"{_WORD}(?:AKIA|ASIA)[A-Z0-9]{{16}}{_END}")),
    _Rule(
        "github-token",
        re.compile(rf"{_WORD}(?:gh[pousr]_[A-Za-z0-9]{{36,255}}|github_pat_\w{{50,255}}){_END}"),
    ),
    _Rule("gitlab-token", re.compile(rf"{_WORD}glpat-[\w-]{{20,}}{_END}")),
    _Rule("slack-token", re.compile(rf"{_WORD}xox[abeoprs]-[A-Za-z0-9-]{{20,}}")),
    _Rule("stripe-key", re.compile(rf"{_WORD}[rs]k_live_[A-Za-z0-9]{{20,}}{_END}")),
    _Rule("google-api-key", re.compile(rf"{_WORD}AIza[\w-]{{35}}{_END}")),
    _Rule("npm-token", re.compile(rf"{_WORD}npm_[A-Za-z0-9]{{36}}{_END}")),
    _Rule("pypi-token", re.compile(rf"{_WORD}pypi-[\w-]{{50,}}{_END}")),
    _Rule(
        "model-api-key", re.compile(rf"{_WORD}(?P<secret>sk-(?:ant-|proj-)?[\w-]{{24,}}){_END}"), _is_random
    ),
    _Rule("hugging-face-token", re.compile(rf"{_WORD}hf_[A-Za-z0-9]{{30,}}{_END}")),
    _Rule("jwt", re.compile(rf"{_WORD}eyJ[\w-]{{8,}}\.eyJ[\w-]{{8,}}\.[\w-]{{10,}}")),
    _Rule(
        "connection-string",
        re.compile(
            r"[a-z][a-z0-9+.-]{2,20}://[^\s:/@\"'`<>{}$]{1,64}:(?P<secret>[^\s:/@\"'`<>{}$]{3,128})@[\w.-]+"
        ),
        lambda match: match["secret"].casefold() not in ("password", "pass", "secret", "pw", "pwd"),
    ),
    _Rule("bearer-token", re.compile(r"\b[Bb]earer\s+(?P<secret>[\w.~+/-]{24,}=*)"), _is_random),
    _Rule(
        "assigned-secret",
        re.compile(
            rf"(?i)\b{_NAMED}[\"']?"
            r"\s{0,4}[:=]\s{0,4}[\"'](?P<secret>[^\s\"']{12,200})[\"']"
        ),
        _is_random,
    ),
    _Rule(
        "assigned-secret",
        re.compile(
            rf"(?im)^[ \t]*(?:export[ \t]+)?{_NAMED}"
            r"[ \t]*[:=][ \t]*(?P<secret>[A-Za-z0-9+/_\-=]{16,200})[ \t]*$"
        ),
        _is_random,
    ),
    _Rule(
        "email",
        re.compile(
            r"(?<![\w.+%/:-])[A-Za-z0-9][\w.+%-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])"
        ),
        _is_personal,
    ),
    _Rule(
        "phone",
        re.compile(
            r"(?<![\w+.#/=-])(?:\+[1-9]\d{0,2}(?:[ .-]?\(?\d{2,5}\)?){2,5}"
            r"|\(\d{3}\) ?\d{3}[ .-]\d{4}|[2-9]\d{2}-\d{3}-\d{4})(?![\w.-]*\d)"
        ),
        _is_phone,
    ),
)

_MARKS: Mapping[str, tuple[str, ...]] = {
    "private-key": ("private key",),
    "aws-access-key": ("akia", "asia"),
    "github-token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "gitlab-token": ("glpat-",),
    "slack-token": ("xox",),
    "stripe-key": ("k_live_",),
    "google-api-key": ("aiza",),
    "npm-token": ("npm_",),
    "pypi-token": ("pypi-",),
    "model-api-key": ("sk-",),
    "hugging-face-token": ("hf_",),
    "jwt": ("eyj",),
    "connection-string": ("://",),
    "bearer-token": ("bearer",),
    "assigned-secret": (
        *("api_key", "api-key", "apikey", "secret", "token", "passw"),
        *("access_key", "access-key", "accesskey"),
    ),
    "email": ("@",),
}
"""What a text holds, in lower case, wherever a rule finds something: most texts hold none of it."""
