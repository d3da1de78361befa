"""From service answers and errors to HTTP responses: status codes, entity tags, what may be cached.

Which routes there are is the matter of `rest_routes`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from wikimcp.edges.answers import clean_json, error_text
from wikimcp.edges.http_guards import error_response
from wikimcp.edges.workers import Workers
from wikimcp.errors import WikimcpError
from wikimcp.models import Caller

T = TypeVar("T")

STATUS: Mapping[str, int] = {
    "bad_request": 400,
    "access_denied": 403,
    "not_found": 404,
    "ambiguous": 409,
    "conflict": 409,
    "too_large": 413,
    "bad_argument": 422,
    "query_rejected": 422,
    "refused": 422,
    "unavailable": 503,
    "timeout": 503,
}
"""Status by code; what is not here is 500: the server's own fault."""

MARKDOWN = "text/markdown; charset=utf-8"


class BadRequest(WikimcpError):
    """The request itself cannot be read: its body is no JSON object."""

    code = "bad_request"


class Calls:
    """Runs what a route asks of the service in a worker thread, for ``time_limit`` seconds.

    ``caller`` is who asks unless the request's scope names another under ``caller_key``.
    """

    def __init__(self, *, workers: Workers, caller: Caller, caller_key: str, time_limit: float) -> None:
        self.workers = workers
        self._caller = caller
        self._caller_key = caller_key
        self._time_limit = time_limit

    def caller_of(self, request: Request) -> Caller:
        """Return who asks."""
        caller: Caller = request.scope.get(self._caller_key, self._caller)
        return caller

    async def run(self, what: str, work: Callable[[], T]) -> T:
        """Return ``work()`` from a worker thread. Raises WikimcpError only."""
        return await self.workers.call(what, work, seconds=self._time_limit)


async def wiki_error(_request: Request, error: Exception) -> Response:
    """Answer a WikimcpError: its code, its message with the hint, and the status of its kind."""
    assert isinstance(error, WikimcpError)
    headers = {"Cache-Control": "no-store"}
    status = STATUS.get(error.code, 500)
    if status == 503:
        headers["Retry-After"] = "1"
    message = error_text(error).removeprefix(f"{error.code}: ")
    return error_response(status, error.code, message, headers=headers)


def json_answer(request: Request, data: Mapping[str, Any]) -> Response:
    """Answer with JSON; 304 where the client has it already.

    The tag does not count how long ago the index was checked, which changes while nothing else does.
    """
    payload = clean_json(dict(data))
    stamp = payload.get("index")
    settled = payload
    if isinstance(stamp, Mapping):
        settled = {**payload, "index": {name: stamp[name] for name in stamp if name not in _AGES}}
    return _tagged(request, _dump(payload), "application/json", tag=_tag(_dump(settled)))


def text_answer(request: Request, text: str, media_type: str) -> Response:
    """Answer with text; 304 where the client has it already."""
    content = text.encode("utf-8", "replace")
    return _tagged(request, content, media_type, tag=_tag(content))


_AGES = frozenset({"ageSeconds", "age_seconds"})


def _tagged(request: Request, content: bytes, media_type: str, *, tag: str) -> Response:
    if request.method == "POST":
        return Response(content, media_type=media_type, headers={"Cache-Control": "no-store"})
    # Kept by the client alone, and asked for again each time: an edit is in the next answer.
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Authorization, Origin"}
    known = [part.strip().removeprefix("W/") for part in request.headers.get("if-none-match", "").split(",")]
    if "*" in known or tag.removeprefix("W/") in known:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


def _dump(payload: object) -> bytes:
    return json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _tag(content: bytes) -> str:
    return f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'


def query_arguments(request: Request) -> dict[str, Any]:
    """Return the arguments in a URL: a name that stands there several times has a list of values."""
    found: dict[str, Any] = {}
    for name, value in request.query_params.multi_items():
        if name not in found:
            found[name] = value
        elif isinstance(found[name], list):
            found[name].append(value)
        else:
            found[name] = [found[name], value]
    return found


async def arguments_of(request: Request) -> dict[str, Any]:
    """Return the arguments of a request: those of the URL and, stronger, of a POST's JSON object.

    Raises BadRequest for a body that is none.
    """
    found = query_arguments(request)
    if request.method != "POST":
        return found
    body = await request.body()
    try:
        given = json.loads(body) if body.strip() else {}
    except (ValueError, RecursionError):
        raise BadRequest("the body is not JSON", hint='Send an object such as {"query": "…"}.') from None
    if not isinstance(given, dict):
        raise BadRequest("the body is JSON but no object", hint='Send an object such as {"query": "…"}.')
    return {**found, **clean_json(given)}
