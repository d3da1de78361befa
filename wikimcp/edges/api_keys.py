"""From an Authorization header to who is calling: the keys of a file, by Bearer or Basic.

The file is looked at before every request, so that a server that runs knows new and revoked keys.
"""

from __future__ import annotations

import base64
import binascii
import logging
from dataclasses import replace
from datetime import UTC, datetime

from wikimcp.access.key_file import KeyFile
from wikimcp.access.keys import ApiKey, matching
from wikimcp.errors import StateError
from wikimcp.models import Caller

_log = logging.getLogger(__name__)


class KeyRing:
    """Says who is calling: ``authenticate`` is what the HTTP guard asks.

    ``anonymous`` is who asks without a key. That is refused once there are keys, or where ``guarded``
    says that one is needed from the start, unless ``allow_anonymous``; a wrong key always is.
    ``drafts`` is the operator's switch, which the scope of the same name needs as well.
    """

    def __init__(
        self,
        file: KeyFile,
        *,
        anonymous: Caller,
        allow_anonymous: bool = False,
        guarded: bool = False,
        drafts: bool = False,
    ) -> None:
        self._file = file
        self._anonymous = anonymous
        self._allow_anonymous = allow_anonymous
        self._guarded = guarded
        self._drafts = drafts
        self._trouble = ""

    def authenticate(self, header: str | None) -> Caller | None:
        """Return the caller of a request with this Authorization header; None when it is refused."""
        keys = self._keys()
        if keys:
            self._guarded = True  # for good: revoking the last key opens nothing
        if header is None:
            if not self._guarded:
                return self._anonymous
            return replace(self._anonymous, may_see_drafts=False) if self._allow_anonymous else None
        given = _credentials(header)
        if given is None:
            return None
        user, text = given
        key = matching(keys, text, now=datetime.now(UTC))
        return None if key is None or user not in ("", key.name) else self._caller(key)

    def _keys(self) -> tuple[ApiKey, ...]:
        """Return the keys on disk; of a file that cannot be read none, and nobody comes in without one."""
        try:
            keys = self._file.read()
        except StateError as error:
            self._guarded = True
            if error.message != self._trouble:
                self._trouble = error.message
                _log.error("%s", error)
            return ()
        self._trouble = ""
        return keys

    def _caller(self, key: ApiKey) -> Caller:
        return Caller(
            name=key.name,
            may_see_drafts=self._drafts and "drafts" in key.scopes,
            labels=key.labels,
            scopes=key.scopes,
        )


def _credentials(header: str) -> tuple[str, str] | None:
    """Return (user, key text) of a header; the user is empty for Bearer, None for what is neither."""
    scheme, _, rest = header.partition(" ")
    rest = rest.strip()
    if scheme.lower() == "bearer":
        return ("", rest) if rest else None
    if scheme.lower() != "basic":
        return None
    try:
        decoded = base64.b64decode(rest, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    user, colon, text = decoded.partition(":")
    return (user, text) if colon and text else None
