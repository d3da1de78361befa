"""Names and N-Triples of the RDF projection: namespaces, ids of things, literals, short forms.

Imports nothing heavy: the worker process starts with it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import quote

WM = "https://wikimcp.dev/ns#"
WMF = "https://wikimcp.dev/ns/frontmatter#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
SKOS = "http://www.w3.org/2004/02/skos/core#"
DCTERMS = "http://purl.org/dc/terms/"
XSD = "http://www.w3.org/2001/XMLSchema#"
ID = "urn:wikimcp:"

THING_KINDS = ("page", "section", "tag", "cluster", "source", "citation")
"""What has ids of its own; each kind is a prefix of queries too, as in ``page:ops%2Fbackup``."""

PREFIXES: Mapping[str, str] = MappingProxyType(
    {
        "wm": WM,
        "wmf": WMF,
        "rdf": RDF,
        "rdfs": RDFS,
        "owl": OWL,
        "skos": SKOS,
        "dcterms": DCTERMS,
        "prov": "http://www.w3.org/ns/prov#",
        "schema": "https://schema.org/",
        "xsd": XSD,
        **{kind: f"{ID}{kind}:" for kind in THING_KINDS},
    }
)
"""The prefixes that every query may use without declaring them."""

_ESCAPES = str.maketrans({'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\0": "\ufffd"})
_ESCAPED = re.compile(r'["\\\n\r\0]')  # translating takes ten times as long as looking
_LOCAL = re.compile(
    r"[A-Za-z0-9_](?:(?:[A-Za-z0-9_.\-]|%[0-9A-Fa-f]{2})*(?:[A-Za-z0-9_\-]|%[0-9A-Fa-f]{2}))?"
)
_DATE = re.compile(r"\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])")
_CLOCK = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)?"
_OFFSET = re.compile(r"(?:Z|[+-]\d\d:\d\d)$")
_DATE_TIME = re.compile(rf"{_DATE.pattern}[T ]{_CLOCK}")


def thing(kind: str, name: str) -> str:
    """Return the id of a page, tag ... as an IRI: ``urn:wikimcp:page:<slug, percent-encoded>``."""
    return f"{ID}{kind}:{encoded(name)}"


@lru_cache(maxsize=20_000)
def encoded(name: str) -> str:
    """Percent-encode everything but letters, digits and ``_ . -``, as UTF-8."""
    return quote(name, safe="", errors="replace").replace("~", "%7E")


def text_literal(text: str) -> str:
    """Return a plain string as an N-Triples literal; what UTF-8 cannot hold is replaced."""
    text = sound(text)
    return f'"{text.translate(_ESCAPES)}"' if _ESCAPED.search(text) else f'"{text}"'


def typed_literal(value: str, datatype: str) -> str:
    """Return a literal of an XSD type, given by its local name."""
    return f'"{value.translate(_ESCAPES)}"^^<{XSD}{datatype}>'


def whole_literal(number: int) -> str:
    """Return a whole number as a typed literal."""
    return f'"{number}"^^<{XSD}integer>'


def date_literal(text: str) -> str:
    """Return a date or a time as the typed literal it is, anything else as a plain string."""
    if not text[:1].isdecimal() or not _is_day(text):
        return text_literal(text)
    if _DATE_TIME.fullmatch(text):
        return typed_literal(text.replace(" ", "T"), "dateTime")
    return typed_literal(text, "date") if _DATE.fullmatch(text) else text_literal(text)


def moment_literal(text: str) -> str:
    """Return a date or a time as xsd:dateTime, so that all compare; without an offset it is UTC.

    Anything else is a plain string.
    """
    if not _is_day(text):
        return text_literal(text)
    if _DATE.fullmatch(text):
        return typed_literal(f"{text}T00:00:00Z", "dateTime")
    if _DATE_TIME.fullmatch(text):
        whole = text.replace(" ", "T")
        return typed_literal(whole if _OFFSET.search(whole) else f"{whole}Z", "dateTime")
    return text_literal(text)


def _is_day(text: str) -> bool:
    """Say whether a text that may be a date begins with a day that there is: no 31st of February."""
    if text[8:10] < "29":
        return True
    try:
        date.fromisoformat(text[:10])
    except ValueError:
        return False
    return True


def scalar_literal(value: object) -> str | None:
    """Return a scalar of JSON as a typed literal; None for what is no scalar or empty."""
    match value:
        case bool():
            return typed_literal("true" if value else "false", "boolean")
        case int():
            return whole_literal(value)
        case float():
            text = {"inf": "INF", "-inf": "-INF", "nan": "NaN"}.get(repr(value), repr(value))
            return typed_literal(text, "double")
        case str() if value:
            return date_literal(value)
    return None


def sound(text: str) -> str:
    """Return ``text`` with lone surrogates replaced, which no RDF literal may hold."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def shortened(iri: str, prefixes: Mapping[str, str] = PREFIXES) -> str:
    """Return an IRI as ``prefix:local`` where that is a name in SPARQL and Turtle, else as ``<iri>``."""
    for prefix, namespace in prefixes.items():
        if iri.startswith(namespace) and _LOCAL.fullmatch(iri, len(namespace)):
            return f"{prefix}:{iri[len(namespace) :]}"
    return f"<{iri}>"
