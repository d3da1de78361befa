"""Opaque cursors: a position in a list or text, bound to one index generation and to one question."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass

from wikimcp.errors import BadArgument
from wikimcp.models import Audience

_LONGEST = 400  # characters; a cursor of ours is far shorter
_AGAIN = "Call again without cursor."


def scope_of(question: object, audience: Audience) -> str:
    """Return a short hash of what is asked (JSON-safe) and for whom: what a cursor is good for."""
    asked = json.dumps([question, audience.drafts, sorted(audience.labels)], sort_keys=True)
    return hashlib.sha256(asked.encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Continuation:
    """The place of an answer in the whole: where it starts and what its cursors are bound to."""

    generation: int
    scope: str
    offset: int = 0

    def at(self, position: int) -> str:
        """Return the cursor that continues at ``position``."""
        payload = json.dumps({"g": self.generation, "s": self.scope, "p": position}, separators=(",", ":"))
        return base64.urlsafe_b64encode(payload.encode()).decode().rstrip("=")


def continue_from(cursor: str, *, generation: int, scope: str) -> Continuation:
    """Return the place that ``cursor`` names; an empty cursor is the start.

    Raises BadArgument when it is no cursor, belongs to another question, or the index has moved.
    """
    if not cursor:
        return Continuation(generation, scope)
    given = read_cursor(cursor)
    if given.scope != scope:
        raise foreign_cursor()
    if given.generation != generation:
        raise BadArgument("cursor expired: the index has changed since it was given", hint=_AGAIN)
    return given


def foreign_cursor() -> BadArgument:
    """Return the error for a cursor of ours that was given for something else."""
    return BadArgument("cursor expired or wrong: it belongs to a call with other arguments", hint=_AGAIN)


def read_cursor(cursor: str) -> Continuation:
    """Decode a cursor without judging what it is bound to. Raises BadArgument when it is none of ours."""
    cursor = cursor.strip()
    wrong = BadArgument("cursor expired or wrong: it is not a nextCursor of an earlier answer", hint=_AGAIN)
    if len(cursor) > _LONGEST:
        raise wrong
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        payload = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, RecursionError, binascii.Error):
        raise wrong from None
    if not isinstance(payload, dict):
        raise wrong
    generation, scope, position = payload.get("g"), payload.get("s"), payload.get("p")
    if type(generation) is not int or type(scope) is not str or type(position) is not int or position < 0:
        raise wrong
    return Continuation(generation, scope, position)
