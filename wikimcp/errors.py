"""The error tree: every failure a caller may see has a stable code, a message and a hint.

Messages never hold paths of the machine or text of a withheld page; edges turn them into tool
results, status codes or exit codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


class WikimcpError(Exception):
    """Base of all errors meant for a caller: ``code: message. hint``."""

    code = "internal"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.code}: {self.message.rstrip('.')}."
        return f"{text} {self.hint}".rstrip()


class BadArgument(WikimcpError):
    """An argument is unknown, misspelt, missing or of the wrong type."""

    code = "bad_argument"


class NotFound(WikimcpError):
    """No visible page, node or value has that name."""

    code = "not_found"


class Ambiguous(WikimcpError):
    """Several visible candidates fit; ``candidates`` lists them."""

    code = "ambiguous"

    def __init__(self, message: str, *, candidates: Sequence[str] = (), hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.candidates = tuple(candidates)


class Unavailable(WikimcpError):
    """The part that would answer is absent, off or not ready."""

    code = "unavailable"


class TooLarge(WikimcpError):
    """The input is over a documented limit."""

    code = "too_large"


class Unreadable(WikimcpError):
    """A source cannot be read as what it is: encrypted, scanned, broken, or of a kind that holds no text."""

    code = "unreadable"


class TimedOut(WikimcpError):
    """The work was stopped at its time limit."""

    code = "timeout"


class QueryRejected(WikimcpError):
    """The query is of a kind that is never run."""

    code = "query_rejected"


class Internal(WikimcpError):
    """A fault of ours; the log holds the details under the reference in the message."""

    code = "internal"


class SettingsError(WikimcpError):
    """A setting, a flag or a config file is wrong: named with the nearest right one."""

    code = "settings"


class VaultError(WikimcpError):
    """The vault folder is missing, not a folder or cannot be read."""

    code = "vault"


class StateError(WikimcpError):
    """The state directory cannot be written or read."""

    code = "state"


class AccessDenied(WikimcpError):
    """A path leaves the folder it has to stay in, or lies where nothing is written."""

    code = "access_denied"


class Conflict(WikimcpError):
    """A file changed since the caller read it.

    ``current`` is its text now (None: it is gone or no text), ``content_hash`` that of its bytes.
    """

    code = "conflict"

    def __init__(
        self, message: str, *, current: str | None = None, content_hash: str | None = None, hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.current = current
        self.content_hash = content_hash


class Refused(WikimcpError):
    """What was to be written holds what must not be: a secret, or personal data."""

    code = "refused"


class WikiError(WikimcpError):
    """The compiled wiki is missing, broken, of another version, or cannot be written."""

    code = "wiki"


def nearest(name: str, known: Sequence[str], *, limit: int = 3) -> list[str]:
    """Return up to ``limit`` of ``known`` closest to ``name`` (case folded), best first."""
    folded: dict[str, str] = {}
    for candidate in known:
        folded.setdefault(candidate.casefold(), candidate)
    close = get_close_matches(name.casefold(), list(folded), n=limit, cutoff=0.5)
    return [folded[key] for key in close]
