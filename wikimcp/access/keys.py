"""API keys as values: minted once, kept as hashes, matched in constant time.

Where they are stored is the matter of `key_file`; what a scope opens is for the edges to say.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from wikimcp.errors import BadArgument, nearest
from wikimcp.markdown.publication import fold_label

SCOPES = ("mcp_read", "drafts", "author")
"""What a key can allow: to read, to ask for drafts where the operator allows them, to author."""

_PREFIX = "wikimcp_"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_SPAN = re.compile(r"(\d{1,5})\s*([hdw])", re.IGNORECASE)
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


@dataclass(frozen=True, slots=True)
class ApiKey:
    """One key as stored: ``sha256`` is the hex digest of its text; times are ISO 8601, UTC.

    The text has 256 random bits, so a plain digest of it cannot be searched for.
    """

    name: str
    sha256: str
    scopes: frozenset[str]
    labels: frozenset[str]
    created: str
    expires: str = ""

    def expired(self, now: datetime) -> bool:
        """Whether the key's time is over; one whose end cannot be read is taken for over."""
        if not self.expires:
            return False
        try:
            return datetime.fromisoformat(self.expires) <= now
        except (ValueError, TypeError):
            return True


def mint(
    name: str, *, scopes: Iterable[str], labels: Iterable[str] = (), expires: str = "", now: datetime
) -> tuple[ApiKey, str]:
    """Return a new key and its text, which is stored nowhere. Raises BadArgument."""
    text = _PREFIX + secrets.token_urlsafe(32)
    key = ApiKey(
        name=_checked_name(name),
        sha256=digest(text),
        scopes=frozenset(_checked_scope(scope) for scope in scopes),
        labels=_folded_labels(labels),
        created=now.astimezone(UTC).isoformat(timespec="seconds"),
        expires=end_of(expires, now=now),
    )
    return key, text


def digest(text: str) -> str:
    """Return the SHA-256 of a key's text, in hex."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def matching(keys: Sequence[ApiKey], text: str, *, now: datetime) -> ApiKey | None:
    """Return the key of that text; None when none is, or its time is over.

    Every key is compared whole, so that the time taken does not tell how near a guess was.
    """
    wanted = digest(text)
    found: ApiKey | None = None
    for key in keys:
        if hmac.compare_digest(key.sha256, wanted):
            found = key
    return None if found is None or found.expired(now) else found


def end_of(text: str, *, now: datetime) -> str:
    """Return the moment that ``--expires`` means, in UTC; empty for never.

    Takes a span (``12h``, ``30d``, ``8w``), a date (the end of that day) or an ISO 8601 time (UTC
    when it has no offset). Raises BadArgument for anything else and for what lies in the past.
    """
    if not text.strip():
        return ""
    wrong = BadArgument(
        f"a key cannot expire at '{text[:40]}'", hint="Use a span such as 30d, or a date such as 2031-12-31."
    )
    try:
        if span := _SPAN.fullmatch(text.strip()):
            end = now + int(span[1]) * _UNITS[span[2].lower()]
        else:
            end = datetime.fromisoformat(text.strip())
            if end.tzinfo is None:
                end = end.replace(tzinfo=UTC)
            if len(text.strip()) <= len("2031-12-31"):
                end += timedelta(days=1)
        moment = end.astimezone(UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError):
        raise wrong from None
    if end <= now:
        raise BadArgument(f"'{text[:40]}' is over already", hint="Choose a time to come, such as 30d.")
    return moment


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise BadArgument(
            f"'{name[:80]}' cannot name a key",
            hint="Use up to 64 letters, digits and . _ @ -, as in ci or ana@laptop.",
        )
    return name


def _checked_scope(scope: str) -> str:
    if scope not in SCOPES:
        near = nearest(scope, SCOPES, limit=1)
        hint = f"Did you mean {near[0]}?" if near else f"The scopes are: {', '.join(SCOPES)}."
        raise BadArgument(f"'{scope[:40]}' is no scope", hint=hint)
    return scope


def _folded_labels(labels: Iterable[str]) -> frozenset[str]:
    """Return labels as pages spell them once read."""
    folded = set()
    for label in labels:
        if not (read := fold_label(label)) or "," in read:
            raise BadArgument(f"'{label[:40]}' is no label", hint="Give one label at a time: --label board.")
        folded.add(read)
    return frozenset(folded)
