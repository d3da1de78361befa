"""Makes what a service returns fit for a client: plain schemas, valid JSON, short errors without details."""

from __future__ import annotations

import json
import logging
import math
import secrets
from collections.abc import Mapping
from typing import Any

from wikimcp.errors import Internal, WikimcpError

ERROR_LIMIT = 1000
"""Longest error text in characters."""

_VALUES = frozenset({"default", "examples", "const", "enum"})

_log = logging.getLogger(__name__)


def error_text(error: WikimcpError) -> str:
    """Return ``code: what is wrong. what to do next`` in at most ``ERROR_LIMIT`` characters."""
    text = clean_text(str(error))
    return text if len(text) <= ERROR_LIMIT else text[: ERROR_LIMIT - 1] + "…"


def internal_error(what: str, error: BaseException) -> Internal:
    """Log a fault of ours under a new reference and return the error that tells a caller only that."""
    reference = secrets.token_hex(4)
    _log.error("%s failed, reference %s", what, reference, exc_info=error)
    return Internal(
        f"the server failed on this call (reference {reference})",
        hint="Try other arguments; the server's log holds the details.",
    )


def strip_titles(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a JSON Schema without ``title`` keywords; properties called ``title`` stay."""
    return {
        key: value if key in _VALUES else _strip(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
    }


def _strip(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, Mapping):
        return strip_titles(value)
    return [_strip(item) for item in value] if isinstance(value, list) else value


def clean_text(text: str) -> str:
    """Return the text with lone surrogates, which no JSON in UTF-8 can hold, replaced by ``?``."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def clean_json(data: dict[str, Any]) -> dict[str, Any]:
    """Return the data as JSON in UTF-8 can hold it: no lone surrogates, no NaN or infinity.

    Raises TypeError for a value that is no JSON at all.
    """
    try:
        json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        cleaned: dict[str, Any] = _clean(data)
        return cleaned
    return data


def _clean(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {clean_text(str(key)): _clean(item) for key, item in value.items()}
    return [_clean(item) for item in value] if isinstance(value, list | tuple) else value
