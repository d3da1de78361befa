"""Asking a wikimcp server for a briefing over HTTP: by POST, so that the prompt stands in no address."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.request
from http.client import HTTPException, HTTPMessage
from typing import IO

from wikimcp.clients.briefing_hook import BriefingRequest
from wikimcp.errors import TooLarge, Unavailable

_MOST_BYTES = 2**20
_SECONDS = 9.0


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses to follow: the key and the prompt are for one server alone."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> None:
        """Follow nothing; the answer then counts as an error."""


def ask_server(base_url: str, request: BriefingRequest, *, api_key: str, basic_auth: str) -> str:
    """Return the briefing as markdown; empty when the server has none.

    ``basic_auth`` is ``user:password``; the key wins where both are given. Raises Unavailable or
    TooLarge, in words that hold neither key nor prompt.
    """
    if not base_url.lower().startswith(("http://", "https://")):
        raise Unavailable("the base URL of the server does not begin with http:// or https://")
    headers = {"Content-Type": "application/json", "Accept": "text/markdown"}
    if api_key:
        headers["Authorization"] = f"Bearer {api_key}"
    elif basic_auth:
        headers["Authorization"] = f"Basic {base64.b64encode(basic_auth.encode()).decode('ascii')}"
    body = json.dumps(request.arguments()).encode("utf-8")
    try:
        asked = urllib.request.Request(
            f"{base_url.rstrip('/')}/api/briefing", data=body, headers=headers, method="POST"
        )
        with urllib.request.build_opener(_NoRedirect).open(asked, timeout=_SECONDS) as answer:
            data: bytes = answer.read(_MOST_BYTES + 1)
    except urllib.error.HTTPError as error:
        error.close()
        raise Unavailable(f"the server answered {error.code}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise Unavailable(f"the server cannot be asked ({type(error).__name__})") from None
    if len(data) > _MOST_BYTES:
        raise TooLarge("the server's answer is over 1 MiB")
    return data.decode("utf-8", "replace")
